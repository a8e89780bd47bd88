// Package agentconfig is the configuration file of the node agent: strict YAML,
// decoded, completed with defaults, then checked as a whole, so that one look at
// an error shows everything that is wrong.
package agentconfig

import (
	"time"

	"evenkeel.dev/evenkeel/internal/pace"
	"evenkeel.dev/evenkeel/internal/podstate"
)

// Config is the file. Every field may be left out.
type Config struct {
	// Pace is how many pods start at once and in which order.
	Pace pace.Config `json:"pace,omitempty"`
	// Pods says which pods are held, and when one that starts gives its slot back.
	Pods podstate.Rules `json:"pods,omitempty"`
	// Install says which plugin the stand-in replaces.
	Install Install `json:"install,omitempty"`
	// Maintenance says which pods replace the plugin's file when they start.
	Maintenance Maintenance `json:"maintenance,omitempty"`
	// Socket is the unix socket or named pipe to listen on; the system's default if empty.
	Socket string `json:"socket,omitempty"`
	// Listen is the TCP address of health and metrics; default 127.0.0.1:9808, "none" for no port at all.
	Listen string `json:"listen,omitempty"`
	// Events says whether pods held long get a Kubernetes Event; default true.
	Events *bool `json:"events,omitempty"`
	// Log says where to log.
	Log Log `json:"log,omitempty"`
}

// Install says what to install and where.
type Install struct {
	// Enabled says whether the agent installs the stand-in when it starts and
	// keeps it in place; default true where Plugin is set.
	Enabled *bool `json:"enabled,omitempty"`
	// BinDir is the folder in which the container runtime looks for plugins;
	// default C:\k\azurecni\bin or /opt/cni/bin.
	BinDir string `json:"binDir,omitempty"`
	// Plugin is the base name of the plugin that the runtime calls first; default
	// azure-vnet.exe on Windows, none on Linux.
	Plugin string `json:"plugin,omitempty"`
	// Executable is the stand-in; default evenkeel-cni beside the agent.
	Executable string `json:"executable,omitempty"`
	// DefenderExclusions says whether Windows Defender is told of the new paths; default true.
	DefenderExclusions *bool `json:"defenderExclusions,omitempty"`
}

// Maintenance names the pods whose init containers write over the plugin's file.
// While one of them initialises on this node nobody is let through, because
// Windows does not overwrite a file that runs.
type Maintenance struct {
	// Namespace of the pods; default kube-system.
	Namespace string `json:"namespace,omitempty"`
	// Labels that the pods have, all of them; default k8s-app: azure-cns-win on
	// Windows and none, which is off, on Linux.
	Labels map[string]string `json:"labels,omitempty"`
}

// Log says where to log.
type Log struct {
	// Level is debug, info, warn or error; default info.
	Level string `json:"level,omitempty"`
	// Format is text or json; default json.
	Format string `json:"format,omitempty"`
	// File is logged to instead of standard error, and rotated; default none.
	File string `json:"file,omitempty"`
	// MaxSizeMB is the size at which a file is rotated, 1 to 1000; default 10.
	MaxSizeMB int `json:"maxSizeMB,omitempty"`
	// MaxFiles is how many rotated files are kept, 1 to 100; default 5.
	MaxFiles int `json:"maxFiles,omitempty"`
}

// DefaultListen is where health and metrics are served: on this machine only.
const DefaultListen = "127.0.0.1:9808"

// NoListen as the address means no port at all.
const NoListen = "none"

// ReloadEvery is how often the agent looks whether the file has changed.
const ReloadEvery = 5 * time.Second
