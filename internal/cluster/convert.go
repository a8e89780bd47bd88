package cluster

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Converter turns API objects into the compact form. What is equal is stored once for as long as
// the converter lives, so one converter should serve all objects of a process. It is safe for concurrent use and
// keeps no reference to the objects it is handed, but for their strings, taints, tolerations, affinity and resource lists.
type Converter struct {
	Resources *Resources

	mu         sync.Mutex
	strings    map[string]string
	labelSets  map[string]map[string]string
	ownerLists map[string][]Owner
	specs      map[string]*Spec
	placements map[string]*Placement
	states     map[string][]ContainerState
	buf        []byte
}

// NewConverter returns an empty converter.
func NewConverter() *Converter {
	return &Converter{
		Resources:  NewResources(),
		strings:    map[string]string{},
		labelSets:  map[string]map[string]string{},
		ownerLists: map[string][]Owner{},
		specs:      map[string]*Spec{},
		placements: map[string]*Placement{},
		states:     map[string][]ContainerState{},
	}
}

// Shared counts what is stored once: a measure of the converter's own size.
func (c *Converter) Shared() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.strings) + len(c.labelSets) + len(c.ownerLists) + len(c.specs) + len(c.placements) + len(c.states)
}

// Forget drops what is stored for sharing. Objects converted before stay valid; objects converted later share
// among themselves only. A process that lives for weeks calls it now and then, so that workloads long gone are freed.
func (c *Converter) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.strings)
	clear(c.labelSets)
	clear(c.ownerLists)
	clear(c.specs)
	clear(c.placements)
	clear(c.states)
}

func (c *Converter) str(s string) string {
	if s == "" {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.strLocked(s)
}

func (c *Converter) strLocked(s string) string {
	if shared, ok := c.strings[s]; ok {
		return shared
	}
	s = strings.Clone(s) // not a slice of some large decoded document
	c.strings[s] = s
	return s
}

// appendMap appends an unambiguous form of m, in key order.
func appendMap(buf []byte, m map[string]string) []byte {
	var array [16]string
	keys := array[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		buf = append(append(append(append(buf, k...), 0), m[k]...), 1)
	}
	return buf
}

func (c *Converter) labels(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = appendMap(c.buf[:0], m)
	if shared, ok := c.labelSets[string(c.buf)]; ok {
		return shared
	}
	shared := make(map[string]string, len(m))
	for k, v := range m {
		shared[c.strLocked(k)] = c.strLocked(v)
	}
	c.labelSets[string(c.buf)] = shared
	return shared
}

// The annotations that decisions read.
const (
	AnnotationMirror             = corev1.MirrorPodAnnotationKey
	AnnotationConfigSource       = "kubernetes.io/config.source"
	AnnotationEvict              = "descheduler.alpha.kubernetes.io/evict"
	AnnotationPreferNoEviction   = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
	AnnotationRequestEvictOnly   = "descheduler.alpha.kubernetes.io/request-evict-only"
	AnnotationEvictionInProgress = "descheduler.alpha.kubernetes.io/eviction-in-progress"
)

func keptAnnotation(key string) bool {
	switch key {
	case AnnotationMirror, AnnotationConfigSource, AnnotationEvict, AnnotationPreferNoEviction,
		AnnotationRequestEvictOnly, AnnotationEvictionInProgress:
		return true
	}
	return strings.HasPrefix(key, "evenkeel.dev/")
}

func (c *Converter) annotations(m map[string]string) map[string]string {
	var kept map[string]string
	for k, v := range m {
		if keptAnnotation(k) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[k] = v
		}
	}
	return c.labels(kept)
}

func (c *Converter) owners(list []metav1.OwnerReference) []Owner {
	if len(list) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := c.buf[:0]
	for i := range list {
		for _, s := range [...]string{list[i].APIVersion, list[i].Kind, list[i].Name, string(list[i].UID)} {
			buf = append(append(buf, s...), 0)
		}
		if list[i].Controller != nil && *list[i].Controller {
			buf = append(buf, 1)
		}
		buf = append(buf, 2)
	}
	c.buf = buf
	if shared, ok := c.ownerLists[string(buf)]; ok {
		return shared
	}
	owners := make([]Owner, len(list))
	for i := range list {
		owners[i] = Owner{
			APIVersion: c.strLocked(list[i].APIVersion), Kind: c.strLocked(list[i].Kind), Name: strings.Clone(list[i].Name),
			UID: strings.Clone(string(list[i].UID)), Controller: list[i].Controller != nil && *list[i].Controller,
		}
	}
	c.ownerLists[string(buf)] = owners
	return owners
}

func (c *Converter) spec(p *corev1.Pod) *Spec {
	t := trimmed(p)
	c.mu.Lock()
	size := t.Size()
	if cap(c.buf) < size {
		c.buf = make([]byte, size*2)
	}
	buf := c.buf[:size]
	n, err := t.MarshalToSizedBuffer(buf)
	if err == nil {
		if shared, ok := c.specs[string(buf[size-n:])]; ok {
			c.mu.Unlock()
			return shared
		}
	}
	key := string(buf[size-n:])
	c.mu.Unlock()

	spec := c.newSpec(t.DeepCopy())
	if err != nil {
		return spec // can't be keyed: not shared, but right
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared, ok := c.specs[key]; ok {
		return shared
	}
	c.specs[key] = spec
	return spec
}

func (c *Converter) sharedPlacement(p *Placement, affinity *corev1.Affinity) *Placement {
	key := corev1.PodSpec{Tolerations: p.Tolerations, NodeSelector: p.NodeSelector, Affinity: affinity}
	data, err := key.Marshal()
	p.only = onlyNode(p.Required)
	p.required = nodeaffinity.NewRequiredNodeAffinity(p.NodeSelector, affinity)
	if len(p.Preferred) > 0 {
		p.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(p.Preferred) // terms that can't be parsed count nothing
	}
	if err != nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if shared, ok := c.placements[string(data)]; ok {
		return shared
	}
	c.placements[string(data)] = p
	return p
}

func (c *Converter) containerStates(list []ContainerState) []ContainerState {
	c.mu.Lock()
	defer c.mu.Unlock()
	buf := c.buf[:0]
	for i := range list {
		s := &list[i]
		buf = append(buf, byte(s.Kind), byte(s.Restarts), byte(s.Restarts>>8), byte(s.Restarts>>16), byte(s.Restarts>>24),
			byte(s.ExitCode), byte(s.ExitCode>>8), byte(s.ExitCode>>16), byte(s.ExitCode>>24))
		if s.HasExit {
			buf = append(buf, 1)
		}
		buf = append(append(append(append(buf, s.Waiting...), 0), s.Terminated...), 0)
	}
	c.buf = buf
	if shared, ok := c.states[string(buf)]; ok {
		return shared
	}
	c.states[string(buf)] = list
	return list
}
