package snapfile

import (
	"fmt"
	"time"
)

// newest is the newest time that was found in the objects. A running cluster writes one every few seconds (a node reports at
// least every five minutes), so it is close before the time when the objects were read; times that lie ahead by design, such as deadlines of
// deletions, are not looked at.
type newest struct {
	at   time.Time
	kind string
	name string
	what string
}

func (n *newest) see(t time.Time, kind string, m *meta, what string) {
	if t.After(n.at) {
		*n = newest{at: t, kind: kind, name: qualified(m.Namespace, m.Name), what: what}
	}
}

func (n *newest) note() string {
	if n.at.IsZero() {
		return "the files do not say when they were taken and no object has a time; ages are not known (--now sets the time)"
	}
	return fmt.Sprintf("the files do not say when they were taken: the newest time in them is used, %s, %s of %s %s (--now sets another)",
		n.at.UTC().Format(time.RFC3339), n.what, n.kind, n.name)
}
