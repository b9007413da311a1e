package known

import (
	"reflect"
	"testing"

	"github.com/zarrfs/zarrfs/fs/pathstate"
)

// TestEveryPartOfAState: whatever a state holds takes part in renames and removals. A field that is
// not a part, or that parts does not return, would be left behind by one of them.
func TestEveryPartOfAState(t *testing.T) {
	var s State
	v := reflect.ValueOf(&s).Elem()
	known := make(map[pathstate.Part]bool)
	for _, p := range s.parts() {
		known[p] = true
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		p, ok := reflect.NewAt(field.Type,
			v.Field(i).Addr().UnsafePointer()).Interface().(pathstate.Part)
		if !ok {
			t.Errorf("State.%s, a %s, is not a part", field.Name, field.Type)
			continue
		}
		if !known[p] {
			t.Errorf("parts does not return State.%s", field.Name)
		}
		if !p.IsEmpty() {
			t.Errorf("State.%s is not empty to begin with", field.Name)
		}
	}
	if len(known) != v.NumField() {
		t.Errorf("there are %d parts and %d fields", len(known), v.NumField())
	}
}
