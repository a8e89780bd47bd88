package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/engine"
	"evenkeel.dev/evenkeel/internal/evict"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Around is called for each strategy and must call run; see engine.Options.
type Around = func(profile, strategy string, run func() error)

// Program is what a policy comes to.
type Program struct {
	Policy *policy.Policy
	// Plan decides. Its error is about the policy, and then nothing is moved.
	Plan func(s *cluster.Snapshot, around Around) (*plan.Plan, error)
	// Evictions are the policy's options for evictions.
	Evictions evict.Options

	text []byte // of the file it was made from
}

// PolicyFile is a policy that is read from a file, again whenever the file has changed.
type PolicyFile struct {
	Path    string
	Options engine.Options
	Log     *slog.Logger
	// Loaded is told, when set, each time the file was read because it is new or has changed: nil, or why it can't be used.
	Loaded func(error)

	program *Program
	last    []byte // what was read last, whether it could be used or not
}

// Load reads the file for the first time. Its error says everything that is wrong with the policy.
func (f *PolicyFile) Load() error {
	if f.Path == "" {
		return errors.New("no policy: name the file that holds it with --policy-config-file")
	}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("read the policy: %w", err)
	}
	f.last = data
	f.program, err = f.compile(data)
	f.tell(err)
	return err
}

// Program returns what the file says now. When it has become unusable, what it said before stays in force, and that is
// logged in every cycle. [PolicyFile.Load] must have succeeded.
func (f *PolicyFile) Program(context.Context) (*Program, error) {
	if f.program == nil {
		return nil, errors.New("the policy was not loaded")
	}
	data, err := os.ReadFile(f.Path)
	if err != nil {
		f.Log.Error("the policy file can't be read; the policy of before stays in force", "file", f.Path, "err", err)
		return f.program, nil
	}
	changed := !bytes.Equal(data, f.last)
	if !changed && bytes.Equal(data, f.program.text) {
		return f.program, nil
	}
	f.last = data
	program, err := f.compile(data)
	if changed {
		f.tell(err)
	}
	if err != nil {
		f.Log.Error("the changed policy file can't be used; the policy of before stays in force", "file", f.Path, "err", err)
		return f.program, nil
	}
	f.Log.Info("the policy file has changed and is in force now", "file", f.Path)
	f.program = program
	return program, nil
}

func (f *PolicyFile) tell(err error) {
	if f.Loaded != nil {
		f.Loaded(err)
	}
}

func (f *PolicyFile) compile(data []byte) (*Program, error) {
	p, warnings, err := policy.Load(f.Path, data)
	for _, w := range warnings {
		f.Log.Warn("the policy does not do what it seems to", "file", f.Path, "warning", w.String())
	}
	if err != nil {
		return nil, err
	}
	return &Program{
		Policy: p,
		Plan: func(s *cluster.Snapshot, around Around) (*plan.Plan, error) {
			o := f.Options
			o.Around = around
			plan, err := engine.Plan(s, p, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			return plan, nil
		},
		Evictions: evict.Options{GracePeriodSeconds: p.GracePeriodSeconds, FailureEvents: p.EvictionFailureEventNotification},
		text:      data,
	}, nil
}
