package sock_test

import (
	"slices"
	"testing"

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
