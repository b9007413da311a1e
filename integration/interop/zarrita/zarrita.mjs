// Read and write arrays with zarrita.
//
//   node zarrita.mjs read STORE PATH             prints a line of JSON, shape and strides in elements, and the elements' bytes
//   node zarrita.mjs write STORE PATH OPTIONS    creates an array by zarrita's options, and fills it with the bytes of its input
import { readFileSync, writeSync } from "node:fs";
import { FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

const [what, store, path, options] = process.argv.slice(2);
const location = zarr.root(new FileSystemStore(store)).resolve(path);

function bytesOf(data) {
  if (!ArrayBuffer.isView(data) && !(data.constructor.name === "BoolArray")) {
    throw new TypeError(`elements of a ${data.constructor.name}`);
  }
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function writeAll(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

if (what === "read") {
  const { data, shape, stride } = await zarr.get(await zarr.open(location, { kind: "array" }));
  const bytes = bytesOf(data);
  writeAll(Buffer.from(JSON.stringify({ shape, stride }) + "\n"));
  writeAll(bytes);
} else {
  const array = await zarr.create(location, JSON.parse(options));
  const chunk = await zarr.get(array); // of fill value, as long as the array
  bytesOf(chunk.data).set(readFileSync(0));
  await zarr.set(array, null, chunk);
}
