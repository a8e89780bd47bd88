package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/cluster"
	"evenkeel.dev/evenkeel/internal/plan"
	"evenkeel.dev/evenkeel/internal/report"
	"evenkeel.dev/evenkeel/internal/testkit"
)

var update = flag.Bool("update", false, "write the golden files")

// small has a node that joined, what moves there, and what may not: a budget, a bare pod, and a pod that fits nowhere.
const small = `node n1 cpu=4 mem=8Gi
node n2 cpu=4 mem=8Gi
node n3 cpu=4 mem=8Gi
node n4 cordoned cpu=4
pod shop/web-{1..3} node=n1 owner=ReplicaSet/web cpu=500m mem=1Gi
pod shop/api-{1..2} node=n2 owner=ReplicaSet/api cpu=1 mem=512Mi
pod shop/big node=n1 owner=ReplicaSet/big cpu=9
pod shop/bare node=n2
pod kube-system/dns node=n4 owner=ReplicaSet/dns`

func smallPlan(t *testing.T) (*plan.Plan, *cluster.Snapshot) {
	t.Helper()
	s := testkit.Snapshot(t, strings.Split(small, "\n"))
	p := &plan.Plan{
		TakenAt: s.TakenAt, Compat: "descheduler",
		Summary: plan.Summary{
			Nodes: len(s.Nodes), EligibleNodes: 3, Pods: len(s.Pods), Moves: 4, Refusals: 2,
			ByStrategy: []plan.StrategyCount{
				{Profile: "even", Strategy: "RemoveDuplicates", Moves: 4, Refusals: 2},
				{Profile: "even", Strategy: "LowNodeUtilization", Error: "no metrics"},
			},
			ByGate:        []plan.GateCount{{Gate: "budget", Refusals: 1}, {Gate: "gentle", Refusals: 1}},
			WithoutBudget: []string{"ReplicaSet shop/web"},
			Notes:         []string{"there is something odd"},
		},
		Refusals: []plan.Refusal{
			{Pod: ref(s, "shop", "api-2"), Node: "n2", Profile: "even", Strategy: "RemoveDuplicates", Gate: "budget", Reason: plan.Reason{Code: "BudgetSpent", Message: "its budget says no"}},
			{Pod: ref(s, "shop", "web-1"), Node: "n1", Profile: "even", Strategy: "RemoveDuplicates", Gate: "gentle", Reason: plan.Reason{Code: "Gentle", Message: "enough are out"}},
		},
	}
	for i, m := range []struct{ pod, node, room string }{{"web-2", "n1", "n2"}, {"api-1", "n2", ""}, {"bare", "n2", ""}, {"big", "n1", ""}} {
		p.Moves = append(p.Moves, plan.Move{
			Seq: i + 1, Pod: ref(s, "shop", m.pod), Owner: &plan.OwnerRef{Kind: "ReplicaSet", Name: strings.TrimRight(m.pod, "-123")}, Node: m.node, Room: m.room,
			Profile: "even", Strategy: "RemoveDuplicates", Reason: plan.Reason{Code: "Duplicate", Message: "too many are here"},
		})
	}
	return p, s
}

func ref(s *cluster.Snapshot, namespace, name string) plan.PodRef {
	return plan.PodRef{Namespace: namespace, Name: name, UID: s.Pod(namespace, name).UID}
}

func page(t *testing.T, p *plan.Plan, s *cluster.Snapshot, o report.Options) string {
	t.Helper()
	var b bytes.Buffer
	o.Format = report.HTML
	if err := report.Write(&b, p, s, o); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "Inf", "%!"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	return b.String()
}

var (
	unread = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|<head>.*?</head>`)
	breaks = regexp.MustCompile(`</?(tr|p|h[1-6]|li|summary|section|figure|div|table)\b[^>]*>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
	cells  = regexp.MustCompile(`</t[hd]>`)
	blanks = regexp.MustCompile(`[ \t]+`)
)

