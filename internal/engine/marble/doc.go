// Package marble plays the marble-drop board game in all its editions.
//
// One engine plays every ruleset: a Variant is a row of parameters. The board
// (Board) knows gates and marbles only; Position adds what lies beside it, whose
// turn it is, and the rules of the variant.
package marble
