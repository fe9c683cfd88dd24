package state

import "crypto/subtle"

// GameID is the id of a game that was created with a request id: a repeated
// request creates the same game again, and any other one another game. parts
// name, in a fixed order, all that makes two requests the same: tenant, ruleset
// and its version, every parameter, the context and the request id. How they are
// split into parts matters.
func (k *Key) GameID(parts ...[]byte) GameID {
	var message []byte
	for _, part := range parts {
		message = appendInput(message, part)
	}
	sum := k.gameID.sum(message)
	return GameID(sum[:])
}

// Secret keys of players have 96 bits, which is plenty for a secret that can
// only be tried online, and short enough to type.
const seatKeyLength = 12

// SeatKey is the secret that lets its holder move for a seat (from 1) of a game
// with sealed seats. It is the same through the game's whole life.
func (k *Key) SeatKey(state State, seat int) string {
	var buffer [16]byte
	identity := state.identity()
	message := appendInput(buffer[:0], identity[:])
	message = appendInput(message, []byte{byte(seat)})
	sum := k.seat.sum(message)
	return encode(sum[:seatKeyLength])
}

// HostKey is the secret of a sealed game's creator, who may resign for the seat
// to move. It is the same through the game's whole life.
func (k *Key) HostKey(state State) string {
	var buffer [16]byte
	identity := state.identity()
	sum := k.host.sum(appendInput(buffer[:0], identity[:]))
	return encode(sum[:seatKeyLength])
}

// IsSeatKey tells whether what a client presented is the key of that seat.
func (k *Key) IsSeatKey(state State, seat int, presented string) bool {
	return equalSecrets(k.SeatKey(state, seat), presented)
}

// IsHostKey tells whether what a client presented is the game's host key.
func (k *Key) IsHostKey(state State, presented string) bool {
	return equalSecrets(k.HostKey(state), presented)
}

// equalSecrets takes the same time wherever the texts differ.
func equalSecrets(want, presented string) bool {
	return subtle.ConstantTimeCompare([]byte(want), []byte(presented)) == 1
}
