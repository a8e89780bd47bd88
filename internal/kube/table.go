package kube

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

type key struct{ namespace, name string }

// table holds the compact objects of one kind. A reflector fills it.
type table struct {
	kind   Kind
	synced chan struct{} // closed when the table was filled, or is known to stay empty

	mu      sync.Mutex
	settled bool
	rows    map[key]any
	missing error     // why the kind can't be had; nil: it can
	failing error     // what went wrong with the last request; nil: nothing
	since   time.Time // since when it is failing
}

var _ cache.ReflectorStore = (*table)(nil)

func newTable(k Kind) *table {
	return &table{kind: k, synced: make(chan struct{}), rows: map[key]any{}}
}

// Add, Update, Delete, Replace and Resync make it the store of a reflector.
func (t *table) Add(obj any) error { return t.put(obj) }

// Update is [table.Add].
func (t *table) Update(obj any) error { return t.put(obj) }

func (t *table) put(obj any) error {
	e, ok := obj.(*entry)
	if !ok {
		return fmt.Errorf("%s: can't keep a %T", t.kind, obj)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.value == nil {
		delete(t.rows, e.key())
	} else {
		t.rows[e.key()] = e.value
	}
	return nil
}

// Delete removes the object.
func (t *table) Delete(obj any) error {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	e, ok := obj.(*entry)
	if !ok {
		return fmt.Errorf("%s: can't remove a %T", t.kind, obj)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.rows, e.key())
	return nil
}

// Replace makes the table hold the list and nothing else.
func (t *table) Replace(list []any, _ string) error {
	rows := make(map[key]any, len(list))
	for _, obj := range list {
		e, ok := obj.(*entry)
		if !ok {
			return fmt.Errorf("%s: can't keep a %T", t.kind, obj)
		}
		if e.value != nil {
			rows[e.key()] = e.value
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.missing = rows, nil
	t.settle()
	return nil
}

// Resync does nothing: there is nobody to tell again.
func (t *table) Resync() error { return nil }

// settle says that a snapshot need not wait for this table any more. The lock is held.
func (t *table) settle() {
	if !t.settled {
		t.settled = true
		close(t.synced)
	}
}

// heard notes how the last request ended.
func (t *table) heard(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.failing = nil
	case t.failing == nil:
		t.failing, t.since = err, time.Now()
	default:
		t.failing = err
	}
}

// lose notes that the kind can't be had, and empties the table.
func (t *table) lose(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.missing, t.failing = map[key]any{}, err, nil
	t.settle()
}

// state is what a snapshot needs to know of a table.
type state struct {
	values  []any
	missing error
	failing error
	age     time.Duration // how long it has been failing
}

func (t *table) state() state {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := state{missing: t.missing, failing: t.failing, values: make([]any, 0, len(t.rows))}
	if t.failing != nil {
		s.age = time.Since(t.since)
	}
	for _, v := range t.rows {
		s.values = append(s.values, v)
	}
	return s
}

func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}
