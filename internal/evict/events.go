package evict

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"evenkeel.dev/evenkeel/internal/plan"
)

// The words of the descheduler's Events, which alerts and dashboards look for.
const (
	reporter      = "sigs.k8s.io.descheduler"
	eventAction   = "Descheduled"
	failureReason = "EvictionFailed"
	maxNote       = 1024 // bytes; the API server's limit
)

// Event is what is told about a pod.
type Event struct {
	Pod     plan.PodRef
	Warning bool
	Reason  string
	Note    string
}

func evictedEvent(m plan.Move) Event {
	note := fmt.Sprintf("pod eviction from %s node by %s", m.Node, requestedBy)
	if m.Reason.Message != "" {
		note += ": " + m.Reason.Message
	}
	reason := m.Strategy
	if reason == "" {
		reason = "NotSet"
	}
	return Event{Pod: m.Pod, Reason: reason, Note: note}
}

func failedEvent(pod plan.PodRef, node, why string) Event {
	return Event{
		Pod: pod, Warning: true, Reason: failureReason,
		Note: fmt.Sprintf("pod eviction from %s node by %s failed: %s", node, requestedBy, why),
	}
}

// Events writes Events to the API server, in the background: a slow or refusing server does not hold up evictions.
type Events struct {
	client   kubernetes.Interface
	log      *slog.Logger
	instance string
	queue    chan *eventsv1.Event
	done     sync.WaitGroup

	mu     sync.Mutex
	lost   int
	closed bool
}

// NewEvents starts to write. Host names this process in the Events. Close must be called.
func NewEvents(client kubernetes.Interface, host string, log *slog.Logger) *Events {
	e := &Events{client: client, log: log, instance: trim(reporter+"-"+host, 128), queue: make(chan *eventsv1.Event, 2048)}
	e.done.Go(e.write)
	return e
}

// Record queues an Event. When the queue is full the Event is dropped.
func (e *Events) Record(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	select {
	case e.queue <- e.object(ev, time.Now()):
	default:
		e.lost++
	}
}

// Close waits until what is queued is written, for at most that long.
func (e *Events) Close(wait time.Duration) {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.queue)
	}
	lost := e.lost
	e.mu.Unlock()
	if lost > 0 {
		e.log.Warn("Events were dropped: the API server takes them too slowly", "count", lost)
	}
	written := make(chan struct{})
	go func() {
		e.done.Wait()
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(wait):
		e.log.Warn("gave up writing Events", "left", len(e.queue))
	}
}

func (e *Events) write() {
	failed := 0
	for ev := range e.queue {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		_, err := e.client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
		cancel()
		if err == nil {
			continue
		}
		if failed++; failed == 1 {
			e.log.Warn("Events can't be written", "err", err, "hint", `a ClusterRole must grant create on "events" of API group "events.k8s.io"`)
		}
	}
}

func (e *Events) object(ev Event, now time.Time) *eventsv1.Event {
	kind := corev1.EventTypeNormal
	if ev.Warning {
		kind = corev1.EventTypeWarning
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: ev.Pod.Namespace, Name: fmt.Sprintf("%s.%x", trim(ev.Pod.Name, 230), now.UnixNano())},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: reporter,
		ReportingInstance:   e.instance,
		Action:              eventAction,
		Reason:              trim(ev.Reason, 128),
		Regarding: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: ev.Pod.Namespace, Name: ev.Pod.Name, UID: types.UID(ev.Pod.UID),
		},
		Note: trim(ev.Note, maxNote),
		Type: kind,
	}
}

// trim cuts s to at most n bytes, between characters, and not at a dot or dash, which a name must not end with.
func trim(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], ".-")
}
