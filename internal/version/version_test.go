package version_test

import (
	"bytes"
	"io"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"

	"evenkeel.dev/evenkeel/internal/version"
)

const stamp = "evenkeel-release:"

func TestAReleaseIsFoundWhereverItLiesInTheFile(t *testing.T) {
	const block = 64 << 10
	for _, before := range []int{0, 1, 100, block - 200, block - 20, block - 1, block, 3*block - 10} {
		data := []byte(strings.Repeat("e", before) + stamp + "v1.2.3-4-gabc;" + strings.Repeat("e", 1000))
		for name, r := range map[string]io.Reader{"whole": bytes.NewReader(data), "halves": iotest.HalfReader(bytes.NewReader(data))} {
			if got, err := version.Find(r); err != nil || got != "v1.2.3-4-gabc" {
				t.Errorf("%s, after %d bytes: %q, %v", name, before, got, err)
			}
		}
	}
}

func TestWhatOnlyLooksLikeAReleaseIsNone(t *testing.T) {
	for _, text := range []string{
		"", stamp, stamp + ";", stamp + "v1.2.3", stamp + "not a release;", stamp + "v1\x00;", stamp + strings.Repeat("1", 200) + ";",
	} {
		if got, err := version.Find(strings.NewReader(text)); err != nil || got != "" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if got, _ := version.Find(strings.NewReader(stamp + "http2: " + stamp + "v2;")); got != "v2" {
		t.Errorf("after something alike: %q", got)
	}
	if _, err := version.Find(iotest.ErrReader(io.ErrClosedPipe)); err == nil {
		t.Error("a file that cannot be read has no version, and no error either")
	}
}

func TestOnlyABuildWithoutReleaseIsDevel(t *testing.T) {
	build := func(revision string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}}}
	}
	for revision, want := range map[string]string{"": "devel", "0123456789abcdef": "devel-0123456789ab"} {
		if got := version.OfBuild(build(revision)); got != want {
			t.Errorf("revision %q: %q, want %q", revision, got, want)
		}
	}
}
