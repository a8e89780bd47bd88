package agent

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// eventSink tells people about a pod, in the place where they look first.
type eventSink interface {
	// warn does not block and does not fail.
	warn(uid, namespace, name, reason, message string)
}

// noEvents is for nodes without an API and for those who want none.
type noEvents struct{}

func (noEvents) warn(string, string, string, string, string) {}

// recorder makes Kubernetes Events. Its queue is bounded and drops what an API
// server out of reach does not take.
type recorder struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

func newRecorder(client kubernetes.Interface, node string) *recorder {
	b := record.NewBroadcaster()
	b.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return &recorder{b, b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "evenkeel-agent", Host: node})}
}

func (r *recorder) warn(uid, namespace, name, reason, message string) {
	pod := &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name, UID: types.UID(uid)}
	r.recorder.Event(pod, corev1.EventTypeWarning, reason, message)
}

func (r *recorder) stop() { r.broadcaster.Shutdown() }
