package hdf5_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/layout/hdf5"
)

func float(t *testing.T, name string, big bool) hdf5.Type {
	t.Helper()
	is, ok := hdf5.Float(name, big)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return is
}

// found is what testdata/read.py prints.
type found struct {
	Objects map[string]struct {
		Type, Fill, Last string
		Shape            []int64
		Scales           []string
	}
	Attributes map[string]any
	Variables  map[string][]string
}

// read lays out a file and fills the last element of each dataset with 1, 2, 3, …. Then it has h5py
// read the file, and netCDF4 if "netcdf" is given.
func read(t *testing.T, root *hdf5.Group, userblock []byte, netcdf ...string) (*hdf5.File, found) {
	t.Helper()
	naming := hdf5.KeepDatasets
	if len(netcdf) > 0 {
		naming = hdf5.KeepDimensions
	}
	f, err := hdf5.Layout(root, userblock, naming)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "file.h5")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = file.Write(f.Meta)
	for _, e := range f.Extents {
		last := make([]byte, e.Of.Type.Size())
		for i := range last {
			last[i] = byte(i + 1)
		}
		_, failed := file.WriteAt(last, e.Off+e.Size-int64(len(last)))
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, file.Truncate(f.Size)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python(t), append([]string{"testdata/read.py", path}, netcdf...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var answer found
	if err = errors.Join(err, json.Unmarshal(out, &answer)); err != nil {
		t.Fatalf("%v\n%.400s", err, out)
	}
	return f, answer
}

// python returns the interpreter that has the libraries, or skips the test aloud.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("ZARRFS_PY_VIEWS")
	if path == "" {
		path = "../../.venv-views/bin/python"
	}
	if _, err := os.Stat(path); err != nil && os.Getenv("ZARRFS_REQUIRE_PEERS") == "1" {
		t.Fatalf("no Python at %s: run `make peers`, or set ZARRFS_PY_VIEWS", path)
	} else if err != nil {
		t.Skipf("SKIPPED: no Python at %s: run `make peers`, or set ZARRFS_PY_VIEWS", path)
	}
	return path
}

// TestTypes: h5py finds each type as NumPy has it, and the bytes of the last element.
func TestTypes(t *testing.T) {
	f4 := float(t, "float32", false)
	types := []struct {
		is   hdf5.Type
		want string
	}{
		{
			hdf5.Int(1, true, false),
			"|i1",
		}, {hdf5.Int(2, false, true), ">u2"}, {hdf5.Int(8, true, false), "<i8"},
		{hdf5.NarrowInt(1, 4, true, false), "|i1"}, {f4, "<f4"}, {float(t, "float64", true), ">f8"},
		{float(t, "float16", false), "<f2"}, {float(t, "x87", false), "<f16"}, {hdf5.Bool(), "|b1"},
		{
			hdf5.Complex(f4),
			"<c8",
		}, {hdf5.Opaque(5), "|V5"}, {hdf5.Text(8), "|S8"}, {hdf5.ByteString(3), "|S3"},
		{
			hdf5.Compound(
				300,
				[]hdf5.Field{
					{Name: "a", Type: f4},
					{Name: "b", Offset: 260, Type: hdf5.Int(2, false, true), Shape: []int64{2, 3}},
				},
			),
			"{'names': ['a', 'b'], 'formats': ['<f4', ('>u2', (2, 3))], " +
				"'offsets': [0, 260], 'itemsize': 300}",
		},
	}
	root := &hdf5.Group{}
	for i, c := range types {
		root.Datasets = append(
			root.Datasets,
			&hdf5.Dataset{Name: fmt.Sprint(i), Type: c.is, Shape: []int64{2, 3}},
		)
	}
	_, got := read(t, root, nil)
	for i, c := range types {
		d := got.Objects[fmt.Sprintf("/%d", i)]
		last := ""
		for i := range int(c.is.Size()) {
			last += fmt.Sprintf("%02x", byte(i+1))
		}
		switch c.want[1] {
		case 'b':
			last = "01"
		case 'i':
			if c.is.Size() == 1 {
				last = d.Last // the high bits of a narrow number do not count
			}
		case '\'', 'f':
			if c.is.Size() > 8 {
				last = d.Last // of padding
			}
		}
		if d.Type != c.want || d.Last != last {
			t.Errorf("found %s with %s, expected %s with %s", d.Type, d.Last, c.want, last)
		}
	}
}

