package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// file is one file of the image, root's and read-only in effect: the daemon runs as
// another user.
type file struct {
	// Path is absolute.
	Path    string
	Mode    int64
	Content []byte
}

// nonroot is the user and group that the daemon runs as. Its number is the one that
// images without a distribution commonly use, and the Kubernetes manifests name it.
const nonroot = "65532"

// baseFiles are those that no change of the program changes.
func baseFiles() ([]file, error) {
	roots, err := rootCertificates()
	if err != nil {
		return nil, err
	}
	return []file{
		{"/etc/group", 0o644, []byte("root:x:0:\nnonroot:x:" + nonroot + ":\n")},
		{"/etc/passwd", 0o644, []byte("root:x:0:0:root:/:/nologin\nnonroot:x:" + nonroot + ":" + nonroot + ":nonroot:/:/nologin\n")},
		// Where Go looks first, and where administrators mount their own.
		{"/etc/ssl/certs/ca-certificates.crt", 0o644, roots},
	}, nil
}

// programFile is the daemon itself.
func programFile(program []byte) file { return file{"/avalanched", 0o755, program} }

// rootCertificates is Mozilla's list, for TLS to Redis and to telemetry collectors.
// Roots that are trusted only in part are left out: a file cannot say so.
func rootCertificates() ([]byte, error) {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	if roots.Len() == 0 {
		return nil, errors.New("the list of root certificates is empty")
	}
	return roots.Bytes(), nil
}

// write puts the file below a folder.
func (f file) write(folder string) error {
	name := filepath.Join(folder, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, f.Content, os.FileMode(f.Mode))
}

// archive makes the layer of some files, with the folders they are in.
func archive(files []file, modified time.Time) ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	made := map[string]bool{"/": true}
	var makeFolder func(folder string) error
	makeFolder = func(folder string) error {
		if made[folder] {
			return nil
		}
		made[folder] = true
		if err := makeFolder(path.Dir(folder)); err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder[1:] + "/", Mode: 0o755, ModTime: modified})
	}
	for _, file := range files {
		if err := makeFolder(path.Dir(file.Path)); err != nil {
			return nil, err
		}
		header := tar.Header{Typeflag: tar.TypeReg, Name: file.Path[1:], Mode: file.Mode, Size: int64(len(file.Content)), ModTime: modified}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(file.Content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}
