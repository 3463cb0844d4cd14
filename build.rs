//! Puts the built viewer, `viewer/dist`, into the program, if there is one.
//!
//! Thread: build.
//!
//! The list of files is written as a source file that `src/control/assets.rs` includes. Without a built viewer the list is
//! empty, and the program shows a page that says how to build one.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let dist = root.join("viewer/dist");
    println!("cargo::rerun-if-changed=build.rs");
    // A path that is not there would make every build begin anew.
    let watched = [dist.clone(), root.join("viewer")].into_iter().find(|path| path.exists());
    if let Some(watched) = watched {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&dist).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let tag = hash(&fs::read(file)?);
        // Writing to a string cannot fail.
        let _ =
            writeln!(list, "    ({name:?}, \"\\\"{tag:016x}\\\"\", include_bytes!({:?})),", file.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("viewer_files.rs"), list)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a: tells one version of a file from another.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
