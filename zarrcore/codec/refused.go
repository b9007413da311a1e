package codec

// Codecs that exist and are not decoded. A name that no file of this package registers is unknown.
func init() {
	refuse("numcodecs.pickle", "as decoding it executes code from the data; "+
		"if you trust it, read it with zarr-python and store it again as strings or numbers")

	const object = "it needs a decoder of elements that have no fixed size"
	for _, name := range []string{
		"numcodecs.msgpack", "numcodecs.msgpack2", "zarrs.vlen", "zarrs.vlen_v2",
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
	for _, name := range []string{
		"imagecodecs_jpeg", "imagecodecs_jpeg2k", "imagecodecs_jpegxl", "imagecodecs_jpegxr",
		"imagecodecs_tiff", "imagecodecs_webp", "imagecodecs_png",
	} {
		refuse("numcodecs."+name, "it needs a decoder of that image format")
	}
}
