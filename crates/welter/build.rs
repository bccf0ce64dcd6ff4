//! Functions whose code is alike are folded, and relocations are packed, where the linker and the
//! system know how to: that spares the command one and a half megabytes (docs/decisions/073).

use std::path::PathBuf;
use std::process::Command;

/// Options of linkers: the first is known to LLD and mold, the second one to younger C libraries
/// too.
const LINKED: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for option in LINKED.into_iter().filter(|option| works(option) == Some(true)) {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
}

/// Whether an empty program that is linked with an option, as Cargo links, runs here.
fn works(option: &str) -> Option<bool> {
    let set = |name: &str| std::env::var(name).ok();
    let target = set("TARGET")?;
    if set("CARGO_CFG_TARGET_OS")? != "linux" || set("HOST")? != target {
        return Some(false);
    }
    let folder = PathBuf::from(set("OUT_DIR")?);
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    std::fs::write(&source, "fn main() {}").ok()?;
    let mut command = Command::new(set("RUSTC")?);
    command.arg(source).arg("-o").arg(&program).args(["--target", &target]);
    command.arg("-C").arg(format!("link-arg={option}"));
    if let Some(linker) = set("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = set("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    let linked = command.output().ok()?.status.success();
    Some(linked && Command::new(program).status().ok()?.success())
}
