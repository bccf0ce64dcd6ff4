//! Tools that the tasks use, each at one version, built once below the target folder.
//!
//! Tools are built in the dev profile without debug information: of cargo-deny that takes 53 s of
//! CPU time, its release profile (fat LTO, one codegen unit) 181 s, and it runs for a second.

use crate::run::cargo;
use std::path::{Path, PathBuf};

/// A program from the package registry.
pub(crate) struct Tool {
    name: &'static str,
    version: &'static str,
}

/// Checks licences, sources and bans of dependencies.
pub(crate) const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
/// Builds and runs fuzz targets.
pub(crate) const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

/// The path of the tool's program, which is built first where it is not there yet.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn installed(root: &Path, tool: &Tool) -> Result<PathBuf, String> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    // A folder a version: raising the pin above never finds the old program.
    let home = target.join("tools").join(format!("{}-{}", tool.name, tool.version));
    let program = home.join("bin").join(tool.name);
    if !program.exists() {
        let build = home.join("build");
        cargo(root)
            .args(["install", "--quiet", "--locked", "--profile", "dev", "--root"])
            .arg(&home)
            .arg("--target-dir")
            .arg(&build)
            .arg(format!("{}@{}", tool.name, tool.version))
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .finish()?;
        // Some hundred MB that nothing reads again; the program is what counts.
        let _ = std::fs::remove_dir_all(build);
    }
    Ok(program)
}
