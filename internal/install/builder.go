package install

import "path/filepath"

// builder collects the steps of a plan.
type builder struct {
	t       Target
	s       State
	leaving bool // uninstalling: leave nothing of ours
	begun   bool
	asides  int
	steps   []Step
}

func (b *builder) add(s ...Step) { b.steps = append(b.steps, s...) }

// aside gives a name for a file in use, a new one at each call.
func (b *builder) aside() string {
	b.asides++
	return b.t.freeAside(asidePathsOf(b.s.Asides), b.asides)[b.asides-1]
}

// begin writes the journal, once per plan. An uninstallation does without where
// the disk is full, since it needs no other space: cut short, it is finished by
// being repeated, or undone by an installation.
func (b *builder) begin(op Operation) {
	if b.begun {
		return
	}
	b.begun = true
	if b.s.Journal != nil && b.s.Journal.Operation == op {
		return // rewriting it would leave an instant without
	}
	b.add(Step{Op: Write, To: b.t.journalPath(), Data: Journal{Operation: op, Plugin: b.t.Plugin}.encode(), Spare: op == Uninstalling})
}

// save gives the plugin its second name in the sub-folder.
func (b *builder) save() {
	b.begin(Installing)
	p := b.s.Plugin
	save := Step{Op: Save, From: p.Path, To: b.t.savedPath(), SHA256: p.SHA256}
	if p.Kind == Link {
		// The link is made in the work folder, but its text is for where it
		// ends up.
		save.Data = []byte(savedLink(p.Target))
	}
	b.add(
		save,
		Step{Op: Put, From: b.t.savedPath(), To: b.t.OriginalPath(), Aside: b.aside()},
	)
}

// stage makes a complete stand-in beside the plugin.
func (b *builder) stage() {
	b.begin(Installing)
	x := b.s.Executable
	b.add(Step{Op: Copy, From: x.Path, To: b.t.nextPath(), SHA256: x.SHA256})
}

// place puts the staged stand-in where the container runtime looks.
func (b *builder) place() {
	b.add(Step{Op: Put, From: b.t.nextPath(), To: b.t.PluginPath(), Aside: b.aside(), Guard: b.unchanged()})
}

// unchanged looks whether the first name still leads to what was planned for:
// somebody may have put a newer plugin there.
func (b *builder) unchanged() *Step {
	p := b.s.Plugin
	check := Step{Op: Check, From: p.Path, SHA256: p.SHA256, Data: []byte(p.Target)}
	if p.Plugin() {
		check.To = b.t.OriginalPath() // saved by now
	}
	return &check
}

// restore puts the original back under its first name.
func (b *builder) restore(orig Image) {
	from := orig.Path
	if orig.Kind == Link {
		from = b.t.savedPath()
		b.add(Step{Op: Save, From: orig.Path, To: from, Data: []byte(restoredLink(orig.Target))})
	}
	b.add(Step{Op: Put, From: from, To: b.t.PluginPath(), Aside: b.aside(), Guard: b.unchanged()})
}

// done adds the clearing up. The journal goes before anything it explains.
func (b *builder) done(a Action) Plan {
	tidy := func(op Op, path string) { b.add(Step{Op: op, To: path, Tidy: true}) }
	if b.begun || b.s.Journal != nil {
		b.add(Step{Op: Remove, To: b.t.journalPath()})
	}
	for _, img := range []Image{b.s.Next, b.s.Saved} {
		if img.Present() {
			tidy(Remove, img.Path)
		}
	}
	for _, img := range b.s.Asides {
		tidy(Remove, img.Path)
	}
	for _, p := range b.t.freeAside(asidePathsOf(b.s.Asides), b.asides) {
		tidy(Remove, p)
	}
	if b.leaving {
		b.leave(tidy)
	}
	return Plan{Action: a, Steps: b.steps}
}

func (b *builder) leave(tidy func(Op, string)) {
	tidy(Remove, b.t.OriginalPath())
	if b.s.Others {
		return
	}
	b.add(Step{Op: Clear, From: b.t.lockPath(), To: filepath.Clean(b.t.sub()), Tidy: true})
}

func asidePathsOf(images []Image) []string {
	var paths []string
	for _, img := range images {
		paths = append(paths, img.Path)
	}
	return paths
}
