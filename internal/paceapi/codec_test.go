package paceapi

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// TestLines shows what each line means and how it is written back.
func TestLines(t *testing.T) {
	datadriven.RunTest(t, "testdata/lines", func(t *testing.T, d *datadriven.TestData) string {
		m, err := Parse([]byte(d.Input))
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		line, err := Format(m)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		return string(line)
	})
}

func TestEveryTypeSurvivesTheWire(t *testing.T) {
	for _, m := range everyMessage() {
		line, err := Format(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", m.Type, diff)
		}
	}
}

func everyMessage() []Message {
	return []Message{
		{Type: TypeRequest, Request: Request{
			UID: "0b2e", Namespace: "shop", Name: "cart-0", Container: "c1", NetNS: "guid", IfName: "eth0",
			Attempt: 3, Remaining: Millis(59 * time.Second), Waited: Millis(time.Second), SinceFirst: Millis(time.Hour),
			Running: true, RunningFor: Millis(4 * time.Second), Degraded: true,
		}},
		{Type: TypeWaiting, Place: Place{Rank: 12, Length: 40, Reason: "3 pods are starting, limit 3"}},
		{Type: TypeGrant},
		{Type: TypeRefuse, Place: Place{Rank: 1, Length: 1, Reason: "the plugin is being replaced"}},
		{Type: TypeAck},
		{Type: TypeDone, Done: Done{Duration: Millis(812 * time.Millisecond), Exit: 1}},
		{Type: TypePing},
		{Type: TypePong, Agent: "v1.2.3"},
		{Type: TypeError, Reason: "no"},
	}
}

func TestLongReasonsAreCutNotRefused(t *testing.T) {
	long := strings.Repeat("because of <ü> ", 1000)
	line, err := Format(Message{Type: TypeRefuse, Place: Place{Reason: long}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(long, m.Place.Reason) || len(m.Place.Reason) < maxReason-4 {
		t.Errorf("reason became %d bytes: %.40q…", len(m.Place.Reason), m.Place.Reason)
	}
}

func TestLineThatIsTooLongIsNeverSent(t *testing.T) {
	_, err := Format(Message{Type: TypeRequest, Request: Request{Name: strings.Repeat("x", MaxLine)}})
	if !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
}

// The lines that are written without package json are the ones it would write.
func FuzzUsualLinesAreJSON(f *testing.F) {
	f.Add("0b2e", "shop", "cart-0", "c1", "/var/run/netns/a", "eth0", 3, int64(59_000), int64(0), int64(12))
	f.Add("", "shop", `c"<&>\é`, "", "", "\x00\xff", -1, int64(-1), int64(1), int64(0))
	f.Fuzz(func(t *testing.T, uid, namespace, name, container, netns, ifname string, n int, remaining, waited, since int64) {
		for _, m := range []Message{
			{Type: TypeGrant},
			{Type: TypeAck},
			{Type: TypeDone, Done: Done{Duration: Millis(waited), Exit: n}},
			{Type: TypeRequest, Request: Request{
				UID: uid, Namespace: namespace, Name: name, Container: container, NetNS: netns, IfName: ifname,
				Attempt: n, Remaining: Millis(remaining), Waited: Millis(waited), SinceFirst: Millis(since),
			}},
		} {
			want, err := formatAny(m)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := appendUsual(nil, m)
			if !ok && m.Type != TypeRequest && m.Type != TypeGrant {
				t.Errorf("%s line is not a usual one", m.Type)
			}
			if m.Type == TypeGrant {
				got, ok = []byte(usualGrant+"\n"), true
			}
			if diff := cmp.Diff(string(want), string(got)); ok && diff != "" {
				t.Errorf("%s line (-json +usual):\n%s", m.Type, diff)
			}
		}
	})
}

func TestOrdinaryRequestIsWrittenWithoutReflection(t *testing.T) {
	if _, ok := appendUsual(nil, Message{Type: TypeRequest, Request: Request{UID: "0b2e", Namespace: "shop", Name: "cart-0"}}); !ok {
		t.Error("it is not a usual line")
	}
}

func FuzzParse(f *testing.F) {
	for _, m := range everyMessage() {
		line, err := Format(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"v":1,"type":"waiting","rank":-1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := Parse(line)
		if err != nil {
			return
		}
		again, err := Format(m)
		if err != nil {
			if errors.Is(err, ErrTooLong) {
				return // escaping may lengthen names
			}
			t.Fatal(err)
		}
		back, err := Parse(again)
		if err != nil {
			t.Fatalf("%q does not survive: %v", again, err)
		}
		if diff := cmp.Diff(m, back); diff != "" {
			t.Errorf("%q (-first +second):\n%s", line, diff)
		}
	})
}

// pieces is a connection that hands out its bytes a few at a time.
type pieces struct {
	net.Conn
	data []byte
	step int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.data[:min(p.step, len(p.data))])
	p.data = p.data[n:]
	return n, nil
}

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nthree"), 1)
	f.Add(bytes.Repeat([]byte("x"), MaxLine+1), 700)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		step = max(1, min(step, 4096))
		c := &Lines{Conn: &pieces{data: data, step: step}}
		rest := data
		for {
			line, err := c.readLine()
			want, after, found := bytes.Cut(rest, []byte("\n"))
			if err != nil {
				if found && len(want) < MaxLine {
					t.Fatalf("line %q of %d bytes was lost: %v", want, len(want), err)
				}
				return
			}
			if !found || !bytes.Equal(line, want) {
				t.Fatalf("got line %q, want %q", line, want)
			}
			rest = after
		}
	})
}
