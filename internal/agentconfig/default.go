package agentconfig

import "evenkeel.dev/evenkeel/internal/sock"

// Defaulted returns the configuration with every unset field at its default for
// the operating system goos; what pace defaults by the number of cores is left to
// it.
func (c Config) Defaulted(goos string) Config {
	windows := goos == "windows"
	setText(&c.Socket, sock.DefaultPath)
	setText(&c.Listen, DefaultListen)
	c.Events = or(c.Events, true)
	if c.Pods.ExcludeNamespaces == nil { // [] means none
		c.Pods.ExcludeNamespaces = []string{"kube-system"}
	}
	c.Pods = c.Pods.Defaulted()
	setText(&c.Log.Level, "info")
	setText(&c.Log.Format, "json")
	setNumber(&c.Log.MaxSizeMB, 10)
	setNumber(&c.Log.MaxFiles, 5)
	if windows {
		setText(&c.Install.BinDir, `C:\k\azurecni\bin`)
		setText(&c.Install.Plugin, "azure-vnet.exe")
	}
	setText(&c.Install.BinDir, "/opt/cni/bin")
	c.Install.Enabled = or(c.Install.Enabled, c.Install.Plugin != "")
	c.Install.DefenderExclusions = or(c.Install.DefenderExclusions, windows)
	setText(&c.Maintenance.Namespace, "kube-system")
	if windows && c.Maintenance.Labels == nil {
		c.Maintenance.Labels = map[string]string{"k8s-app": "azure-cns-win"}
	}
	return c
}

func setText(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func setNumber(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

func or[T any](field *T, value T) *T {
	if field != nil {
		return field
	}
	return &value
}
