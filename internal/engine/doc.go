// Package engine holds the words that all rulesets share: what a ruleset, a
// position, a move, an event and an outcome are, and how chance is asked for.
//
// A position is a value and always valid; text and bytes become one only
// through a parser that checks them. Applying a move is pure: the same position,
// move and chance always give the same result. The package and those below it
// know no clock, no global randomness, no network and no protobuf.
package engine
