// Package install puts the stand-in executable in the place of a node's CNI
// plugin and takes it out again.
//
// # Layout
//
// In the plugin folder BIN, for a plugin NAME and a sub-folder SUB:
//
//	BIN/NAME                  the stand-in, or before and after us the plugin
//	BIN/SUB/NAME              the original, under its own base name
//	BIN/SUB/install/          working files of this package, empty at rest
//	    NAME.next             a complete stand-in, not yet in place
//	    NAME.saved            a second name of the plugin being saved
//	    NAME.aside-N          a running file that was renamed out of the way
//	    NAME.journal          what was going on, in case we die
//	    lock                  one installer at a time
//
// The container runtime's configuration folder is never opened.
//
// # The order of things
//
// Every change is planned from what is on disk (State) as a list of steps, and
// any state that a crash can leave is a valid start, so repeating a command
// finishes or undoes it. Two rules make every instant recoverable:
//
//  1. The original gets its second name in SUB (hard link; a copy where links
//     do not exist; for a symbolic link a link to the same file) before
//     anything happens to its first name.
//  2. The first name changes by one rename over the old file. Only where the
//     system refuses that because the old file is running (Windows), and no
//     moment comes along in which nothing runs it (Installer.Idle), are there
//     two renames back to back, with a gap in which BIN/NAME does not exist;
//     if the second one fails, the first is undone.
//
// # Adoption
//
// When something else writes a new plugin over the stand-in (a CNI upgrade, the
// init container of azure-cns-win), the new file becomes the original and the
// stand-in returns, once nobody is at work on it: see Adopter. That holds at the
// start of an agent as well, which may be the start of that somebody, too. The
// replaced original is not kept, because the upgrade meant to replace it.
package install