// read is what a reader sees of a page: a line for each row and paragraph.
func read(text string) string {
	text = strings.ReplaceAll(unread.ReplaceAllString(text, ""), "\n", " ")
	text = cells.ReplaceAllString(breaks.ReplaceAllString(text, "\n"), " | ")
	text = html.UnescapeString(tags.ReplaceAllString(text, ""))
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.Trim(blanks.ReplaceAllString(line, " "), " |\n")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestThePageTellsThePlan compares what a reader sees with testdata/page.txt.
func TestThePageTellsThePlan(t *testing.T) {
	p, s := smallPlan(t)
	got := read(page(t, p, s, report.Options{Policy: "policy.yaml", Warnings: []string{"a field nobody knows"}}))
	file := filepath.Join("testdata", "page.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestThePageNeedsNothingElse: no network, and a browser is told to run the page's own script and nothing else.
func TestThePageNeedsNothingElse(t *testing.T) {
	p, s := smallPlan(t)
	text := page(t, p, s, report.Options{})
	for _, bad := range []string{"http:", "https:", "src=", "url(", "@import", "<link", "<iframe", "<img"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "#") || !strings.Contains(text, ` id="`+m[1][1:]+`"`) {
			t.Errorf("the page links to %q, which is not in it", m[1])
		}
	}
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(text, -1)
	if len(script) != 1 {
		t.Fatalf("%d scripts, expected 1", len(script))
	}
	sum := sha256.Sum256([]byte(script[0][1]))
	policy := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if !strings.Contains(html.UnescapeString(text), policy) || !strings.Contains(text, "default-src 'none'") {
		t.Errorf("the page's policy does not hold for its script: expected %s", policy)
	}
}

// TestHostileTextStaysText: whatever names and reasons hold, the page has the same elements, and nothing that a terminal would obey.
func TestHostileTextStaysText(t *testing.T) {
	write := func(evil string) string {
		parts := cluster.Parts{Nodes: []*cluster.NodeInfo{{Name: "n1" + evil, Ready: true}, {Name: "n2" + evil, Ready: true, Unschedulable: true}}}
		p := &plan.Plan{
			Compat:  evil,
			Story:   &plan.Story{Pod: plan.PodRef{Namespace: evil, Name: evil}, Node: evil, Found: true, Lines: []plan.Chapter{{About: evil, Reason: plan.Reason{Message: evil}}}},
			Summary: plan.Summary{Skipped: evil, WithoutBudget: []string{evil, evil, evil, evil, evil, evil, evil}, Notes: []string{evil}},
		}
		for _, strategy := range []string{evil, evil + "2"} {
			p.Summary.ByStrategy = append(p.Summary.ByStrategy, plan.StrategyCount{Profile: strategy, Strategy: evil, Error: evil})
		}
		for i := range 3 {
			info := &cluster.PodInfo{
				Namespace: "a" + evil, Name: fmt.Sprint(evil, i), UID: fmt.Sprint(i), NodeName: "n1" + evil, Spec: &cluster.Spec{Placement: &cluster.Placement{}},
				Owners: []cluster.Owner{{Kind: evil, Name: evil, UID: evil}},
			}
			parts.Pods = append(parts.Pods, info)
			pod := plan.PodRef{Namespace: info.Namespace, Name: info.Name, UID: info.UID}
			reason := plan.Reason{Code: evil, Message: evil}
			p.Moves = append(p.Moves, plan.Move{Pod: pod, Owner: &plan.OwnerRef{Kind: evil, Name: evil}, Node: info.NodeName, Room: evil, Profile: evil, Strategy: evil, Reason: reason})
			p.Refusals = append(p.Refusals, plan.Refusal{Pod: pod, Node: info.NodeName, Profile: evil, Strategy: evil, Gate: evil, Reason: reason})
		}
		s, err := parts.Snapshot(testkit.Now())
		if err != nil {
			t.Fatal(err)
		}
		return page(t, p, s, report.Options{Policy: evil, Warnings: []string{evil}})
	}
	elements := func(text string) string {
		values := regexp.MustCompile(`="[^"]*"`)
		return values.ReplaceAllString(strings.Join(tags.FindAllString(text, -1), "\n"), "")
	}
	tame := elements(write("x"))
	for _, evil := range []string{
		`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='x`, `</style></head>`, `{{.Title}}`, `]]>-->`, "`${x}`", "javascript:alert(1)", "\x1b[31m\u0085\x00",
	} {
		text := write(evil)
		if diff := cmp.Diff(tame, elements(text)); diff != "" {
			t.Errorf("%q changes the page:\n%s", evil, diff)
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
			t.Errorf("%q: the page has the control character %q", evil, text[i])
		}
		if !strings.Contains(read(text), blanks.ReplaceAllString(report.Printable(evil), " ")) {
			t.Errorf("%q is not shown", evil)
		}
	}
}

// TestShuffledInputGivesTheSamePage: neither the order of the objects nor map iteration decides anything.
func TestShuffledInputGivesTheSamePage(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(11, seed))
		lines := testkit.RandomCluster(rng)
		policy, err := testkit.ParsePolicy("RemoveDuplicates\nRemovePodsViolatingNodeTaints")
		if err != nil {
			t.Fatal(err)
		}
		draw := func() string {
			s := testkit.Snapshot(t, lines)
			return page(t, testkit.Plan(t, s, policy, seed%2 == 0), s, report.Options{})
		}
		first := draw()
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if diff := cmp.Diff(first, draw()); diff != "" {
			t.Fatalf("seed %d: the page depends on the order of the input:\n%s", seed, diff)
		}
	}
}

