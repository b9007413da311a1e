package axes

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zarrfs/zarrfs/layout/volume"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// geo is what the conventions for places on Earth say of an array: CF, GDAL's _CRS, and those of
// GeoZarr for projections and places (proj:, spatial:).
type geo struct {
	code         int       // of EPSG; 0: unknown
	text         string    // of the reference system, as WKT
	isDegrees    bool      // the coordinates are latitudes and longitudes
	isProjected  bool      // they are those of a projection
	corner       []float64 // x and y of the first corner, and their steps by column and by line
	isOfElements bool      // corner is the centre of the first element

	lines, columns volume.Axis // of the array
}

// addPlace adds where on Earth the last two axes lie, if conventions say that they do.
func (k Known) addPlace(v *volume.Volume) {
	if len(v.Axes) < 2 {
		return
	}
	y, x := v.Axes[len(v.Axes)-2], v.Axes[len(v.Axes)-1]
	g := geo{lines: y, columns: x}
	g.readLevel(k.Above, path.Dir(k.Path), k.Path)
	if !g.readLevel(k.Group, k.name()) {
		g.read(k.Group)
	}
	g.read(k.Array.Attributes)
	if name := k.Array.Attributes.Get("grid_mapping").Text(); name != "" && k.Mapping != nil {
		g.read(k.Mapping(name))
	}
	g.isDegrees = g.isDegrees || strings.HasPrefix(x.Unit, "degree") &&
		strings.HasPrefix(y.Unit, "degree")
	switch {
	case g.corner != nil:
		v.Place = g.byCorner()
	case x.HasStep && x.HasStart && y.HasStep && y.HasStart && x.Kind == volume.Space &&
		y.Kind == volume.Space && (g.isDegrees || g.code > 0 || g.text != ""):
		v.Place = volume.Place{Known: true, X: [3]float64{x.Start, x.Step, 0},
			Y: [3]float64{y.Start, 0, y.Step}}
	default:
		return
	}
	v.Place.EPSG, v.Place.IsGeographic = g.system()
}

// readLevel adds what a group says of a level that has one of these paths below it, an array or a
// group of arrays (https://github.com/zarr-conventions/multiscales). It reports false if there is
// no such level. A transform of the group itself is for a level only if it says for which shape.
func (g *geo) readLevel(group pyjson.Value, paths ...string) bool {
	for _, level := range group.Get("multiscales").Get("layout").Elems() {
		if !slices.Contains(paths, level.Get("asset").Text()) {
			continue
		}
		g.readSystem(group)
		if group.Get("spatial:shape").Exists() {
			g.readCorner(group, pyjson.Value{})
		}
		g.readCorner(level, group)
		return true
	}
	return false
}

// read adds what attributes say: of the array, of its group, or of its grid mapping.
func (g *geo) read(a pyjson.Value) {
	g.readSystem(a)
	g.readCorner(a, pyjson.Value{})
}

// readSystem adds the reference system.
func (g *geo) readSystem(a pyjson.Value) {
	crs := a.Get("_CRS")
	texts := []pyjson.Value{a.Get("spatial_ref"), a.Get("crs_wkt"), a.Get("proj:wkt2"),
		crs.Get("wkt")}
	for _, text := range texts {
		if text.Kind() == pyjson.String {
			g.text = text.Text()
		}
	}
	for _, name := range []string{a.Get("proj:code").Text(), crs.Get("url").Text()} {
		if code := epsg(name); code > 0 {
			g.code = code
		}
	}
	for _, json := range []pyjson.Value{a.Get("proj:projjson"), crs.Get("projjson")} {
		if id := json.Get("id"); id.Get("authority").Text() == "EPSG" {
			code, _ := id.Get("code").Int64()
			g.code = int(code)
		}
		g.isDegrees = g.isDegrees || json.Get("type").Text() == "GeographicCRS"
		g.isProjected = g.isProjected || json.Get("type").Text() == "ProjectedCRS"
	}
}

