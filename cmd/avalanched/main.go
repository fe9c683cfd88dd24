// Command avalanched serves the rules of the games called Avalanche.
//
// Exit codes: 0 after a good end, 1 when something failed, 2 when the command line or
// the environment is wrong. A second interrupt ends the program at once, by the
// signal.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitOK    = 0
	exitFault = 1
	exitUsage = 2
)

// cli is the command line.
type cli struct {
	Version kong.VersionFlag `short:"V" help:"Print the version and exit."`

	Serve   serveCmd   `cmd:"" help:"Serve the API over gRPC and JSON."`
	Keys    keysCmd    `cmd:"" help:"Manage the keys that sign the states of games."`
	APIKeys apiKeysCmd `cmd:"" name:"apikeys" help:"Make the keys that clients call with."`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// usageError is an error of whoever wrote the command line.
type usageError struct{ error }

// Unwrap returns what is wrong.
func (e usageError) Unwrap() error { return e.error }

// exited is panicked with where kong wants to end the program, as after --help.
type exited int

// run runs one command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case exited:
			code = int(cause)
		default:
			panic(cause)
		}
	}()
	parser := kong.Must(
		&cli{},
		kong.Name("avalanched"),
		kong.Description("A rules authority for the games called Avalanche: clients bring a signed state and a move, and get the next state, signed."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"version": version()},
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
	)
	command, err := parser.Parse(args)
	if err != nil {
		return report(stderr, usageError{err})
	}
	return report(stderr, command.Run())
}

// report tells about an error, if there is one, and returns the exit code.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "avalanched: error: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok {
		_, _ = fmt.Fprintln(stderr, `avalanched: "avalanched --help" and "avalanched serve --help" list what there is`)
		return exitUsage
	}
	return exitFault
}
