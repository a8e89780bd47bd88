package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLeaseLost says that another process may be the leader now. The process should end.
var ErrLeaseLost = errors.New("lost the leader lease")

// Election says how a leader is chosen among several processes. Defaults are in package cli.
type Election struct {
	Namespace, Name string // of the Lease
	LeaseDuration   time.Duration
	RenewDeadline   time.Duration
	RetryPeriod     time.Duration
}

// Lead waits until this process is the leader, then calls run, and returns what it returns. The context of run is done when ctx is,
// and when the lease is lost, which makes the error ErrLeaseLost. The lease is given up after run has returned, so
// that two processes never act at once and the next leader need not wait.
func (e Election) Lead(ctx context.Context, client kubernetes.Interface, log *slog.Logger, run func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	// The lease outlives ctx until run has returned.
	held, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	var started, finished atomic.Bool
	result := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: e.LeaseDuration, RenewDeadline: e.RenewDeadline, RetryPeriod: e.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				started.Store(true)
				log.Info("leading", "lease", e.Namespace+"/"+e.Name)
				acting, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(leading, cancel)()
				err := run(acting)
				finished.Store(leading.Err() == nil)
				result <- err
				release()
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      func(identity string) { log.Info("the leader is", "identity", identity) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election (--leader-elect-…): %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		if !started.Load() {
			release()
		}
	})()
	log.Info("waiting to lead", "lease", e.Namespace+"/"+e.Name)
	elector.Run(held)
	if !started.Load() {
		return nil // told to stop while waiting
	}
	if err := <-result; finished.Load() {
		return err
	}
	return fmt.Errorf("%w %s/%s: it could not be renewed for %s", ErrLeaseLost, e.Namespace, e.Name, e.RenewDeadline)
}
