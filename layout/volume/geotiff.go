package volume

// Place is where on Earth the last two axes of an array lie.
type Place struct {
	Known bool
	// The centre of element (line, column) is at X[0] + X[1]*column + X[2]*line, and the same of Y.
	X, Y [3]float64
	// EPSG is the code of the coordinate reference system; 0: unknown.
	EPSG         int
	IsGeographic bool // its coordinates are degrees
}

// tags returns the entries of GeoTIFF (OGC 19-008r4). Places are those of corners there.
func (p Place) tags() []tiffTag {
	corner := func(c [3]float64) []float64 {
		return []float64{c[1], c[2], 0,
			c[0] - c[1]/2 - c[2]/2}
	}
	matrix := append(append(corner(p.X), corner(p.Y)...), 0, 0, 0, 0, 0, 0, 0, 1)
	tags := []tiffTag{{tag: 34264, double: matrix}}
	if p.X[2] == 0 && p.Y[1] == 0 && p.X[1] > 0 && p.Y[2] < 0 { // north is up
		tags = []tiffTag{{tag: 33550, double: []float64{p.X[1], -p.Y[2], 0}},
			{tag: 33922, double: []float64{0, 0, 0, matrix[3], matrix[7], 0}}}
	}
	if p.EPSG <= 0 || p.EPSG > 1<<16-1 {
		return tags
	}
	model, key := uint16(1), uint16(3072)
	if p.IsGeographic {
		model, key = 2, 2048
	}
	keys := []uint16{1, 1, 0, 3, 1024, 0, 1, model, 1025, 0, 1, 1, key, 0, 1, uint16(p.EPSG)}
	return append(tags, tiffTag{tag: 34735, short: keys})
}
