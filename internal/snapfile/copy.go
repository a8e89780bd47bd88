package snapfile

import (
	"errors"
	"slices"
	"time"
)

// Copy writes what is in files to f, as [Take] does for a live cluster: objects of kinds that no decision needs are left out, and all others are redacted
// when the header of o says so. The files are read twice, the first time as [Read] does, so that nothing is written of files that are
// not in order. A time the files do not tell is now, or the newest of any object when that is zero.
func Copy(paths []string, f *OutFile, now time.Time, o TakeOptions) ([]Taken, error) {
	if slices.Contains(paths, "-") {
		return nil, errors.New("standard input can't be copied, since files are read twice; write it to a file first")
	}
	resources, err := selected(o.Kinds)
	if err != nil {
		return nil, err
	}
	s, report, err := Read(paths, Options{Now: now})
	if err != nil {
		return nil, err
	}
	header := o.Header
	header.TakenAt = s.TakenAt
	if from := report.Header; from != nil {
		header.Redacted = header.Redacted || from.Redacted
		header.Missing, header.Queries, header.UsageProblems = from.Missing, from.Queries, from.UsageProblems
	}
	taken := map[string]*Taken{}
	for _, r := range resources {
		taken[r.Kind] = &Taken{Kind: r.Kind}
		if slices.Contains(report.Kinds, r.Kind) {
			header.Kinds = append(header.Kinds, r.Kind)
		}
	}
	w, err := NewWriter(f, header)
	if err != nil {
		return nil, err
	}
	b := newBuilder(nil)
	b.each = func(t typeName, raw []byte) error {
		k := taken[t.kind]
		if k == nil {
			return nil
		}
		k.Objects++
		return w.Add(t.apiVersion, t.kind, raw)
	}
	for _, name := range report.Files {
		if err := b.readFile(name, nil); err != nil {
			return nil, err
		}
	}
	var out []Taken
	for _, r := range resources {
		out = append(out, *taken[r.Kind])
	}
	return out, w.Close()
}
