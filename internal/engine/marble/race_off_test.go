//go:build !race

package marble

const raceEnabled = false
