//! Writes arrays in the chunk grids and chunk key encodings that zarrs alone has, for zarrcore's tests.
//!
//! Usage: cargo run -- STORE, then `find . -type f | sort | zip -qX9 ZIP -@` in STORE; ZIP is testdata/zarrs.zip.
//!
//! Every array has the elements 0, 1, 2, ... in C order.

use serde_json::{Value, json};
use std::sync::Arc;
use zarrs::array::{Array, ArrayMetadata};
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;

/// A case is an array's name, its shape, and the members of its document that it is about.
struct Case {
    name: &'static str,
    shape: Vec<u64>,
    grid: Value,
    keys: Value,
    codecs: Value,
}

fn rectilinear(chunk_shapes: Value) -> Value {
    json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes}})
}

fn bounded(chunk_shape: Value) -> Value {
    json!({"name": "zarrs.regular_bounded", "configuration": {"chunk_shape": chunk_shape}})
}

fn cases() -> Vec<Case> {
    let default_keys = json!({"name": "default", "configuration": {"separator": "/"}});
    let gzip = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 9}}]);
    let transposed = json!([
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "gzip", "configuration": {"level": 9}}
    ]);
    let sharded = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 3], "codecs": gzip,
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    }}]);
    let case = |name, shape: &[u64], grid, codecs: &Value| Case {
        name, shape: shape.to_vec(), grid, keys: default_keys.clone(), codecs: codecs.clone(),
    };
    let suffix = |name, configuration| Case {
        name, shape: vec![7, 5],
        grid: json!({"name": "regular", "configuration": {"chunk_shape": [4, 3]}}),
        keys: json!({"name": "zarrs.default_suffix", "configuration": configuration}),
        codecs: gzip.clone(),
    };
    vec![
        case("rectilinear", &[7, 9], rectilinear(json!([[3, 1, 3], [[2, 3], 3]])), &gzip),
        case("rectilinear_scalar", &[7, 9], rectilinear(json!([3, [4, 5]])), &gzip),
        case("rectilinear_overhang", &[7, 9], rectilinear(json!([[5, 5], [[4, 4]]])), &gzip),
        case("rectilinear_transposed", &[7, 9], rectilinear(json!([[3, 1, 3], [1, 8]])), &transposed),
        case("rectilinear_sharded", &[8, 12], rectilinear(json!([[2, 4, 2], [3, 9]])), &sharded),
        case("rectilinear_3d", &[3, 4, 5], rectilinear(json!([[1, 2], [4], [[2, 1], 3]])), &gzip),
        case("rectangular", &[7, 9], json!({"name": "rectangular", "configuration": {"chunk_shape": [[3, 4], 5]}}), &gzip),
        case("bounded", &[7, 9], bounded(json!([3, 4])), &gzip),
        case("bounded_transposed", &[7, 9], bounded(json!([3, 4])), &transposed),
        case("bounded_small", &[2, 3], bounded(json!([3, 4])), &gzip),
        suffix("suffix_slash", json!({"suffix": ".bin"})),
        suffix("suffix_dot", json!({"separator": ".", "suffix": ".bin"})),
    ]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).expect("usage: cargo run -- STORE");
    let store = Arc::new(FilesystemStore::new(path)?);
    GroupBuilder::new().build(store.clone(), "/")?.store_metadata()?;
    for case in cases() {
        let metadata: ArrayMetadata = serde_json::from_value(json!({
            "zarr_format": 3, "node_type": "array", "shape": case.shape, "data_type": "uint16", "fill_value": 0,
            "chunk_grid": case.grid, "chunk_key_encoding": case.keys, "codecs": case.codecs,
        }))?;
        let array = Array::new_with_metadata(store.clone(), &format!("/{}", case.name), metadata)?;
        array.store_metadata()?;
        let values: Vec<u16> = (0..case.shape.iter().product::<u64>() as u16).collect();
        array.store_array_subset(&array.subset_all(), values.as_slice())?;
    }
    Ok(())
}
