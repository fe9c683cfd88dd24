package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// rootsModule is where the image's root certificates come from.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// writeSBOM writes a CycloneDX bill of materials for the image of one platform. It
// lists the modules that the linker recorded in the program, not those that go.mod
// mentions: what is in the bill is in the image.
func writeSBOM(path string, program []byte, platform v1.Platform, about release) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("the program's build information: %w", err)
	}
	digest := sha256.Sum256(program)
	self := purl(info.Main.Path, about.Version, "type=module&goos="+platform.OS+"&goarch="+platform.Architecture)
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: about.Created.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef:     self,
			Type:       cdx.ComponentTypeApplication,
			Name:       info.Main.Path,
			Version:    about.Version,
			PackageURL: self,
			Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest[:])}},
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{{
		BOMRef:     purl("std", goVersion, "type=module"),
		Type:       cdx.ComponentTypeLibrary,
		Name:       "std",
		Version:    goVersion,
		PackageURL: purl("std", goVersion, "type=module"),
	}}
	roots, err := rootsVersion()
	if err != nil {
		return err
	}
	for _, module := range append(info.Deps, roots) {
		component, err := moduleComponent(module)
		if err != nil {
			return err
		}
		components = append(components, component)
	}
	bom.Components = &components
	var refs []string
	for _, component := range components {
		refs = append(refs, component.BOMRef)
	}
	bom.Dependencies = &[]cdx.Dependency{{Ref: self, Dependencies: &refs}}

	var encoded bytes.Buffer
	if err := cdx.NewBOMEncoder(&encoded, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(path, encoded.Bytes(), 0o644)
}

// rootsVersion is the version of the root certificates: that of a dependency of this
// program itself.
func rootsVersion() (*debug.Module, error) {
	self, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, errors.New("imagebuild was built without module information")
	}
	for _, module := range self.Deps {
		if module.Path == rootsModule {
			return module, nil
		}
	}
	return nil, fmt.Errorf("imagebuild does not depend on %s", rootsModule)
}

func moduleComponent(module *debug.Module) (cdx.Component, error) {
	if module.Replace != nil {
		module = module.Replace
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return cdx.Component{}, fmt.Errorf("module %s %s has no checksum: released images hold released modules only", module.Path, module.Version)
	}
	return cdx.Component{
		BOMRef:     purl(module.Path, module.Version, "type=module"),
		Type:       cdx.ComponentTypeLibrary,
		Name:       module.Path,
		Version:    module.Version,
		PackageURL: purl(module.Path, module.Version, "type=module"),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
	}, nil
}

// purl is the package URL of a Go module.
func purl(path, version, qualifiers string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B") + "?" + qualifiers
}
