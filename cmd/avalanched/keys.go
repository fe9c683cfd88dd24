package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/avalanched/avalanched/internal/state"
)

// keysCmd manages the file of keys that sign the states.
type keysCmd struct {
	New     keysNewCmd     `cmd:"" help:"Make a keyset file with one fresh key."`
	Rotate  keysRotateCmd  `cmd:"" help:"Step 1 of a rotation: add a fresh key."`
	Promote keysPromoteCmd `cmd:"" help:"Step 2 of a rotation: let a key sign new games."`
	Disable keysDisableCmd `cmd:"" help:"Step 3 of a rotation, or after a leak: retire a key and end its games."`
	Enable  keysEnableCmd  `cmd:"" help:"Undo disable: the games of a key go on."`
	List    keysListCmd    `cmd:"" help:"List the keys, without giving them away."`
}

// Help explains how the commands belong together.
func (keysCmd) Help() string {
	return `A game keeps the key that signed its first state. To rotate keys, add one ("keys rotate"), bring the file to every replica, let the new key sign new games ("keys promote"), and bring the file to every replica again. Retire the old key ("keys disable") when its games have ended.`
}

// keysetFile names the file and the key that it is encrypted with.
type keysetFile struct {
	Keyset string `required:"" env:"AVALANCHED_KEYSET" placeholder:"FILE" help:"The keyset, a Tink keyset in JSON."`
	KEKURI string `name:"kek-uri" env:"AVALANCHED_KEK_URI" placeholder:"URI" help:"The key-encryption key that the keyset is encrypted with, as Tink names it, for example gcp-kms://… Without it, the keyset is not encrypted."`
}

// edit loads the keyset, changes it and writes it back.
func (f keysetFile) edit(change func(*state.Keyset) error) error {
	keys, kek, err := f.load()
	if err != nil {
		return err
	}
	if err := change(keys); err != nil {
		return err
	}
	return keys.ReplaceFile(f.Keyset, kek)
}

func (f keysetFile) load() (*state.Keyset, tink.AEAD, error) {
	kek, err := state.OpenKEK(f.KEKURI)
	if err != nil {
		return nil, nil, err
	}
	keys, err := state.LoadKeyset(f.Keyset, kek)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%w: make one with \"keys new\"", err)
	}
	return keys, kek, err
}

type keysNewCmd struct {
	keysetFile
}

// Run makes the file. Only the new key's id goes to the standard output.
func (c keysNewCmd) Run(app *kong.Kong) error {
	kek, err := state.OpenKEK(c.KEKURI)
	if err != nil {
		return err
	}
	keys, err := state.NewKeyset()
	if err != nil {
		return err
	}
	if err := keys.CreateFile(c.Keyset, kek); err != nil {
		return err
	}
	if kek == nil {
		note(app, "%s is not encrypted: whoever can read it can forge every game", c.Keyset)
	}
	return printID(app, keys.List()[0].ID)
}

type keysRotateCmd struct {
	keysetFile
}

// Run adds a key. Only its id goes to the standard output.
func (c keysRotateCmd) Run(app *kong.Kong) error {
	var id uint32
	err := c.edit(func(keys *state.Keyset) (err error) {
		id, err = keys.Add()
		return err
	})
	if err != nil {
		return err
	}
	note(app, "added key %[1]d, which signs nothing yet: bring %[2]s to every replica, then run \"keys promote %[1]d\"", id, c.Keyset)
	return printID(app, id)
}

// note tells the user something that scripts need not read.
func note(app *kong.Kong, format string, args ...any) {
	_, _ = fmt.Fprintf(app.Stderr, format+"\n", args...)
}

func printID(app *kong.Kong, id uint32) error {
	_, err := fmt.Fprintln(app.Stdout, id)
	return err
}

// keyID is a key of an existing keyset.
type keyID struct {
	ID uint32 `arg:"" help:"The key's id, as \"keys list\" shows it."`
	keysetFile
}

type keysPromoteCmd struct {
	keyID
}

// Run makes a key the primary one.
func (c keysPromoteCmd) Run(app *kong.Kong) error {
	if err := c.edit(func(keys *state.Keyset) error { return keys.Promote(c.ID) }); err != nil {
		return err
	}
	note(app, "key %d signs new games; games of other keys go on until their key is disabled", c.ID)
	return nil
}

type keysDisableCmd struct {
	keyID
}

// Run retires a key.
func (c keysDisableCmd) Run(app *kong.Kong) error {
	if err := c.edit(func(keys *state.Keyset) error { return keys.Disable(c.ID) }); err != nil {
		return err
	}
	note(app, "key %[1]d is disabled: its games end when the replicas have loaded %[2]s; \"keys enable %[1]d\" brings them back", c.ID, c.Keyset)
	return nil
}

type keysEnableCmd struct {
	keyID
}

// Run brings a disabled key back.
func (c keysEnableCmd) Run(app *kong.Kong) error {
	if err := c.edit(func(keys *state.Keyset) error { return keys.Enable(c.ID) }); err != nil {
		return err
	}
	note(app, "key %d is enabled: its games go on", c.ID)
	return nil
}

type keysListCmd struct {
	keysetFile
}

// Run prints a table.
func (c keysListCmd) Run(app *kong.Kong) error {
	keys, _, err := c.load()
	if err != nil {
		return err
	}
	var rows strings.Builder
	rows.WriteString("KEY ID\tIN STATES\tSTATUS\tSIGNS NEW GAMES\n")
	for _, key := range keys.List() {
		primary := "no"
		if key.Primary {
			primary = "yes"
		}
		fmt.Fprintf(&rows, "%d\t0x%02x\t%s\t%s\n", key.ID, key.StateKeyID, key.Status, primary)
	}
	table := tabwriter.NewWriter(app.Stdout, 0, 0, 2, ' ', 0)
	if _, err := table.Write([]byte(rows.String())); err != nil {
		return err
	}
	return table.Flush()
}
