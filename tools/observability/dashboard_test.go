package observability

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write deploy/grafana/avalanched.json")

// root is the product's module.
var root = filepath.Join("..", "..")

func TestDashboardIsUpToDate(t *testing.T) {
	built, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(built, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	file := filepath.Join(root, "deploy", "grafana", "avalanched.json")
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what dashboard.go makes: run \"go test -run Dashboard -update\" in tools/observability", file)
	}
}

func TestPanelsAreWhole(t *testing.T) {
	titles := map[string]bool{}
	for _, r := range rows {
		for _, p := range r.panels {
			name := r.title + ": " + p.title
			if p.title == "" || p.about == "" || p.unit == "" || len(p.queries) == 0 || titles[name] {
				t.Errorf("%q is a second one, or lacks a description, a unit or a query", name)
			}
			titles[name] = true
		}
	}
}
