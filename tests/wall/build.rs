//! Takes the sources of the crates behind the newest-value cell and the ring as published, and puts the model checker's atomic numbers
//! in the place of the standard ones. Memory that is handed over is told to the checker, which finds accesses without an order.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    println!("cargo:rerun-if-changed=Cargo.lock");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by Cargo"));
    let cell = source("triple_buffer", "lib.rs");
    let cell = modelled(cell.split("#[cfg(test)]\nmod tests").next().expect("a beginning"));
    // The cell's memory.
    let cell = replaced(&cell, "    cell::UnsafeCell,\n", "");
    std::fs::write(out.join("triple_buffer.rs"), format!("use crate::model::UnsafeCell;\n{cell}")).expect("written");
    let mut ring = modelled(&source("rtrb", "lib.rs"));
    for part in ["cache_padded", "arc_ring_buffer", "chunks"] {
        let body = modelled(&source("rtrb", &format!("{part}.rs"))).replace("use crate::", "use super::");
        ring = replaced(&ring, &format!("mod {part};"), &format!("mod {part} {{\n{body}\n}}"));
    }
    // The ring's slots, each by its address.
    let slot = "unsafe { self.data_ptr.add(pos) }";
    let ring = replaced(&ring, slot, &format!("crate::model::touch({slot})"));
    std::fs::write(out.join("rtrb.rs"), ring).expect("written");
}

/// One file of a crate.
fn source(name: &str, file: &str) -> String {
    let cargo = std::env::var_os("CARGO").expect("set by Cargo");
    let about = Command::new(cargo).args(["metadata", "--format-version", "1"]).output().expect("cargo runs");
    let about = String::from_utf8(about.stdout).expect("UTF-8");
    // The only package of that name; its manifest is in the folder of its sources.
    let mark = format!("/{name}-");
    let paths = about.split("\"manifest_path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let manifest = paths.into_iter().find(|path| path.contains(&mark)).expect("a dependency");
    let path = Path::new(manifest).with_file_name("src").join(file);
    std::fs::read_to_string(path).expect("its source")
}

/// Without what may only stand at the head of a crate, and with the model checker's numbers.
fn modelled(text: &str) -> String {
    let mut depth = 0_i32;
    let kept = text.lines().filter(|line| {
        // Attributes of the crate, some over several lines.
        let inner = depth > 0 || line.starts_with("#![");
        if inner {
            depth += line.matches(['[', '(']).count() as i32 - line.matches([']', ')']).count() as i32;
        }
        !inner && !line.trim_start().starts_with("//") && !line.starts_with("extern crate")
    });
    let text: String = kept.flat_map(|line| [line, "\n"]).collect();
    let text = text.replace("alloc::", "std::").replace("core::sync::atomic", "loom::sync::atomic");
    text.replace("    sync::atomic::{AtomicU8, Ordering},\n", "")
        .replace("use core::{\n", "use loom::sync::atomic::{AtomicU8, Ordering};\nuse core::{\n")
}

/// `text` with the one `from` in it replaced: a new version of the crate that has none would be checked without it.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "`{from}` in the source of a crate");
    text.replace(from, to)
}