// TestTheStoryComesFirst: it was asked for.
func TestTheStoryComesFirst(t *testing.T) {
	p, s := smallPlan(t)
	p.Story = &plan.Story{Pod: ref(s, "shop", "web-2"), Node: "n1", Found: true, Lines: []plan.Chapter{{About: "even/RemoveDuplicates", Reason: plan.Reason{Message: "chosen to move"}}}}
	text := read(page(t, p, s, report.Options{}))
	story, summary := strings.Index(text, "The story of shop/web-2\nIt is on node n1.\nWho | What\neven/RemoveDuplicates | chosen to move\n"), strings.Index(text, "What was wanted")
	if story < 0 || story > summary {
		t.Errorf("expected the story before the rest:\n%s", text)
	}
	p.Story = &plan.Story{Pod: plan.PodRef{Namespace: "shop", Name: "nope"}}
	if text := read(page(t, p, s, report.Options{})); !strings.Contains(text, "There is no such pod in the snapshot.") {
		t.Errorf("expected to be told that there is no such pod:\n%s", text)
	}
}

// TestAPageCanBeDrawnOfAnything: without pods, nodes, amounts, moves, or a snapshot.
func TestAPageCanBeDrawnOfAnything(t *testing.T) {
	for name, lines := range map[string]string{"nothing": "", "an empty node": "node n1 cpu=0 mem=0", "a node without amounts": "node n1\npod a/x node=n1", "many": strings.Repeat("node n% cpu=0\n", 30) + "pod a/x node=n1"} {
		for i := range strings.Count(lines, "%") {
			lines = strings.Replace(lines, "%", fmt.Sprint(i), 1)
		}
		s := testkit.Snapshot(t, strings.Split(lines, "\n"))
		text := read(page(t, &plan.Plan{Summary: plan.Summary{Skipped: "too few nodes"}}, s, report.Options{}))
		if !strings.Contains(text, "Nothing was considered: too few nodes") || strings.Contains(text, "Moves, in this order") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	p, _ := smallPlan(t)
	if text := read(page(t, p, nil, report.Options{})); !strings.Contains(text, "shop/web-2") {
		t.Errorf("without a snapshot:\n%s", text)
	}
}

// TestThePageOfALargeClusterIsSmall: what it leaves out, it says so.
func TestThePageOfALargeClusterIsSmall(t *testing.T) {
	lines := []string{"pod a/x-{1..700} node=n1 owner=ReplicaSet/x cpu=1m", "pod a/y-{1..4700} node=n2"}
	for i := range 400 {
		lines = append(lines, fmt.Sprintf("node n%d", i+1))
	}
	s := testkit.Snapshot(t, lines)
	p := &plan.Plan{Summary: plan.Summary{Nodes: 400, Pods: 5400, Moves: 2700}}
	for i, pod := range s.Pods {
		at := plan.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
		if i%2 == 0 {
			p.Moves = append(p.Moves, plan.Move{Seq: i/2 + 1, Pod: at, Node: "n1", Strategy: "S", Reason: plan.Reason{Code: "C", Message: strings.Repeat("why ", 40)}})
		}
		for gate := range 10 {
			p.Refusals = append(p.Refusals, plan.Refusal{Pod: at, Node: "n1", Strategy: "S", Gate: fmt.Sprint("gate", gate), Reason: plan.Reason{Code: "R", Message: strings.Repeat("why not ", 20)}})
		}
	}
	text := page(t, p, s, report.Options{})
	if len(text) > 3<<20 {
		t.Errorf("%d bytes", len(text))
	}
	seen := read(text)
	for _, want := range []string{"and 1,950 more", "700 more moves; -o json has them all.", "5,100 more refusals; -o json has them all.", "339 more nodes", "52 more nodes change, less than these.", "1,951 more workloads with a pod that moves."} {
		if !strings.Contains(seen, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestEveryGateIsExplained: those that docs/plan.md lists.
func TestEveryGateIsExplained(t *testing.T) {
	doc, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| gate | refuses |")
	table, _, _ = strings.Cut(table, "\n\n")
	var gates []string
	for _, m := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1) {
		gates = append(gates, strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("`, ", r) })...)
	}
	if len(gates) < 13 {
		t.Fatalf("docs/plan.md lists the gates %v", gates)
	}
	for _, gate := range gates {
		p := &plan.Plan{Refusals: []plan.Refusal{{Gate: gate}}}
		if text := read(page(t, p, nil, report.Options{})); !regexp.MustCompile(gate + ` 1 refusal · .+`).MatchString(text) {
			t.Errorf("gate %s is not explained", gate)
		}
	}
}
