//go:build race

package state

// raceEnabled: the race detector makes pools forget at random, so that counts
// of allocations mean nothing.
const raceEnabled = true
