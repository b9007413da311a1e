package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zarrfs/zarrfs/zarrcore/edit"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

// JournalName is the name of the journal below the node that was migrated.
const JournalName = edit.MigrationJournal

// journalLimit bounds a journal, in bytes.
const journalLimit = 256 << 20

// A Journal is what migrations have done to a node and all below it, the last one at the end.
type Journal struct {
	Format int    `json:"zarrfs_migration"` // 1
	Steps  []step `json:"steps"`

	path string
}

// A step is one migration.
type step struct {
	From     int  `json:"from"`
	To       int  `json:"to"`
	Arrays   int  `json:"arrays"`
	Groups   int  `json:"groups"`
	Complete bool `json:"complete"` // false: it was interrupted, or is under way
	// paths of nodes that were of the later format already
	Kept    []string `json:"kept,omitempty"`
	Changes []Change `json:"changes"`
}

// storedChange is a Change as it is stored: documents are text, so that people can read them and
// put them back by hand.
type storedChange struct {
	Key string  `json:"key"`
	Old *string `json:"old"`
	New *string `json:"new"`
}

// MarshalJSON refuses documents that are not UTF-8: JSON cannot hold them.
func (c Change) MarshalJSON() ([]byte, error) {
	s := storedChange{Key: c.Key}
	for doc, text := range map[*[]byte]**string{&c.Old: &s.Old, &c.New: &s.New} {
		if *doc == nil {
			continue
		}
		if !utf8.Valid(*doc) {
			return nil, fmt.Errorf("%s: expected UTF-8, found other bytes: %w", c.Key,
				errors.ErrUnsupported)
		}
		t := string(*doc)
		*text = &t
	}
	return json.Marshal(s)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (c *Change) UnmarshalJSON(data []byte) error {
	var s storedChange
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*c = Change{Key: s.Key}
	if s.Old != nil {
		c.Old = []byte(*s.Old)
	}
	if s.New != nil {
		c.New = []byte(*s.New)
	}
	return nil
}

// readJournal reads the journal of a node; one without steps if there is none.
func readJournal(ctx context.Context, st *store.Store, path string) (*Journal, error) {
	j := &Journal{Format: 1, path: path}
	key := below(path, JournalName)
	doc, _, err := st.ReadAll(ctx, key, journalLimit)
	if errors.Is(err, iofs.ErrNotExist) {
		return j, nil
	}
	if err == nil {
		err = json.Unmarshal(doc, j)
	}
	if err == nil && j.Format != 1 {
		err = fmt.Errorf("journal of version %d, expected 1: %w", j.Format, errors.ErrUnsupported)
	}
	if err == nil {
		err = j.place()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return j, nil
}

// place puts the keys of a journal that was read below its node: there they are relative to it, so
// that it can be moved. It refuses a journal that would have other objects replaced than documents.
func (j *Journal) place() error {
	for _, s := range j.Steps {
		for i, c := range s.Changes {
			name := c.Key[strings.LastIndexByte(c.Key, '/')+1:]
			if !store.IsValidKey(c.Key) || name != meta.NameV3 &&
				!slices.Contains(documentNames, name) {
				return fmt.Errorf("expected keys of documents, found %q", c.Key)
			}
			s.Changes[i].Key = below(j.path, c.Key)
		}
		for i, path := range s.Kept {
			s.Kept[i] = strings.TrimSuffix(below(j.path, path), "/")
		}
	}
	return nil
}

// relative is the journal with keys relative to its node.
func (j *Journal) relative() *Journal {
	prefix := below(j.path, "")
	r := &Journal{Format: j.Format, Steps: slices.Clone(j.Steps)}
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Changes, s.Kept = slices.Clone(s.Changes), slices.Clone(s.Kept)
		for k := range s.Changes {
			s.Changes[k].Key = strings.TrimPrefix(s.Changes[k].Key, prefix)
		}
		for k, path := range s.Kept {
			s.Kept[k] = strings.TrimPrefix(strings.TrimPrefix(path, j.path), "/")
		}
	}
	return r
}

// write stores the journal, or removes one without steps.
func (j *Journal) write(ctx context.Context, st *store.Store) error {
	key := below(j.path, JournalName)
	if len(j.Steps) == 0 {
		return remove(ctx, st, key)
	}
	doc, err := json.MarshalIndent(j.relative(), "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if len(doc) > journalLimit {
		return fmt.Errorf("%s would have %d bytes, expected at most %d; migrate group by group",
			key, len(doc), journalLimit)
	}
	return put(ctx, st, key, doc)
}

// unfinished returns the last step if it was interrupted.
func (j *Journal) unfinished() *step {
	if s := j.last(); s != nil && !s.Complete {
		return s
	}
	return nil
}

func (j *Journal) last() *step {
	if len(j.Steps) == 0 {
		return nil
	}
	return &j.Steps[len(j.Steps)-1]
}