// TestDimensions: names of axes are dimensions, which groups below see. A name with two lengths is
// two of them, also if a group above has one of these. A variable may have the name of a dimension
// of which it is not the coordinates. Its axes are dimensions then, also if they have no names.
func TestDimensions(t *testing.T) {
	f4 := float(t, "float32", false)
	set := func(name string, shape []int64, dims ...string) *hdf5.Dataset {
		return &hdf5.Dataset{Name: name, Type: f4, Shape: shape, Dimensions: dims}
	}
	root := &hdf5.Group{Datasets: []*hdf5.Dataset{
		set("temp", []int64{3, 4}, "time", "x"), set("time", []int64{3}, "time"),
		set("half", []int64{5}, "time"), set("x", []int64{3, 4}, "time", "x"),
		set("square", []int64{4, 4}, "x", "x"), set("part", []int64{7, 3}, "", "time"),
		set("odd", []int64{2}, "a/b"), set("sub_1", []int64{6}, "sub"),
		set("none", []int64{0, 3}, "e", "time"), set("y", []int64{3}, "time"),
		set("uses_y", []int64{6}, "y"), set("_nc4_non_coord_y", []int64{3}, "time"),
		set("q", []int64{7}, "q"), set("q_1", []int64{9}, "w"),
		set("uses_q", []int64{8}, "q"),
		set("dim_5", []int64{2}, "w2"), set("unnamed", []int64{5, 9}, "", "w"),
	}}
	root.Groups = []*hdf5.Group{{Name: "sub", Datasets: []*hdf5.Dataset{
		set("v", []int64{3}, "time"), set("w", []int64{7}, "time"),
		set("x", []int64{2}), set("bare", []int64{2})}},
		{Name: "other", Datasets: []*hdf5.Dataset{set("v", []int64{9}, "time")},
			Groups: []*hdf5.Group{{Name: "deep", Datasets: []*hdf5.Dataset{
				set("v", []int64{3}, "time"), set("w", []int64{9}, "time")}}}}}
	_, got := read(t, root, nil, "netcdf")
	for path, scales := range map[string][]string{
		"/temp": {"/time", "/x"}, "/time": {"/time"}, "/half": {"/time_1"},
		"/_nc4_non_coord_x": {"/time", "/x"}, "/square": {"/x", "/x"},
		"/part": {"/dim_7", "/time"}, "/odd": {"/a_b"}, "/none": {"/e", "/time"},
		"/y": {"/time"}, "/uses_y": {"/y_1"}, "/_nc4_non_coord_y": {"/time"},
		"/sub/v": {"/time"}, "/sub/w": {"/sub/time_1"}, "/sub/x": {"/sub/dim_2"}, "/sub/bare": {""},
		"/other/v": {"/other/time"}, "/other/deep/v": {"/other/deep/time"},
		"/other/deep/w": {"/other/deep/time_1"}, "/q": {"/q"}, "/q_1": {"/w"},
		"/uses_q": {"/q_2"}, "/dim_5": {"/w2"}, "/unnamed": {"/dim_5_1", "/w"},
	} {
		if d := got.Objects[path]; !reflect.DeepEqual(d.Scales, scales) {
			t.Errorf("%s: dimensions %v, expected %v", path, d.Scales, scales)
		}
	}
	if dims := got.Variables["x"]; !reflect.DeepEqual(dims, []string{"time", "x"}) {
		t.Errorf("netCDF4 finds the dimensions %v of x", dims)
	}
}

// TestDatasetsKeepTheirNames: a dimension gets a new name if an array has its name and is not its
// coordinates. That holds for files that are not for the netCDF library.
func TestDatasetsKeepTheirNames(t *testing.T) {
	i2 := hdf5.Int(2, true, false)
	set := func(name string, shape []int64, dims ...string) *hdf5.Dataset {
		return &hdf5.Dataset{Name: name, Type: i2, Shape: shape, Dimensions: dims}
	}
	_, got := read(t, &hdf5.Group{Datasets: []*hdf5.Dataset{
		set("curv", []int64{4, 5}, "curv", "x"), set("curv_1", []int64{2}, "x"),
		set("_nc4_non_coord_curv", []int64{3}, "x"),
	}}, nil)
	for path, want := range map[string]struct {
		shape  []int64
		scales []string
	}{
		"/curv":                {[]int64{4, 5}, []string{"/curv_2", "/x"}},
		"/curv_1":              {[]int64{2}, []string{"/x_1"}},
		"/_nc4_non_coord_curv": {[]int64{3}, []string{"/x_2"}},
	} {
		d := got.Objects[path]
		if !reflect.DeepEqual(d.Shape, want.shape) || !reflect.DeepEqual(d.Scales, want.scales) {
			t.Errorf("%s: %v, %v, expected %v", path, d.Shape, d.Scales, want)
		}
	}
}

