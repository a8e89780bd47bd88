package pace_test

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
)

// Two pods want to start on a node that takes one at a time.
func ExampleQueue() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	queue, err := pace.New(now, pace.Config{Limits: pace.Limits{MaxConcurrent: 1}}, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	obey := func(out pace.Output) {
		for _, g := range out.Grants {
			fmt.Println("go", g.UID)
		}
		for _, r := range out.Refusals {
			fmt.Println("later", r.UID, r.Message())
		}
	}
	ordinary := pace.Info{Class: pace.ClassOrdinary}
	obey(queue.Request(now, pace.Attempt{ID: 1, UID: "a", Info: ordinary}))
	obey(queue.Request(now, pace.Attempt{ID: 2, UID: "b", Info: ordinary}))

	obey(queue.Seed(now, nil)) // the API knows of no pod that is starting
	now = queue.Next(now)      // the end of the restart grace
	obey(queue.Tick(now))
	obey(queue.Ack(now, 1))

	now = now.Add(4 * time.Second)
	obey(queue.Done(now, 1, 4*time.Second, true))
	for queue.Counts().Present > 0 { // a takes too long to start for b's first attempt
		now = queue.Next(now)
		obey(queue.Tick(now))
	}
	out, _ := queue.Release(now, "a", "Started")
	obey(out)
	obey(queue.Request(now, pace.Attempt{ID: 3, UID: "b", Info: ordinary}))
	// Output:
	// go a
	// later b paced: 1st of 1 waiting to start on this node (1 starting, limit 1), waited 59s; its place is kept
	// go b
}
