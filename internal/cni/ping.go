package cni

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"evenkeel.dev/evenkeel/internal/paceapi"
	"evenkeel.dev/evenkeel/internal/version"
)

// PingCommand is the CNI_COMMAND by which the agent tests the stand-in through
// its installed path: it finds its original, reads its settings, dials the agent
// and prints a Pong. No plugin is run, and a plugin called with it by mistake
// knows no such command.
const PingCommand = "EVENKEEL_PING"

// pingPatience bounds the whole test.
const pingPatience = 2 * time.Second

// Pong is the stand-in's answer to PingCommand, as one line of JSON on stdout.
// The exit code is 0 when Problem is empty.
type Pong struct {
	Evenkeel string `json:"evenkeel"` // version of the stand-in
	Protocol int    `json:"protocol"` // version of the line protocol that it speaks
	Original string `json:"original,omitempty"`
	Agent    string `json:"agent,omitempty"` // version of the agent that answered
	Problem  string `json:"problem,omitempty"`
}

// ParsePong reads what a program printed when it was called with PingCommand.
// Anything that is not a stand-in's answer is an error.
func ParsePong(stdout []byte) (Pong, error) {
	var p Pong
	if err := json.Unmarshal(stdout, &p); err != nil {
		return Pong{}, fmt.Errorf("%w: %w", errNotOurs, err)
	}
	if p.Evenkeel == "" {
		return Pong{}, errNotOurs
	}
	return p, nil
}

func (c *call) ping() int {
	pong := Pong{Evenkeel: version.String(), Protocol: paceapi.Version}
	var err error
	if pong.Original, err = findOriginal(c.Args, c.Executable); err == nil {
		pong.Agent, err = c.pingAgent(readSettings(filepath.Dir(pong.Original)).Socket)
	}
	if err != nil {
		pong.Problem = err.Error()
	}
	line, jsonErr := json.Marshal(pong)
	if jsonErr == nil {
		_, jsonErr = c.Stdout.Write(append(line, '\n'))
	}
	if err != nil || jsonErr != nil {
		return exitFailure
	}
	return 0
}

func (c *call) pingAgent(path string) (string, error) {
	until := time.Now().Add(pingPatience)
	conn, err := c.Dial(path, until)
	if err != nil {
		return "", err
	}
	client := paceapi.NewClient(conn)
	defer func() { _ = client.Close() }()
	return client.Ping(until)
}
