package cni

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
)

// tryAgainLater is the error code of the CNI specification for a condition
// that passes by itself.
const tryAgainLater = 11

// fallbackVersion is the cniVersion of an answer to a caller whose own could
// not be read.
const fallbackVersion = "1.0.0"

// What is read of the network configuration, to answer in its version, is
// bounded in size and time: the caller may never close its end.
const (
	maxConfig   = 4 << 20
	configWait  = 500 * time.Millisecond
	exitFailure = 1
)

// problem is why the original did not run: refused, or err with the path of
// the original where that is known.
type problem struct {
	refused  *refusal
	err      error
	original string
}

// refusal is an answer "not now".
type refusal struct {
	paceapi.Place
	// byUs says that no agent was there to decide.
	byUs bool
}

// message is what people read in `kubectl describe pod`.
func (p problem) message() string {
	if p.refused == nil {
		if p.original != "" {
			return fmt.Sprintf("evenkeel: running the original plugin %s: %v", p.original, p.err)
		}
		return fmt.Sprintf("evenkeel: %v", p.err)
	}
	msg := "paced"
	if p.refused.byUs {
		msg = "paced without the node agent"
	}
	if p.refused.Rank > 0 {
		msg += fmt.Sprintf(": %s of %d on this node", ordinal(p.refused.Rank), p.refused.Length)
	}
	if p.refused.Reason != "" {
		msg += ": " + p.refused.Reason
	}
	return msg
}

// ordinal writes 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// fail prints a CNI error object and gives the exit code.
func (c *call) fail(p problem) int {
	line, err := json.Marshal(struct {
		CNIVersion string `json:"cniVersion"`
		Code       int    `json:"code"`
		Msg        string `json:"msg"`
	}{configVersion(c.Stdin), tryAgainLater, p.message()})
	if err == nil {
		_, _ = c.Stdout.Write(append(line, '\n'))
	}
	return exitFailure
}

// configVersion reads the cniVersion of the network configuration on stdin.
func configVersion(stdin io.Reader) string {
	got := make(chan string, 1)
	go func() {
		var conf struct {
			CNIVersion string `json:"cniVersion"`
		}
		// A decoder stops at the end of the object and needs no end of the stream.
		err := json.NewDecoder(io.LimitReader(stdin, maxConfig)).Decode(&conf)
		if err != nil || conf.CNIVersion == "" {
			conf.CNIVersion = fallbackVersion
		}
		got <- conf.CNIVersion
	}()
	select {
	case version := <-got:
		return version
	case <-time.After(configWait):
		return fallbackVersion
	}
}

var errNotOurs = errors.New("the answer is not a stand-in's")
