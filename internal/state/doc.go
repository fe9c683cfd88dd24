// Package state makes and reads the signed state that clients carry, and holds
// the keys that sign it. It also derives from these keys what a service without
// memory needs: chance, game ids and seat keys.
//
// # Format
//
// A state is unpadded base64url over these bytes, integers in big-endian order:
//
//	offset  length  content
//	0       1       format version, 1
//	1       1       number of the ruleset
//	2       1       version of the ruleset
//	3       1       flags: 1 custom start, 2 sealed seats, 4 ledgered; others are 0
//	4       8       game id
//	12      2       ply, 0 to 10000
//	14      1–69    packed position, in the ruleset's own format
//	−13     1       key id, the low byte of the Tink key id
//	−12     12      tag, HMAC-SHA256 truncated to 96 bits
//
// The places of the format version, the key id and the tag, and what the tag is
// computed over, are the same in every format version to come: so a service can
// tell a genuine state of a newer release, which it must not call a forgery,
// from a forged one.
//
// The state is signed, not encrypted. Nothing in it may be secret.
//
// # Keys
//
// The keys are a Tink keyset of HMAC-SHA256 PRF keys, each used only to derive
// one subkey per purpose:
//
//	subkey = PRF("avalanched/v1/" + purpose)
//
// All else is HMAC-SHA256 under such a subkey, over the purpose followed by the
// inputs, each preceded by its length as an unsigned varint, so that no two
// lists of inputs have the same bytes:
//
//	purpose     inputs
//	tag         state up to and including the key id, context
//	game-id     the parts that the service names
//	seat        identity, seat (one byte)
//	host        identity
//	move        state up to and including the key id, move
//	start       identity, the parts that the service names
//	simulation  state up to and including the key id, subject
//
// The identity is what a game keeps for life: number and version of the ruleset
// and the game id. The last three are chance: there the list is the first input
// of each draw, followed by the draw's purpose as the second one, and by two
// varints, the draw's index and the number of the block of 32 bytes.
//
// A game keeps its key for life. Making another key the primary one therefore
// changes nothing for games in progress; disabling a key ends its games.
package state
