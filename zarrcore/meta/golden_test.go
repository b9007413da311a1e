package meta

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zarrfs/zarrfs/zarrcore/dtype"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestReadDocuments reads every document of testdata/*.txtar, and holds what it reads as against
// the .golden beside it.
func TestReadDocuments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var out strings.Builder
			for _, n := range readNodes(t, file) {
				fmt.Fprintf(&out, "== %s\n%s", n.name, n.read())
			}
			golden := strings.TrimSuffix(file, ".txtar") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(out.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			compareLines(t, out.String(), string(want))
		})
	}
}

func compareLines(t *testing.T, got, want string) {
	if got == want {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	node := ""
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := lineAt(gotLines, i), lineAt(wantLines, i)
		if strings.HasPrefix(w, "== ") {
			node = w
		}
		if g != w {
			t.Fatalf("%s, line %d:\n%s\nwant\n%s\n(go test -update rewrites the golden files)",
				node, i+1, g, w)
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(no line)"
}

// node is the objects of one array or group, by the last element of their keys.
type node struct {
	name    string
	objects map[string][]byte
}

// readNodes takes a txtar file apart: each document follows a line "-- NAME/KEY --".
func readNodes(t testing.TB, file string) []node {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []node
	for section := range bytes.SplitSeq(append([]byte("\n"), data...), []byte("\n-- ")) {
		header, body, ok := bytes.Cut(section, []byte(" --\n"))
		if !ok {
			continue
		}
		name, key := filepath.Split(string(header))
		if len(nodes) == 0 || nodes[len(nodes)-1].name != name {
			nodes = append(nodes, node{name, map[string][]byte{}})
		}
		nodes[len(nodes)-1].objects[key] = bytes.TrimSuffix(body, []byte("\n"))
	}
	return nodes
}

// read reads a node's documents and prints what they say.
func (n node) read() string {
	o := n.objects
	var a *Array
	var g *Group
	var err error
	switch {
	case o["zarr.json"] != nil:
		a, g, err = ParseV3(o["zarr.json"])
	case o[".zarray"] != nil:
		a, err = ParseV2Array(o[".zarray"], o[".zattrs"])
	case o[".zgroup"] != nil:
		g, err = ParseV2Group(o[".zgroup"], o[".zattrs"])
	case o["meta"] != nil:
		a, err = ParseV1(o["meta"], o["attrs"])
	}
	var out strings.Builder
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	if a != nil {
		printArray(&out, a, o["zarr.json"])
	}
	if g != nil {
		fmt.Fprintf(&out, "group, format %d\nattributes: %s\n", g.Format, g.Attributes.Standard())
		printDocument(&out, g.Document, o["zarr.json"])
	}
	return out.String()
}

func printArray(out *strings.Builder, a *Array, stored []byte) {
	fmt.Fprintf(out, "array, format %d, shape %v, chunk %v, order %c\n", a.Format, a.Shape, a.Chunk,
		a.Order)
	if a.Type.Kind != dtype.Object {
		fmt.Fprintf(out, "type: %s, %d bytes\n", a.Type.Descr(), a.Type.Size)
	}
	fmt.Fprintf(out, "fill: %x, defined %v\n", a.Fill, a.FillDefined)
	for _, c := range a.Codecs {
		fmt.Fprintf(out, "codec: %s %s\n", c.Name, c.Config.Standard())
	}
	zero, one := make([]int64, len(a.Shape)), make([]int64, len(a.Shape))
	for i := range one {
		one[i] = int64(i) + 1
	}
	fmt.Fprintf(out, "keys: %s %s, separator known %v\n", a.Keys.Key(zero), a.Keys.Key(one),
		a.SeparatorKnown)
	if a.DimensionNames != nil {
		fmt.Fprintf(out, "names: %q\n", a.DimensionNames)
	}
	fmt.Fprintf(out, "attributes: %s\n", a.Attributes.Standard())
	printDocument(out, a.Document, stored)
}

func printDocument(out *strings.Builder, doc, stored []byte) {
	if stored != nil && bytes.Equal(doc, stored) {
		out.WriteString("document: as stored\n")
		return
	}
	fmt.Fprintf(out, "document:\n%s", doc)
}
