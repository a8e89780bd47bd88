// Package version says which build this is, and which one a program's file is.
package version

import (
	"runtime/debug"
	"strings"
)

// Unknown is the version of a build of which nothing was recorded.
const Unknown = "devel"

// stamp is set by the linker for releases:
//
//	-X evenkeel.dev/evenkeel/internal/version.stamp=evenkeel-release:v1.2.3;
//
// It is more than the release so that Find recognises it in the file.
var stamp string

// String is the release, or else what the Go tool recorded of the source
// (Unknown when it recorded nothing).
func String() string {
	if _, release, ok := strings.Cut(stamp, ":"); ok {
		return strings.TrimSuffix(release, ";")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return OfBuild(info)
	}
	return Unknown
}

// OfBuild is what String says in a program that was built so, if it is no release.
func OfBuild(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return Unknown + "-" + s.Value[:12]
		}
	}
	return Unknown
}
