package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maintenance is the time in which the plugin's file must be replaceable: from
// the moment a pod that replaces it is seen initialising until it has done so
// and the stand-in is back in place.
type maintenance struct {
	watched      bool // whether there are such pods at all
	initialising bool // one of them is
	foreign      bool // the file in place is not our stand-in, or may not be
}

func (m maintenance) on() bool { return m.watched && (m.initialising || m.foreign) }

// maintain changes what is known and tells the queue if that makes a difference.
func (l *loop) maintain(now time.Time, change func(*maintenance)) {
	before := l.maintenance
	change(&l.maintenance)
	if before.on() && before.initialising && !l.maintenance.initialising && l.lookAgain != nil {
		l.maintenance.foreign = true // until the file was looked at
		l.lookAgain()
	}
	if on := l.maintenance.on(); on != before.on() {
		l.log.Info("maintenance: the plugin's file must be replaceable", "on", on)
		if on {
			l.note("nobody is let through: the plugin's file must be replaceable")
		} else {
			l.note("pods are let through again: the plugin's file need not be replaceable any more")
		}
		l.apply(now, l.queue.Maintenance(now, on))
	}
}

// initialising reports whether a pod that replaces the plugin's file is about to,
// or at it.
func (b *podBook) initialising() bool {
	if len(b.maintenance.Labels) == 0 {
		return false
	}
	for _, p := range b.pods {
		if p.Namespace == b.maintenance.Namespace && hasLabels(p, b.maintenance.Labels) && !ended(p) && !b.initialised(p) {
			return true
		}
	}
	return false
}

// initialised reports whether every init container has succeeded since the boot:
// before that the API may show an earlier life of the pod.
func (b *podBook) initialised(p *corev1.Pod) bool {
	done := map[string]bool{}
	for _, s := range p.Status.InitContainerStatuses {
		end := s.State.Terminated
		done[s.Name] = end != nil && end.ExitCode == 0 && !end.FinishedAt.Time.Before(b.boot.Truncate(time.Second))
	}
	for _, c := range p.Spec.InitContainers {
		if !done[c.Name] {
			return false
		}
	}
	return true
}

func hasLabels(p *corev1.Pod, labels map[string]string) bool {
	for k, v := range labels {
		if p.Labels[k] != v {
			return false
		}
	}
	return true
}
