package harness

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

// Pod prepares the first container of a pod as a process of this machine, so
// that a manifest's own words are run: its command, arguments and environment,
// its user, its ConfigMaps under its mount paths, and the token of its service
// account where client-go looks for it. The process sees nothing but that: its
// root is a folder with the files of image (path in the image → executable on
// this machine) and the volumes. Nothing in it is writable but emptyDirs.
//
// It shares this machine's network, so listening ports may need an argument
// more: append to Cmd.Args. The command is not started yet; it dies with the
// test process. Needs root.
func (c *Cluster) Pod(t testing.TB, namespace string, spec corev1.PodSpec, image map[string]string) *exec.Cmd {
	t.Helper()
	pod := podRoot{t: t, cluster: c, namespace: namespace, spec: spec, dir: t.TempDir()}
	if err := os.Chmod(pod.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, source := range image {
		pod.copyFile(path, source)
	}
	container := spec.Containers[0]
	pod.mountAll(container.VolumeMounts)
	pod.serviceAccount()
	env := pod.environment(container.Env)
	args := expand(slices.Concat(container.Command, container.Args), env)
	if len(container.Command) == 0 {
		t.Fatalf("container %s has no command", container.Name)
	}
	return &exec.Cmd{
		Path: args[0],
		Args: args,
		Env:  env,
		Dir:  "/",
		SysProcAttr: &syscall.SysProcAttr{
			Chroot:     pod.dir,
			Credential: pod.credential(container),
			Pdeathsig:  syscall.SIGKILL,
		},
	}
}

// podRoot fills the folder that a container sees as its root.
type podRoot struct {
	t         testing.TB
	cluster   *Cluster
	namespace string
	spec      corev1.PodSpec
	dir       string
}

func (p *podRoot) copyFile(path, source string) {
	p.t.Helper()
	from, err := os.Open(source)
	if err != nil {
		p.t.Fatal(err)
	}
	defer from.Close()
	target := filepath.Join(p.dir, path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		p.t.Fatal(err)
	}
	to, err := os.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		p.t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *podRoot) writeFile(path string, data []byte) {
	p.t.Helper()
	target := filepath.Join(p.dir, path)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(target, data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *podRoot) mountAll(mounts []corev1.VolumeMount) {
	p.t.Helper()
	for _, mount := range mounts {
		index := slices.IndexFunc(p.spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if index < 0 {
			p.t.Fatalf("volume mount %s has no volume", mount.Name)
		}
		p.mount(p.spec.Volumes[index], mount.MountPath)
	}
}

func (p *podRoot) mount(volume corev1.Volume, path string) {
	p.t.Helper()
	switch {
	case volume.ConfigMap != nil && len(volume.ConfigMap.Items) == 0:
		configMap, err := p.cluster.Client.CoreV1().ConfigMaps(p.namespace).Get(p.t.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			p.t.Fatalf("volume %s: %v", volume.Name, err)
		}
		for key, value := range configMap.Data {
			p.writeFile(filepath.Join(path, key), []byte(value))
		}
	case volume.EmptyDir != nil:
		target := filepath.Join(p.dir, path)
		if err := os.MkdirAll(target, 0o777); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Chmod(target, 0o777); err != nil {
			p.t.Fatal(err)
		}
	default:
		p.t.Fatalf("volume %s: the harness has whole ConfigMaps and emptyDirs only", volume.Name)
	}
}

func (p *podRoot) serviceAccount() {
	p.t.Helper()
	if p.spec.AutomountServiceAccountToken != nil && !*p.spec.AutomountServiceAccountToken {
		return
	}
	account := p.spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	p.writeFile(serviceAccountFolder+"/token", []byte(p.cluster.Token(p.t, p.namespace, account)))
	p.writeFile(serviceAccountFolder+"/ca.crt", p.cluster.Config.CAData)
	p.writeFile(serviceAccountFolder+"/namespace", []byte(p.namespace))
}

func (p *podRoot) environment(vars []corev1.EnvVar) []string {
	p.t.Helper()
	env := []string{
		"PATH=/bin", "HOSTNAME=" + p.podName(),
		"KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=" + strconv.Itoa(p.cluster.Port),
	}
	fields := map[string]string{
		"metadata.name": p.podName(), "metadata.namespace": p.namespace,
		"spec.nodeName": p.spec.NodeName, "spec.serviceAccountName": p.spec.ServiceAccountName,
	}
	for _, v := range vars {
		value := v.Value
		if from := v.ValueFrom; from != nil {
			field := from.FieldRef
			if field == nil {
				p.t.Fatalf("environment variable %s: the harness has values and field references only", v.Name)
			}
			known, ok := fields[field.FieldPath]
			if !ok {
				p.t.Fatalf("environment variable %s: the harness does not know field %s", v.Name, field.FieldPath)
			}
			value = known
		}
		env = append(env, v.Name+"="+value)
	}
	return env
}

func (p *podRoot) podName() string {
	return fmt.Sprintf("pod-%d", os.Getpid())
}

// credential is the user that the security contexts ask for, checked as the
// kubelet checks it.
func (p *podRoot) credential(container corev1.Container) *syscall.Credential {
	p.t.Helper()
	var user, group int64
	nonRoot := false
	if s := p.spec.SecurityContext; s != nil {
		user, group, nonRoot = value(s.RunAsUser, user), value(s.RunAsGroup, group), value(s.RunAsNonRoot, nonRoot)
	}
	if s := container.SecurityContext; s != nil {
		user, group, nonRoot = value(s.RunAsUser, user), value(s.RunAsGroup, group), value(s.RunAsNonRoot, nonRoot)
	}
	if nonRoot && user == 0 {
		p.t.Fatalf("container %s must not run as root and names no other user", container.Name)
	}
	return &syscall.Credential{Uid: uint32(user), Gid: uint32(group)}
}

func value[T any](pointer *T, otherwise T) T {
	if pointer == nil {
		return otherwise
	}
	return *pointer
}

// expand replaces $(NAME) in arguments, as the kubelet does.
func expand(args, env []string) []string {
	expanded := slices.Clone(args)
	for i := range expanded {
		for _, v := range env {
			name, value, _ := strings.Cut(v, "=")
			expanded[i] = strings.ReplaceAll(expanded[i], "$("+name+")", value)
		}
	}
	return expanded
}
