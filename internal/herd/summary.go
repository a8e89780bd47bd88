package herd

import (
	"cmp"
	"math"
	"slices"
)

// summarize computes a run's figures from the stories of its pods and its beats.
func summarize(name string, limit int, pods []Pod, beats []Beat) Run {
	r := Run{Name: name, Limit: limit, Pods: pods, MostStarting: mostStarting(pods), Heartbeat: summarizeBeats(beats)}
	var ready []Seconds
	for _, p := range pods {
		r.Adds += p.Adds
		r.Refused += p.Refused
		r.Restarts += p.Restart
		if p.Ready != nil {
			ready = append(ready, *p.Ready)
		}
	}
	slices.Sort(ready)
	r.Ready = len(ready)
	at := func(n int) *Seconds {
		if n < 1 || n > len(ready) {
			return nil
		}
		return &ready[n-1]
	}
	r.First, r.Median, r.All = at(1), at((len(pods)+1)/2), at(len(pods))
	return r
}

// mostStarting is the largest number of pods that were between their plugin's start and ready at one moment. A phase
// that ends at the very moment at which another begins does not overlap it.
func mostStarting(pods []Pod) int {
	type change struct {
		at Seconds
		by int
	}
	var changes []change
	for _, p := range pods {
		for _, s := range p.Spans {
			if s.Phase == Plugin || s.Phase == Starting {
				changes = append(changes, change{s.From, 1}, change{s.To, -1})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

func summarizeBeats(beats []Beat) Heartbeat {
	delays := make([]Seconds, 0, len(beats))
	for _, b := range beats {
		delays = append(delays, b.Delay)
	}
	slices.Sort(delays)
	return Heartbeat{
		Count: len(beats), P50: percentile(delays, 50), P99: percentile(delays, 99), Max: percentile(delays, 100),
		Beats: append([]Beat{}, beats...),
	}
}

// percentile by nearest rank: the smallest value that at least p of 100 values do not exceed; 0 of none.
func percentile(sorted []Seconds, p float64) Seconds {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// compare says how many times better the paced run was.
func compare(unpaced, paced Run) Ratios {
	return Ratios{
		First:        ratio(unpaced.First, paced.First),
		Median:       ratio(unpaced.Median, paced.Median),
		All:          ratio(unpaced.All, paced.All),
		HeartbeatP50: ratio(&unpaced.Heartbeat.P50, &paced.Heartbeat.P50),
		HeartbeatP99: ratio(&unpaced.Heartbeat.P99, &paced.Heartbeat.P99),
		HeartbeatMax: ratio(&unpaced.Heartbeat.Max, &paced.Heartbeat.Max),
	}
}

func ratio(unpaced, paced *Seconds) *float64 {
	if unpaced == nil || paced == nil || *unpaced <= 0 || *paced <= 0 {
		return nil
	}
	r := math.Round(float64(*unpaced / *paced)*100) / 100
	return &r
}
