package cni

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/paceserver"
)

func TestHerdWithoutAnAgentIsRefusedFarthestFirstAndSpread(t *testing.T) {
	onStage(t, Settings{Limit: 2}, func(s *stage) {
		s.hold = 5 * time.Second
		s.herd(60)
		if s.most != 2 {
			t.Errorf("%d originals at once, want 2", s.most)
		}
		refused := s.refused()
		// From 10 s on two start every 5 s: there is room for about 20.
		if n := len(refused); n < 35 || n > 45 {
			t.Errorf("%d of 60 were refused", n)
		}
		within(t, "first refusal", refused[0].at, 18*time.Second, 30*time.Second)
		for i := range refused[5:] {
			if d := refused[i+5].at - refused[i].at; d < 700*time.Millisecond {
				t.Errorf("6 refusals within %v at %v", d, refused[i].at)
			}
		}
		for i, e := range refused[:10] {
			if e.pod < "pod-35" {
				t.Errorf("refusal number %d went to %s, which stood in front", i+1, e.pod)
			}
		}
	})
}

func TestAbsentAgentIsWaitedForLongerAfterBoot(t *testing.T) {
	for uptime, want := range map[time.Duration]time.Duration{time.Hour: 10 * time.Second, time.Minute: 30 * time.Second} {
		onStage(t, Settings{}, func(s *stage) {
			s.uptime = uptime
			within(t, fmt.Sprintf("up for %v: the original ran", uptime), s.add("cart-0").ran, want, want+time.Second)
		})
	}
}

func TestAgentThatFallsSilentCountsAsAbsent(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		s.agent = func(p *paceserver.Peer) { p.Waiting(paceapi.Place{Rank: 1, Length: 1}) }
		within(t, "the original ran", s.add("cart-0").ran, paceapi.Silence, paceapi.Silence+time.Second)
	})
}

func TestAgentThatNeverSpeaksCountsAsAbsent(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		s.serve = func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
		within(t, "the original ran", s.add("cart-0").ran, 10*time.Second, 14*time.Second)
	})
}

// An attempt may be shorter than the time that an agent has for its first word.
func TestAgentThatNeverSpeaksDoesNotUseUpAShortAttempt(t *testing.T) {
	onStage(t, Settings{Attempt: seconds(1)}, func(s *stage) {
		s.serve = func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
		within(t, "the original ran", s.add("cart-0").ran, 0, time.Second)
	})
}

func TestExcludedNamespaceIsNotHeldByAnAgentThatNeverSpeaks(t *testing.T) {
	onStage(t, Settings{Attempt: seconds(1), Absent: seconds(1), ExcludeNamespaces: []string{"shop"}}, func(s *stage) {
		s.serve = func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
		within(t, "the original ran", s.add("cart-0").ran, 0, time.Second)
	})
}

func TestAgentThatHangsUpAtOnceCountsAsAbsent(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		dials := 0
		s.serve = func(c net.Conn) { dials++; _ = c.Close() }
		within(t, "the original ran", s.add("cart-0").ran, 10*time.Second, 11*time.Second)
		if dials < 20 || dials > 110 {
			t.Errorf("dialled %d times in 10 s", dials)
		}
	})
}

func TestLongestWaiterGoesFirstWithoutAnAgent(t *testing.T) {
	onStage(t, Settings{Limit: 1, Attempt: seconds(30)}, func(s *stage) {
		s.hold = 35 * time.Second
		var wg sync.WaitGroup
		start := func(pod string) { wg.Go(func() { s.add(pod) }) }
		start("holder")
		time.Sleep(time.Second)
		s.add("early") // refused, and remembered since second 1
		s.mu.Lock()
		s.hold = time.Second
		s.mu.Unlock()
		start("late")
		time.Sleep(100 * time.Millisecond)
		start("early")
		wg.Wait()
		at := map[string]time.Duration{}
		for _, e := range s.ends {
			at[e.pod] = e.ran
		}
		if at["early"] < 0 || at["late"] < 0 || at["early"] > at["late"] {
			t.Errorf("early ran at %v, late at %v", at["early"], at["late"])
		}
	})
}

