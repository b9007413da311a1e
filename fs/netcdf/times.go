package netcdf

import "github.com/zarrfs/zarrfs/zarrcore/dtype"

// timeUnits are the units of CF for those of NumPy. Months and years have no fixed length there.
var timeUnits = map[string]string{
	"W": "weeks", "D": "days", "h": "hours", "m": "minutes", "s": "seconds",
	"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}

// time returns what a file says of times: whole numbers, in units of the CF conventions.
func (d *describer) time(t dtype.Type) (e element, ok bool) {
	if t.Kind != dtype.Datetime && t.Kind != dtype.Timedelta {
		return element{}, false
	}
	e.is, _ = typeOf(t)
	unit, ok := timeUnits[t.Unit]
	switch {
	case !ok || t.Scale != 1:
		e.note = t.Descr()
	case t.Kind == dtype.Datetime:
		e.units, e.calendar = unit+" since 1970-01-01", "proleptic_gregorian"
	default:
		e.units, e.note = unit, "timedelta64["+resolution(t.Unit)+"]"
	}
	return e, true
}

// resolution returns the unit that xarray has for a span of time in that of NumPy. It takes spans
// for numbers where no attribute names one.
func resolution(unit string) string {
	switch unit {
	case "ns", "us", "ms":
		return unit
	}
	return "s"
}
