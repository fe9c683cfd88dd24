// Package testenv finds what tests need from the machine they run on.
package testenv

import (
	"os"
	"os/exec"
	"testing"
)

// RequireAll is the environment variable that, set to 1, turns a test that would
// be skipped for want of a program into a failure. Continuous integration sets it,
// so that no test silently stops running.
const RequireAll = "AVALANCHED_REQUIRE_ALL_TESTS"

// Need returns the path of a program that the test runs. On a machine without the
// program the test is skipped, or fails where [RequireAll] is set to 1.
func Need(t testing.TB, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv(RequireAll) == "1" {
		t.Fatalf("%s=1, and the test needs %s: %v", RequireAll, program, err)
	}
	t.Skipf("the test needs %s: %v", program, err)
	return ""
}
