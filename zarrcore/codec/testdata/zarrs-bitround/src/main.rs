//! Writes what zarrs' bitround encodes of the types that numcodecs' does not take, for TestBitRound of package codec.
//!
//! Usage: cargo run -- FOLDER > bitround.jsonl, with an empty FOLDER for the arrays.
//!
//! Each line is {"data_type", "keepbits", "plain", "encoded"}, bytes in hexadecimal, little-endian. Left out are positive numbers that
//! zarrs rounds to negative ones, and infinities and NaN of which it makes others.

use serde_json::json;
use std::sync::Arc;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata};
use zarrs::filesystem::FilesystemStore;

/// Pseudo-random numbers of all magnitudes, from a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, bits: u32, kind: &str) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let shift = if self.0 >> 62 == 0 { 0 } else { (self.0 >> 20) as u32 % bits };
        let negative = kind == "signed" && self.0 >> 13 & 1 == 1; // of small numbers too
        let n = (self.0 ^ self.0 >> 29) << (64 - bits) >> (64 - bits) >> shift;
        if negative { !n << (64 - bits) >> (64 - bits) } else { n }
    }
}

/// Tells whether a number, given by its bits, is one that zarrs rounds as it should.
fn taken(n: u64, bits: u32, kind: &str) -> bool {
    match kind {
        "signed" => n >> (bits - 2) != 1, // else it might be rounded up to the sign
        "bfloat16" => n >> 7 & 0xff != 0xff,
        "float16" => n >> 10 & 0x1f != 0x1f,
        _ => true,
    }
}

fn hex(b: &[u8]) -> String {
    b.iter().map(|b| format!("{b:02x}")).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).expect("usage: cargo run -- FOLDER");
    let mut numbers = Numbers(7);
    for (data_type, bits, kind, fill) in [
        ("uint8", 8, "unsigned", json!(0)), ("uint16", 16, "unsigned", json!(0)), ("uint32", 32, "unsigned", json!(0)), ("uint64", 64, "unsigned", json!(0)),
        ("int8", 8, "signed", json!(0)), ("int16", 16, "signed", json!(0)), ("int32", 32, "signed", json!(0)), ("int64", 64, "signed", json!(0)),
        ("bfloat16", 16, "bfloat16", json!(0)), ("complex_bfloat16", 16, "bfloat16", json!([0, 0])), ("complex_float16", 16, "float16", json!([0, 0])),
    ] {
        for keepbits in [1, 2, 3, 5, 7] {
            let plain: Vec<u8> = std::iter::repeat_with(|| numbers.next(bits, kind)).filter(|n| taken(*n, bits, kind)).take(64)
                .flat_map(|n| n.to_le_bytes().into_iter().take(bits as usize / 8).collect::<Vec<u8>>()).collect();
            let length = if data_type.starts_with("complex") { 32 } else { 64 };
            let metadata: ArrayMetadata = serde_json::from_value(json!({
                "zarr_format": 3, "node_type": "array", "shape": [length], "data_type": data_type, "fill_value": fill,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [length]}}, "chunk_key_encoding": {"name": "default"},
                "codecs": [{"name": "bitround", "configuration": {"keepbits": keepbits}}, {"name": "bytes", "configuration": {"endian": "little"}}],
            }))?;
            let store = Arc::new(FilesystemStore::new(&folder)?);
            let array = Array::new_with_metadata(store, &format!("/{data_type}_{keepbits}"), metadata)?;
            array.store_chunk(&[0], ArrayBytes::new_flen(plain.clone()))?;
            let encoded = array.retrieve_encoded_chunk(&[0])?.expect("a chunk");
            println!("{}", json!({"data_type": data_type, "keepbits": keepbits, "plain": hex(&plain), "encoded": hex(&encoded)}));
        }
    }
    Ok(())
}
