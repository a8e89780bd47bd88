package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func amounts(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if text != "" {
			list[name] = resource.MustParse(text)
		}
	}
	return list
}

func TestWhatIsNotMeasuredIsNotZero(t *testing.T) {
	for name, c := range map[string]struct {
		lists []corev1.ResourceList
		want  Amounts
	}{
		"nothing":                  {nil, nil},
		"all":                      {[]corev1.ResourceList{amounts("1", "5"), amounts("500m", "0")}, Amounts{1500, 5}},
		"no cpu":                   {[]corev1.ResourceList{amounts("", "5")}, Amounts{Unmeasured, 5}},
		"no memory":                {[]corev1.ResourceList{amounts("1", "")}, Amounts{1000, Unmeasured}},
		"no cpu of one container":  {[]corev1.ResourceList{amounts("1", "5"), amounts("", "5")}, Amounts{Unmeasured, 10}},
		"less than nothing of one": {[]corev1.ResourceList{amounts("1", "5"), amounts("2", "-1")}, Amounts{3000, Unmeasured}},
		"an empty list":            {[]corev1.ResourceList{{}}, Amounts{Unmeasured, Unmeasured}},
	} {
		got := NewResources().Measured(c.lists...)
		if len(got) > 2 {
			got = got[:2]
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestSumsDoNotWrap(t *testing.T) {
	var sum Amounts
	huge := NewResources().Amounts(amounts("5e18", "5Ei"))
	for range 5 {
		sum = sum.Plus(huge)
	}
	if d := cmp.Diff(Amounts{Most, Most, 0}[:len(sum)], sum); d != "" {
		t.Errorf("sum of five (-want +got):\n%s", d)
	}
	if rest := sum.Minus(huge); rest.Get(CPU) < 0 || rest.Get(Memory) < 0 {
		t.Errorf("the rest without one is %v", rest)
	}
}
