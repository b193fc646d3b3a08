//! Names the sources of the engine by a number, `ODONATA_SOURCES`. A checkpoint
//! is only taken up by the sources that wrote it, and a study keeps only what they
//! simulated: others may simulate otherwise or lay out their state otherwise,
//! whatever their version says.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Crates that decide nothing about the result of a run: the rest of the workspace does, so that a
/// new one is not forgotten.
const BESIDE: [&str; 2] = ["python", "testdata"];

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo"));
    let mut hash = Fnv1a::default();
    for directory in sorted(&own.join(".."))? {
        let name = directory.file_name();
        let sources = directory.path().join("src");
        if BESIDE.iter().any(|beside| name == *beside) || !sources.is_dir() {
            continue;
        }
        println!("cargo::rerun-if-changed={}", sources.display());
        hash.update(name.as_encoded_bytes());
        digest(&sources, &mut hash)?;
    }
    println!("cargo::rustc-env=ODONATA_SOURCES={:016x}", hash.0);
    Ok(())
}

/// All files below a directory, in the order of their names.
fn digest(directory: &Path, hash: &mut Fnv1a) -> io::Result<()> {
    for entry in sorted(directory)? {
        hash.update(entry.file_name().as_encoded_bytes());
        if entry.file_type()?.is_dir() {
            digest(&entry.path(), hash)?;
        } else {
            hash.update(&fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// What is in a directory, by name.
fn sorted(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

/// The hash function FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo).
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
