package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/dtype"
	"github.com/zarrfs/zarrfs/zarrcore/meta"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
	"github.com/zarrfs/zarrfs/zarrcore/recipe"
	"github.com/zarrfs/zarrfs/zarrcore/store"
)

var createVerb = &verb{
	name: "create", args: "STORE [NODE]", least: 1, most: 2,
	short: "Create a store, a group, or an empty array",
	long: `
With --group it creates a group, and with --shape and --dtype an array that holds nothing but its
fill value. Groups on the way to NODE that are missing are created, and so is the store, if its
folder is missing or empty.

The flags set what an array looks like. For what they do not set, the attribute "zarrfs" of its
group or of the nearest group above counts, such as {"zarrfs": {"chunks": [64, 64], "codecs":
"zstd:3"}}. Anything else is as zarr-python 3 would make it.

Examples:
  zarrfs create climate.zarr --group --attributes '{"title": "Climate"}'
  zarrfs create climate.zarr ocean/temperature --shape 365,180,360 --dtype float32 \
      --dimension-names time,lat,lon
  zarrfs create climate.zarr ocean/salt --shape 1000,1000 --dtype '<i2' --chunks 100,100 \
      --shards 500,500 --codecs blosc:lz4:5:shuffle
`,
	setup: setupCreate,
}

// creation is what the command line asks for.
type creation struct {
	group      bool
	shapeText  string
	typeText   string
	axesText   string
	attributes string
	object     pyjson.Value // that attributes spells
	recipe     *recipeFlags

	shape []int64 // of an array, as parse has read them
	dtype dtype.Type
	axes  []string
}

func setupCreate(flags *pflag.FlagSet) func(context.Context, []string) error {
	c := &creation{}
	flags.BoolVar(&c.group, "group", false, "create a group")
	flags.StringVar(&c.shapeText, "shape", "", "create an array with these `LENGTHS`, such as "+
		"10,20; () for one of no axes")
	flags.StringVar(&c.typeText, "dtype", "", "its data `TYPE` as NumPy or Zarr spell it: "+
		"float32, string, bytes, '<f4', '|S8', '<M8[ns]', \"[('x', '<f4'), ('y', '<i2')]\"")
	flags.StringVar(&c.axesText, "dimension-names", "",
		"the `NAMES` of its axes, such as time,lat,lon; an axis may have none, as in time,,")
	flags.StringVar(&c.attributes, "attributes", "", "its attributes, a `JSON` object")
	c.recipe = addRecipeFlags(flags, "", "the array")
	return func(ctx context.Context, args []string) error { return c.create(ctx, flags, args) }
}

func (c *creation) create(ctx context.Context, flags *pflag.FlagSet, args []string) error {
	if err := c.checkKind(flags); err != nil {
		return usageError{err}
	}
	path := ""
	if len(args) > 1 {
		path = cleanNode(args[1])
	}
	if path == "" && !c.group {
		return usageError{errors.New("create: an array needs a NODE, its path in the store")}
	}
	if err := checkPath(path); err != nil {
		return usageError{err}
	}
	r, err := c.parse()
	if err != nil {
		return err
	}
	// then only the flags say what is made, and a useless store would stay after an error
	if isNew(args[0]) {
		if _, err := c.spec(r); err != nil {
			return err
		}
	}
	s, h, made, err := openOrCreate(ctx, args[0], r.Format)
	if err != nil {
		return err
	}
	defer s.Close()
	defer h.Close()
	if path == "" && !made {
		return storeErr(fmt.Errorf("%s is a store already", args[0]))
	}
	if err := checkFormat(ctx, h, r); err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	if err := c.make(ctx, h, path); errors.Is(err, iofs.ErrExist) {
		return storeErr(c.exists(ctx, h, args[0], path))
	} else if err != nil {
		return storeErr(fmt.Errorf("%s: %w", args[0], err))
	}
	in := printable(args[0])
	if made {
		in = "the new store " + in
	}
	return sayCreated(ctx, h, in, path)
}

// sayCreated says in one line what was made, because a mistyped STORE is made too. It goes to
// stderr, so programs that read stdout find nothing there.
func sayCreated(ctx context.Context, h *zarrcore.Hierarchy, in, path string) error {
	n, err := h.Node(ctx, path)
	if err != nil {
		return storeErr(err)
	}
	if path == "" {
		fmt.Fprintf(stderr, "zarrfs: created %s: Zarr v%d, an empty group\n", in, n.Format)
		return nil
	}
	text := ""
	if n.Kind == zarrcore.ArrayNode {
		i := &nodeInfo{}
		i.fromArray(n)
		text = fmt.Sprintf(": %s %s, chunks %s",
			i.typeName, shapeText(i.Shape), timesText(i.Chunks))
		if i.Shards != nil {
			text += ", shards " + timesText(i.Shards)
		}
	}
	fmt.Fprintf(stderr, "zarrfs: created %s %s in %s%s\n", n.Kind, printable(path), in, text)
	return nil
}

