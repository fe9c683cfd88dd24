//go:build !race

package state

// raceEnabled: see race_on_test.go.
const raceEnabled = false
