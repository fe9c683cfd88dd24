//go:build race

package marble

// raceEnabled tells that the race detector is on, which makes the board about ten times
// slower and the pools of the standard library forget.
const raceEnabled = true
