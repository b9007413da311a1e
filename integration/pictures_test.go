package integration

import (
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
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
