package main

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/avalanched/avalanched/internal/apikeys"
)

// apiKeysCmd makes keys for the file of "serve --api-keys".
type apiKeysCmd struct {
	New apiKeysNewCmd `cmd:"" help:"Make an API key and its line of the file."`
}

// apiKeysNewCmd makes one key.
type apiKeysNewCmd struct {
	Name              string  `arg:"" help:"Whose key it is: letters, digits, dots, dashes and underscores. Keys of one name share their limits, and the games that a requestId stands for."`
	RequestsPerSecond float64 `placeholder:"NUMBER" help:"How many requests per second the keys of this name may make; without it there is no limit."`
	Burst             int     `placeholder:"NUMBER" help:"How many they may make at once after a pause; without it as many as in a second."`
}

// Help explains the output.
func (apiKeysNewCmd) Help() string {
	return `The line goes to the standard output, to be added to the file: "avalanched apikeys new bot >> api-keys.yaml". The key goes to the standard error and is shown only once: the file has its hash, from which nobody gets it back.`
}

// Validate names flags that do not go together. Kong calls it.
func (c apiKeysNewCmd) Validate() error {
	if c.Burst != 0 && c.RequestsPerSecond == 0 {
		return errors.New("--burst: needs --requests-per-second")
	}
	return nil
}

// Run prints the line and the key.
func (c apiKeysNewCmd) Run(app *kong.Kong) error {
	key := apikeys.New()
	entry, err := apikeys.NewEntry(c.Name, key, c.RequestsPerSecond, c.Burst)
	if err != nil {
		return usageError{err}
	}
	if _, err := fmt.Fprintln(app.Stdout, entry.Line()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(app.Stderr, "the API key of %s, shown this once: %s\n", c.Name, key)
	return err
}
