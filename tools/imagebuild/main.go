// Command imagebuild makes the container image of avalanched without a container
// engine: a multi-platform image as an OCI layout, and a software bill of materials
// for each platform. The same source, version and Go toolchain always give the same
// bytes. Run it by tools/image, which chooses the toolchain.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// release is what the image says about itself.
type release struct {
	// Version is that of the program, as in v1.2.3.
	Version string
	// Revision is the source's commit.
	Revision string
	// Created is when the source was committed: the time of the build would make
	// every build another one.
	Created time.Time
}

// platforms are those that the image is for.
var platforms = []v1.Platform{
	{OS: "linux", Architecture: "amd64"},
	{OS: "linux", Architecture: "arm64"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("imagebuild: ")
	var (
		source   = flag.String("source", "../..", "the folder of the product's go.mod")
		out      = flag.String("out", "", "the folder to write the image to; one that exists is replaced")
		rootfs   = flag.String("rootfs", "", "write no image but its files into this folder, for the Dockerfile")
		platform = flag.String("platform", "", "with -rootfs, whose files: linux/amd64 or linux/arm64")
		version  = flag.String("version", "dev", "the version of the program")
		revision = flag.String("revision", "", "the commit of the source")
		created  = flag.Int64("created", 0, "the time of the commit in seconds since 1970")
	)
	flag.Parse()
	about := release{Version: *version, Revision: *revision, Created: time.Unix(*created, 0).UTC()}
	var err error
	switch {
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case (*out == "") == (*rootfs == ""):
		err = errors.New("give either -out or -rootfs")
	case *rootfs != "":
		err = writeRootfs(*rootfs, *source, *platform, about)
	default:
		err = writeRelease(*out, *source, about)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// writeRelease writes the image and what belongs to it.
func writeRelease(out, source string, about release) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	// Written beside its place and moved there whole.
	work, err := os.MkdirTemp(filepath.Dir(out), ".image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // best effort

	base, err := baseFiles()
	if err != nil {
		return err
	}
	var images []platformImage
	for _, platform := range platforms {
		program, err := buildProgram(source, platform, about)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("avalanched_%s_%s.cdx.json", platform.OS, platform.Architecture)
		if err := writeSBOM(filepath.Join(work, name), program, platform, about); err != nil {
			return err
		}
		image, err := newImage(base, program, platform, about)
		if err != nil {
			return err
		}
		images = append(images, platformImage{platform, image})
	}
	digest, err := writeLayout(filepath.Join(work, "oci"), images, about)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "digest"), []byte(digest+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Chmod(work, 0o755); err != nil { //nolint:gosec // not secret
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(work, out)
}

// writeRootfs writes the files of the image for one platform.
func writeRootfs(folder, source, platform string, about release) error {
	i := slices.IndexFunc(platforms, func(p v1.Platform) bool { return p.String() == platform })
	if i < 0 {
		var known []string
		for _, p := range platforms {
			known = append(known, p.String())
		}
		return fmt.Errorf("-platform %q: must be one of %s", platform, strings.Join(known, ", "))
	}
	files, err := baseFiles()
	if err != nil {
		return err
	}
	program, err := buildProgram(source, platforms[i], about)
	if err != nil {
		return err
	}
	for _, file := range append(files, programFile(program)) {
		if err := file.write(folder); err != nil {
			return err
		}
	}
	return nil
}
