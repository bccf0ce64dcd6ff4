//! Lanes past the kernel are a feature that wants a library (docs/dpdk.md): where that is, they are
//! built, checked, tested and measured with all else.

use std::process::{Command, Stdio};

/// Arguments of `cargo` that ask for the feature.
pub(crate) const FEATURE: [&str; 2] = ["--features", "welter/dpdk"];

/// Whether the library can be built with.
fn is_there() -> bool {
    let mut tool = Command::new("pkg-config");
    let ended = tool.args(["--exists", "libdpdk"]).stdout(Stdio::null()).stderr(Stdio::null());
    ended.status().is_ok_and(|status| status.success())
}

/// [`FEATURE`], or nothing where there is no library, which is said. `WELTER_REQUIRE=dpdk` makes a
/// failure of that.
pub(crate) fn feature() -> Result<&'static [&'static str], String> {
    if is_there() {
        return Ok(&FEATURE);
    }
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    if required.split(',').any(|name| name == "dpdk") {
        return Err("WELTER_REQUIRE asks for DPDK: `apt install libdpdk-dev`".to_owned());
    }
    println!("SKIPPED: lanes over DPDK, which want `libdpdk-dev` (docs/dpdk.md)");
    Ok(&[])
}
