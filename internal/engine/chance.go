package engine

// Chance answers draws. For the same purpose and index it always gives the same
// answer; answers for different ones are independent. Each ruleset names its
// purposes, so that what is drawn for one never shifts another.
type Chance interface {
	// Draw returns a number from 0 to n-1, each equally likely. n is at least 1.
	Draw(purpose string, index, n int) int
}

// Shuffle returns a random permutation of the numbers 0 to n-1.
func Shuffle(chance Chance, purpose string, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := chance.Draw(purpose, i, i+1)
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// Seeded is a fast repeatable chance for tests and simulations. It is no secret:
// games between people need the keyed chance of the signed state.
type Seeded uint64

// Draw implements Chance.
func (s Seeded) Draw(purpose string, index, n int) int {
	x := uint64(s) ^ 0x9e3779b97f4a7c15
	for i := range len(purpose) {
		x = mix(x ^ uint64(purpose[i]))
	}
	x = mix(x ^ uint64(index))
	// Rejection keeps the draw uniform: numbers below the remainder would make
	// the small answers more likely.
	for threshold := -uint64(n) % uint64(n); x < threshold; {
		x = mix(x)
	}
	return int(x % uint64(n))
}

// Next is the seed for an independent chance, for example that of the next move.
func (s Seeded) Next() Seeded { return Seeded(mix(uint64(s))) }

// mix is the output function of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