// TestLargeFiles: addresses beyond 2^40, an array without bytes, scalars, 5,000 variables, and a
// user block.
func TestLargeFiles(t *testing.T) {
	f8 := float(t, "float64", false)
	root := &hdf5.Group{Datasets: []*hdf5.Dataset{
		{
			Name:  "huge",
			Type:  f8,
			Shape: []int64{1 << 20, 1 << 20},
		}, {Name: "scalar", Type: f8}, {Name: "empty", Type: f8, Shape: []int64{0, 3}}}}
	for i := range 5000 {
		root.Datasets = append(
			root.Datasets,
			&hdf5.Dataset{Name: fmt.Sprintf("v%04d", i), Type: hdf5.Int(2, false, false),
				Shape: []int64{4}, Dimensions: []string{"x"}, Fill: []byte{7, 0}},
		)
	}
	for _, userblock := range [][]byte{nil, make([]byte, 512)} {
		f, got := read(t, root, userblock)
		if f.Size < 1<<43 || f.Extents[0].Off%4096 != 0 {
			t.Errorf("%d bytes, the first dataset at %d", f.Size, f.Extents[0].Off)
		}
		if n := len(got.Objects); n != 5004 {
			t.Errorf("%d objects", n)
		}
		if d := got.Objects["/v4999"]; d.Last != "0102" || d.Fill != "7" || d.Scales[0] != "/x" {
			t.Errorf("the last variable: %+v", d)
		}
		if got.Objects["/huge"].Last != "0102030405060708" ||
			got.Objects["/scalar"].Last != "0102030405060708" {
			t.Errorf("%+v, %+v", got.Objects["/huge"], got.Objects["/scalar"])
		}
	}
}

// TestAttributes: values of each form, in their order, and a text of any length.
func TestAttributes(t *testing.T) {
	long := strings.Repeat("lang ", 30000)
	_, got := read(t, &hdf5.Group{Attributes: []hdf5.Attribute{
		{Name: "zz", Type: hdf5.VarString, Strings: []string{"höllo"}},
		{
			Name: "int",
			Type: hdf5.Int(8, true, false),
			Data: binary.LittleEndian.AppendUint64(nil, 42),
		},
		{Name: "texts", Type: hdf5.VarString, Shape: []int64{3}, Strings: []string{"a", "", long}},
		{Name: "fixed", Type: hdf5.Text(3), Data: []byte("abc")},
		{Name: "none", Type: hdf5.Int(8, true, false), Shape: []int64{0}},
	}}, nil)
	want := map[string]any{
		"zz":    "höllo",
		"int":   42.0,
		"texts": []any{"a", "", long},
		"fixed": "abc",
		"none":  []any{},
	}
	if !reflect.DeepEqual(got.Attributes, want) {
		t.Errorf("found %.300v", got.Attributes)
	}
}

// TestLayoutRefuses: what a file cannot say is an error.
func TestLayoutRefuses(t *testing.T) {
	i2 := hdf5.Int(2, true, false)
	set := func(d hdf5.Dataset) *hdf5.Group { return &hdf5.Group{Datasets: []*hdf5.Dataset{&d}} }
	wide, wordy := hdf5.Opaque(1<<16), hdf5.Enum(i2, strings.Repeat("a", 1<<16))
	most := []int64{math.MaxInt64 / 4}
	one := hdf5.Attribute{Name: "a", Type: i2, Data: []byte{1, 2}}
	long := hdf5.Attribute{Name: "a", Type: hdf5.Opaque(1 << 16), Data: make([]byte, 1<<16)}
	for name, root := range map[string]*hdf5.Group{
		"a name with a slash": set(hdf5.Dataset{Name: "a/b", Type: i2}),
		"too many axes":       set(hdf5.Dataset{Name: "a", Type: i2, Shape: make([]int64, 33)}),
		"no fixed size":       set(hdf5.Dataset{Name: "a", Type: hdf5.VarString}),
		"too many bytes":      set(hdf5.Dataset{Name: "a", Type: i2, Shape: []int64{1 << 62, 2}}),
		"a wrong fill":        set(hdf5.Dataset{Name: "a", Type: i2, Fill: []byte{1}}),
		"names of other axes": set(hdf5.Dataset{Name: "a", Type: i2, Dimensions: []string{"x"}}),
		"one name twice": {
			Datasets: []*hdf5.Dataset{{Name: "a", Type: i2}}, Groups: []*hdf5.Group{{Name: "a"}},
		},
		"a long fill":           set(hdf5.Dataset{Name: "a", Type: wide, Fill: long.Data}),
		"a long type":           set(hdf5.Dataset{Name: "a", Type: wordy}),
		"an attribute twice":    {Attributes: []hdf5.Attribute{one, one}},
		"too long an attribute": {Attributes: []hdf5.Attribute{long}},
		"together too many bytes": {Datasets: []*hdf5.Dataset{
			{Name: "a", Type: i2, Shape: most}, {Name: "b", Type: i2, Shape: most},
			{Name: "c", Type: i2, Shape: most},
		}},
	} {
		if f, err := hdf5.Layout(root, nil, hdf5.KeepDimensions); err == nil {
			t.Errorf("%s: a file of %d bytes", name, f.Size)
		}
	}
	short := make([]byte, 100)
	if _, err := hdf5.Layout(&hdf5.Group{}, short, hdf5.KeepDatasets); err == nil {
		t.Error("a user block of 100 bytes was taken")
	}
}

