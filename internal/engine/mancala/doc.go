// Package mancala plays the two mancala games of the house: Avalanche, where a
// sowing goes on from the pit in which it ends, and Kalah, the game with captures
// that most people call mancala.
//
// Two rows of six pits, a store at the right end of each. A player lifts one of
// her own pits and sows its stones one by one counterclockwise, into her own store
// when she passes it, never into the opponent's. Seat 1 is south, seat 2 is north,
// and both count their pits 1 to 6 from their own left.
//
// Position.Sow is the whole of the rules. It allocates nothing and is as fast as
// this package could be made, for those who look ahead; Apply does the same and
// tells what happened, lap by lap.
package mancala
