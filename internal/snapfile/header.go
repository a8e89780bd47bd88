package snapfile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	sjson "sigs.k8s.io/json"
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
	// QueryUsage is the value of a Prometheus query for each node, in [0, 1].
	QueryUsage map[string]float64 `json:"queryUsage,omitempty"`
	// UsageProblems say what could not be measured, and why.
	UsageProblems []string `json:"usageProblems,omitempty"`
}

// Missing is a kind that could not be listed.
type Missing struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
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
	for _, name := range slices.Sorted(maps.Keys(h.QueryUsage)) {
		if v := h.QueryUsage[name]; !(v >= 0 && v <= 1) {
			return fail(&fieldError{path: "queryUsage" + key(name), value: fmt.Sprint(v), err: errors.New("expected a number from 0 to 1")})
		}
	}
	b.header, b.headerAt = h, at
	for _, kind := range h.Kinds {
		b.listed[kind] = true
	}
	for _, m := range h.Missing {
		// A strategy that needs measurements says itself that it has none; to others their absence is no news.
		if m.Kind == "NodeMetrics" || m.Kind == "PodMetrics" {
			continue
		}
		b.note("%s was not listed when the snapshot was taken: %s", m.Kind, m.Reason)
	}
	b.parts.Usage.Query, b.parts.Usage.Problems = h.QueryUsage, h.UsageProblems
	return nil
}
