package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// The colours behind those of values.
const (
	greys   = 240
	missing = greys // what is not a number
	paper   = greys + 1
	ink     = greys + 2
	colours = greys + 3
)

// palette has the grey of each value, and the other colours.
var palette = func() color.Palette {
	p := make(color.Palette, colours)
	for i := range greys {
		v := uint8(i * 255 / (greys - 1))
		p[i] = color.RGBA{v, v, v, 255}
	}
	p[missing] = color.RGBA{190, 90, 90, 255}
	p[paper] = color.RGBA{255, 255, 255, 255}
	p[ink] = color.RGBA{0, 0, 0, 255}
	return p
}()

// encoder does not compress, so that a file's size is known before there are pixels.
var encoder = png.Encoder{CompressionLevel: png.NoCompression}

// sizes are those of the files by the pixels of their pictures: of at most most by most.
var sizes sync.Map

// Size returns the bytes of the file.
func (p Plan) Size() int64 {
	width, height := p.size()
	if n, ok := sizes.Load([2]int{width, height}); ok {
		return n.(int64)
	}
	var n counter
	encoder.Encode(&n, p.blank()) // a counter takes all bytes
	sizes.Store([2]int{width, height}, int64(n))
	return int64(n)
}

// counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

var _ io.Writer = (*counter)(nil)

func (p Plan) blank() *image.Paletted {
	width, height := p.size()
	img := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	draw.Draw(img, img.Bounds(), image.NewUniform(palette[paper]), image.Point{}, draw.Src)
	return img
}

// Draw returns the file. values are the elements that Along chose of an array of that many rows and
// columns there, in the order of the array's axes. title is the first line of the caption, and
// where the second one.
func (p Plan) Draw(values []float64, rows, cols int, title, where string) ([]byte, error) {
	img := p.blank()
	low, high := stretch(values)
	switch {
	case len(values) == 0:
	case p.y >= 0:
		p.drawPlane(img, values, rows, cols, low, high)
	case p.x >= 0:
		p.drawCurve(img, values, low, high)
	}
	_, height := p.size()
	below := height - captionHeight
	for i, line := range []string{title, where, p.rangeText(values, low, high)} {
		write(img, 4, below+(i+1)*lineHeight, line)
	}
	var file bytes.Buffer
	if err := encoder.Encode(&file, img); err != nil {
		return nil, err
	}
	if int64(file.Len()) != p.Size() {
		return nil, fmt.Errorf("a picture of %d bytes, expected %d", file.Len(), p.Size())
	}
	return file.Bytes(), nil
}

func (p Plan) drawPlane(img *image.Paletted, values []float64, rows, cols int, low, high float64) {
	for i := range p.rows * p.factor {
		for j := range p.cols * p.factor {
			row, col := i*rows/(p.rows*p.factor), j*cols/(p.cols*p.factor)
			at := row*cols + col
			if p.y > p.x {
				at = col*rows + row
			}
			img.SetColorIndex(j, i, shade(values[at], low, high))
		}
	}
}

// drawCurve draws the values from left to right, each joined to the one before.
func (p Plan) drawCurve(img *image.Paletted, values []float64, low, high float64) {
	width := img.Bounds().Dx()
	before := -1
	for x := range width {
		v := values[x*len(values)/width]
		if math.IsNaN(v) {
			before = -1
			continue
		}
		y := int((1 - level(v, low, high)) * (curveHeight - 1))
		if before < 0 {
			before = y
		}
		for at := min(before, y); at <= max(before, y); at++ {
			img.SetColorIndex(x, at, ink)
		}
		before = y
	}
}

func (p Plan) rangeText(values []float64, low, high float64) string {
	switch {
	case p.empty:
		return "no elements"
	case len(values) == 0:
		return "too large to draw"
	case len(values) == 1:
		return fmt.Sprintf("%.6g", values[0])
	}
	if p.y < 0 {
		return fmt.Sprintf("bottom %.6g, top %.6g", low, high)
	}
	return fmt.Sprintf("black %.6g, white %.6g", low, high)
}

// write writes a line of text, of which the baseline begins there.
func write(img *image.Paletted, x, y int, line string) {
	d := font.Drawer{Dst: img, Src: image.NewUniform(palette[ink]), Face: basicfont.Face7x13,
		Dot: fixed.P(x, y)}
	d.DrawString(line)
}
