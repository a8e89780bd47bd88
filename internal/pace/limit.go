package pace

import (
	"time"

	"golang.org/x/time/rate"
)

// limit is how many pods may be starting at once now; never below one.
func (q *Queue) limit(t instant) int {
	n := q.aimd.limit()
	if q.pressure.lid > 0 && t < q.pressure.stale() {
		n = min(n, q.pressure.lid)
	}
	return max(1, n)
}

// token is whether a slot took one from the limiter: without a rate limit none does, nor does an urgent pod when there is
// none left, or what ran before a restart.
type token bool

// limiter is the rate limit; without one it never holds anything up.
type limiter struct {
	bucket *rate.Limiter
	every  time.Duration
	unused int // tokens of grants that never took effect
}

func (l *limiter) configure(t instant, r *Rate) {
	if r == nil {
		*l = limiter{}
		return
	}
	l.every = r.Every.Std()
	l.unused = min(l.unused, r.Burst)
	if l.bucket == nil {
		l.bucket = rate.NewLimiter(rate.Every(l.every), r.Burst)
		return
	}
	l.bucket.SetLimitAt(wall(t), rate.Every(l.every))
	l.bucket.SetBurstAt(wall(t), r.Burst)
}

// take reports whether the rate allows a start, and takes the token for it if it needs one.
func (l *limiter) take(t instant) (taken token, ok bool) {
	switch {
	case l.bucket == nil:
		return false, true
	case l.unused > 0:
		l.unused--
		return true, true
	}
	ok = l.bucket.AllowN(wall(t), 1)
	return token(ok), ok
}

// giveBack takes back what a grant had taken that never took effect.
func (l *limiter) giveBack(taken token) {
	if taken && l.bucket != nil && l.unused < l.bucket.Burst() {
		l.unused++
	}
}

// next is when the next token comes, or never if one is there.
func (l *limiter) next(t instant) instant {
	if l.bucket == nil || l.unused > 0 {
		return never
	}
	missing := 1 - l.bucket.TokensAt(wall(t))
	if missing <= 0 {
		return never
	}
	return t + max(time.Millisecond, time.Duration(missing*float64(l.every))+time.Microsecond)
}

// wall gives the token bucket, which wants a time of day, one that moves with the queue's clock.
func wall(t instant) time.Time { return time.Unix(0, 0).Add(t) }
