package agent

import (
	"fmt"
	"sync"
	"time"
)

// Note is something that happened to the agent, or that it did to the node,
// which may explain what is seen now.
type Note struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// recentNotes is how many notes the status shows; the log has them all.
const recentNotes = 20

// recent is the last notes, oldest first.
type recent struct {
	mu   sync.Mutex
	list []Note
}

func (r *recent) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, Note{At: time.Now().Round(0), Text: fmt.Sprintf(format, args...)})
	if n := len(r.list); n > recentNotes {
		r.list = append([]Note(nil), r.list[n-recentNotes:]...)
	}
}

func (r *recent) notes() []Note {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Note{}, r.list...)
}