// speaks is an agent that tells everybody, as often as it should, to wait.
func speaks(place paceapi.Place) func(*paceserver.Peer) {
	return func(p *paceserver.Peer) {
		go func() {
			for range 40 {
				p.Waiting(place)
				time.Sleep(paceapi.KeepAlive - time.Second)
			}
		}()
	}
}

// inOneSecond is how many of those were refused within one second at most.
func inOneSecond(refused []ending) int {
	most := 0
	for i := range refused {
		n := 0
		for _, e := range refused[i:] {
			if e.at < refused[i].at+time.Second {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestAgentThatDiesLateLeavesNoBatchOfRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		settings    Settings
		uptime      time.Duration
		pods        int
		leaves      time.Duration
		from        time.Duration // no refusal before it
		inOneSecond int
	}{
		"short attempt":           {Settings{Limit: 2, Attempt: seconds(10), Absent: seconds(5)}, time.Hour, 20, 5500 * time.Millisecond, 5500 * time.Millisecond, 8},
		"after boot":              {Settings{Limit: 2}, time.Minute, 40, 35 * time.Second, 35 * time.Second, 6},
		"patience ends too late":  {Settings{Limit: 2}, time.Hour, 40, 45 * time.Second, 45 * time.Second, 7},
		"early, and not replaced": {Settings{Limit: 2}, time.Minute, 30, 3 * time.Second, 18 * time.Second, 5},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, c.settings, func(s *stage) {
				s.uptime, s.leaves, s.hold = c.uptime, c.leaves, 5*time.Second
				s.agent = speaks(paceapi.Place{Rank: 7, Length: 20, Reason: "3 starting, limit 3"})
				s.herd(c.pods)
				refused := s.refused()
				if len(refused) < c.pods/3 {
					t.Fatalf("%d of %d were refused: the test proves nothing", len(refused), c.pods)
				}
				if n := inOneSecond(refused); n > c.inOneSecond {
					t.Errorf("%d refusals in one second, want %d at most", n, c.inOneSecond)
				}
				within(t, "first refusal", refused[0].at, c.from, c.from+4*time.Second)
				if first, last := refused[0].pod, refused[len(refused)-1].pod; first < last {
					t.Errorf("%s was refused first, %s last", first, last)
				}
			})
		})
	}
}

// Where pods keep coming, their attempts end one after the other, and a spread
// over the attempt alone would bring all refusals together.
func TestRefusalsWithoutAnAgentKeepToTheCap(t *testing.T) {
	for name, c := range map[string]struct {
		pods        int
		over        time.Duration // they come evenly
		inOneSecond int
	}{
		"all at once":                    {60, 0, 7},
		"more than the attempt can hold": {120, 0, 16}, // 9 a second is what it takes
		"over half of it":                {60, 7 * time.Second, 8},
		"as fast as they are refused":    {60, 14 * time.Second, 8},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, Settings{Limit: 2, Attempt: seconds(20)}, func(s *stage) {
				s.hold = 10 * time.Minute // those who run stay
				var wg sync.WaitGroup
				for i := range c.pods {
					time.Sleep(c.over / time.Duration(c.pods))
					wg.Go(func() { s.add(fmt.Sprintf("pod-%03d", i)) })
				}
				wg.Wait()
				refused := s.refused()
				if len(refused) != c.pods-2 {
					t.Errorf("%d of %d were refused", len(refused), c.pods)
				}
				if n := inOneSecond(refused); n > c.inOneSecond {
					t.Errorf("%d refusals in one second, want %d at most", n, c.inOneSecond)
				}
				if refused[0].at < 6*time.Second {
					t.Errorf("first refusal after %v, in the first 30 %% of an attempt", refused[0].at)
				}
			})
		})
	}
}

