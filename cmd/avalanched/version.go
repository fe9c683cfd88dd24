package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// release is the version of a release build, set by the linker:
//
//	go build -ldflags '-X main.release=v1.2.3' ./cmd/avalanched
var release string

// version names the build: its version, the commit and the Go release, as far as
// they are known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return describeBuild(release, &debug.BuildInfo{})
	}
	return describeBuild(release, info)
}

func describeBuild(release string, info *debug.BuildInfo) string {
	name := release
	if name == "" {
		name = info.Main.Version
	}
	if name == "" {
		name = "(devel)"
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	var about []string
	if commit := settings["vcs.revision"]; commit != "" {
		if settings["vcs.modified"] == "true" {
			commit += ", modified"
		}
		about = append(about, "commit "+commit)
	}
	if info.GoVersion != "" {
		about = append(about, info.GoVersion)
	}
	if len(about) == 0 {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, strings.Join(about, ", "))
}
