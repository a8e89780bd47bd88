package evict

import (
	"sync"
	"time"
)

// rememberFor is how long an eviction is remembered. The watch tells of the deletion within seconds; this is for when
// it lags behind.
const rememberFor = 10 * time.Minute

// Recent remembers which pods were evicted a short time ago, so that none is evicted twice
// while the picture of the cluster does not show yet that it is leaving. It is safe for concurrent use.
type Recent struct {
	mu   sync.Mutex
	when map[string]time.Time
}

// NewRecent returns an empty memory.
func NewRecent() *Recent { return &Recent{when: map[string]time.Time{}} }

// Add remembers that the pod of that UID was evicted, and forgets those of long ago.
func (r *Recent) Add(uid string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for old, at := range r.when {
		if now.Sub(at) > rememberFor {
			delete(r.when, old)
		}
	}
	r.when[uid] = now
}

// Has reports whether the pod of that UID was evicted within the last ten minutes.
func (r *Recent) Has(uid string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.when[uid]
	return ok && now.Sub(at) <= rememberFor
}
