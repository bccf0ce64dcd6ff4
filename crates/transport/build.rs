//! Compiles what C has to do for DPDK, where the feature `dpdk` asks for it.
//!
//! The compiler and linker are told what `pkg-config` says of `libdpdk`. A library that is missing
//! is an error that names its package.

fn main() {
    println!("cargo::rerun-if-changed=src/dpdk/shim.c");
    #[cfg(feature = "dpdk")]
    if let Err(missing) = dpdk::build() {
        println!("cargo::error={missing}");
        std::process::exit(1);
    }
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    /// Oldest version whose names the C code uses.
    const VERSION: &str = "libdpdk >= 21.11";

    pub(super) fn build() -> Result<(), String> {
        println!("cargo::rerun-if-env-changed=PKG_CONFIG");
        println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
        let mut build = cc::Build::new();
        build.file("src/dpdk/shim.c").extra_warnings(true);
        for flag in flags("--cflags")? {
            // Headers of the system may warn as they like.
            match flag.strip_prefix("-I") {
                Some(folder) => build.flag("-isystem").flag(folder),
                None => build.flag(flag),
            };
        }
        build.try_compile("welter-dpdk").map_err(|error| format!("src/dpdk/shim.c: {error}"))?;
        for flag in flags("--libs")? {
            if let Some(folder) = flag.strip_prefix("-L") {
                println!("cargo::rustc-link-search=native={folder}");
            } else if let Some(library) = flag.strip_prefix("-l") {
                println!("cargo::rustc-link-lib={library}");
            }
        }
        Ok(())
    }

    /// Flags that `pkg-config` gives, if it knows the library.
    fn flags(which: &str) -> Result<Vec<String>, String> {
        let tool = std::env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
        let missing = |why: &str| {
            format!(
                "the feature `dpdk` wants the library DPDK, 21.11 or newer, which `{tool} {which} \
                 libdpdk` does not find: on Debian and Ubuntu, `apt install libdpdk-dev`. {why}"
            )
        };
        let output = Command::new(&tool).args([which, VERSION]).output();
        let output = output.map_err(|error| missing(&error.to_string()))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(missing(why.lines().next().unwrap_or_default()));
        }
        let stdout = String::from_utf8_lossy(&output.stdout);
        Ok(stdout.split_whitespace().map(str::to_owned).collect())
    }
}
