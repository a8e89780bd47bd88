package install

import (
	"debug/elf"
	"debug/pe"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
)

// platform is the system whose loader has to accept a file.
type platform struct{ goos, goarch string }

func thisPlatform() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// problem says why the loader of p would refuse the file, "" if it would not.
// A file cut short in the middle of a copy is recognised by its own tables.
func (p platform) problem(r io.ReaderAt, size int64, mode fs.FileMode) string {
	if size == 0 {
		return "the file is empty"
	}
	if p.goos == "windows" {
		return p.peProblem(r, size)
	}
	if mode&0o111 == 0 {
		return fmt.Sprintf("the file is not executable (mode %04o)", mode.Perm())
	}
	if isScript(r) {
		return "" // complete or not, the kernel runs it
	}
	return p.elfProblem(r, size)
}

func isScript(r io.ReaderAt) bool {
	head := make([]byte, 2)
	n, _ := r.ReadAt(head, 0)
	return n == 2 && string(head) == "#!"
}

func (p platform) elfProblem(r io.ReaderAt, size int64) string {
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Sprintf("not a complete ELF executable: %v", err)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return fmt.Sprintf("an ELF file of type %s, not an executable", f.Type)
	}
	if !slices.Contains(elfMachines(p.goarch), f.Machine) {
		return fmt.Sprintf("built for %s, this node is %s/%s", f.Machine, p.goos, p.goarch)
	}
	for _, s := range f.Progs {
		if end := s.Off + s.Filesz; end > uint64(size) {
			return fmt.Sprintf("cut short: %d bytes, its segments need %d", size, end)
		}
	}
	return ""
}

func (p platform) peProblem(r io.ReaderAt, size int64) string {
	f, err := pe.NewFile(r)
	if err != nil {
		return fmt.Sprintf("not a complete PE executable: %v", err)
	}
	if f.Characteristics&pe.IMAGE_FILE_EXECUTABLE_IMAGE == 0 || f.Characteristics&pe.IMAGE_FILE_DLL != 0 {
		return "a PE file, but not an executable"
	}
	if !slices.Contains(peMachines(p.goarch), f.Machine) {
		return fmt.Sprintf("built for PE machine %#x, this node is %s/%s", f.Machine, p.goos, p.goarch)
	}
	for _, s := range f.Sections {
		if end := int64(s.Offset) + int64(s.Size); end > size {
			return fmt.Sprintf("cut short: %d bytes, its sections need %d", size, end)
		}
	}
	return ""
}

// elfMachines are the machines whose programs a Linux node of goarch can run.
func elfMachines(goarch string) []elf.Machine {
	if goarch == "arm64" {
		return []elf.Machine{elf.EM_AARCH64, elf.EM_ARM}
	}
	return []elf.Machine{elf.EM_X86_64, elf.EM_386}
}

// peMachines are the machines whose programs a Windows node of goarch can run;
// Windows on arm64 runs x86 programs by emulation.
func peMachines(goarch string) []uint16 {
	x86 := []uint16{pe.IMAGE_FILE_MACHINE_AMD64, pe.IMAGE_FILE_MACHINE_I386}
	if goarch == "arm64" {
		return append([]uint16{pe.IMAGE_FILE_MACHINE_ARM64}, x86...)
	}
	return x86
}
