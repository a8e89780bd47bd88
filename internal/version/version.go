// Package version says which build this is.
package version

import "runtime/debug"

// release is set by the linker for releases: -X evenkeel.dev/evenkeel/internal/version.release=v1.2.3.
var release string

// String is the release, or else what the Go tool recorded of the source ("devel" when it recorded nothing).
func String() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}
