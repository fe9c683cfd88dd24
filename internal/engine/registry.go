package engine

import "fmt"

// Registry finds rulesets by name and by the number that states carry.
type Registry struct {
	all      []Ruleset
	byID     map[string]Ruleset
	byNumber map[uint8]Ruleset
}

// NewRegistry makes a registry. It panics when two rulesets share an ID or a
// number, which is a mistake in the program.
func NewRegistry(rulesets ...Ruleset) *Registry {
	r := &Registry{
		all:      rulesets,
		byID:     make(map[string]Ruleset, len(rulesets)),
		byNumber: make(map[uint8]Ruleset, len(rulesets)),
	}
	for _, ruleset := range rulesets {
		info := ruleset.Info()
		_, sameID := r.byID[info.ID]
		_, sameNumber := r.byNumber[info.Number]
		if sameID || sameNumber {
			panic(fmt.Sprintf("engine: ruleset %q (number %d) is registered twice", info.ID, info.Number))
		}
		r.byID[info.ID] = ruleset
		r.byNumber[info.Number] = ruleset
	}
	return r
}

// All lists the rulesets in the order of registration.
func (r *Registry) All() []Ruleset { return r.all }

// ByID finds a ruleset by its public name.
func (r *Registry) ByID(id string) (Ruleset, bool) {
	ruleset, ok := r.byID[id]
	return ruleset, ok
}

// ByNumber finds a ruleset by the number in a state.
func (r *Registry) ByNumber(number uint8) (Ruleset, bool) {
	ruleset, ok := r.byNumber[number]
	return ruleset, ok
}
