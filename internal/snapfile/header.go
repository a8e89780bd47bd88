package snapfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// The type of a [Header].
const (
	HeaderAPIVersion = "evenkeel.dev/v1alpha1"
	HeaderKind       = "Snapshot"
)

// Header is what a file says about itself, and what no Kubernetes object says about the cluster. It is an item like any other.
// Unknown fields are errors.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is when the objects were read: the "now" of every decision.
	TakenAt time.Time `json:"takenAt"`
	// Evenkeel is the version of the program that wrote the file.
	Evenkeel string `json:"evenkeel,omitempty"`
	// Redacted: only the fields that decisions read are there.
	Redacted bool `json:"redacted,omitempty"`
	// Kinds were listed, be it that there are no objects of some.
	Kinds []string `json:"kinds,omitempty"`
	// Missing could not be listed.
	Missing []Missing `json:"missing,omitempty"`
	// Queries are the Prometheus queries that were asked, each with its answer.
	Queries []Query `json:"queries,omitempty"`
	// UsageProblems say what could not be measured, and why.
	UsageProblems []string `json:"usageProblems,omitempty"`
}

// Missing is a kind that could not be listed.
type Missing struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// Query is a Prometheus query and its answer.
type Query struct {
	Query string `json:"query"`
	// Nodes holds a value in [0, 1] for each node that was measured.
	Nodes map[string]float64 `json:"nodes,omitempty"`
	// Failed says why there is no answer.
	Failed string `json:"failed,omitempty"`
}

// QueriesOf lists answers, ordered by query.
func QueriesOf(answers map[string]cluster.Answer) []Query {
	var list []Query
	for _, text := range slices.Sorted(maps.Keys(answers)) {
		list = append(list, Query{Query: text, Nodes: answers[text].Nodes, Failed: answers[text].Failed})
	}
	return list
}

// withoutMessages is the header without what servers said: that may hold addresses, and names that are in no object. That
// something failed stays.
func (h Header) withoutMessages() Header {
	h.Missing = slices.Clone(h.Missing)
	for i := range h.Missing {
		h.Missing[i].Reason, _, _ = strings.Cut(h.Missing[i].Reason, ":")
	}
	h.Queries = slices.Clone(h.Queries)
	for i := range h.Queries {
		if h.Queries[i].Failed != "" {
			h.Queries[i].Failed = "it failed (redacted)"
		}
	}
	if len(h.UsageProblems) > 0 {
		h.UsageProblems = []string{"not everything could be measured when the snapshot was taken (redacted)"}
	}
	return h
}

func headerType() typeName { return typeName{HeaderAPIVersion, HeaderKind} }

func (b *builder) readHeader(raw []byte, at place) error {
	fail := func(problem *fieldError) error { return b.errorAt(at, HeaderKind, problem) }
	h, problem := decode[Header](raw)
	if problem != nil {
		return fail(problem)
	}
	if strict, err := sjson.UnmarshalStrict(raw, new(Header)); err != nil || len(strict) > 0 {
		return fail(&fieldError{err: errors.Join(append(strict, err)...)})
	}
	if b.header != nil {
		return fail(&fieldError{err: fmt.Errorf("two snapshots: %s, %s is one already", b.files[b.headerAt.file].name, b.headerAt)})
	}
	if h.TakenAt.IsZero() {
		return fail(&fieldError{path: "takenAt", err: errors.New("missing; expected a time such as 2026-11-30T00:00:00Z")})
	}
	if problem := nullShare(raw); problem != nil {
		return fail(problem)
	}
	if problem := b.readQueries(h.Queries); problem != nil {
		return fail(problem)
	}
	b.header, b.headerAt = h, at
	for _, kind := range h.Kinds {
		b.listed[kind] = true
	}
	for _, m := range h.Missing {
		// A strategy that needs measurements says itself that it has none; to others their absence is no news. Nor is it that there are no agents.
		if m.Kind == "NodeMetrics" || m.Kind == "PodMetrics" || m.Kind == "NodePace" {
			continue
		}
		b.note("%s was not listed when the snapshot was taken: %s", m.Kind, m.Reason)
	}
	b.parts.Usage.Problems = h.UsageProblems
	return nil
}

// nullShare finds the first value of a query's answer that is null, which decodes as 0 and is no measurement.
func nullShare(raw []byte) *fieldError {
	h, problem := decode[struct {
		Queries []struct {
			Nodes map[string]*float64 `json:"nodes"`
		} `json:"queries"`
	}](raw)
	if problem != nil {
		return problem
	}
	for i, q := range h.Queries {
		for _, name := range slices.Sorted(maps.Keys(q.Nodes)) {
			if q.Nodes[name] == nil {
				return &fieldError{path: "queries" + index(i) + ".nodes" + key(name), value: "null", err: errNotShare}
			}
		}
	}
	return nil
}

var errNotShare = errors.New("expected a number from 0 to 1")

func (b *builder) readQueries(queries []Query) *fieldError {
	for i, q := range queries {
		at := "queries" + index(i)
		_, twice := b.parts.Usage.Queries[q.Query]
		switch {
		case q.Query == "":
			return &fieldError{path: at + ".query", err: errors.New("missing; expected the text of a Prometheus query")}
		case twice:
			return &fieldError{path: at + ".query", value: fmt.Sprintf("%q", q.Query), err: errors.New("is there twice")}
		}
		for _, name := range slices.Sorted(maps.Keys(q.Nodes)) {
			if v := q.Nodes[name]; !(v >= 0 && v <= 1) {
				return &fieldError{path: at + ".nodes" + key(name), value: fmt.Sprint(v), err: errNotShare}
			}
		}
		if b.parts.Usage.Queries == nil {
			b.parts.Usage.Queries = map[string]cluster.Answer{}
		}
		b.parts.Usage.Queries[q.Query] = cluster.Answer{Nodes: q.Nodes, Failed: q.Failed}
	}
	return nil
}
