// Package cni is the program that stands in the place of a CNI plugin.
//
// It is installed under the plugin's own file name. The plugin itself, the
// original, waits under the same base name in the sub-folder OriginalDir and is
// run with everything it would have had without us: arguments with argv[0] as
// called, working directory, environment (one variable more), and the very
// handles of stdin, stdout and stderr, which nobody copies and whose end nobody
// waits for. Its exit code is ours.
//
// Only an ADD for a Kubernetes pod ever waits. It asks the node agent for a
// go-ahead (see package paceapi) and runs the original, or answers its caller
// with CNI error 11, "try again later". Everything else goes straight through:
// DEL, CHECK, GC, STATUS, VERSION, UPDATE, commands that only one plugin knows,
// and calls with no command at all. On Linux the process becomes the original;
// on Windows, and where the original's end has to be reported, the original is
// a child that dies with us.
//
// # Without an agent
//
// An agent that cannot be reached is waited for, longer just after boot, and
// dialled all the time. Then lock files take its place: at most Settings.Limit
// originals run at once, in the order of the pods' first attempts. The system
// releases a lock when its holder dies. Attempts that will not get their turn end
// in error 11 one after the other, the farthest first, over the last 70 % of
// their time or what is left of it when the agent is lost; a file that all of
// them touch keeps them at least 200 ms apart, while there is time for that. A
// pod that has waited for Settings.MaxWait may use one lock more, and pods of
// Settings.ExcludeNamespaces need none. So without an agent the node still
// starts pods, at a pace it can take, and nothing that can happen to our files
// stops it: where they cannot be written, the original's own file is the one
// lock, and where even that cannot be locked, there is no limit.
//
// # Files
//
//	OriginalDir/NAME             the original
//	OriginalDir/gate/settings    what the agent wants us to know (Settings)
//	OriginalDir/gate/lock-N      who runs without an agent; lock-overdue likewise
//	OriginalDir/gate/refused     when somebody was last refused without an agent
//	OriginalDir/gate/first/…     one empty-handed pod each: since when it tries
package cni
