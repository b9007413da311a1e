package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/migrate"
)

var migrateVerb = &verb{
	name: "migrate", args: "STORE [NODE]", least: 1, most: 2,
	short: "Convert metadata of Zarr format 1 or 2 in place; chunks are untouched",
	long: `
NODE is the path of an array or group in the store, which is migrated with all
below it. Without NODE that is the root. Only the documents change, and no chunk
does. If format 3 cannot describe how an array's chunks are stored, nothing is
migrated at all.

The old documents are kept in ` + migrate.JournalName + ` beside the new ones,
and --undo puts them back, unless the new ones were changed since. zarr-python
warns of that object, which it does not know. Remove it when you do not need
--undo any more. If a migration was interrupted, the same command completes it,
and --undo takes it back.
Nothing else should write to the store meanwhile.

Examples:
  zarrfs migrate --dry-run climate.zarr
  zarrfs migrate climate.zarr
  zarrfs migrate --undo climate.zarr
`,
	setup: func(flags *pflag.FlagSet) func(context.Context, []string) error {
		var o migrateOptions
		flags.IntVar(&o.to, "to", 3, "`FORMAT` to migrate to: 2 or 3")
		flags.BoolVar(&o.undo, "undo", false, "take the last migration of NODE back")
		flags.BoolVarP(&o.dryRun, "dry-run", "n", false, "say what would be done, and do nothing")
		flags.BoolVar(&o.asJSON, "json", false, "print it as JSON")
		return func(ctx context.Context, args []string) error {
			if o.undo && flags.Changed("to") {
				return usageError{errors.New("--undo goes back to the format that there was; " +
					"leave out --to")}
			}
			return runMigrate(ctx, args, o)
		}
	},
}

type migrateOptions struct {
	to                   int
	undo, dryRun, asJSON bool
}

// migration is what migrate prints.
type migration struct {
	Store     string   `json:"store"`
	Path      string   `json:"path"`
	From      int      `json:"from"`
	To        int      `json:"to"`
	Arrays    int      `json:"arrays"`
	Groups    int      `json:"groups"`
	Undo      bool     `json:"undo"`
	DryRun    bool     `json:"dry_run"`
	Written   []string `json:"written"` // keys of documents
	Removed   []string `json:"removed"`
	Journal   string   `json:"journal,omitempty"`
	Unchanged string   `json:"unchanged,omitempty"` // why there was nothing to do
}

func runMigrate(ctx context.Context, args []string, o migrateOptions) error {
	if o.to != 2 && o.to != 3 {
		return usageError{fmt.Errorf("--to %d: expected 2 or 3", o.to)}
	}
	s, h, err := openPlain(ctx, args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	defer h.Close()
	if err := s.mayWrite(args[0]); err != nil && !o.dryRun {
		return err
	}
	n, err := findNode(ctx, h, args)
	if err != nil {
		return err
	}
	if n.Path == "" && n.Kind == zarrcore.DirectoryNode {
		return storeErr(fmt.Errorf("%s is a folder of stores; migrate one store at a time",
			args[0]))
	}
	m := migration{Store: h.Name(), Path: "/" + n.Path, To: o.to, Undo: o.undo, DryRun: o.dryRun}
	p, apply, err := planMigration(ctx, s, h, n.Path, o)
	switch {
	case errors.Is(err, migrate.ErrNothing):
		m.Unchanged = err.Error()
		return m.print(stdout, o.asJSON)
	case err != nil:
		return storeErr(errors.Join(errors.New(args[0]+": nothing was changed:"), err))
	}
	m.take(p)
	if !o.dryRun {
		if err := apply(); err != nil {
			cure := errors.New("the same command completes what was begun, and --undo takes " +
				"it back")
			return storeErr(errors.Join(fmt.Errorf("%s: %w", args[0], err), cure))
		}
	}
	return m.print(stdout, o.asJSON)
}

// planMigration returns the plan and how to carry it out.
func planMigration(
	ctx context.Context, s *source, h *zarrcore.Hierarchy, path string, o migrateOptions,
) (*migrate.Plan, func() error, error) {
	if o.undo {
		r, err := migrate.Reverse(ctx, h, s.Store, path)
		if err != nil {
			return nil, nil, err
		}
		return &r.Plan, func() error { return r.Apply(ctx, s.Store) }, nil
	}
	p, err := migrate.Make(ctx, h, s.Store, path, o.to)
	if err != nil {
		return nil, nil, err
	}
	return p, func() error { return p.Apply(ctx, s.Store) }, nil
}

// take copies what a plan does.
func (m *migration) take(p *migrate.Plan) {
	m.From, m.To, m.Arrays, m.Groups = p.From, p.To, p.Arrays, p.Groups
	for _, c := range p.Changes {
		if c.New != nil {
			m.Written = append(m.Written, c.Key)
		} else {
			m.Removed = append(m.Removed, c.Key)
		}
	}
	if !m.Undo {
		m.Journal = p.JournalKey()
	}
}

func (m *migration) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, m)
	}
	if m.Unchanged != "" {
		_, err := fmt.Fprintln(w, m.Unchanged)
		return err
	}
	if m.DryRun {
		for _, key := range m.Written {
			fmt.Fprintf(w, "write   %s\n", printable(key))
		}
		for _, key := range m.Removed {
			fmt.Fprintf(w, "remove  %s\n", printable(key))
		}
	}
	what := fmt.Sprintf("%s and %s of format %d to format %d", plural(m.Arrays, "array"),
		plural(m.Groups, "group"), m.From, m.To)
	switch {
	case m.DryRun:
		fmt.Fprintf(w, "would migrate %s; nothing was changed\n", what)
	case m.Undo:
		fmt.Fprintf(w, "put back %s\n", what)
	default:
		fmt.Fprintf(w, "migrated %s; the old documents are in %s, and `zarrfs migrate --undo` "+
			"puts them back\n", what, m.Journal)
	}
	return nil
}