// TestIsMetadata: what says the same may be written, with the mark of a file that is open for
// writing; anything else may not.
func TestIsMetadata(t *testing.T) {
	f, err := hdf5.Layout(
		&hdf5.Group{
			Datasets: []*hdf5.Dataset{
				{Name: "a", Type: hdf5.Int(2, true, false), Shape: []int64{3}},
			},
		},
		make([]byte, 512),
		hdf5.KeepDatasets,
	)
	if err != nil {
		t.Fatal(err)
	}
	super := append([]byte{}, f.Meta[512:560]...)
	super[11], super[44], super[47] = 1, ^super[44], ^super[47]
	if !f.IsMetadata(f.Meta, 0) || !f.IsMetadata(super, 512) || !f.IsMetadata(f.Meta[600:], 600) {
		t.Error("the same was refused")
	}
	for at := range f.Meta {
		other := []byte{^f.Meta[at]}
		isMark := at == 512+11 || at >= 512+44 && at < 512+48
		if f.IsMetadata(other, int64(at)) != isMark {
			t.Fatalf("another byte at %d: %t", at, !isMark)
		}
	}
	if f.IsMetadata(f.Meta, 1) {
		t.Error("bytes behind the end were taken")
	}
}

// TestOpeningIsFarFromData: the first 4 MiB of a file with many bytes of data are metadata alone,
// because netCDF4 for Python reads them to open it.
func TestOpeningIsFarFromData(t *testing.T) {
	for _, c := range []struct {
		name           string
		bytes, longest int64 // of the data, and of its attribute
		from, to       int64 // where the data begin
	}{
		{"few bytes", 1000, 0, 48, 4096},
		{"many bytes", 1 << 40, 0, 4 << 20, 4 << 20},
		{"many attributes", 1 << 40, 5 << 20, 6 << 20, 6<<20 + 8192},
	} {
		d := &hdf5.Dataset{Name: "a", Type: hdf5.Opaque(1), Shape: []int64{c.bytes}}
		for i := range c.longest / (32 << 10) {
			d.Attributes = append(d.Attributes, hdf5.Attribute{
				Name:  fmt.Sprint(i),
				Type:  hdf5.Opaque(1),
				Shape: []int64{32 << 10},
				Data:  make([]byte, 32<<10),
			})
		}
		root := &hdf5.Group{Datasets: []*hdf5.Dataset{d}}
		f, err := hdf5.Layout(root, nil, hdf5.KeepDatasets)
		if err != nil {
			t.Fatal(err)
		}
		if off := f.Extents[0].Off; off < c.from || off > c.to {
			t.Errorf("%s: the data begin at %d: expected from %d to %d", c.name, off, c.from, c.to)
		}
	}
}

// FuzzLayout: whatever is described, datasets do not overlap, and the second writing of the
// metadata is as long as the first.
func FuzzLayout(f *testing.F) {
	f.Add("a", "x", int64(3), int64(1<<40), "b", "x", 2)
	f.Add("x", "x", int64(0), int64(5), "y", "", 4)
	f.Fuzz(func(t *testing.T, name, dim string, n, m int64, other, otherDim string, size int) {
		sub := &hdf5.Group{
			Name: "sub",
			Datasets: []*hdf5.Dataset{
				{
					Name:       name,
					Type:       hdf5.Opaque(1 + size&0xff),
					Shape:      []int64{n, m},
					Dimensions: []string{dim, otherDim},
				},
			},
		}
		root := &hdf5.Group{Groups: []*hdf5.Group{sub}, Datasets: []*hdf5.Dataset{
			{
				Name:       name,
				Type:       hdf5.Int(2, true, false),
				Shape:      []int64{n},
				Dimensions: []string{dim},
			},
			{
				Name:       other,
				Type:       hdf5.Bool().Committed(name),
				Shape:      []int64{n, m},
				Dimensions: []string{otherDim, dim},
			},
		}}
		file, err := hdf5.Layout(root, nil, hdf5.KeepDimensions)
		if err != nil {
			return
		}
		end := int64(len(file.Meta))
		for i, e := range file.Extents {
			most := int64(4096)
			if i == 0 && file.Size-e.Off >= 252<<10 { // 256 KiB less what alignment adds
				most = 4 << 20
			}
			if e.Off < end || e.Off-end > most || e.Size <= 0 {
				t.Fatalf("%d bytes at %d, behind %d", e.Size, e.Off, end)
			}
			end = e.Off + e.Size
		}
		if end != file.Size {
			t.Fatalf("a file of %d bytes ends at %d", file.Size, end)
		}
	})
}
