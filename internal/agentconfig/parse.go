package agentconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/pace"
)

// Load reads the file at path; an empty path is an empty file. The result is
// complete and valid, or the error names every field that is wrong.
func Load(path, goos string) (Config, error) {
	if path == "" {
		return Parse(nil, goos)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, fmt.Errorf("configuration file %s does not exist", path)
	}
	if err != nil {
		return Config{}, fmt.Errorf("read configuration: %w", err)
	}
	c, err := Parse(data, goos)
	if err != nil {
		return Config{}, fmt.Errorf("configuration file %s: %w", path, err)
	}
	return c, nil
}

// Parse is Load for text at hand. Unknown and repeated fields are errors.
func Parse(data []byte, goos string) (Config, error) {
	var c Config
	if len(bytes.TrimSpace(data)) > 0 {
		if err := decode(data, &c); err != nil {
			return Config{}, err
		}
	}
	c = c.Defaulted(goos)
	return c, c.Validate(goos).ToAggregate()
}

// decode names every unknown and repeated field with its path.
func decode(data []byte, c *Config) error {
	text, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	strict, err := json.UnmarshalStrict(text, c)
	return errors.Join(append(strict, err)...)
}

// Validate returns everything that is wrong with a complete configuration for the
// operating system goos.
func (c Config) Validate(goos string) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, wrong(field.NewPath("pace"), c.Pace.Validate())...)
	if p := c.Pace.Limits.Pressure; goos == "windows" && p != nil && p.IO != 0 {
		errs = append(errs, field.Forbidden(field.NewPath("pace", "limits", "pressure", "io"),
			"Windows has no figure for it: want cpu or memory"))
	}
	errs = append(errs, wrong(field.NewPath("pods"), c.Pods.Validate())...)
	errs = append(errs, c.Install.validate(field.NewPath("install"))...)
	errs = append(errs, c.Log.validate(field.NewPath("log"))...)
	if _, _, err := net.SplitHostPort(c.Listen); err != nil && c.Listen != NoListen {
		errs = append(errs, field.Invalid(field.NewPath("listen"), c.Listen, "want HOST:PORT or "+NoListen))
	}
	return errs
}

func wrong(at *field.Path, problems pace.Problems) field.ErrorList {
	var errs field.ErrorList
	for _, p := range problems {
		errs = append(errs, field.Invalid(at.Child(p.Path), p.Value, "want "+p.Want))
	}
	return errs
}

func (i Install) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if *i.Enabled && i.Plugin == "" {
		errs = append(errs, field.Required(at.Child("plugin"), "want the base name of the plugin that the container runtime calls first"))
	}
	if strings.ContainsAny(i.Plugin, `/\`) || i.Plugin != "" && filepath.Base(i.Plugin) != i.Plugin {
		errs = append(errs, field.Invalid(at.Child("plugin"), i.Plugin, "want a base name without folder"))
	}
	return errs
}

func (l Log) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, oneOf(at.Child("level"), l.Level, "debug", "info", "warn", "error")...)
	errs = append(errs, oneOf(at.Child("format"), l.Format, "text", "json")...)
	errs = append(errs, between(at.Child("maxSizeMB"), l.MaxSizeMB, 1, 1000)...)
	return append(errs, between(at.Child("maxFiles"), l.MaxFiles, 1, 100)...)
}

func oneOf(at *field.Path, value string, allowed ...string) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at, value, allowed)}
}

func between(at *field.Path, value, low, high int) field.ErrorList {
	if value >= low && value <= high {
		return nil
	}
	return field.ErrorList{field.Invalid(at, value, fmt.Sprintf("want %d to %d", low, high))}
}
