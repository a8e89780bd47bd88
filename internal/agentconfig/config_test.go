package agentconfig

import (
	"strings"
	"testing"
)

func TestEveryFieldOfTheConfigurationIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"pods: {startedWhen: Soon}":                 `pods.startedWhen: Invalid value: "Soon"`,
		"pods: {unknownThing: 1}":                   `unknown field "pods.unknownThing"`,
		"pace: {limits: {rate: {evry: 1s}}}":        `unknown field "pace.limits.rate.evry"`,
		"install: {enabled: true}":                  "install.plugin: Required value",
		"install: {plugin: a/b}":                    `install.plugin: Invalid value: "a/b"`,
		"listen: 9808":                              "listen",
		"log: {maxFiles: 1000}":                     "log.maxFiles: Invalid value: 1000",
		"pace: {attempt: 10m}\npods: {settle: 99h}": "pods.settle",
		"pace: {}\npace: {}":                        `"pace" already set`,
	} {
		_, err := Parse([]byte(text), "linux")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAThresholdThatWindowsHasNoFigureForIsAnError(t *testing.T) {
	const text = "pace: {limits: {pressure: {cpu: 90, io: 20}}}"
	_, err := Parse([]byte(text), "windows")
	if want := "pace.limits.pressure.io: Forbidden: Windows has no figure for it"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Windows: %v, want %q", err, want)
	}
	if _, err := Parse([]byte(text), "linux"); err != nil {
		t.Errorf("Linux: %v", err)
	}
}

func TestAnEmptyFileIsAWorkingConfiguration(t *testing.T) {
	linux, err := Parse(nil, "linux")
	if err != nil || *linux.Install.Enabled {
		t.Fatalf("Linux: %v; installs %v without knowing the plugin", err, *linux.Install.Enabled)
	}
	windows, err := Parse(nil, "windows")
	if err != nil || !*windows.Install.Enabled || windows.Install.Plugin != "azure-vnet.exe" || windows.Maintenance.Labels["k8s-app"] != "azure-cns-win" {
		t.Fatalf("Windows: %v; %+v", err, windows)
	}
}

func TestNoExcludedNamespacesIsNotTheDefaultOnes(t *testing.T) {
	none, err := Parse([]byte("pods: {excludeNamespaces: []}"), "linux")
	if err != nil || len(none.Pods.ExcludeNamespaces) != 0 {
		t.Fatalf("%v, %v", none.Pods.ExcludeNamespaces, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("pace: {limits: {maxConcurrent: 3}}"))
	f.Add([]byte("log: {level: loud}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, goos := range []string{"linux", "windows"} {
			if c, err := Parse(data, goos); err == nil && c.Validate(goos) != nil {
				t.Fatalf("accepted, but not valid: %q", data)
			}
		}
	})
}
