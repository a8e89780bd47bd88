package nodepace_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/nodepace"
	"evenkeel.dev/evenkeel/internal/pace"
)

// store is an API server's share in one NodePace. Whoever touches it, or what is observed, holds its lock; the test does
// but for the time of later.
type store struct {
	mu     sync.Mutex
	absent bool // the CRD is not installed
	down   error
	object *v1alpha1.NodePace
	writes []time.Time
}

func (s *store) missing() error {
	return apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.Group, Resource: v1alpha1.NodePaces}, "node")
}

func (s *store) Get(context.Context, string, metav1.GetOptions) (*v1alpha1.NodePace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return nil, s.down
	case s.absent || s.object == nil:
		return nil, s.missing()
	}
	return s.object.DeepCopy(), nil
}

func (s *store) Create(_ context.Context, n *v1alpha1.NodePace, _ metav1.CreateOptions) (*v1alpha1.NodePace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.absent {
		return nil, s.missing()
	}
	s.object = n.DeepCopy()
	s.object.Status = v1alpha1.NodePaceStatus{} // as an API server does where there is a status sub-resource
	return s.object, s.down
}

func (s *store) Patch(_ context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions, sub ...string) (*v1alpha1.NodePace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return nil, s.down
	case s.absent || s.object == nil:
		return nil, s.missing()
	case len(sub) != 1 || sub[0] != "status" || name != "node":
		return nil, errors.New("not the status of node")
	}
	var operations []struct{ Value v1alpha1.NodePaceStatus }
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, err
	}
	s.object.Status = operations[0].Value
	s.writes = append(s.writes, time.Now())
	return s.object, nil
}

// published runs a Publisher in a bubble of fake time while during goes on.
func published(t *testing.T, s *store, observe func() nodepace.Observation, during func(troubles *[]string)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var troubles []string
		p := &nodepace.Publisher{
			Store: s, Node: "node",
			NodeUID: func(context.Context) (types.UID, error) { return "uid", nil },
			Observe: func() (nodepace.Observation, bool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				return observe(), true
			},
			Trouble: func(err error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				if err != nil {
					troubles = append(troubles, err.Error())
				}
			},
		}
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		s.mu.Lock()
		during(&troubles)
		s.mu.Unlock()
		cancel()
		<-done
	})
}

// later lets the bubble's time pass.
func (s *store) later(d time.Duration) {
	s.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	s.mu.Lock()
}

func TestWritesAtMostOncePerFewSecondsAndOnlyOnChange(t *testing.T) {
	s := &store{}
	o := well()
	busy := false
	observe := func() nodepace.Observation {
		if busy { // another figure at every look
			o.Queue.Holding = append(o.Queue.Holding, pace.Holder{})
		}
		return o
	}
	published(t, s, observe, func(*[]string) {
		s.later(time.Hour)
		if len(s.writes) != 1 {
			t.Errorf("%d writes in an idle hour, want the first alone", len(s.writes))
		}
		if owner := s.object.OwnerReferences; len(owner) != 1 || owner[0].Kind != "Node" || owner[0].UID != "uid" {
			t.Errorf("owner: %v", owner)
		}
		busy = true
		s.later(time.Minute)
		busy = false
		if n := len(s.writes); n < 10 || n > 14 {
			t.Errorf("%d writes in a busy minute after an idle hour, want one in %s", n-1, nodepace.WriteEvery)
		}
		s.later(time.Minute)
		if got, want := s.object.Status.Starting, int32(len(o.Queue.Holding)); got != want {
			t.Errorf("the last figure is not written: %d, want %d", got, want)
		}
	})
}

func TestAnAPIWithoutTheCRDIsAskedSeldomAndAnsweredOnceItIsInstalled(t *testing.T) {
	s := &store{absent: true}
	published(t, s, well, func(troubles *[]string) {
		s.later(10 * time.Minute)
		if n := len(*troubles); n < 8 || n > 11 {
			t.Errorf("asked %d times in ten minutes, want about once a minute", n)
		}
		if diff := cmp.Diff(nodepace.ErrAbsent.Error(), (*troubles)[0]); diff != "" {
			t.Error(diff)
		}
		s.absent = false
		s.later(2 * time.Minute)
		if s.object == nil || s.object.Status.Limit != 4 {
			t.Errorf("not written after the CRD was installed: %+v", s.object)
		}
	})
}

func TestADeletedNodePaceComesBackAndAnOutageIsWaitedFor(t *testing.T) {
	s := &store{}
	o := well()
	published(t, s, func() nodepace.Observation { return o }, func(troubles *[]string) {
		s.later(10 * time.Second)
		s.object = nil // with its Node, which registers again
		o.Queue.Limit = 3
		s.later(10 * time.Second)
		if s.object == nil || s.object.Status.Limit != 3 {
			t.Errorf("did not come back: %+v", s.object)
		}
		s.down = errors.New("no route to host")
		o.Queue.Limit = 2
		s.later(time.Minute)
		if len(*troubles) == 0 {
			t.Error("the outage is not told")
		}
		s.down = nil
		s.later(time.Minute)
		if s.object.Status.Limit != 2 || s.object.Status.LimitChange.From != 3 {
			t.Errorf("after the outage: %+v", s.object.Status)
		}
	})
}

func TestARestartedAgentGoesOnFromWhatWasWritten(t *testing.T) {
	s := &store{}
	began := nodepace.Next(v1alpha1.NodePaceStatus{}, well(), time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))
	s.object = &v1alpha1.NodePace{Status: began}
	published(t, s, well, func(*[]string) {
		s.later(10 * time.Second)
		if diff := cmp.Diff(began.Conditions, s.object.Status.Conditions); diff != "" {
			t.Errorf("conditions that did not change have new times: %s", diff)
		}
	})
}
