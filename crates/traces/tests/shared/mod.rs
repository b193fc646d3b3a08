//! Real traces beside the checkout, where they are at hand.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

#[allow(unused_imports)]
pub use odonata_testdata::data;

/// All files below `folder` whose name ends with `ending`, sorted.
#[allow(dead_code)]
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Contents of a file, unpacked if its name ends with `.gz`.
#[allow(dead_code)]
pub fn contents(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = File::open(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::GzDecoder::new(file)
            .read_to_end(&mut bytes)
            .unwrap();
    } else {
        file.read_to_end(&mut bytes).unwrap();
    }
    bytes
}
