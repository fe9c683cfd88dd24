// Package service answers the calls of the API: it translates a request into the words
// of the engine, opens and signs states, and translates the result back. Handlers are
// short; errors are mapped in one place (problemOf).
package service
