package pace_test

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// crowded is a queue past its grace with one holder and this many waiting pods, of which every second is away.
func crowded(b *testing.B, waiting int, away bool) (*pace.Queue, time.Time, pace.AttemptID) {
	b.Helper()
	now := time.Unix(0, 0)
	q, err := pace.New(now, pace.Config{
		Limits: pace.Limits{MaxConcurrent: 1}, SlotTimeout: pace.Duration(time.Hour),
		MaxWait: pace.Duration(24 * time.Hour),
	}, 4)
	if err != nil {
		b.Fatal(err)
	}
	q.Seed(now, nil)
	now = now.Add(5 * time.Second)
	q.Tick(now)
	id := pace.AttemptID(0)
	for i := range waiting + 1 {
		id++
		q.Request(now, ordinary(id, i))
		if away && i > 0 && i%2 == 0 {
			q.Cancel(now, id)
		}
	}
	return q, now, id
}

func ordinary(id pace.AttemptID, pod int) pace.Attempt {
	return pace.Attempt{ID: id, UID: fmt.Sprintf("pod-%06d", pod), Info: pace.Info{Class: pace.ClassOrdinary}}
}

// BenchmarkReleaseAndRequest is a release that grants the next of 1,000 waiting pods, and a new pod that comes.
func BenchmarkReleaseAndRequest(b *testing.B) {
	for _, waiting := range []int{10, 1000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			q, now, id := crowded(b, waiting-1, false)
			attempts := make([]pace.Attempt, b.N)
			for i := range attempts {
				attempts[i] = ordinary(id+pace.AttemptID(i)+1, waiting+i)
			}
			holder := ordinary(0, 0).UID
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				now = now.Add(time.Microsecond)
				q.Request(now, attempts[i])
				out, held := q.Release(now, holder, "Started")
				if !held || len(out.Grants) != 1 {
					b.Fatalf("released %s: %t %+v", holder, held, out)
				}
				holder = out.Grants[0].UID
				q.Ack(now, out.Grants[0].ID)
				q.Done(now, out.Grants[0].ID, time.Second, true)
				_ = q.Next(now)
			}
		})
	}
}

// BenchmarkHerdArrives is 1,000 pods that come one after the other, with the tick asked for after each.
func BenchmarkHerdArrives(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		crowded(b, 999, true)
	}
}

// BenchmarkRefusal is one refusal among 1,000 waiting pods.
func BenchmarkRefusal(b *testing.B) {
	q, now, id := crowded(b, 999, false)
	b.ReportAllocs()
	b.ResetTimer()
	refused := 0
	for refused < b.N {
		now = q.Next(now)
		for _, r := range q.Tick(now).Refusals {
			refused++
			id++
			q.Request(now, pace.Attempt{ID: id, UID: r.UID, Info: pace.Info{Class: pace.ClassOrdinary}})
		}
	}
}

// BenchmarkSnapshot is what a status request costs with 1,000 waiting pods.
func BenchmarkSnapshot(b *testing.B) {
	q, _, _ := crowded(b, 999, true)
	b.ReportAllocs()
	for b.Loop() {
		q.Snapshot()
	}
}
