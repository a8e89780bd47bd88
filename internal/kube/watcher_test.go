package kube

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// filled is a watcher whose tables are all filled and empty.
func filled(t *testing.T) *Watcher {
	t.Helper()
	w := &Watcher{log: slog.New(slog.DiscardHandler), converter: cluster.NewConverter()}
	for _, k := range Kinds() {
		table := newTable(k)
		if err := table.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
		w.tables = append(w.tables, table)
	}
	return w
}

func TestPictureThatIsOutOfDateIsNotUsed(t *testing.T) {
	w := filled(t)
	last := w.tables[len(w.tables)-1]
	last.heard(errors.New("connection refused"))
	if _, err := w.Snapshot(t.Context(), time.Now()); err != nil {
		t.Errorf("just broken, and already refused: %v", err)
	}
	last.since = time.Now().Add(-staleAfter)
	if _, err := w.Snapshot(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "storageclasses.storage.k8s.io has been out of date for 30s: connection refused") {
		t.Errorf("got %v, want an error that says what is out of date, since when, and why", err)
	}
	last.heard(nil)
	if _, err := w.Snapshot(t.Context(), time.Now()); err != nil {
		t.Errorf("the watch is back: %v", err)
	}
}

func TestSharedPartsAreForgottenOnceTheyHaveDoubled(t *testing.T) {
	w := filled(t)
	w.converter.Namespace(namespace("first"))
	if _, err := w.Snapshot(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	for i := range 11_000 {
		w.converter.Namespace(namespace(strings.Repeat("x", i%50) + time.Duration(i).String()))
	}
	if _, err := w.Snapshot(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := w.converter.Shared(); n != 0 {
		t.Errorf("%d shared parts are kept", n)
	}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
