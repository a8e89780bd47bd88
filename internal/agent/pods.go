package agent

import (
	"time"

	"evenkeel.dev/evenkeel/internal/agent/source"
	"evenkeel.dev/evenkeel/internal/agentconfig"
	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/paceapi"
)

type podBook struct {
	synced bool
	pods   map[string]int
}

func newPodBook(c agentconfig.Config, boot time.Time) *podBook      { return &podBook{} }
func (b *podBook) info(paceapi.Request) pace.Info                   { return pace.Info{} }
func (b *podBook) resumed(time.Time, paceapi.Request)               {}
func (b *podBook) granted(time.Time, pace.Grant)                    {}
func (b *podBook) released(string)                                  {}
func (b *podBook) trouble(time.Time, error)                         {}
func (b *podBook) problems(time.Time) []string                      { return nil }
func (l *loop) judgePods(now time.Time) time.Time                   { return time.Time{} }
func (l *loop) podChange(now time.Time, c source.Change)            {}
func (l *loop) reconfigurePods(now time.Time, c agentconfig.Config) {}
