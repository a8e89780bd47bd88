package stub

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// media is the serializer that the request wants: protobuf or JSON.
func media(r *http.Request) runtime.SerializerInfo {
	want := runtime.ContentTypeJSON
	if strings.Contains(r.Header.Get("Accept"), protobuf) {
		want = protobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), want)
	return info
}

func write(w http.ResponseWriter, r *http.Request, code int, obj runtime.Object) {
	info := media(r)
	w.Header().Set("Content-Type", info.MediaType)
	w.WriteHeader(code)
	if err := encoder(info.Serializer, obj).Encode(obj, w); err != nil {
		panic(http.ErrAbortHandler) // the client sees a broken answer, as it would of a server that died
	}
}

func encoder(s runtime.Serializer, obj runtime.Object) runtime.Encoder {
	gv := schema.GroupVersion{Version: "v1"}
	if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
		gv = kinds[0].GroupVersion()
		if gv.Version == "__internal" || gv.Group == "meta.k8s.io" {
			gv = schema.GroupVersion{Version: "v1"}
		}
	}
	return scheme.Codecs.EncoderForVersion(s, gv)
}

// watch streams the list, when that is asked for, and then changes.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	kind, ok := gvk(resource)
	if !ok {
		http.NotFound(w, r)
		return
	}
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	if initial && s.NoStreaming {
		status := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil).Status()
		write(w, r, int(status.Code), &status)
		return
	}
	changes := make(chan watch.Event, 1000)
	s.mu.Lock()
	s.watchers[resource] = append(s.watchers[resource], changes)
	objects, version := s.objects[resource], s.version()
	if !initial {
		for _, e := range s.since(resource, r.URL.Query().Get("resourceVersion")) {
			changes <- e
		}
	}
	s.mu.Unlock()

	send := sender(w, r)
	if initial {
		if objects != nil {
			for i := range objects.Len() {
				if send(watch.Added, objects.At(i)) != nil {
					return
				}
			}
		}
		end, err := scheme.Scheme.New(kind)
		if err != nil {
			return
		}
		m, _ := meta.Accessor(end)
		m.SetResourceVersion(version)
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		if send(watch.Bookmark, end) != nil {
			return
		}
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-changes:
			if send(e.Type, e.Object) != nil {
				return
			}
		}
	}
}

// sender writes watch events to w and flushes each.
func sender(w http.ResponseWriter, r *http.Request) func(watch.EventType, runtime.Object) error {
	info := media(r)
	contentType := info.MediaType
	if contentType == protobuf {
		contentType += ";stream=watch"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	frames := info.StreamSerializer.Framer.NewFrameWriter(w)
	events := streaming.NewEncoder(frames, scheme.Codecs.EncoderForVersion(info.StreamSerializer.Serializer, schema.GroupVersion{Version: "v1"}))
	return func(kind watch.EventType, obj runtime.Object) error {
		raw, err := runtime.Encode(encoder(info.StreamSerializer.Serializer, obj), obj)
		if info.MediaType == protobuf {
			raw, err = runtime.Encode(encoder(info.Serializer, obj), obj)
		}
		if err != nil {
			return err
		}
		if err := events.Encode(&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}}); err != nil {
			return err
		}
		return flush.Flush()
	}
}
