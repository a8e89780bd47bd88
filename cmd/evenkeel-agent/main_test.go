package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this executable be three things: the tests, the program under
// test, and, under a plugin's name, that plugin.
func TestMain(m *testing.M) {
	if base := filepath.Base(os.Args[0]); strings.HasPrefix(base, pluginBase) {
		os.Exit(plugin())
	}
	testscript.Main(m, map[string]func(){"evenkeel-agent": main})
}
