package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// platformImage is the image for one platform.
type platformImage struct {
	platform v1.Platform
	image    v1.Image
}

// newImage makes the image for one platform, in two layers: one that stays the same
// from release to release, and the program.
func newImage(base []file, program []byte, platform v1.Platform, about release) (v1.Image, error) {
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	for _, layer := range []struct {
		comment  string
		files    []file
		modified time.Time
	}{
		{"users and root certificates", base, time.Unix(0, 0)},
		{"the daemon", []file{programFile(program)}, about.Created},
	} {
		content, err := newLayer(layer.files, layer.modified)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{
			Layer:   content,
			History: v1.History{Created: v1.Time{Time: layer.modified.UTC()}, CreatedBy: "tools/image", Comment: layer.comment},
		})
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: about.Created}
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Config = v1.Config{
		User:         nonroot + ":" + nonroot,
		Entrypoint:   []string{"/avalanched"},
		Cmd:          []string{"serve"},
		WorkingDir:   "/",
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}, "9090/tcp": {}},
		Labels:       about.annotations(),
	}
	return mutate.ConfigFile(image, config)
}

func newLayer(files []file, modified time.Time) (v1.Layer, error) {
	content, err := archive(files, modified)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression),
	)
}

// annotations are those that the OCI image specification predefines.
func (r release) annotations() map[string]string {
	annotations := map[string]string{
		"org.opencontainers.image.title":    "avalanched",
		"org.opencontainers.image.source":   "https://github.com/avalanched/avalanched",
		"org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.version":  r.Version,
		"org.opencontainers.image.created":  r.Created.Format(time.RFC3339),
	}
	if r.Revision != "" {
		annotations["org.opencontainers.image.revision"] = r.Revision
	}
	return annotations
}

// writeLayout writes the images under one index, reads all of it back, and returns the
// digest that the whole image goes by in a registry.
func writeLayout(folder string, images []platformImage, about release) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        one.image,
			Descriptor: v1.Descriptor{Platform: &one.platform},
		})
	}
	annotated, ok := mutate.Annotations(index, about.annotations()).(v1.ImageIndex)
	if !ok {
		return "", fmt.Errorf("an annotated image index is a %T", annotated)
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return "", err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": about.Version}
	if err := written.AppendIndex(annotated, layout.WithAnnotations(name)); err != nil {
		return "", err
	}
	readBack, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return "", err
	}
	if err := validate.Index(readBack); err != nil {
		return "", fmt.Errorf("the image that was written is broken: %w", err)
	}
	digest, err := annotated.Digest()
	return digest.String(), err
}
