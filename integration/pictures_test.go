package integration

import (
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// picturedStore makes an array with a ramp and a hole, and an image of two levels. The first of
// these is too large to decode.
const picturedStore = `
import sys, numpy as np, zarr
root = zarr.open_group(sys.argv[1], mode="w")
ramp = np.tile(np.arange(1500, dtype="<f4"), (2, 700, 1))
ramp[1, 100:200, 200:400] = np.nan
root.create_array("ramp", shape=ramp.shape, dtype=ramp.dtype, chunks=(1, 100, 200),
    dimension_names=["time", "lat", "lon"])[...] = ramp
image = root.create_group("image")
image.create_array("0", shape=(1 << 17, 1 << 17), dtype="<u2", chunks=(1024, 1024), fill_value=9)
coarse = np.zeros((64, 64), "<u2")
coarse[32:] = 500
image.create_array("1", shape=coarse.shape, dtype=coarse.dtype, chunks=(32, 32))[...] = coarse
image.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": [{"name": "y"}, {"name": "x"}],
    "datasets": [{"path": p, "coordinateTransformations": [{"type": "scale", "scale": [1, 1]}]}
        for p in "01"]}]}
root.create_array("huge", shape=(1 << 17, 1 << 17), dtype="<u2", chunks=(1024, 1024))
land = np.tile(np.arange(100, dtype="<i2"), (50, 1))
land[10:30, 20:40] = -32768
root.create_array("land", shape=land.shape, dtype=land.dtype, chunks=(50, 50),
    attributes={"_FillValue": -32768, "scale_factor": 0.01, "add_offset": 273.15})[...] = land
for name, side in ("most", 8192), ("more", 9728):
    root.create_array(name, shape=(side, side), dtype="u1", chunks=(2048, 2048))[...] = 1
root.create_array("words", shape=(3,), dtype=str, chunks=(3,))
`

// TestPictures: a.png is a picture of an array, and its size is known without decoding anything.
func TestPictures(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.zarr")
	if out, err := command(pythonThree(t), "-c", picturedStore, store); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := mount(t, store, "--views", "json,npy,png")
	for _, folder := range []string{"", "image"} {
		run(t, "ls", "-l", filepath.Join(dir, folder))
	}
	if n := chunksDecoded(t, dir); n != 0 {
		t.Errorf("a listing has decoded %d chunks", n)
	}
	ramp := pictureOf(t, dir, "ramp.png")
	if b := ramp.Bounds(); b.Dx() != 750 || b.Dy() < 350 || b.Dy() > 420 {
		t.Errorf("ramp.png has %v pixels", b)
	}
	for x, want := range map[int]uint32{0: 0, 375: 127, 749: 255} {
		if grey := redAt(ramp, x, 300); grey > want+8 || grey+8 < want {
			t.Errorf("ramp.png has %d at column %d, expected %d", grey, x, want)
		}
	}
	if redAt(ramp, 150, 75) != 190 {
		t.Error("what is not a number has the colour of a value")
	}
	land := pictureOf(t, dir, "land.png")
	scale := land.Bounds().Dx() / 100
	if redAt(land, 30*scale, 20*scale) != 190 {
		t.Error("an integer that means that there is no value has the colour of a value")
	}
	for column, want := range map[int]uint32{0: 0, 50: 127, 99: 255} {
		if grey := redAt(land, column*scale, 40*scale); grey > want+8 || grey+8 < want {
			t.Errorf("land.png has %d at column %d, expected %d", grey, column, want)
		}
	}
	level := pictureOf(t, dir, "image/0.png")
	if redAt(level, 10, 10) != 0 || redAt(level, 10, 900) != 255 {
		t.Error("a large level is not drawn from the coarse one")
	}
	before := chunksDecoded(t, dir)
	if pictureOf(t, dir, "huge.png"); chunksDecoded(t, dir) != before {
		t.Error("chunks of an array that is too large were decoded")
	}
	turned := pictureOf(t, dir, "ramp@{time=0,lat=50:150,lon=200:0:-1}.png")
	for x, want := range map[int]uint32{0: 255, 100: 127, 199: 0} {
		if grey := redAt(turned, x, 40); grey > want+8 || grey+8 < want {
			t.Errorf("a part has %d at column %d, expected %d", grey, x, want)
		}
	}
	for _, part := range []string{"ramp@{order=F}.png", "ramp@{dtype=<u4}.png", "ramp@{q=1}.png"} {
		if _, err := os.Stat(filepath.Join(dir, part)); err == nil {
			t.Errorf("%s is there", part)
		}
	}
	for name, chunks := range map[string]int64{"most": 64 << 20 / 2048 / 2048, "more": 0} {
		before := chunksDecoded(t, dir)
		pictureOf(t, dir, name+".png")
		if n := chunksDecoded(t, dir) - before; n != chunks {
			t.Errorf("%s.png has decoded %d chunks, expected %d", name, n, chunks)
		}
	}
	for name, want := range map[string][3]string{
		"ramp.png": {"ramp [2 700 1500] '<f4'", "time=1, lat=::2, lon=::2",
			"black 28, white 1470"},
		"image/0.png": {"0 [131072 131072] '<u2'", "axis 0, axis 1", "black 0, white 500"},
		"ramp@{0=1,1=:50,2=10:20}.png": {"ramp@{0=1,1=:50,2=10:20} [50 10] '<f4'",
			"time=1, lat=0:50, lon=10:20", "black 10, white 19"},
		"ramp@{0=0,1=9:70:30,2=99:9:-9}.png": {"ramp@{0=0,1=9:70:30,2=99:9:-9} [3 10] '<f4'",
			"time=0, lat=9:70:30, lon=99:17:-9", "black 18, white 99"},
		"land@{scale}.png": {"land@{scale} [50 100] '<f8'", "axis 0, axis 1",
			"black 273.16, white 274.13"},
		"more.png": {"more [9728 9728] '|u1'", "more than 64 MiB to decode: see a coarser level",
			"too large to draw"},
	} {
		if got := captionOf(pictureOf(t, dir, name)); got != want {
			t.Errorf("the caption of %s is %q, expected %q", name, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "words.png")); !os.IsNotExist(err) {
		t.Errorf("strings have a picture: %v", err)
	}
}

// pictureOf reads a picture. Its file must have the size that stat says.
func pictureOf(t *testing.T, dir, name string) image.Image {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if all, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
		int64(len(all)) != info.Size() {
		t.Errorf("%s has %d bytes, %v, stat says %d", name, len(all), err, info.Size())
	}
	return img
}

func redAt(img image.Image, x, y int) uint32 {
	red, _, _, _ := img.At(x, y).RGBA()
	return red >> 8
}

// captionOf reads the three lines of text below a picture.
func captionOf(img image.Image) (lines [3]string) {
	glyphs := make(map[string]rune)
	for r := ' '; r <= '~'; r++ {
		cell := image.NewRGBA(image.Rect(0, 0, 7, 13))
		draw.Draw(cell, cell.Bounds(), image.White, image.Point{}, draw.Src)
		d := font.Drawer{Dst: cell, Src: image.Black, Face: basicfont.Face7x13,
			Dot: fixed.P(0, basicfont.Face7x13.Ascent)}
		d.DrawString(string(r))
		glyphs[inkAt(cell, 0, 0)] = r
	}
	for i := range lines {
		top := img.Bounds().Dy() - 48 + (i+1)*14 - basicfont.Face7x13.Ascent
		for x := 4; x+7 <= img.Bounds().Dx(); x += 7 {
			lines[i] += string(glyphs[inkAt(img, x, top)])
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// inkAt returns which pixels of the cell of a character are black.
func inkAt(img image.Image, x, y int) string {
	var ink strings.Builder
	for row := range 13 {
		for column := range 7 {
			fmt.Fprint(&ink, redAt(img, x+column, y+row) == 0)
		}
	}
	return ink.String()
}

// chunksDecoded returns how many chunks the mount has decoded.
func chunksDecoded(t *testing.T, dir string) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, ".zarrfs", "status.json"))
	if err != nil {
		t.Fatal(err)
	}
	var status struct {
		Core struct {
			ChunksDecoded *int64 `json:"chunks_decoded"`
		}
	}
	if err := json.Unmarshal(text, &status); err != nil || status.Core.ChunksDecoded == nil {
		t.Fatalf("%v in %s", err, text)
	}
	return *status.Core.ChunksDecoded
}
