package state

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// prf is HMAC-SHA256 under the subkey of one purpose. Hash states are kept, so
// that the key is processed once and a call allocates nothing.
type prf struct {
	purpose string
	states  sync.Pool
}

type prfState struct {
	hash   hash.Hash
	buffer []byte
}

func newPRF(purpose string, subkey []byte) *prf {
	return &prf{
		purpose: purpose,
		states: sync.Pool{New: func() any {
			h := hmac.New(sha256.New, subkey)
			// From its first reset on, an HMAC restores the state after the key
			// instead of processing the key again.
			h.Reset()
			return &prfState{hash: h}
		}},
	}
}

// sum is the PRF's value for a message made of inputs and numbers.
func (p *prf) sum(message []byte) (sum [sha256.Size]byte) {
	state := p.states.Get().(*prfState)
	// The copy keeps the caller's message on the stack: what is passed to an
	// interface escapes.
	state.buffer = append(state.buffer[:0], p.purpose...)
	state.buffer = append(state.buffer, message...)
	state.hash.Reset()
	state.hash.Write(state.buffer)
	state.buffer = state.hash.Sum(state.buffer[:0])
	copy(sum[:], state.buffer)
	p.states.Put(state)
	return sum
}

// appendInput appends an input preceded by its length.
func appendInput[T string | []byte](dst []byte, input T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(input)))
	return append(dst, input...)
}
