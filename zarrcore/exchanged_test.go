package zarrcore_test

import (
	"context"
	"errors"
	iofs "io/fs"
	"strings"
	"testing"
	"time"

	"github.com/zarrfs/zarrfs/zarrcore"
	"github.com/zarrfs/zarrfs/zarrcore/store/dirstore"
)

// exchanger replaces a directory as dirstore does. It calls between while what is replaced has the
// name of what replaces it.
type exchanger struct {
	*dirstore.Driver
	between func()
}

func (e *exchanger) Replace(ctx context.Context, from, to string) error {
	for _, step := range [][2]string{{to, "x"}, {from, to}, {"x", from}} {
		if err := e.Rename(ctx, step[0], step[1]); err != nil {
			return err
		}
	}
	e.between()
	return e.RemoveAll(ctx, from)
}

// opened is the result of OpenArray.
type opened struct {
	array *zarrcore.Array
	err   error
}

// exchangeable returns a store with the arrays a, of ones, and b, of twos.
func exchangeable(t *testing.T) (*exchanger, *zarrcore.Hierarchy) {
	t.Helper()
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	driver := &exchanger{Driver: d}
	h := writable(t, 3, driver)
	for path, value := range map[string]byte{"a": 1, "b": 2} {
		described(t, h, path, numbers("[4]", "[4]", plainBytes))
		a := openArray(t, h, path)
		write(t, a, 0, []byte{value, value, value, value})
		must(t, a.Flush(t.Context(), false))
	}
	return driver, h
}

// TestOpenedWhileExchanged renames an array onto another one. Where both were exchanged, and the
// old one is not removed yet, nobody opens the old one by the new one's former name. What is opened
// by the other name is the one array that is there afterwards.
func TestOpenedWhileExchanged(t *testing.T) {
	ctx := t.Context()
	for _, known := range []bool{false, true} { // whether the arrays were open before
		driver, h := exchangeable(t)
		if !known {
			h = writable(t, 3, driver)
		}
		results := map[string]chan opened{}
		driver.between = func() {
			for _, path := range []string{"a", "b"} {
				found := make(chan opened, 1)
				results[path] = found
				go func() {
					a, err := h.OpenArray(ctx, path)
					found <- opened{a, err}
				}()
			}
			time.Sleep(50 * time.Millisecond)
		}
		must(t, h.Rename(ctx, "a", "b", true))
		if a := <-results["a"]; !errors.Is(a.err, iofs.ErrNotExist) {
			t.Errorf("open before: %t: a can still be opened (%v)", known, a.err)
		}
		b := <-results["b"]
		must(t, b.err)
		write(t, b.array, 1, []byte{7})
		got, err := readAll(t, openArray(t, h, "b"))
		if err != nil || string(got) != "\x01\x07\x01\x01" {
			t.Errorf("open before: %t: b has %q (%v)", known, got, err)
		}
	}
}

// TestReadWhileExchanged: an array is renamed over another one. An open file of the renamed array
// never has bytes of the replaced one.
func TestReadWhileExchanged(t *testing.T) {
	ctx := t.Context()
	driver, _ := exchangeable(t)
	h := writable(t, 3, driver) // nothing is cached
	a, done := openArray(t, h, "a"), make(chan struct{})
	var got []byte
	var err error
	driver.between = func() {
		go func() {
			got, err = readAll(t, a)
			close(done)
		}()
		time.Sleep(50 * time.Millisecond)
	}
	must(t, h.Rename(ctx, "a", "b", true))
	<-done
	if err != nil || string(got) != "\x01\x01\x01\x01" {
		t.Errorf("read %q (%v)", got, err)
	}
}

// oneWord is the document of an array of one string.
var oneWord = []byte(`{"zarr_format": 3, "node_type": "array", "shape": [1],
	"data_type": "string", "fill_value": "", "codecs": [{"name": "vlen-utf8"}],
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
	"chunk_key_encoding": {"name": "default"}}`)

// TestLinesOpenedWhileExchanged is TestOpenedWhileExchanged and TestReadWhileExchanged for arrays
// of strings.
func TestLinesOpenedWhileExchanged(t *testing.T) {
	ctx := t.Context()
	d, err := dirstore.Open(t.TempDir(), nil)
	must(t, err)
	driver := &exchanger{Driver: d}
	h := writable(t, 3, driver)
	for path, line := range map[string]string{"a": "\"new\"\n", "b": "\"old\"\n"} {
		must(t, h.CreateFromDocument(ctx, path, oneWord))
		must(t, h.WriteLines(ctx, path, strings.NewReader(line), int64(len(line)), false))
	}
	type result struct {
		text string
		err  error
	}
	results := map[string]chan result{"a": make(chan result, 1), "b": make(chan result, 1)}
	opened, err := h.OpenVlen(ctx, "a")
	must(t, err)
	read := make(chan result, 1)
	driver.between = func() {
		for path, found := range results {
			go func() {
				v, err := h.OpenVlen(ctx, path)
				if err != nil {
					found <- result{"", err}
					return
				}
				text, err := readLines(v)
				found <- result{string(text), err}
			}()
		}
		go func() {
			text, err := readLines(opened)
			read <- result{string(text), err}
		}()
		time.Sleep(50 * time.Millisecond)
	}
	must(t, h.Rename(ctx, "a", "b", true))
	if a := <-read; a.err != nil || a.text != "\"new\"\n" {
		t.Errorf("the file that was open has %q (%v)", a.text, a.err)
	}
	if a := <-results["a"]; !errors.Is(a.err, iofs.ErrNotExist) {
		t.Errorf("a can still be opened, with %q (%v)", a.text, a.err)
	}
	if b := <-results["b"]; b.err != nil || b.text != "\"new\"\n" {
		t.Errorf("b has %q (%v)", b.text, b.err)
	}
}
