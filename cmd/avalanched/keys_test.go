package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/testing/fakekms"

	"github.com/avalanched/avalanched/internal/state"
)

// runKeys runs one command line and returns what it wrote. Only the standard
// output is for scripts.
func runKeys(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes strings.Builder
	var cli struct {
		Keys keysCmd `cmd:""`
	}
	parser, err := kong.New(&cli, kong.Writers(&out, &notes), kong.Exit(func(int) { panic("the command exits by itself") }))
	if err != nil {
		t.Fatal(err)
	}
	command, err := parser.Parse(append([]string{"keys"}, args...))
	if err == nil {
		err = command.Run()
	}
	return out.String(), notes.String(), err
}

func mustRunKeys(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, err := runKeys(t, args...)
	if err != nil {
		t.Fatalf("keys %s: %v", strings.Join(args, " "), err)
	}
	return stdout, stderr
}

// mustBeID reads the output of a command that makes a key.
func mustBeID(t *testing.T, output string) string {
	t.Helper()
	if !regexp.MustCompile(`^[0-9]+\n$`).MatchString(output) {
		t.Fatalf("the output is %q, want an id", output)
	}
	return strings.TrimSpace(output)
}

// table is what list prints, with the runs of blanks made one.
func table(t *testing.T, file string, more ...string) []string {
	t.Helper()
	stdout, _ := mustRunKeys(t, append([]string{"list", "--keyset", file}, more...)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return lines[1:]
}

func inStates(t *testing.T, id string) string {
	t.Helper()
	number, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("0x%02x", number&0xff)
}

func expectTable(t *testing.T, file string, want ...string) {
	t.Helper()
	if got := table(t, file); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("list says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestKeyRotation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyset.json")
	stdout, notes := mustRunKeys(t, "new", "--keyset", file)
	first := mustBeID(t, stdout)
	if !strings.Contains(notes, "not encrypted") {
		t.Errorf("new says nothing about encryption: %q", notes)
	}
	row := func(id, rest string) string { return id + " " + inStates(t, id) + " " + rest }
	expectTable(t, file, row(first, "enabled yes"))

	stdout, notes = mustRunKeys(t, "rotate", "--keyset", file)
	second := mustBeID(t, stdout)
	if !strings.Contains(notes, "keys promote "+second) {
		t.Errorf("rotate does not say what comes next: %q", notes)
	}
	expectTable(t, file, row(first, "enabled yes"), row(second, "enabled no"))

	mustRunKeys(t, "promote", second, "--keyset", file)
	expectTable(t, file, row(first, "enabled no"), row(second, "enabled yes"))

	_, notes = mustRunKeys(t, "disable", first, "--keyset", file)
	if !strings.Contains(notes, "keys enable "+first) {
		t.Errorf("disable does not say how to undo it: %q", notes)
	}
	expectTable(t, file, row(first, "disabled no"), row(second, "enabled yes"))

	mustRunKeys(t, "enable", first, "--keyset", file)
	expectTable(t, file, row(first, "enabled no"), row(second, "enabled yes"))
}

// The daemon must be able to use what the commands make.
func TestKeysAreUsable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyset.json")
	mustRunKeys(t, "new", "--keyset", file)
	mustRunKeys(t, "rotate", "--keyset", file)
	keys, err := state.LoadKeyset(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Keyring(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
}

func TestKeysOfAnEncryptedKeyset(t *testing.T) {
	client, err := fakekms.NewClient("fake-kms://")
	if err != nil {
		t.Fatal(err)
	}
	registry.RegisterKMSClient(client)
	t.Cleanup(registry.ClearKMSClients)
	uri, err := fakekms.NewKeyURI()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "keyset.json")
	stdout, notes := mustRunKeys(t, "new", "--keyset", file, "--kek-uri", uri)
	mustBeID(t, stdout)
	if notes != "" {
		t.Errorf("new warns: %q", notes)
	}
	mustRunKeys(t, "rotate", "--keyset", file, "--kek-uri", uri)
	if rows := table(t, file, "--kek-uri", uri); len(rows) != 2 {
		t.Errorf("list says %q", rows)
	}
	if _, _, err := runKeys(t, "list", "--keyset", file); err == nil || !strings.Contains(err.Error(), "it is encrypted") {
		t.Errorf("without the key-encryption key: %v", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "keyData") {
		t.Error("the file shows its keys")
	}
}

func TestKeysReadTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyset.json")
	t.Setenv("AVALANCHED_KEYSET", file)
	mustRunKeys(t, "new")
	if rows := table(t, file); len(rows) != 1 {
		t.Errorf("list says %q", rows)
	}
	t.Setenv("AVALANCHED_KEK_URI", "aws-kms://key")
	if _, _, err := runKeys(t, "list"); err == nil || !strings.Contains(err.Error(), "aws-kms://") {
		t.Errorf("with a URI of no client: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(directory, "keyset.json")
	stdout, _ := mustRunKeys(t, "new", "--keyset", file)
	id := mustBeID(t, stdout)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"new", "--keyset", file}, "exists already"},
		{[]string{"new"}, "--keyset"},
		{[]string{"list", "--keyset", filepath.Join(directory, "absent.json")}, `make one with "keys new"`},
		{[]string{"rotate", "--keyset", filepath.Join(directory, "absent.json")}, `make one with "keys new"`},
		{[]string{"promote", "--keyset", file}, "<id>"},
		{[]string{"promote", "one", "--keyset", file}, "one"},
		{[]string{"promote", "1", "--keyset", file}, "no key 1"},
		{[]string{"disable", id, "--keyset", file}, "make another key the primary one first"},
		{[]string{"enable", "1", "--keyset", file}, "no key 1"},
		{[]string{"list", "--keyset", file, "--kek-uri", "aws-kms://key"}, "no client for aws-kms://"},
	} {
		stdout, _, err := runKeys(t, test.args...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("keys %s: %v, want %q", strings.Join(test.args, " "), err, test.want)
		}
		if stdout != "" {
			t.Errorf("keys %s writes %q", strings.Join(test.args, " "), stdout)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("a refused command changed the file: %v", err)
	}
}
