//! Reads and writes arrays with zarrs, one request after the other; see programs.py for what they look like.

use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Read, Write, stdin, stdout};
use std::sync::Arc;
use zarrs::array::{Array, ArrayBytes, ArrayMetadata};
use zarrs::filesystem::FilesystemStore;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The shape of an array, and its elements in C order and in the machine's byte order.
fn read(store: Arc<FilesystemStore>, path: &str) -> Result<(Vec<u64>, Vec<u8>)> {
    let array = Array::open(store, path)?;
    let elements: ArrayBytes = array.retrieve_array_subset(&array.subset_all())?;
    Ok((array.shape().to_vec(), elements.into_fixed()?.into_owned()))
}

/// Creates an array by its document and fills it.
fn write(store: Arc<FilesystemStore>, path: &str, document: &Value, elements: Vec<u8>) -> Result<()> {
    let metadata: ArrayMetadata = serde_json::from_value(document.clone())?;
    let array = Array::new_with_metadata(store, path, metadata)?;
    array.store_metadata()?;
    array.store_array_subset(&array.subset_all(), ArrayBytes::from(elements))?;
    Ok(())
}

fn answer(request: &Value, elements: Vec<u8>) -> Result<(Value, Vec<u8>)> {
    let text = |name: &str| request[name].as_str().ok_or(format!("a request without {name}"));
    let store = Arc::new(FilesystemStore::new(text("store")?)?);
    let path = format!("/{}", text("path")?);
    if text("what")? == "read" {
        let (shape, elements) = read(store, &path)?;
        return Ok((json!({"shape": shape, "size": elements.len()}), elements));
    }
    write(store, &path, &request["document"], elements)?;
    Ok((json!({"size": 0}), vec![]))
}

fn main() -> Result<()> {
    let (mut input, mut output) = (stdin().lock(), stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let request: Value = serde_json::from_str(&line)?;
        line.clear();
        let mut elements = vec![0; request["size"].as_u64().unwrap_or(0) as usize];
        input.read_exact(&mut elements)?;
        let (header, elements) = answer(&request, elements).unwrap_or_else(|err| (json!({"error": err.to_string(), "size": 0}), vec![]));
        writeln!(output, "{header}")?;
        output.write_all(&elements)?;
        output.flush()?;
    }
    Ok(())
}
