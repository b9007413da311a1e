package codec

import (
	"github.com/zarrfs/zarrfs/compress"
	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// jenkins_lookup3 (numcodecs) is the hash in HDF5's metadata. It stands behind the bytes, and
// covers a prefix and them.
func init() { register("numcodecs.jenkins_lookup3", bindJenkins) }

func bindJenkins(in state, cfg config) (step, state, error) {
	initial, err := cfg.integerOr("initval", 0, 0, 1<<32-1)
	if err != nil {
		return step{}, in, err
	}
	prefix := cfg.get("prefix")
	if prefix.Exists() && prefix.Kind() != pyjson.String {
		return step{}, in, cfg.expected("prefix", "a string")
	}
	return checksumStep(
		compress.JenkinsLookup3{InitVal: uint32(initial), Prefix: []byte(prefix.Text())}, in)
}
