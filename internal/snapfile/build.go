package snapfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// typeName is the type of an object.
type typeName struct{ apiVersion, kind string }

func (t typeName) String() string { return strings.TrimSpace(t.apiVersion + " " + t.kind) }

// identity is what only one object can have: a kind and a name, or a kind and a UID.
type identity struct{ kind, namespace, name, uid string }

// builder collects the objects of all files.
type builder struct {
	files  []*file
	kinds  map[typeName]kind
	conv   *cluster.Converter
	parser parser
	// each, when set, is handed the objects of kinds that are read, in place of converting them.
	each func(t typeName, raw []byte) error
	pod  corev1.Pod // the one that is being converted; the converter keeps no reference to it

	parts      cluster.Parts
	nodePlaces []place // of parts.Nodes
	podPlaces  []place // of parts.Pods
	seen       map[identity]place
	listed     map[string]bool // kinds that were looked at, be it that there are none
	counts     map[typeName]int
	header     *Header
	headerAt   place
	newest     newest
	odd        string // what is odd about the first pod that is
	odds       int    // how many pods are
	last       string // the last object that was read whole
}

func newBuilder(conv *cluster.Converter) *builder {
	if conv == nil {
		conv = cluster.NewConverter()
	}
	return &builder{
		kinds: kinds(), conv: conv, parser: parser{known: map[quantity]resource.Quantity{}, resources: conv.Resources},
		parts:  cluster.Parts{Resources: conv.Resources, Usage: cluster.Usage{Nodes: map[string]cluster.Amounts{}, Pods: map[string]cluster.Amounts{}}, Starts: map[string]cluster.Starts{}},
		seen:   map[identity]place{},
		listed: map[string]bool{}, counts: map[typeName]int{},
	}
}

// object takes one object.
func (b *builder) object(t typeName, raw []byte, at place) error {
	if !utf8.Valid(raw) {
		return b.errorAt(at, objectName(t.kind, raw), &fieldError{err: errNotUTF8})
	}
	k, known := b.kinds[t]
	switch {
	case t == headerType() && b.each != nil:
		return nil
	case known && b.each != nil:
		return b.each(t, raw)
	case t == headerType():
		return b.readHeader(raw, at)
	case t.kind == "" || t.apiVersion == "" || !known:
		return b.unused(t, raw, at)
	}
	head, problem := k.read(b, raw)
	if problem != nil {
		return b.errorAt(at, objectName(t.kind, raw), problem)
	}
	b.counts[t]++
	b.listed[t.kind] = true
	b.newest.see(head.Metadata.CreationTimestamp.Time, t.kind, &head.Metadata, "metadata.creationTimestamp")
	b.last = t.kind + " " + qualified(head.Metadata.Namespace, head.Metadata.Name)
	return b.remember(t.kind, &head.Metadata, at)
}

// unused counts an object that no decision needs, unless it is no object at all.
func (b *builder) unused(t typeName, raw []byte, at place) error {
	if _, problem := decode[map[string]json.RawMessage](raw); problem != nil {
		return b.errorAt(at, t.kind, problem)
	}
	if t.kind == "" || t.apiVersion == "" {
		field := "kind"
		if t.kind != "" {
			field = "apiVersion"
		}
		return b.errorAt(at, objectName(t.kind, raw), &fieldError{path: field, err: errors.New("missing; expected an object as kubectl prints it")})
	}
	if isList(t.kind) && at.item > 0 && hasItems(raw) {
		return b.errorAt(at, t.kind, &fieldError{err: errors.New("a list inside a list; expected an object")})
	}
	b.counts[t]++
	b.last = objectName(t.kind, raw)
	return nil
}

// remember keeps where an object was read, and refuses a second one with the same name or UID. Nodes and pods are many, and looked through by
// [cluster.Parts.Snapshot]: for them the place is enough.
func (b *builder) remember(kind string, m *meta, at place) error {
	switch kind {
	case "Node":
		b.nodePlaces = append(b.nodePlaces, at)
		return nil
	case "Pod":
		b.podPlaces = append(b.podPlaces, at)
		return nil
	}
	ids := []identity{{kind: kind, namespace: m.Namespace, name: m.Name}}
	if m.UID != "" && strings.TrimSuffix(kind, "Metrics") == kind {
		ids = append(ids, identity{uid: m.UID})
	}
	for _, id := range ids {
		if first, dup := b.seen[id]; dup {
			return b.duplicate(kind+" "+qualified(m.Namespace, m.Name), id.uid, first, at)
		}
		b.seen[id] = at
	}
	return nil
}

