package meta

import (
	"slices"
	"strings"

	"github.com/zarrfs/zarrfs/zarrcore/pyjson"
)

// CodecKind is a codec's place in a chain: arrays become arrays, then once bytes, then bytes become
// other bytes.
type CodecKind uint8

// The kinds of codecs.
const (
	ArrayToArray CodecKind = iota
	ArrayToBytes
	BytesToBytes
)

// CodecType describes all codecs of one name, as far as documents and settings need it. What a
// codec does to bytes is known to package zarrcore/codec alone.
type CodecType struct {
	Kind CodecKind
	// names it in the setting `codecs`, as lz4 does in lz4:5; empty where that setting needs a list
	Word       string
	Parameters []CodecParameter // in the order in which zarr-python writes and takes them

	// spells it as version 2 does; nil where that has none, or has it as numcodecs.ID too
	inV2 func(Codec) Codec
	// spells one of version 2, with all its defaults, as version 3 does; nil where that has none
	upgrade func(c Codec, itemSize int64) (Codec, error)
}

// CodecParameter is a member of a codec's configuration. One that has words or a range may follow
// the codec's word, behind a colon.
type CodecParameter struct {
	Member  string
	Lo, Hi  int64    // the range of a whole number
	Words   []string // what it may be otherwise
	Default func(itemSize int64) pyjson.Value
}

// CodecNamed returns the description of a codec, and reports whether there is one.
func CodecNamed(name string) (CodecType, bool) {
	t, known := codecTypes[name]
	return t, known
}

// Default returns what a member of a configuration is where it is missing, for elements of a size
// in bytes. It is absent for a member without a default.
func (t CodecType) Default(member string, itemSize int64) pyjson.Value {
	for _, p := range t.Parameters {
		if p.Member == member && p.Default != nil {
			return p.Default(itemSize)
		}
	}
	return pyjson.Value{}
}

// takes reports whether a value of the right kind has the range or is one of the words.
func (p CodecParameter) takes(v pyjson.Value) bool {
	n, whole := v.Int64()
	switch {
	case p.Words != nil:
		return slices.Contains(p.Words, v.Text())
	case p.Lo < p.Hi:
		return whole && p.Lo <= n && n <= p.Hi
	}
	return true
}

// CodecOfWord returns the codec of a word of the setting `codecs`, by its name in version 3, and
// its description. The name is empty if no codec has that word.
func CodecOfWord(word string) (name string, t CodecType) {
	for name, t := range codecTypes {
		if word != "" && t.Word == word {
			return name, t
		}
	}
	return "", CodecType{}
}

// Kind returns the kind of codec, by its name.
func (c Codec) Kind() CodecKind {
	if t, known := codecTypes[c.Name]; known {
		return t.Kind
	}
	return BytesToBytes
}

// IsInV2 reports whether version 2 has such a codec, with the same bytes. It is false for filters
// between arrays: those of version 2 see bytes in another order.
func (c Codec) IsInV2() bool {
	if codecTypes[c.Name].inV2 != nil {
		return true
	}
	return c.Kind() == BytesToBytes && strings.HasPrefix(c.Name, numcodecs)
}

// BloscNames are the compressors within the buffers of blosc, as documents call them.
var BloscNames = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}

var bloscShuffles = []string{"noshuffle", "shuffle", "bitshuffle"}

