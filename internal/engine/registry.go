package engine

import "fmt"

// Registry finds rulesets by name and by the number that states carry.
type Registry struct {
	all      []Ruleset
	byID     map[string]Ruleset
	byNumber [256]numbered
}

// numbered is a ruleset with the version that it describes itself with, because to
// describe it takes longer than to find it.
type numbered struct {
	ruleset Ruleset
	version int
}

// NewRegistry makes a registry. It panics when two rulesets share an ID or a
// number, which is a mistake in the program.
func NewRegistry(rulesets ...Ruleset) *Registry {
	r := &Registry{
		all:  rulesets,
		byID: make(map[string]Ruleset, len(rulesets)),
	}
	for _, ruleset := range rulesets {
		info := ruleset.Info()
		_, sameID := r.byID[info.ID]
		if sameID || r.byNumber[info.Number].ruleset != nil {
			panic(fmt.Sprintf("engine: ruleset %q (number %d) is registered twice", info.ID, info.Number))
		}
		r.byID[info.ID] = ruleset
		r.byNumber[info.Number] = numbered{ruleset, info.Version}
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

// ByNumber finds a ruleset, and the version of its rules, by the number in a state.
func (r *Registry) ByNumber(number uint8) (ruleset Ruleset, version int, known bool) {
	found := &r.byNumber[number]
	return found.ruleset, found.version, found.ruleset != nil
}
