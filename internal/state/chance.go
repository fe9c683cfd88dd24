package state

import (
	"encoding/binary"

	"github.com/avalanched/avalanched/internal/engine"
)

// Chance answers the draws of one move, start or simulation. It is a function of
// a key and of what is decided, so asking again gives the same answers, and
// nobody without the key can foretell them. It is safe for concurrent use.
type Chance struct {
	prf *prf
	// subject is what all draws have in common, as one input.
	subject []byte
}

var _ engine.Chance = Chance{}

// MoveChance is the chance of a move, in its canonical notation, made in a
// state. Sending the move again rolls nothing anew, and what one move would
// have rolled says nothing about another.
func (k *Key) MoveChance(state State, move string) Chance {
	return Chance{k.move, appendInput(k.unsignedInput(state), move)}
}

// StartChance is the chance that sets up a new game. Of the state, ruleset and
// game id count; parts name the parameters of creation in a fixed order.
func (k *Key) StartChance(state State, parts ...[]byte) Chance {
	identity := state.identity()
	subject := appendInput(nil, identity[:])
	for _, part := range parts {
		subject = appendInput(subject, part)
	}
	return Chance{k.start, subject}
}

// SimulationChance is chance for hints and what-if games about a state. It is
// independent of the chance of the moves, so that it betrays nothing. Different
// subjects give independent answers.
func (k *Key) SimulationChance(state State, subject string) Chance {
	return Chance{k.simulation, appendInput(k.unsignedInput(state), subject)}
}

func (k *Key) unsignedInput(state State) []byte {
	var buffer [maxLength]byte
	return appendInput(nil, state.appendUnsigned(buffer[:0], k.id))
}

// Draw implements [engine.Chance].
func (c Chance) Draw(purpose string, index, n int) int {
	var buffer [256]byte
	message := appendInput(buffer[:0], c.subject)
	message = appendInput(message, purpose)
	message = binary.AppendUvarint(message, uint64(index))
	return int(uniform(uint64(n), func(block uint64) [32]byte {
		return c.prf.sum(binary.AppendUvarint(message, block))
	}))
}

// uniform turns a stream of random blocks into a number below n by rejection:
// the lowest 2^64 mod n of all 64-bit numbers are skipped, as they would make
// some answers more likely than others.
func uniform(n uint64, block func(number uint64) [32]byte) uint64 {
	skipped := -n % n
	for number := uint64(0); ; number++ {
		random := block(number)
		for at := 0; at < len(random); at += 8 {
			if x := binary.BigEndian.Uint64(random[at:]); x >= skipped {
				return x % n
			}
		}
	}
}