// duplicate is the error for the second of two objects that can't both exist.
func (b *builder) duplicate(object, uid string, first, second place) *Error {
	problem := &fieldError{err: fmt.Errorf("is there twice: the first is in %s, %s", b.files[first.file].name, first)}
	if uid != "" {
		problem = &fieldError{
			path: "metadata.uid", value: fmt.Sprintf("%q", uid),
			err: fmt.Errorf("another object has the same UID: the first is in %s, %s", b.files[first.file].name, first),
		}
	}
	return b.errorAt(second, object, problem)
}

// duplicateAmong finds the first two nodes or pods that can't both exist, in the order in which they were read, or nil.
func (b *builder) duplicateAmong() *Error {
	seen := map[identity]place{}
	for i, n := range b.parts.Nodes {
		if first, dup := seen[identity{name: n.Name}]; dup {
			return b.duplicate("Node "+n.Name, "", first, b.nodePlaces[i])
		}
		seen[identity{name: n.Name}] = b.nodePlaces[i]
	}
	clear(seen)
	for i, p := range b.parts.Pods {
		for _, id := range []identity{{namespace: p.Namespace, name: p.Name}, {uid: p.UID}} {
			if id == (identity{}) {
				continue
			}
			if first, dup := seen[id]; dup {
				return b.duplicate("Pod "+p.Key(), id.uid, first, b.podPlaces[i])
			}
			seen[id] = b.podPlaces[i]
		}
	}
	return nil
}

func (b *builder) note(format string, args ...any) {
	b.parts.Notes = append(b.parts.Notes, fmt.Sprintf(format, args...))
}

// oddPod takes note of a pod that an API server takes and a scheduler makes nothing of. Replicas are alike, so one stands for all.
func (b *builder) oddPod(m *meta, odd *fieldError) {
	if b.odds++; b.odds == 1 {
		b.odd = odd.under("spec.affinity.nodeAffinity").in("Pod " + qualified(m.Namespace, m.Name)).Error()
	}
}

func (b *builder) noteOdd() {
	switch {
	case b.odds == 1:
		b.note("%s", b.odd)
	case b.odds > 1:
		b.note("%s; the same, or the like, in %d more pods", b.odd, b.odds-1)
	}
}

func (b *builder) errorAt(at place, object string, problem *fieldError) *Error {
	return &Error{
		File: b.files[at.file].name, Document: int(at.document), Item: int(at.item), Line: int(at.line),
		Object: object, Field: problem.path, Value: problem.value, Err: problem.err,
	}
}

// noteUnused names the kinds that were left out, in order.
func (b *builder) noteUnused() {
	read := map[string]string{}
	for t := range b.kinds {
		read[t.kind] = t.apiVersion
	}
	unused := slices.SortedFunc(maps.Keys(b.counts), func(x, y typeName) int { return strings.Compare(x.String(), y.String()) })
	for _, t := range unused {
		if _, used := b.kinds[t]; used {
			continue
		}
		text := fmt.Sprintf("%d of %s left out: no decision needs that kind", b.counts[t], t)
		if version := read[t.kind]; version != "" {
			text = fmt.Sprintf("%d of %s left out: of that kind only %s is read", b.counts[t], t, version)
		}
		b.note("%s", text)
	}
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// objectName names an object that could not be decoded as a whole, as far as its name can be found.
func objectName(kind string, raw []byte) string {
	var h struct {
		Metadata struct{ Namespace, Name string }
	}
	if json.Unmarshal(raw, &h) != nil || h.Metadata.Name == "" {
		return kind
	}
	return strings.TrimSpace(kind + " " + qualified(h.Metadata.Namespace, h.Metadata.Name))
}