// checkKind checks the flags that say whether a group or an array is created: which are missing,
// and which do not go together.
func (c *creation) checkKind(flags *pflag.FlagSet) error {
	for _, ofArray := range []string{"shape", "dtype", "dimension-names"} {
		if c.group && flags.Changed(ofArray) {
			return fmt.Errorf("create: --group and --%s exclude each other; leave out --group "+
				"for an array, and --%[1]s for a group", ofArray)
		}
	}
	switch shape, dtype := flags.Changed("shape"), flags.Changed("dtype"); {
	case c.group || shape && dtype:
		return nil
	case shape:
		return fmt.Errorf("create: --shape %s needs --dtype, such as --dtype float32", c.shapeText)
	case dtype:
		return fmt.Errorf("create: --dtype %s needs --shape, such as --shape 10,20", c.typeText)
	}
	return errors.New("create: expected --group, or --shape and --dtype of an array, such as " +
		"--shape 10,20 --dtype float32")
}

// checkPath returns nil, or why no group or array in a folder can have that path; "" is the root.
func checkPath(path string) error {
	if path != "" && !store.IsValidKey(path) {
		return fmt.Errorf("no group or array can be called %q: expected names other than . and "+
			".. with one / between them", path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if meta.IsDocument(name) {
			return fmt.Errorf("no group or array can be called %q: that is the name of a Zarr "+
				"document", name)
		}
		if len(name) > unix.NAME_MAX {
			return fmt.Errorf("no group or array can be called %q: it has %d bytes, expected at "+
				"most %d", name, len(name), unix.NAME_MAX)
		}
	}
	return nil
}

// checkFormat refuses a format that is not the store's: a store has one.
func checkFormat(ctx context.Context, h *zarrcore.Hierarchy, r recipe.Recipe) error {
	root, err := h.Node(ctx, "")
	if err == nil && r.Format != 0 && r.Format != root.Format {
		err = fmt.Errorf("--format %d: the store has format %d, and so have all that are "+
			"created in it", r.Format, root.Format)
	}
	return err
}

// parse reads the flags, and returns the recipe that they say.
func (c *creation) parse() (r recipe.Recipe, err error) {
	if r, err = c.recipe.recipe(); err != nil {
		return r, err
	}
	if c.attributes != "" {
		v, err := pyjson.Parse(c.document())
		if err != nil || !utf8.ValidString(c.attributes) || v.Len() != 1 ||
			v.Get("attributes").Kind() != pyjson.Object {
			return r, usageError{fmt.Errorf("--attributes: expected a JSON object, found %q",
				c.attributes)}
		}
		c.object = v.Get("attributes")
	}
	if c.group {
		return r, nil
	}
	if c.shape, err = parseShape(c.shapeText); err != nil {
		return r, usageError{fmt.Errorf("--shape: %w", err)}
	}
	if c.dtype, err = parseType(c.typeText); err != nil {
		return r, usageError{fmt.Errorf("--dtype: %w", err)}
	}
	if c.axesText != "" {
		c.axes = strings.Split(c.axesText, ",")
	}
	if c.axes != nil && len(c.axes) != len(c.shape) {
		return r,
			usageError{fmt.Errorf("--dimension-names: expected %s, one for each axis, found %d: %s",
				plural(len(c.shape), "name"), len(c.axes), c.axesText)}
	}
	return r, nil
}

// document returns the document that gives a group its attributes.
func (c *creation) document() []byte { return []byte(`{"attributes": ` + c.attributes + `}`) }

// spec describes the array that a recipe makes, and nothing for a group. An array that is not
// possible is a usage error.
func (c *creation) spec(r recipe.Recipe) (spec meta.Spec, err error) {
	if c.group {
		return spec, nil
	}
	if spec, err = r.WithNaT().Spec(c.shape, c.dtype, false); err == nil {
		spec.DimensionNames, spec.Attributes = c.axes, c.object
		spec.Order = 0 // there is no source with an order: the codecs say it
		_, err = zarrcore.DocumentsOf(spec)
	}
	if err != nil {
		err = usageError{err}
	}
	return spec, err
}

// make makes the node. Nothing is made, not even a group on the way to it, before all has been
// checked.
func (c *creation) make(ctx context.Context, h *zarrcore.Hierarchy, path string) (err error) {
	if c.group {
		err = c.makeGroup(ctx, h, path)
	} else {
		err = c.makeArray(ctx, h, path)
	}
	if err == nil && c.group && c.attributes != "" {
		err = h.SetDocument(ctx, path, c.document())
	}
	return err
}

// exists says what already is where the node is to be made.
func (c *creation) exists(ctx context.Context, h *zarrcore.Hierarchy, store, path string) error {
	kind := "node"
	if n, err := h.Node(ctx, path); err == nil {
		kind = n.Kind.String()
	}
	return fmt.Errorf("%s: %s %q exists. Choose another name, or remove it first: rm -r %s", store,
		kind, path, filepath.Join(store, path))
}

func (c *creation) makeGroup(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	if path == "" {
		return nil
	}
	if err := makeGroups(ctx, h, parentOf(path)); err != nil {
		return err
	}
	return h.CreateGroup(ctx, path)
}

func (c *creation) makeArray(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	inherited, err := h.RecipeAt(ctx, path)
	if err != nil {
		return err
	}
	r, err := c.recipe.over(inherited)
	if err != nil {
		return err
	}
	r.Format = inherited.Format
	spec, err := c.spec(r)
	if err != nil {
		return err
	}
	if err := makeGroups(ctx, h, parentOf(path)); err != nil {
		return err
	}
	return h.CreateSpec(ctx, path, spec)
}

// makeGroups creates the groups on the way to path that are missing.
func makeGroups(ctx context.Context, h *zarrcore.Hierarchy, path string) error {
	if path == "" {
		return nil
	}
	if err := makeGroups(ctx, h, parentOf(path)); err != nil {
		return err
	}
	n, err := h.Node(ctx, path)
	if errors.Is(err, iofs.ErrNotExist) {
		return h.CreateGroup(ctx, path)
	}
	if err == nil && n.Kind == zarrcore.ArrayNode {
		return fmt.Errorf("%q is an array, and can hold nothing else", path)
	}
	return err
}

func parentOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// isNew reports whether a store does not exist yet: its folder is missing or empty.
func isNew(name string) bool {
	scheme, folder := splitScheme(name)
	if scheme != "file" {
		return false
	}
	_, err := os.Stat(folder)
	return errors.Is(err, iofs.ErrNotExist) || isEmpty(folder)
}

// openOrCreate opens the hierarchy of a store, and makes it one if its folder is missing or empty.
func openOrCreate(
	ctx context.Context, name string, format int,
) (s *source, h *zarrcore.Hierarchy, made bool, err error) {
	if scheme, folder := splitScheme(name); scheme == "file" {
		if err := makeFolder(folder); err != nil {
			return nil, nil, false, storeErr(err)
		}
	}
	if s, err = openSource(name, nil); err != nil {
		return nil, nil, false, err
	}
	if err := s.mayWrite(name); err != nil {
		return nil, nil, false, err
	}
	if isEmpty(s.folder) {
		if around := lyingIn(s.folder); around != nil {
			return nil, nil, false,
				storeErr(fmt.Errorf("%s is not a store of its own: %w", name, around))
		}
		if err := zarrcore.Create(ctx, s.Store, format); err != nil {
			return nil, nil, false, storeErr(fmt.Errorf("%s: %w", name, err))
		}
		made = true
	}
	h, err = openIn(ctx, s, name, &zarrcore.Options{Log: stderrLog()}, false)
	return s, h, made, err
}

// makeFolder creates a folder in one that is there.
func makeFolder(folder string) error {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if _, err := os.Stat(abs); !errors.Is(err, iofs.ErrNotExist) {
		return nil
	}
	if around := lyingIn(abs); around != nil {
		return fmt.Errorf("%s would not be a store of its own: %w", folder, around)
	}
	if err := os.Mkdir(abs, 0o777); err != nil {
		return fmt.Errorf("%s: %w", folder, bare(err))
	}
	return nil
}

// isEmpty reports whether a local folder holds nothing; "" is not a folder. It reads one name: the
// folder may be an array of a million chunks.
func isEmpty(folder string) bool {
	f, err := os.OpenFile(folder, unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err == io.EOF
}

// parseShape reads lengths separated by commas, with or without brackets.
func parseShape(text string) ([]int64, error) {
	shape := []int64{}
	trimmed := strings.TrimSuffix(strings.Trim(strings.TrimSpace(text), "()[]"), ",")
	if trimmed == "" && text != "" {
		return shape, nil
	}
	for field := range strings.SplitSeq(trimmed, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("expected lengths such as 10,20, found %q", text)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// parseType reads a data type as NumPy's descr spells it, or by its name in Zarr 3. A date without
// a unit is refused.
func parseType(text string) (dtype.Type, error) {
	t, err := readType(text)
	if err == nil && !hasUnits(t) {
		return t, fmt.Errorf("%s: a date or duration without a unit, of which zarr-python "+
			"cannot open every array; give a unit, such as datetime64[ns] or timedelta64[s]", text)
	}
	return t, err
}

func readType(text string) (dtype.Type, error) {
	if strings.HasPrefix(text, "[") {
		return dtype.ParseDescr(text)
	}
	if why := instead(text); why != "" {
		return dtype.Type{}, fmt.Errorf("%s: %s", text, why)
	}
	if fields := fieldsOf(text); len(fields) > 1 {
		return dtype.ParseDescr(structure(fields))
	}
	spelled := numpySpelling(text)
	t, err := dtype.ParseDescr("'" + spelled + "'")
	if err == nil {
		return t, nil
	}
	name, jsonErr := pyjson.Parse([]byte(strconv.Quote(spelled)))
	if jsonErr == nil {
		if t, named := dtype.ParseV3(name); named == nil {
			return t, nil
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("no type %q; expected one as NumPy or Zarr spell it, such as float32, "+
			"'<f4', '|S8' or string", text)
	}
	return t, err
}
