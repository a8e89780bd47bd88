package install

import (
	"fmt"
	"path/filepath"
)

// Action names what a plan comes to.
type Action string

// What a plan can come to.
const (
	Nothing    Action = "unchanged"
	Installed  Action = "installed"
	Adopted    Action = "adopted"    // the plugin had been replaced: it is the original now
	Upgraded   Action = "upgraded"   // another version of the stand-in
	Reinstated Action = "reinstated" // the plugin was missing
	Restored   Action = "restored"   // the original is in its place again
	Cleared    Action = "cleared"    // a newer plugin stays, ours is gone
)

// Plan is an action and how to carry it out. Steps without Tidy come first.
type Plan struct {
	Action Action
	Steps  []Step
}

// PlanInstall says how to get from s to: the stand-in in place and the plugin
// saved. It is an error when the result could not start pods, and then nothing
// may be touched.
func PlanInstall(t Target, s State) (Plan, error) {
	if err := usableStandIn(s.Executable); err != nil {
		return Plan{}, err
	}
	b := builder{t: t, s: s}
	switch p := s.Plugin; {
	case p.Plugin():
		b.stage() // first: the larger part of the work and of what can go wrong
		b.save()
		b.place()
		return b.done(installOrAdopt(s)), nil
	case p.Ours:
		return b.replaceStandIn()
	case p.Present():
		return Plan{}, fmt.Errorf("plugin %s: %s", p.Path, p.Problem)
	case s.Original.Plugin():
		b.stage()
		b.place()
		return b.done(Reinstated), nil
	default:
		return Plan{}, fmt.Errorf("plugin %s does not exist; nothing to stand in for", p.Path)
	}
}

// replaceStandIn handles a plugin that is ours already, of this or another version.
func (b *builder) replaceStandIn() (Plan, error) {
	s := b.s
	if !s.Original.Plugin() {
		source, ok := lostOriginal(s)
		if !ok {
			return Plan{}, fmt.Errorf("%s is a stand-in, but its original %s: put the plugin back under %s",
				s.Plugin.Path, whyNoOriginal(s.Original), s.Plugin.Path)
		}
		b.begin(Installing)
		b.add(Step{Op: Put, From: source, To: b.t.OriginalPath(), Aside: b.aside()})
	}
	if s.Plugin.SHA256 != s.Executable.SHA256 || s.Plugin.Kind != Regular || s.Plugin.Problem != "" {
		b.stage()
		b.place()
	}
	if len(b.steps) == 0 {
		return b.done(Nothing), nil
	}
	return b.done(Upgraded), nil
}

// PlanUninstall says how to get from s to: the plugin in place and nothing of ours left.
func PlanUninstall(t Target, s State) (Plan, error) {
	b := builder{t: t, s: s, leaving: true}
	p, orig := s.Plugin, s.Original
	if !orig.Plugin() {
		if source, ok := lostOriginal(s); ok && (p.Ours || !p.Present()) {
			orig = Image{Path: source, Kind: Regular}
		}
	}
	switch {
	case p.Plugin():
		return b.done(clearedOr(s)), nil
	case p.Present() && !p.Ours:
		return Plan{}, fmt.Errorf("plugin %s is not ours, but %s; the saved original stays until it is whole or removed", p.Path, p.Problem)
	case orig.Plugin():
		b.begin(Uninstalling)
		b.restore(orig)
		return b.done(Restored), nil
	case p.Present():
		return Plan{}, fmt.Errorf("%s is a stand-in, but its original %s: put the plugin back under %s first",
			p.Path, whyNoOriginal(s.Original), p.Path)
	default:
		return b.done(clearedOr(s)), nil
	}
}

// PlanRecover says how to finish, or failing that undo, what an earlier run began.
// Without a journal there is nothing to do.
func PlanRecover(t Target, s State) (Plan, error) {
	if s.Journal == nil {
		return Plan{Action: Nothing}, nil
	}
	if s.Journal.Operation == Uninstalling {
		return PlanUninstall(t, s)
	}
	if !s.Executable.StandIn() && s.Original.Plugin() {
		b := builder{t: t, s: s}
		if s.Plugin.StandIn() {
			return b.done(Nothing), nil
		}
		if s.Next.StandIn() && !s.Plugin.Present() {
			b.add(Step{Op: Put, From: s.Next.Path, To: t.PluginPath(), Aside: b.aside()})
			return b.done(Reinstated), nil
		}
	}
	if plan, err := PlanInstall(t, s); err == nil {
		return plan, nil
	}
	return PlanUninstall(t, s)
}

func usableStandIn(x Image) error {
	switch {
	case !x.Present():
		return fmt.Errorf("executable %s does not exist; give the evenkeel-cni of this system with --executable", x.Path)
	case x.Problem != "":
		return fmt.Errorf("executable %s: %s", x.Path, x.Problem)
	case !x.Ours:
		return fmt.Errorf("executable %s is not evenkeel-cni", x.Path)
	}
	return nil
}

func installOrAdopt(s State) Action {
	if s.Original.Present() && s.Original.SHA256 != s.Plugin.SHA256 {
		return Adopted
	}
	return Installed
}

func clearedOr(s State) Action {
	if s.Original.Present() || s.Journal != nil {
		return Cleared
	}
	return Nothing
}

func whyNoOriginal(o Image) string {
	switch {
	case !o.Present():
		return o.Path + " is gone"
	case o.Ours:
		return o.Path + " is a stand-in too"
	default:
		return o.Path + " cannot run (" + o.Problem + ")"
	}
}

// lostOriginal looks for the original under the names of an interrupted run.
func lostOriginal(s State) (path string, ok bool) {
	for _, img := range append([]Image{s.Saved}, s.Asides...) {
		if img.Plugin() {
			return img.Path, true
		}
	}
	return "", false
}

// restoredLink is the text of a symbolic link moved out of our sub-folder.
func restoredLink(target string) string {
	up := ".." + string(filepath.Separator)
	if !filepath.IsAbs(target) && len(target) > len(up) && target[:len(up)] == up {
		return target[len(up):]
	}
	return target
}

// savedLink is the text of a symbolic link moved into our sub-folder.
func savedLink(target string) string {
	if filepath.IsAbs(target) {
		return target
	}
	return ".." + string(filepath.Separator) + target
}
