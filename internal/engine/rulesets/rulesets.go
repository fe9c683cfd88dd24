// Package rulesets lists every ruleset that can be played: one line for each family.
package rulesets

import (
	"slices"

	"github.com/avalanched/avalanched/internal/engine"
	"github.com/avalanched/avalanched/internal/engine/mancala"
	"github.com/avalanched/avalanched/internal/engine/marble"
	"github.com/avalanched/avalanched/internal/engine/shiverpeak"
)

// Registry finds any ruleset.
func Registry() *engine.Registry {
	return engine.NewRegistry(slices.Concat(
		marble.Rulesets(),
		mancala.Rulesets(),
		[]engine.Ruleset{shiverpeak.Ruleset()},
	)...)
}