func TestFolderThatCannotBeUsedStillSpreadsRefusals(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		gate := stateDir(filepath.Join(s.bin, OriginalDir))
		if err := errors.Join(os.RemoveAll(gate), os.WriteFile(gate, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		s.uptime, s.hold = time.Minute, 10*time.Minute
		s.herd(15)
		refused := s.refused()
		if len(refused) != 14 {
			t.Errorf("%d of 15 were refused, one at a time", len(refused))
		}
		if n := inOneSecond(refused); n > 6 {
			t.Errorf("%d refusals in one second", n)
		}
	})
}

func TestAgentThatHangsBeforeTheDeadlineLeavesNoBatchOfRefusals(t *testing.T) {
	onStage(t, Settings{Limit: 2}, func(s *stage) {
		s.hold = 10 * time.Minute
		var asked atomic.Int64
		s.agent = func(p *paceserver.Peer) {
			place := paceapi.Place{Rank: int(asked.Add(1)), Length: 60, Reason: "limit 2"}
			go func() {
				for time.Since(s.began) < 46*time.Second {
					p.Waiting(place)
					time.Sleep(paceapi.KeepAlive - time.Second)
				}
			}()
		}
		var wg sync.WaitGroup
		for i := range 20 { // the others have been refused by then
			time.Sleep(time.Millisecond)
			wg.Go(func() { s.add(fmt.Sprintf("pod-%02d", i)) })
		}
		wg.Wait()
		if n := inOneSecond(s.refused()); n > 8 {
			t.Errorf("%d of %d refusals in one second", n, len(s.refused()))
		}
	})
}

func TestPatienceBeginsWhenTheAgentIsLost(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		// Its last line is from second 4.
		s.agent, s.leaves = speaks(paceapi.Place{Rank: 1, Length: 1}), 7900*time.Millisecond
		within(t, "the original ran", s.add("cart-0").ran, 17900*time.Millisecond, 19*time.Second)
	})
}

func TestAgentThatHangsUpAfterAPauseIsDialledAgainAtOnce(t *testing.T) {
	onStage(t, Settings{}, func(s *stage) {
		var dials []time.Duration
		s.serve = func(c net.Conn) {
			dials = append(dials, time.Since(s.began))
			go func() { _, _ = io.Copy(io.Discard, c) }()
			_, _ = io.WriteString(c, `{"v":1,"type":"waiting"}`+"\n")
			time.Sleep(paceapi.KeepAlive - time.Second)
			_ = c.Close()
		}
		s.add("cart-0")
		if len(dials) < 2 || dials[1]-dials[0] > paceapi.KeepAlive {
			t.Errorf("dialled at %v", dials)
		}
	})
}

func TestExcludedNamespacesWaitForNoAgent(t *testing.T) {
	shop := Settings{ExcludeNamespaces: []string{"kube-system", "shop"}}
	for name, c := range map[string]struct {
		settings Settings
		serve    func(net.Conn)
		ran      time.Duration
	}{
		"no agent":                 {shop, nil, 0},
		"agent that hangs":         {shop, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, paceapi.FirstAnswer},
		"agent that hangs up":      {shop, func(c net.Conn) { _ = c.Close() }, 0},
		"another namespace's pods": {Settings{ExcludeNamespaces: []string{"kube-system", "sho", "shops"}}, nil, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, c.settings, func(s *stage) {
				s.uptime, s.serve = time.Hour, c.serve
				e := s.add("cart-0")
				within(t, "the original ran", e.ran, c.ran, c.ran+time.Second/4)
				if straight := c.ran < 10*time.Second; e.straight != straight {
					t.Errorf("passed straight through: %v, want %v", e.straight, straight)
				}
			})
		})
	}
}

// While the plugin is to be replaced, nothing of it may run.
func TestAgentMayRefuseExcludedNamespacesToo(t *testing.T) {
	onStage(t, Settings{ExcludeNamespaces: []string{"shop"}}, func(s *stage) {
		s.agent = func(p *paceserver.Peer) { p.Refuse(paceapi.Place{Reason: "the plugin is being replaced"}) }
		if e := s.add("cart-0"); e.ran >= 0 || e.exit != 1 {
			t.Errorf("got %+v, want a refusal", e)
		}
	})
}
