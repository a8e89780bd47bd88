// Package stub is an API server for tests and measurements: it lists in pages, streams lists and watches, in protobuf or JSON, and
// answers evictions and reviews the way a test wants. It stores what it is given and checks nothing.
package stub

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Objects are the objects of one resource, in the order they are listed.
type Objects interface {
	Len() int
	At(i int) runtime.Object
}

// Slice makes Objects of a list.
type Slice []runtime.Object

// Len and At make it Objects.
func (s Slice) Len() int { return len(s) }

// At returns object i.
func (s Slice) At(i int) runtime.Object { return s[i] }

// Server is the API server. Set its fields before the first request.
type Server struct {
	// Answer, when set, is asked before every request; a status that it returns is the answer.
	Answer func(r *http.Request) *apierrors.StatusError
	// Evict, when set, decides about evictions; without it all are allowed, and the pod is deleted.
	Evict func(namespace string, e *policyv1.Eviction) *apierrors.StatusError
	// Create, when set, returns what is sent back for an object that was created; otherwise that is the object.
	Create func(obj runtime.Object) runtime.Object
	// NoStreaming refuses to stream lists, as servers before 1.32 do.
	NoStreaming bool

	mu       sync.Mutex
	objects  map[string]Objects // by resource
	watchers map[string][]chan watch.Event
	changes  []change // since the start: what a watch that begins at an older version is told first
	seen     []string // requests: "GET /api/v1/pods"
	posted   []runtime.Object
}

// firstVersion is the resource version of what the server starts with; every change adds one.
const firstVersion = 1000

type change struct {
	resource string
	event    watch.Event
}

// New returns a server that holds the objects, by resource.
func New(objects map[string]Objects) *Server {
	s := &Server{objects: map[string]Objects{}, watchers: map[string][]chan watch.Event{}}
	for resource, list := range objects {
		s.objects[resource] = list
	}
	return s
}

// Start serves on a port of its own until the test ends, and returns the URL.
func (s *Server) Start(t interface{ Cleanup(func()) }) string {
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// Requests are the requests so far, e.g. "GET /api/v1/pods", in order.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// Posted are the objects that were created, evictions included, in order.
func (s *Server) Posted() []runtime.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.posted)
}

// Send changes an object (watch.Added, Modified or Deleted) and tells those who watch.
func (s *Server) Send(resource string, kind watch.EventType, obj runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, _ := meta.Accessor(obj)
	var list Slice
	if old := s.objects[resource]; old != nil {
		for i := range old.Len() {
			if o, _ := meta.Accessor(old.At(i)); o.GetNamespace() != m.GetNamespace() || o.GetName() != m.GetName() {
				list = append(list, old.At(i))
			}
		}
	}
	if kind != watch.Deleted {
		list = append(list, obj)
	}
	s.objects[resource] = list
	s.changes = append(s.changes, change{resource, watch.Event{Type: kind, Object: obj}})
	s.tell(resource, watch.Event{Type: kind, Object: obj})
}

// Tell tells those who watch of a change, without changing what is listed.
func (s *Server) Tell(resource string, kind watch.EventType, obj runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(resource, watch.Event{Type: kind, Object: obj})
}

// tell drops the event for a watcher that does not keep up, as an API server drops the watcher. The lock is held.
func (s *Server) tell(resource string, e watch.Event) {
	for _, w := range s.watchers[resource] {
		select {
		case w <- e:
		default:
		}
	}
}

// ServeHTTP makes it an http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Answer != nil {
		if err := s.Answer(r); err != nil {
			status := err.Status()
			write(w, r, int(status.Code), &status)
			return
		}
	}
	switch {
	case r.URL.Path == "/version":
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
	case r.URL.Path == "/api/v1":
		fmt.Fprint(w, `{"resources":[{"name":"pods/eviction","group":"policy","version":"v1","kind":"Eviction"}]}`)
	case r.Method == http.MethodPost:
		s.create(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		s.watch(w, r)
	case r.Method == http.MethodGet:
		s.list(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// version is the resource version of the moment. The lock is held.
func (s *Server) version() string { return strconv.Itoa(firstVersion + len(s.changes)) }

// since are the changes of a resource after a version. The lock is held.
func (s *Server) since(resource, version string) (events []watch.Event) {
	from, err := strconv.Atoi(version)
	if err != nil {
		return nil
	}
	for i := max(0, from-firstVersion); i < len(s.changes); i++ {
		if s.changes[i].resource == resource {
			events = append(events, s.changes[i].event)
		}
	}
	return events
}

// gvk is the kind of a resource, if it can be listed.
func gvk(resource string) (schema.GroupVersionKind, bool) {
	kinds := map[string]schema.GroupVersionKind{
		"pods": {Version: "v1", Kind: "Pod"}, "nodes": {Version: "v1", Kind: "Node"}, "namespaces": {Version: "v1", Kind: "Namespace"},
		"persistentvolumeclaims": {Version: "v1", Kind: "PersistentVolumeClaim"}, "persistentvolumes": {Version: "v1", Kind: "PersistentVolume"},
		"replicationcontrollers": {Version: "v1", Kind: "ReplicationController"},
		"replicasets":            {Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "deployments": {Group: "apps", Version: "v1", Kind: "Deployment"},
		"statefulsets": {Group: "apps", Version: "v1", Kind: "StatefulSet"}, "daemonsets": {Group: "apps", Version: "v1", Kind: "DaemonSet"},
		"jobs":                 {Group: "batch", Version: "v1", Kind: "Job"},
		"poddisruptionbudgets": {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		"priorityclasses":      {Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
		"storageclasses":       {Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
	}
	k, ok := kinds[resource]
	return k, ok
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	kind, ok := gvk(resource)
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	objects := s.objects[resource]
	version := s.version()
	s.mu.Unlock()
	total := 0
	if objects != nil {
		total = objects.Len()
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to := total
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < total {
		to = from + limit
	}
	list, err := scheme.Scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	items := make([]runtime.Object, 0, to-from)
	for i := from; i < to; i++ {
		items = append(items, objects.At(i))
	}
	if err := meta.SetList(list, items); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	m, _ := meta.ListAccessor(list)
	m.SetResourceVersion(version)
	if to < total {
		m.SetContinue(strconv.Itoa(to))
		left := int64(total - to)
		m.SetRemainingItemCount(&left)
	}
	write(w, r, http.StatusOK, list)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.posted = append(s.posted, obj)
	s.mu.Unlock()
	eviction, ok := obj.(*policyv1.Eviction)
	if !ok {
		if s.Create != nil {
			obj = s.Create(obj)
		}
		write(w, r, http.StatusCreated, obj)
		return
	}
	namespace := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/"), "/")[0]
	if s.Evict != nil {
		if err := s.Evict(namespace, eviction); err != nil {
			status := err.Status()
			write(w, r, int(status.Code), &status)
			return
		}
	}
	write(w, r, http.StatusCreated, &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}
