// Command mkimage writes an OCI image with one layer that holds one static
// executable, as a tar file that "ctr images import" reads:
//
//	mkimage OUT.tar NAME EXECUTABLE
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

type object = map[string]any

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: mkimage OUT.tar NAME EXECUTABLE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

// file is a regular file of a tar archive.
type file struct {
	name string
	mode int64
	data []byte
}

func write(out, name, executable string) error {
	program, err := os.ReadFile(executable)
	if err != nil {
		return err
	}
	base := filepath.Base(executable)
	layer, err := archive([]file{{base, 0o755, program}})
	if err != nil {
		return err
	}
	config, err := json.Marshal(object{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": []string{"/" + base}, "Env": []string{"PATH=/"}, "WorkingDir": "/"},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("application/vnd.oci.image.config.v1+json", config),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	if err != nil {
		return err
	}
	entry := descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["platform"] = object{"architecture": runtime.GOARCH, "os": "linux"}
	entry["annotations"] = object{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
	index, err := json.Marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{entry},
	})
	if err != nil {
		return err
	}
	image, err := archive([]file{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, index},
		{blob(manifest), 0o644, manifest},
		{blob(config), 0o644, config},
		{blob(layer), 0o644, layer},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(out, image, 0o644)
}

func archive(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, f := range files {
		if err := writer.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := writer.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return buffer.Bytes(), err
}

func descriptor(mediaType string, data []byte) object {
	return object{"mediaType": mediaType, "digest": digest(data), "size": len(data)}
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func blob(data []byte) string { return fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(data)) }
