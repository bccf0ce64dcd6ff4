//! Messages past the kernel (`--transport dpdk`): the results of a run in one process, without
//! huge pages, between processes that share memory in place of a cable, and between network
//! namespaces over cards of the kernel (root); and machines that are killed. Builds without the
//! feature refuse the option and have no tests but of that; `cargo xtask test` runs these with the
//! feature, or says that it cannot, which `WELTER_REQUIRE=dpdk` makes a failure.

#[cfg(feature = "dpdk")]
mod cables;
#[cfg(feature = "dpdk")]
mod card;

use crate::sandbox::Sandbox;

#[test]
fn dpdk_is_refused_where_it_cannot_be() {
    let sandbox = Sandbox::new();
    let send = "run pagerank rmat:5 --route send";
    let refused = |options: &str, message: &str| {
        let ended = sandbox.run(&format!("{send} {options}"));
        assert_eq!(ended.code, Some(2), "{options}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{options}: {}", ended.stderr);
    };
    refused("--cluster local:2 --transport tcp --dpdk-device 0000:03:00.0", "--dpdk-device");
    if cfg!(not(feature = "dpdk")) {
        return refused("--cluster local:2 --transport dpdk", "--features dpdk");
    }
    refused("--cluster local:2 --transport dpdk --dpdk-device 0000:03:00.0", "--dpdk-device");
    refused("--cluster static:hosts --transport dpdk", "--dpdk-device");
}
