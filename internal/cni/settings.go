package cni

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/sock"
)

// Settings is what the agent tells the stand-in beforehand, through a file,
// for the times when it is not there. A zero field means its default.
type Settings struct {
	// Socket is where the agent listens; sock.DefaultPath by default.
	Socket string
	// Limit is how many originals run at once without an agent; one per core,
	// at least 2, by default.
	Limit int
	// Attempt is how long one ADD waits at most, from 1 s to 120 s; 60 s by default.
	Attempt paceapi.Millis
	// Absent is how long an attempt waits for an agent that cannot be reached
	// before lock files decide, and AbsentBoot the same in the first five
	// minutes after boot; 10 s and 30 s by default, at most half of Attempt.
	Absent     paceapi.Millis
	AbsentBoot paceapi.Millis
	// MaxWait is how long a pod may be put off over all its attempts before it
	// may use one lock more; 9 min by default, since Deployments give up at 10.
	MaxWait paceapi.Millis
	// ExcludeNamespaces are those whose pods are never gated. An agent that is
	// there is asked all the same, since it may have to keep the plugin's file
	// free; without one they are passed straight through. A name that no
	// namespace can have is not stored.
	ExcludeNamespaces []string
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
	maxNumber         = 86_400_000 // a day, in milliseconds
)

// WriteSettings stores s for the stand-ins whose originals lie in originalDir,
// all or nothing; a folder of originals that does not exist is not made. Lines
// that a stand-in does not know it passes over.
func WriteSettings(originalDir string, s Settings) error {
	if s.Limit < 0 || s.Limit > maxLimit {
		return fmt.Errorf("settings of the stand-in: limit %d is not between 0 (the default) and %d", s.Limit, maxLimit)
	}
	if strings.ContainsAny(s.Socket, "\r\n") {
		return fmt.Errorf("settings of the stand-in: socket %q is not one line", s.Socket)
	}
	dir := stateDir(originalDir)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("storing the settings of the stand-in: %w", err)
	}
	f, err := os.CreateTemp(dir, "settings-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(s.format())
	if err = errors.Join(err, f.Close()); err == nil {
		err = replace(f.Name(), settingsFile(originalDir))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("storing the settings of the stand-in: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// replace renames from to to, which a stand-in may just be reading: Windows does
// not replace a file that is open.
func replace(from, to string) error {
	for start := time.Now(); ; time.Sleep(swapPause) {
		err := os.Rename(from, to)
		if err == nil || !beingRead(err) || time.Since(start) >= swapTime {
			return err
		}
	}
}

// SettingsAre reports whether s is what is stored for the stand-ins whose
// originals lie in originalDir.
func SettingsAre(originalDir string, s Settings) bool {
	b, err := readFile(settingsFile(originalDir))
	return err == nil && string(b) == s.format()
}

func settingsFile(originalDir string) string { return filepath.Join(stateDir(originalDir), "settings") }

// format gives a line "name value" for each setting and each namespace: JSON would cost every
// start of a pod more than a tenth of the start of a process to read.
func (s Settings) format() string {
	text := fmt.Sprintf("socket %s\nlimit %d\nattemptMs %d\nabsentMs %d\nabsentBootMs %d\nmaxWaitMs %d\n",
		s.Socket, s.Limit, s.Attempt.Milliseconds(), s.Absent.Milliseconds(), s.AbsentBoot.Milliseconds(), s.MaxWait.Milliseconds())
	for _, namespace := range s.ExcludeNamespaces {
		if isName(namespace) {
			text += "excludeNamespace " + namespace + "\n"
		}
	}
	return text
}

// parseSettings reads what format wrote. A line that is damaged, cut off or of
// another version is no reason to stop a pod: its setting is default.
func parseSettings(text string) Settings {
	var s Settings
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		name, value, _ := strings.Cut(line, " ")
		if !whole {
			break
		}
		switch name {
		case "socket":
			s.Socket = value
			continue
		case "excludeNamespace":
			s.ExcludeNamespaces = append(s.ExcludeNamespaces, value)
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || n > maxNumber {
			continue
		}
		ms := paceapi.Millis(time.Duration(n) * time.Millisecond)
		switch name {
		case "limit":
			s.Limit = int(n)
		case "attemptMs":
			s.Attempt = ms
		case "absentMs":
			s.Absent = ms
		case "absentBootMs":
			s.AbsentBoot = ms
		case "maxWaitMs":
			s.MaxWait = ms
		}
	}
	return s
}

// readSettings gives what is stored, or nothing where there is no file.
func readSettings(originalDir string) Settings {
	b, err := readFile(settingsFile(originalDir))
	if err != nil {
		return Settings{}
	}
	return parseSettings(string(b))
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
