package install

import (
	"strings"
	"testing"
)

func TestNamesThatTheLayoutNeedsAreRefusedAsPlugins(t *testing.T) {
	const reserved, bare, never = "reserved", "bare file name", "on Windows"
	for _, c := range []struct {
		plugin         string
		linux, windows string // what the error says; "" for none
	}{
		{"bridge", "", ""},
		{"azure-vnet.exe", "", ""},
		{"installer", "", ""},
		{"gateway", "", ""},
		{"lock", "", ""}, // in a folder of its own
		{"bridge.next", "", ""},
		{"install", reserved, reserved},
		{"gate", reserved, reserved},
		{"selftest-1", reserved, reserved},
		{"bridge.aside-1", reserved, reserved},
		{"Install", "", reserved},
		{"GATE", "", reserved},
		{"Selftest-x", "", reserved},
		{"bridge.ASIDE-2", "", reserved},
		{".evenkeel", "sub-folder", "sub-folder"},
		{".EvenKeel", "", "sub-folder"},
		{"..", bare, bare},
		{"a/b", bare, bare},
		{`a\b`, bare, bare},
		{"gate.", "", never},
		{"bridge.exe ", "", never},
		{"bridge.exe:stream", "", never},
	} {
		for goos, want := range map[string]string{"linux": c.linux, "windows": c.windows} {
			err := Target{BinDir: "bin", Plugin: c.plugin, SubDir: ".evenkeel"}.validate(goos)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %q is refused: %v", goos, c.plugin, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %q: got %v, want %q", goos, c.plugin, err, want)
			}
		}
	}
}
