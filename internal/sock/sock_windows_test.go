package sock_test

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"evenkeel.dev/evenkeel/internal/sock"
)

// What the descriptor says is asserted here; that the system enforces it is
// Windows's own business (Wine does not).
func TestOnlySystemAndAdministratorsReachThePipe(t *testing.T) {
	path := address(t)
	go echo(listenT(t, path))
	conn, err := sock.Dial(path, soon())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h := windows.Handle(conn.(interface{ Fd() uintptr }).Fd())
	sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	// Wine gives the rights back as they were asked for, Windows as what they mean for a pipe.
	allowed := []string{"D:P(A;;GA;;;SY)(A;;GA;;;BA)", "D:P(A;;FA;;;SY)(A;;FA;;;BA)"}
	if got := sd.String(); !slices.Contains(allowed, got) {
		t.Errorf("got %s, want one of %q", got, allowed)
	}
}

// listenAs makes a pipe that belongs to somebody else, which takes a privilege
// of backup programs.
func listenAs(t *testing.T, path, owner string) net.Listener {
	t.Helper()
	var l net.Listener
	err := winio.RunWithPrivilege(winio.SeRestorePrivilege, func() (err error) {
		l, err = winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: "O:" + owner + "D:P(A;;GA;;;WD)"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestPipeOfAnUnprivilegedOwnerIsRefused(t *testing.T) {
	for owner, want := range map[string]error{"BU": sock.ErrUnprivileged, "WD": sock.ErrUnprivileged, "SY": nil, "BA": nil} {
		t.Run(owner, func(t *testing.T) {
			path := address(t)
			go echo(listenAs(t, path, owner))
			conn, err := sock.Dial(path, soon())
			if err == nil {
				_ = conn.Close()
			}
			if !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}
