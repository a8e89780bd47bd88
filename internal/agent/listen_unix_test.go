//go:build unix

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Somebody tidies up in /run. Who waits goes on waiting, and who comes is served.
func TestAnAgentWhoseSocketIsRemovedListensAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limit(1)).settled()
	a := w.add("a").granted()
	b := w.add("b").waits()
	w.must(os.RemoveAll(filepath.Dir(w.socket)))
	w.eventually("it answers again", func() bool {
		_, err := askAgent(t.Context(), w.socket)
		return err == nil
	})
	s := w.status()
	if len(s.Problems) > 0 || !s.Conditions.Listening || len(s.Recent) != 1 || !strings.Contains(s.Recent[0].Text, "listening again on "+w.socket) {
		t.Errorf("status: %+v", s)
	}
	if metrics := w.get("/metrics"); !strings.Contains(metrics, `evenkeel_pace_repairs_total{what="socket"} 1`) {
		t.Error("it is not counted")
	}
	c := w.add("c").waits()
	a.done(1)
	b.granted().done(1)
	c.granted().done(0)
}
