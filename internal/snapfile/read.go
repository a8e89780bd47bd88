package snapfile

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// Options of [Read]. The zero value is good.
type Options struct {
	// Now, when set, is the time the snapshot was taken, whatever the files say.
	Now time.Time
	// Stdin is read for the path "-".
	Stdin io.Reader
	// Converter converts the objects; a new one when nil.
	Converter *cluster.Converter
}

// TimeSource is where the time of a snapshot is from.
type TimeSource string

// The sources of time.
const (
	TimeFromCaller  TimeSource = "caller"
	TimeFromHeader  TimeSource = "header"
	TimeFromObjects TimeSource = "objects" // the newest in any object
	TimeUnknown     TimeSource = "unknown" // no object has one
)

// Report is what was read beside the snapshot.
type Report struct {
	Files   []string // in the order in which they were read
	Objects int      // the unused ones included
	Unused  int      // of kinds that no decision needs
	Time    TimeSource
	Kinds   []string // those that were looked at, be it that there are no objects of some
	Header  *Header  // nil when there is none
}

// Read reads a snapshot from files, directories (the files in them whose names end with .json, .yaml, .yml or .gz) and, for
// "-", standard input. An error about the content is an [*Error].
func Read(paths []string, o Options) (*cluster.Snapshot, *Report, error) {
	names, err := expand(paths)
	if err != nil {
		return nil, nil, err
	}
	b := newBuilder(o.Converter)
	for _, name := range names {
		if err := b.readFile(name, o.Stdin); err != nil {
			return nil, nil, err
		}
	}
	return b.finish(o.Now)
}

// finish assembles what was read.
func (b *builder) finish(now time.Time) (*cluster.Snapshot, *Report, error) {
	report := &Report{Header: b.header, Kinds: slices.Sorted(maps.Keys(b.listed))}
	for _, f := range b.files {
		report.Files = append(report.Files, f.name)
	}
	for t, n := range b.counts {
		report.Objects += n
		if _, used := b.kinds[t]; !used {
			report.Unused += n
		}
	}
	if len(b.parts.Nodes) == 0 {
		return nil, nil, fmt.Errorf("%s: no Node among the %d objects; expected at least what \"kubectl get nodes,pods -A -o json\" prints",
			strings.Join(report.Files, ", "), report.Objects)
	}
	var takenAt time.Time
	takenAt, report.Time = b.takenAt(now)
	b.noteUnused()
	b.noteOdd()
	b.noteForeignUsage()
	b.forgetAbsentUsage()
	b.parts.Has = b.looked()
	snapshot, err := b.parts.Snapshot(takenAt)
	if err != nil {
		if duplicate := b.duplicateAmong(); duplicate != nil {
			return nil, nil, duplicate
		}
		return nil, nil, fmt.Errorf("%s: %w", strings.Join(report.Files, ", "), err)
	}
	return snapshot, report, nil
}

func (b *builder) takenAt(now time.Time) (time.Time, TimeSource) {
	switch {
	case !now.IsZero():
		return now.UTC(), TimeFromCaller
	case b.header != nil:
		return b.header.TakenAt.UTC(), TimeFromHeader
	}
	b.note("%s", b.newest.note())
	if b.newest.at.IsZero() {
		return time.Time{}, TimeUnknown
	}
	return b.newest.at.UTC(), TimeFromObjects
}

// forgetAbsentUsage makes measurements that are not there nil.
func (b *builder) forgetAbsentUsage() {
	if u := &b.parts.Usage; len(u.Nodes) == 0 && len(u.Pods) == 0 {
		u.Nodes, u.Pods = nil, nil
	}
}

// noteForeignUsage notes measurements of nodes that are not there: most likely another cluster was measured, or another label of it.
func (b *builder) noteForeignUsage() {
	known := make(map[string]bool, len(b.parts.Nodes))
	for _, n := range b.parts.Nodes {
		known[n.Name] = true
	}
	note := func(what string, names []string) {
		foreign := slices.DeleteFunc(names, func(name string) bool { return known[name] })
		if len(foreign) > 0 {
			b.note("%s: measurements of nodes that are not in the snapshot: %d, the first of %s", what, len(foreign), foreign[0])
		}
	}
	note("NodeMetrics", slices.Sorted(maps.Keys(b.parts.Usage.Nodes)))
	for _, text := range slices.Sorted(maps.Keys(b.parts.Usage.Queries)) {
		note(fmt.Sprintf("Prometheus query %q", text), slices.Sorted(maps.Keys(b.parts.Usage.Queries[text].Nodes)))
	}
}

// looked tells which kinds were looked at.
func (b *builder) looked() cluster.Has {
	has := cluster.Has{
		Namespaces: b.listed["Namespace"], PriorityClasses: b.listed["PriorityClass"], Budgets: b.listed["PodDisruptionBudget"],
		Claims: b.listed["PersistentVolumeClaim"], Volumes: b.listed["PersistentVolume"],
	}
	for _, kind := range []string{"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController", "Job", "DaemonSet"} {
		has.Workloads = has.Workloads || b.listed[kind]
	}
	return has
}
