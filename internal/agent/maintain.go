package agent

import "time"

// maintenance is the time in which the plugin's file must be replaceable: from
// the moment a pod that replaces it is seen initialising until it has done so
// and the stand-in is back in place.
type maintenance struct {
	watched      bool // whether there are such pods at all
	initialising bool // one of them is
	foreign      bool // the file in place is not our stand-in
}

func (m maintenance) on() bool { return m.watched && (m.initialising || m.foreign) }

// maintain changes what is known and tells the queue if that makes a difference.
func (l *loop) maintain(now time.Time, change func(*maintenance)) {
	before := l.maintenance.on()
	change(&l.maintenance)
	if after := l.maintenance.on(); after != before {
		l.log.Info("maintenance: the plugin's file must be replaceable", "on", after)
		l.apply(now, l.queue.Maintenance(now, after))
	}
}
