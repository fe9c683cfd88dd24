// Command protodeps writes the .proto files that ours import into
// third_party/proto.
//
// No current Go module ships google/api, google/rpc or buf/validate as .proto
// text, but their generated Go packages carry the compiled descriptors.
// Printing those descriptors needs no schema registry, and, because the
// versions are compared with the product's go.mod first, what the compiler
// reads always matches what the product links.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/jhump/protoreflect/v2/protoprint"
	"golang.org/x/mod/modfile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/status"
)

// shared are the modules that both the product and the tools use and whose
// versions must be the same on both sides: the plugins write code against the
// runtime in the product's go.mod.
var shared = []string{
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go",
	"github.com/grpc-ecosystem/grpc-gateway/v2",
	"google.golang.org/genproto/googleapis/api",
	"google.golang.org/genproto/googleapis/rpc",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
}

// sources tell which linked module a .proto file comes from, and under which
// license, by the directory of the file.
var sources = []struct{ dir, module, license string }{
	{"buf/validate", "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go", "Apache-2.0"},
	{"google/api", "google.golang.org/genproto/googleapis/api", "Apache-2.0"},
	{"google/rpc", "google.golang.org/genproto/googleapis/rpc", "Apache-2.0"},
	{"protoc-gen-openapiv2/options", "github.com/grpc-ecosystem/grpc-gateway/v2", "BSD-3-Clause"},
}

func main() {
	root := flag.String("root", ".", "the root `directory` of the repository")
	out := flag.String("out", "", "the `directory` to write to (default ROOT/third_party/proto)")
	flag.Parse()
	if *out == "" {
		*out = filepath.Join(*root, "third_party", "proto")
	}
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "protodeps:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	linked, err := linkedVersions()
	if err != nil {
		return err
	}
	if err := compareVersions(root, linked); err != nil {
		return err
	}
	files, err := printFiles(linked)
	if err != nil {
		return err
	}
	return writeTree(out, files)
}

// linkedVersions reads the versions that were really built into this program.
func linkedVersions() (map[string]string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil, errors.New("built without module information")
	}
	versions := make(map[string]string, len(info.Deps))
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced: its version cannot be compared", dep.Path)
		}
		versions[dep.Path] = dep.Version
	}
	return versions, nil
}

func compareVersions(root string, linked map[string]string) error {
	product, err := requiredVersions(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	tools, err := requiredVersions(filepath.Join(root, "tools", "go.mod"))
	if err != nil {
		return err
	}
	var errs []error
	for _, module := range shared {
		want := product[module]
		if want == "" {
			errs = append(errs, fmt.Errorf("go.mod does not require %s", module))
			continue
		}
		if got := tools[module]; got != want {
			errs = append(errs, fmt.Errorf("%s is %s in go.mod but %q in tools/go.mod; run: go -C tools get %s@%s",
				module, want, got, module, want))
			continue
		}
		// A module that no linked package comes from is absent here.
		if got, ok := linked[module]; ok && got != want {
			errs = append(errs, fmt.Errorf("%s is %s in go.mod but this program was built with %s", module, want, got))
		}
	}
	return errors.Join(errs...)
}

func requiredVersions(name string) (map[string]string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	versions := make(map[string]string, len(mod.Require))
	for _, require := range mod.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions, nil
}

// printFiles returns the text of every linked .proto file by its import path.
// The google/protobuf files are left out: the compiler brings them along.
func printFiles(linked map[string]string) (map[string]string, error) {
	printer := protoprint.Printer{Indent: "  ", Compact: true}
	files := make(map[string]string)
	var failure error
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		name := file.Path()
		i := slices.IndexFunc(sources, func(s struct{ dir, module, license string }) bool {
			return path.Dir(name) == s.dir
		})
		if i < 0 {
			return true
		}
		version, ok := linked[sources[i].module]
		if !ok {
			failure = fmt.Errorf("%s: module %s is not linked in", name, sources[i].module)
			return false
		}
		text, err := printer.PrintProtoToString(file)
		if err != nil {
			failure = fmt.Errorf("%s: %w", name, err)
			return false
		}
		files[name] = fmt.Sprintf("// Code generated by tools/protodeps from %s %s. DO NOT EDIT.\n// SPDX-License-Identifier: %s\n\n%s",
			sources[i].module, version, sources[i].license, text)
		return true
	})
	if failure == nil && len(files) == 0 {
		failure = errors.New("no .proto file is linked in")
	}
	return files, failure
}

// writeTree makes the .proto files below dir exactly those given. A file that
// has not changed is left alone, so that a compiler's cache stays warm.
func writeTree(dir string, files map[string]string) error {
	stale, err := protoFiles(dir)
	if err != nil {
		return err
	}
	for name, text := range files {
		delete(stale, name)
		target := filepath.Join(dir, filepath.FromSlash(name))
		if old, err := os.ReadFile(target); err == nil && string(old) == text {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name := range stale {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return nil
}

func protoFiles(dir string) (map[string]bool, error) {
	found := make(map[string]bool)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == dir {
			return fs.SkipAll
		}
		if err != nil {
			return err
		}
		if !entry.IsDir() && strings.HasSuffix(name, ".proto") {
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				return err
			}
			found[filepath.ToSlash(rel)] = true
		}
		return nil
	})
	return found, err
}
