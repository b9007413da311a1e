package codec

// Codecs that exist and are not decoded. A name that is in none of this package's files is unknown.
func init() {
	refuse("numcodecs.pickle", "as decoding it executes code that the data brings along")

	const object = "as its elements have no fixed size; it needs a view for objects"
	for _, name := range []string{
		"numcodecs.vlen-utf8", "vlen-utf8", "numcodecs.vlen-bytes", "vlen-bytes", "numcodecs.vlen-array", "vlen-array",
		"numcodecs.json", "numcodecs.json2", "numcodecs.msgpack", "numcodecs.msgpack2", "zarrs.vlen", "zarrs.vlen_v2",
		"zarrs.optional",
	} {
		refuse(name, object)
	}
	refuse("numcodecs.zfpy", "it needs a decoder of zfp")
	refuse("zfp", "it needs a decoder of zfp")
	refuse("numcodecs.pcodec", "it needs a decoder of pcodec's standalone format")
	refuse("zarrs.gdeflate", "it needs a decoder of gdeflate")
	refuse("conditional", "it needs chains whose codecs are chosen by each chunk")
	refuse("n5_default", "it needs chunks that are cut at the array's edge")
	for _, name := range []string{"imagecodecs_jpeg", "imagecodecs_jpeg2k", "imagecodecs_jpegxl", "imagecodecs_jpegxr", "imagecodecs_tiff", "imagecodecs_webp", "imagecodecs_png"} {
		refuse("numcodecs."+name, "it needs a decoder of that image format")
	}
}
