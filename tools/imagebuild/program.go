package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// buildProgram compiles the daemon and returns its executable file. Nothing about the
// machine gets into it: no paths, no C library, no state of a working tree.
func buildProgram(source string, platform v1.Platform, about release) ([]byte, error) {
	folder, err := os.MkdirTemp("", "avalanched-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // best effort
	executable := filepath.Join(folder, "avalanched")
	build := exec.Command( //nolint:gosec,noctx // the arguments are ours, and the user interrupts both
		"go", "build",
		"-trimpath",
		"-buildvcs=false",
		"-mod=readonly",
		"-ldflags=-s -w -buildid= -X main.release="+about.Version,
		"-o", executable,
		"./cmd/avalanched",
	)
	build.Dir = source
	build.Stderr = os.Stderr
	build.Env = append(
		os.Environ(),
		"CGO_ENABLED=0",
		"GOFLAGS=",
		"GOWORK=off",
		"GOEXPERIMENT=",
		"GOOS="+platform.OS,
		"GOARCH="+platform.Architecture,
		// The oldest processors, so that the image runs everywhere.
		"GOAMD64=v1",
		"GOARM64=v8.0",
	)
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build for %s: %w", platform, err)
	}
	return os.ReadFile(executable)
}
