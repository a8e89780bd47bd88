package install

import (
	"bytes"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/standin"
)

// program is the smallest file that this system's loader would look at twice;
// name makes its content unlike others.
func program(name string) []byte { return programFor(thisPlatform(), name) }

func programFor(on platform, name string) []byte {
	var b bytes.Buffer
	if on.goos == "windows" {
		dos := make([]byte, 64)
		copy(dos, "MZ")
		dos[0x3c] = 64
		b.Write(dos)
		b.WriteString("PE\x00\x00")
		pack(&b, pe.FileHeader{Machine: peMachines(on.goarch)[0], Characteristics: pe.IMAGE_FILE_EXECUTABLE_IMAGE})
		b.Write(make([]byte, 64)) // read as a symbol or string table by some
	} else {
		header := elf.Header64{
			Type: uint16(elf.ET_EXEC), Machine: uint16(elfMachines(on.goarch)[0]), Version: 1,
			Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
		}
		copy(header.Ident[:], "\x7fELF\x02\x01\x01")
		pack(&b, header)
		pack(&b, elf.Prog64{Type: uint32(elf.PT_LOAD), Filesz: 200})
		b.Write(make([]byte, 80))
	}
	b.WriteString(name)
	return b.Bytes()
}

func standIn(version string) []byte {
	return append(append(program("stand-in "), standin.Mark()...), version...)
}

func pack(b *bytes.Buffer, v any) {
	if err := binary.Write(b, binary.LittleEndian, v); err != nil {
		panic(err)
	}
}

// node is a plugin folder, a configuration folder beside it and a stand-in to install.
type node struct {
	t    testing.TB
	root string
	Installer
}

func newNode(t testing.TB) node {
	root := t.TempDir()
	n := node{t: t, root: root, Installer: Installer{
		Target:     Target{BinDir: filepath.Join(root, "bin"), Plugin: pluginName(), SubDir: ".evenkeel"},
		Executable: filepath.Join(root, "image", "evenkeel-cni"),
		Disk:       Disk{},
	}}
	for _, d := range []string{"bin", "image", "netconf"} {
		n.must(os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	n.write(n.Executable, standIn("1"))
	n.write(n.Target.PluginPath(), program("v1"))
	n.write(filepath.Join(root, "netconf", "10-azure.conflist"), []byte("{}"))
	return n
}

func pluginName() string {
	if runtime.GOOS == "windows" {
		return "azure-vnet.exe"
	}
	return "bridge"
}

func (n node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n node) write(path string, data []byte) {
	n.t.Helper()
	n.must(os.WriteFile(path, data, 0o755))
}

// journal leaves what an interrupted run leaves.
func (n node) journal(op Operation) {
	n.t.Helper()
	n.must(os.MkdirAll(n.Target.work(), 0o755))
	n.write(n.Target.journalPath(), Journal{Operation: op, Plugin: n.Target.Plugin}.encode())
}

func (n node) content(path string) string {
	n.t.Helper()
	data, err := os.ReadFile(path)
	n.must(err)
	return string(data)
}

func (n node) install(want Action) Result {
	n.t.Helper()
	r, err := n.Install()
	n.must(err)
	if r.Action != want {
		n.t.Fatalf("install: %s, want %s", r.Action, want)
	}
	return r
}

func (n node) uninstall(want Action) Result {
	n.t.Helper()
	r, err := n.Uninstall()
	n.must(err)
	if r.Action != want {
		n.t.Fatalf("uninstall: %s, want %s", r.Action, want)
	}
	return r
}

// wantInstalled asserts the stand-in in place before the given original.
func (n node) wantInstalled(original []byte) {
	n.t.Helper()
	if got := n.content(n.Target.PluginPath()); got != n.content(n.Executable) {
		n.t.Fatal("the stand-in is not in place")
	}
	if got := n.content(n.Target.OriginalPath()); got != string(original) {
		n.t.Fatal("the saved original is not the plugin")
	}
	s, err := n.Status()
	n.must(err)
	if !s.Installed || len(s.Problems) > 0 {
		n.t.Fatalf("status: installed %v, problems %q", s.Installed, s.Problems)
	}
}

// wantBare asserts the given plugin and nothing else in the folder.
func (n node) wantBare(plugin []byte) {
	n.t.Helper()
	if diff := cmp.Diff([]string{n.Target.Plugin}, n.listing()); diff != "" {
		n.t.Fatalf("left behind (-want +got):\n%s", diff)
	}
	if n.content(n.Target.PluginPath()) != string(plugin) {
		n.t.Fatal("the plugin is not what it was")
	}
}

// listing is every path below the plugin folder.
func (n node) listing() []string {
	n.t.Helper()
	var names []string
	n.must(filepath.WalkDir(n.Target.BinDir, func(path string, _ os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(n.Target.BinDir, path); rel != "." {
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	sort.Strings(names)
	return names
}
