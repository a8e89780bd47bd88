package sock

import (
	"testing"

	"golang.org/x/sys/windows"
)

// What the descriptor says is asserted here; that the system enforces it is
// Windows's own business (Wine does not).
func TestOnlySystemAndAdministratorsReachThePipe(t *testing.T) {
	path := address(t)
	go echo(listenT(t, path))
	conn, err := Dial(deadline(t), path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h := windows.Handle(conn.(interface{ Fd() uintptr }).Fd())
	sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	const full = "0x1f01ff"
	want := "D:P(A;;" + full + ";;;SY)(A;;" + full + ";;;BA)"
	if got := sd.String(); got != want && got != "D:P(A;;FA;;;SY)(A;;FA;;;BA)" {
		t.Errorf("got %s, want %s", got, want)
	}
}
