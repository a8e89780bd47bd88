package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock"
)

// Settings is what the agent tells the stand-in beforehand, through a file,
// for the times when it is not there. A zero field means its default.
type Settings struct {
	// Socket is where the agent listens; sock.DefaultPath by default.
	Socket string `json:"socket,omitempty"`
	// Limit is how many originals run at once without an agent; one per core,
	// at least 2, by default.
	Limit int `json:"limit,omitempty"`
	// Attempt is how long one ADD waits at most, from 1 s to 120 s; 60 s by default.
	Attempt paceapi.Millis `json:"attemptMs,omitempty"`
	// Absent is how long an attempt waits for an agent that cannot be reached
	// before lock files decide, and AbsentBoot the same in the first five
	// minutes after boot; 10 s and 30 s by default, at most half of Attempt.
	Absent     paceapi.Millis `json:"absentMs,omitempty"`
	AbsentBoot paceapi.Millis `json:"absentBootMs,omitempty"`
	// MaxWait is how long a pod may be put off over all its attempts before it
	// may use one lock more; 9 min by default, since Deployments give up at 10.
	MaxWait paceapi.Millis `json:"maxWaitMs,omitempty"`
}

// The bounds and defaults of Settings.
const (
	minAttempt        = time.Second
	maxAttempt        = 120 * time.Second
	defaultAttempt    = 60 * time.Second
	defaultAbsent     = 10 * time.Second
	defaultAbsentBoot = 30 * time.Second
	defaultMaxWait    = 9 * time.Minute
	minLimit          = 2
	maxLimit          = 1000
)

// WriteSettings stores s for the stand-ins whose originals lie in originalDir,
// all or nothing, readable by every version of the stand-in.
func WriteSettings(originalDir string, s Settings) error {
	if s.Limit < 0 || s.Limit > maxLimit {
		return fmt.Errorf("settings of the stand-in: limit %d is not between 0 (the default) and %d", s.Limit, maxLimit)
	}
	dir := stateDir(originalDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "settings-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), settingsFile(originalDir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("storing the settings of the stand-in: %w", err), os.Remove(f.Name()))
	}
	return nil
}

func settingsFile(originalDir string) string { return filepath.Join(stateDir(originalDir), "settings") }

// readSettings gives complete settings. A file that is missing, damaged or of
// another version is no reason to stop a pod: what cannot be read is default.
func readSettings(originalDir string) Settings {
	var s Settings
	if b, err := os.ReadFile(settingsFile(originalDir)); err == nil && json.Unmarshal(b, &s) != nil {
		s = Settings{}
	}
	return s
}

// complete fills in the defaults and holds every value to its bounds.
func (s Settings) complete(cpus int) Settings {
	if s.Socket == "" {
		s.Socket = sock.DefaultPath
	}
	if s.Limit <= 0 || s.Limit > maxLimit {
		s.Limit = max(minLimit, cpus)
	}
	attempt := orDefault(s.Attempt, defaultAttempt)
	s.Attempt = max(paceapi.Millis(minAttempt), min(attempt, paceapi.Millis(maxAttempt)))
	s.Absent = min(orDefault(s.Absent, defaultAbsent), s.Attempt/2)
	s.AbsentBoot = min(orDefault(s.AbsentBoot, defaultAbsentBoot), s.Attempt/2)
	s.MaxWait = orDefault(s.MaxWait, defaultMaxWait)
	return s
}

func orDefault(d paceapi.Millis, def time.Duration) paceapi.Millis {
	if d <= 0 {
		return paceapi.Millis(def)
	}
	return d
}
