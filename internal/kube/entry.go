package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"evenkeel.dev/evenkeel/internal/cluster"
)

// entry is a compact object on its way from the API server to its table: what a reflector has to know of an object, and
// what is kept of it. It stands in for the whole object from the moment that is decoded.
type entry struct {
	namespace, name, version string
	value                    any // nil: nothing is kept
}

// GetObjectMeta is how a reflector reads name and resource version.
func (e *entry) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: e.namespace, Name: e.name, ResourceVersion: e.version}
}

func (e *entry) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the entry itself: it is never changed.
func (e *entry) DeepCopyObject() runtime.Object { return e }

func (e *entry) key() key { return key{e.namespace, e.name} }

// entries is a list of them.
type entries struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

func (l *entries) DeepCopyObject() runtime.Object { return l }

func newEntry(c *cluster.Converter, obj runtime.Object, m metav1.Object) *entry {
	return &entry{namespace: m.GetNamespace(), name: m.GetName(), version: m.GetResourceVersion(), value: compact(c, obj)}
}

// compacted passes events on with entries in the place of objects. Bookmarks and errors stay as they are.
func compacted(c *cluster.Converter, w watch.Interface) watch.Interface {
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		switch e.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			if m, ok := e.Object.(metav1.Object); ok {
				e.Object = newEntry(c, e.Object, m)
			}
		}
		return e, true
	})
}