// codecTypes is the one list of codecs, by their names in version 3; those of version 2 are called
// numcodecs.ID. The ranges and defaults are those of zarr-python and numcodecs.
var codecTypes = map[string]CodecType{
	"transpose":      {Kind: ArrayToArray, upgrade: unchanged},
	"reshape":        {Kind: ArrayToArray},
	"zarrs.squeeze":  {Kind: ArrayToArray},
	"bitround":       {Kind: ArrayToArray},
	"scale_offset":   {Kind: ArrayToArray},
	"cast_value":     {Kind: ArrayToArray},
	"conditional":    {Kind: BytesToBytes},
	"zarrs.optional": {Kind: BytesToBytes},

	"numcodecs.astype":           {Kind: ArrayToArray, upgrade: unchanged},
	"numcodecs.bitround":         {Kind: ArrayToArray, upgrade: unchanged},
	"numcodecs.categorize":       {Kind: ArrayToArray},
	"numcodecs.delta":            {Kind: ArrayToArray, upgrade: unchanged},
	"numcodecs.fixedscaleoffset": {Kind: ArrayToArray, upgrade: unchanged},
	"numcodecs.packbits":         {Kind: ArrayToArray},
	"numcodecs.quantize":         {Kind: ArrayToArray, upgrade: unchanged},

	"bytes":                {Kind: ArrayToBytes, inV2: implied},
	"endian":               {Kind: ArrayToBytes},
	"sharding_indexed":     {Kind: ArrayToBytes},
	"packbits":             {Kind: ArrayToBytes},
	"vlen-utf8":            {Kind: ArrayToBytes, inV2: renamed},
	"vlen-bytes":           {Kind: ArrayToBytes, inV2: renamed},
	"vlen-array":           {Kind: ArrayToBytes},
	"zfp":                  {Kind: ArrayToBytes},
	"n5_default":           {Kind: ArrayToBytes},
	"numcodecs.vlen-utf8":  {Kind: ArrayToBytes},
	"numcodecs.vlen-bytes": {Kind: ArrayToBytes},
	"numcodecs.vlen-array": {Kind: ArrayToBytes},
	"numcodecs.json2":      {Kind: ArrayToBytes},
	"numcodecs.json":       {Kind: ArrayToBytes},
	"numcodecs.zfpy":       {Kind: ArrayToBytes},
	"numcodecs.pcodec":     {Kind: ArrayToBytes},

	"zstd": {Kind: BytesToBytes, Word: "zstd", inV2: zstdInV2, Parameters: []CodecParameter{
		{Member: "level", Lo: -131072, Hi: 22, Default: always("0")},
		{Member: "checksum", Default: always("false")}}},
	"gzip": {Kind: BytesToBytes, Word: "gzip", inV2: renamed, Parameters: []CodecParameter{
		{Member: "level", Hi: 9, Default: always("5")}}},
	"blosc": {Kind: BytesToBytes, Word: "blosc", inV2: bloscInV2, Parameters: []CodecParameter{
		{Member: "typesize", Default: bloscTypeSize},
		{Member: "cname", Words: BloscNames, Default: always(`"zstd"`)},
		{Member: "clevel", Hi: 9, Default: always("5")},
		{Member: "shuffle", Words: bloscShuffles, Default: bloscShuffle},
		{Member: "blocksize", Default: always("0")}}},
	"crc32c":         {Kind: BytesToBytes, inV2: renamed},
	"zarrs.gdeflate": {Kind: BytesToBytes},
	"zarrs.vlen":     {Kind: BytesToBytes},
	"zarrs.vlen_v2":  {Kind: BytesToBytes},

	"numcodecs.zstd": {Kind: BytesToBytes, upgrade: unprefixed, Parameters: []CodecParameter{
		{Member: "level", Default: always("0")}, {Member: "checksum"}}},
	"numcodecs.gzip": {Kind: BytesToBytes, upgrade: unprefixed, Parameters: []CodecParameter{
		{Member: "level", Default: always("1")}}},
	"numcodecs.blosc": {Kind: BytesToBytes, upgrade: upgradeBlosc, Parameters: []CodecParameter{
		{Member: "cname", Default: always(`"lz4"`)}, {Member: "clevel", Default: always("5")},
		{Member: "shuffle", Default: always("1")}, {Member: "blocksize", Default: always("0")}}},
	"numcodecs.zlib": {Kind: BytesToBytes, Word: "zlib", upgrade: unchanged,
		Parameters: []CodecParameter{
			{Member: "level", Hi: 9, Default: always("1")}}},
	"numcodecs.bz2": {Kind: BytesToBytes, Word: "bz2", upgrade: unchanged,
		Parameters: []CodecParameter{
			{Member: "level", Lo: 1, Hi: 9, Default: always("1")}}},
	"numcodecs.lz4": {Kind: BytesToBytes, Word: "lz4", upgrade: unchanged,
		Parameters: []CodecParameter{
			{Member: "acceleration", Lo: 1, Hi: 65537, Default: always("1")}}},
	"numcodecs.lzma": {Kind: BytesToBytes, Word: "lzma", upgrade: unchanged,
		Parameters: []CodecParameter{
			{Member: "format"}, {Member: "check"}, {Member: "preset", Hi: 9}, {Member: "filters"}}},
	"numcodecs.adler32":         {Kind: BytesToBytes, upgrade: unchanged},
	"numcodecs.base64":          {Kind: BytesToBytes},
	"numcodecs.crc32":           {Kind: BytesToBytes, upgrade: unchanged},
	"numcodecs.crc32c":          {Kind: BytesToBytes, upgrade: upgradeCRC32C},
	"numcodecs.fletcher32":      {Kind: BytesToBytes, upgrade: unchanged},
	"numcodecs.jenkins_lookup3": {Kind: BytesToBytes, upgrade: unchanged},
	"numcodecs.shuffle":         {Kind: BytesToBytes, upgrade: unchanged},

	"numcodecs.msgpack":            {Kind: BytesToBytes},
	"numcodecs.msgpack2":           {Kind: BytesToBytes},
	"numcodecs.pickle":             {Kind: BytesToBytes},
	"numcodecs.imagecodecs_jpeg":   {Kind: BytesToBytes},
	"numcodecs.imagecodecs_jpeg2k": {Kind: BytesToBytes},
	"numcodecs.imagecodecs_jpegxl": {Kind: BytesToBytes},
	"numcodecs.imagecodecs_jpegxr": {Kind: BytesToBytes},
	"numcodecs.imagecodecs_png":    {Kind: BytesToBytes},
	"numcodecs.imagecodecs_tiff":   {Kind: BytesToBytes},
	"numcodecs.imagecodecs_webp":   {Kind: BytesToBytes},
}

// always is the default of one JSON text. TestCodecTypes finds a text that is not JSON.
func always(text string) func(int64) pyjson.Value {
	v, _ := pyjson.Parse([]byte(text))
	return func(int64) pyjson.Value { return v }
}

// bloscTypeSize is the size of an element as c-blosc keeps it, which has one byte for it.
func bloscTypeSize(itemSize int64) pyjson.Value {
	if itemSize < 1 || itemSize > 255 {
		itemSize = 1
	}
	return pyjson.IntOf(itemSize)
}

// bloscShuffle is zarr-python 3's choice: by bits for elements of one byte, by bytes for others.
func bloscShuffle(itemSize int64) pyjson.Value {
	if itemSize == 1 {
		return pyjson.StringOf("bitshuffle")
	}
	return pyjson.StringOf("shuffle")
}
