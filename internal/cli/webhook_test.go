package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestWebhookAndControllerRefuseFlagsThatCannotWork(t *testing.T) {
	for line, want := range map[string]string{
		"webhook --taint=x":                             "want KEY[=VALUE]:EFFECT",
		"webhook --taint=k:NoExecute":                   "NoExecute would evict",
		"webhook --certificate-life=1s":                 "--certificate-life 1s: want at least 5s",
		"webhook --authority-life=100h":                 "want at least three times --certificate-life",
		"webhook --settle=9000h":                        "want together at most a tenth of --authority-life",
		"webhook --secret= ":                            "must not be empty",
		"webhook --check-interval=0s --settle=-1s":      "--settle -1s: want at least 0s",
		"webhook extra":                                 "unknown command",
		"controller --grace=0s":                         "--grace 0s: want at least 1s",
		"controller --taint=a:b":                        "want NoSchedule or PreferNoSchedule",
		"controller --leader-elect-lease-duration=soon": "invalid duration",
	} {
		var stderr bytes.Buffer
		code := Run(t.Context(), Streams{In: strings.NewReader(""), Out: &stderr, Err: &stderr}, append([]string{"evenkeel"}, strings.Fields(line)...))
		if code == ExitOK || !strings.Contains(stderr.String(), want) {
			t.Errorf("evenkeel %s: exit %d, %q; want something about %q", line, code, stderr.String(), want)
		}
	}
}
