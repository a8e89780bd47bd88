package cniexe

import (
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Defender's exclusions, support and the installer's reports go by it.
func TestVersionResourceSaysWhoseProgramThisIs(t *testing.T) {
	path := filepath.Join(programs(t), "evenkeel-cni.exe")
	size, err := windows.GetFileVersionInfoSize(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	info := make([]byte, size)
	if err := windows.GetFileVersionInfo(path, 0, size, unsafe.Pointer(&info[0])); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"ProductName": "Evenkeel", "OriginalFilename": "evenkeel-cni.exe", "FileVersion": "1.2.3.0", "Comments": "v1.2.3-test",
	} {
		var value *uint16
		var n uint32
		if err := windows.VerQueryValue(unsafe.Pointer(&info[0]), `\StringFileInfo\040904B0\`+key, unsafe.Pointer(&value), &n); err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if got := windows.UTF16PtrToString(value); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	var fixed *windows.VS_FIXEDFILEINFO
	var n uint32
	if err := windows.VerQueryValue(unsafe.Pointer(&info[0]), `\`, unsafe.Pointer(&fixed), &n); err != nil {
		t.Fatal(err)
	}
	if fixed.FileVersionMS != 1<<16|2 || fixed.FileVersionLS != 3<<16 {
		t.Errorf("numeric version %x.%x", fixed.FileVersionMS, fixed.FileVersionLS)
	}
}
