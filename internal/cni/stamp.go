package cni

import (
	"encoding/hex"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// present is how recently a stamp must have been touched for its pod to
	// count as waiting now. A waiting stand-in touches its own once per turn: with
	// an agent that hangs that is dialPatience, paceapi.FirstAnswer and a pause.
	present = 8 * time.Second
	// forgotten is how long a pod may stay away before it loses its place.
	forgotten = 2 * time.Minute
	// bootSlack is how far the start of the machine, computed from two clocks,
	// may be off.
	bootSlack = 5 * time.Second
)

// stamp remembers over attempts since when a pod has been trying to start. It
// is a file in dir named after the time of the first attempt and the pod, so
// that names in order are pods in order; it holds the number of attempts and its
// own time is when the pod was last seen. There is a file only once the pod has
// had to wait without an agent or was refused.
//
// Every failure of the file system is survived: the pod is then as new at each
// attempt and stands in no queue.
type stamp struct {
	dir     string
	key     string
	name    string // of the file, or "" if there is none
	first   time.Time
	attempt int
}

// findStamp looks for the stamp of the pod called key. A stamp of before
// booted, when known, is from an earlier life of the node and does not count.
// Stamps of other pods that stayed away for too long are removed on the way.
func findStamp(dir, key string, now, booted time.Time) *stamp {
	s := &stamp{dir: dir, key: fileKey(key), first: now, attempt: 1}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s
	}
	for _, e := range entries {
		first, key, ok := parseStamp(e.Name())
		if !ok {
			continue
		}
		if key != s.key {
			// A stamp younger than that, by its name, is not worth asking for its time.
			if now.Sub(first).Abs() > forgotten {
				_, _ = s.seen(e, now)
			}
			continue
		}
		if _, ok := s.seen(e, now); !ok || first.Before(booted.Add(-bootSlack)) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
			continue
		}
		// A clock that was set back must not make a pod wait for the future.
		if first.Before(now) {
			s.first = first
		}
		s.name = e.Name()
		s.attempt = readAttempts(filepath.Join(dir, s.name)) + 1
		return s
	}
	return s
}

// seen gives how long ago the pod of a stamp was seen, and removes the stamp,
// with ok false, if that is too long ago, or to come: the clock was set back.
func (s *stamp) seen(e os.DirEntry, now time.Time) (away time.Duration, ok bool) {
	info, err := e.Info()
	if err != nil {
		return 0, false // its pod's turn has come just now
	}
	away = now.Sub(info.ModTime()).Abs()
	if away > forgotten {
		_ = os.Remove(filepath.Join(s.dir, e.Name()))
	}
	return away, away <= forgotten
}

// fileKey makes a file name of a pod's key, which may hold a slash.
func fileKey(key string) string {
	if len(key) <= 64 && isName(key) {
		return key
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(key))
	return hex.EncodeToString(h.Sum(nil))
}

// stampDigits holds milliseconds since 1970 until the year 2286.
const stampDigits = 13

func stampName(first time.Time, key string) string {
	digits := strconv.FormatInt(max(0, first.UnixMilli()), 10)
	return strings.Repeat("0", max(0, stampDigits-len(digits))) + digits + "-" + key
}

func parseStamp(name string) (first time.Time, key string, ok bool) {
	digits, key, found := strings.Cut(name, "-")
	ms, err := strconv.ParseInt(digits, 10, 64)
	if !found || err != nil || len(digits) != stampDigits || ms < 0 {
		return time.Time{}, "", false
	}
	return time.UnixMilli(ms), key, true
}

func readAttempts(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return max(0, n)
}

// keep stores the stamp at the end of an attempt that was refused.
func (s *stamp) keep(now time.Time) {
	if s.touch(now) {
		_ = os.WriteFile(s.path(), []byte(strconv.Itoa(s.attempt)+"\n"), 0o644)
		_ = os.Chtimes(s.path(), now, now)
	}
}

// forget drops the stamp: the pod's turn has come.
func (s *stamp) forget() {
	if s.name != "" {
		_ = os.Remove(s.path())
		s.name = ""
	}
}

func (s *stamp) path() string { return filepath.Join(s.dir, s.name) }

// makeFolder makes a folder of the gate's, and the gate's own where that is missing, but not the folder that this is in: an uninstalled stand-in that
// still runs must leave nothing behind.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrNotExist) && filepath.Base(filepath.Dir(dir)) == gateFolder {
		if err = os.Mkdir(filepath.Dir(dir), 0o755); err == nil || errors.Is(err, os.ErrExist) {
			err = os.Mkdir(dir, 0o755)
		}
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// touch says that the pod is here now and reports whether the file exists.
func (s *stamp) touch(now time.Time) bool {
	if s.name != "" && os.Chtimes(s.path(), now, now) == nil {
		return true
	}
	s.name = stampName(s.first, s.key)
	err := makeFolder(s.dir)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(s.path(), os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			err = f.Close()
		}
	}
	if err == nil {
		err = os.Chtimes(s.path(), now, now)
	}
	if err != nil {
		s.name = ""
	}
	return err == nil
}

// standing is a place in the queue. The zero value is that of a pod which
// cannot know about others.
type standing struct {
	ahead, length int // of the pods that are waiting now
	known         int // pods that wait, or were refused and will come back
	// first is when the first attempt of the first of those waiting began.
	first time.Time
}

// stand takes or keeps the pod's place and counts those ahead of it. Stamps
// of pods that stayed away for too long are removed on the way.
func (s *stamp) stand(now time.Time) standing {
	if !s.touch(now) {
		return standing{}
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return standing{}
	}
	at := standing{first: s.first}
	for _, e := range entries { // in order of their names, and so of first attempts
		away, ok := s.seen(e, now)
		if !ok {
			continue
		}
		at.known++
		if away <= present {
			if first, _, ok := parseStamp(e.Name()); ok && at.length == 0 {
				at.first = first
			}
			at.length++
			if e.Name() < s.name {
				at.ahead++
			}
		}
	}
	return at
}