// readCorner adds the transform of GDAL, or of GeoZarr. For a level, group has the attributes of
// its group: what these say besides the transform and the shape is for all levels.
func (g *geo) readCorner(a, group pyjson.Value) {
	if text := strings.Fields(a.Get("GeoTransform").Text()); len(text) == 6 {
		n := make([]float64, 6)
		for i := range n {
			f, err := strconv.ParseFloat(text[i], 64)
			if err != nil || !isFinite(f) {
				return
			}
			n[i] = f
		}
		g.corner, g.isOfElements = []float64{n[0], n[3], n[1], n[2], n[4], n[5]}, false
	}
	if list := a.Get("spatial:transform").Elems(); len(list) == 6 && g.isGridOf(a, group) {
		n := make([]float64, 6)
		for i := range n {
			f, ok := finite(list[i])
			if !ok {
				return
			}
			n[i] = f
		}
		g.corner = []float64{n[2], n[5], n[0], n[1], n[3], n[4]}
		g.isOfElements = either("spatial:registration", a, group).Text() == "node"
	}
}

// either returns what a level says, otherwise what its group says.
func either(key string, level, group pyjson.Value) pyjson.Value {
	if v := level.Get(key); v.Exists() {
		return v
	}
	return group.Get(key)
}

// isGridOf reports whether the transform of attributes by GeoZarr is for the array. That of a group
// is for all arrays in it of that shape and those axes
// (https://github.com/zarr-conventions/spatial).
func (g *geo) isGridOf(a, group pyjson.Value) bool {
	kind := either("spatial:transform_type", a, group)
	if kind.Exists() && kind.Text() != "affine" {
		return false
	}
	for i, axis := range []volume.Axis{g.lines, g.columns} {
		if shape := a.Get("spatial:shape").Elems(); len(shape) == 2 {
			if n, ok := shape[i].Int64(); ok && n != axis.Length {
				return false
			}
		}
		names := either("spatial:dimensions", a, group).Elems()
		if len(names) == 2 && axis.Name != "" && names[i].Text() != axis.Name {
			return false
		}
	}
	return true
}

// byCorner returns the place that a transform gives.
func (g *geo) byCorner() volume.Place {
	c, half := g.corner, 0.5
	if g.isOfElements {
		half = 0
	}
	return volume.Place{Known: true, X: [3]float64{c[0] + half*(c[2]+c[3]), c[2], c[3]},
		Y: [3]float64{c[1] + half*(c[4]+c[5]), c[4], c[5]}}
}

// system returns the code of the reference system, 0 if it is not known whether the system is
// geographic.
func (g *geo) system() (code int, isGeographic bool) {
	code = g.code
	if m := lastCode.FindStringSubmatch(g.text); m != nil {
		code, _ = strconv.Atoi(m[1])
	}
	begin := strings.TrimSpace(g.text)
	for _, word := range []string{"GEOG", "GEODCRS"} {
		g.isDegrees = g.isDegrees || strings.HasPrefix(begin, word)
	}
	switch {
	case g.isProjected || strings.HasPrefix(begin, "PROJ"):
		return code, false
	case g.isDegrees || slices.Contains(geographic, code):
		return code, true
	case code >= 2000 && code < 4000 || code >= 20000 && code < 32767: // the ranges of projections
		return code, false
	}
	return 0, false
}

var (
	// lastCode is the code of a reference system of text: that of the whole, which is at its end.
	lastCode = regexp.MustCompile(`(?:ID|AUTHORITY)\["EPSG",\s*"?([0-9]{1,6})"?\]\s*\]\s*$`)
	// named are names of reference systems of EPSG.
	named = regexp.MustCompile(
		`^(?:EPSG:|https?://www\.opengis\.net/def/crs/EPSG/[^/]*/)([0-9]{1,6})$`)
	// geographic are codes of usual systems of latitudes and longitudes.
	geographic = []int{4326, 4258, 4267, 4269, 4283, 4490, 4617, 4674, 6318, 7844}
)

// epsg returns the code that a name of a reference system has; 0: none.
func epsg(name string) int {
	m := named.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	code, _ := strconv.Atoi(m[1])
	return code
}
