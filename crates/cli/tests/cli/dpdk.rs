//! Messages past the kernel (`--transport dpdk`), between processes that share memory in place of
//! a cable: the results of a run in one process, without huge pages. Builds without the feature
//! refuse the option and have no tests but of that; `cargo xtask test` runs these with the feature,
//! or says that it cannot, which `WELTER_REQUIRE=dpdk` makes a failure.

#[cfg(feature = "dpdk")]
use crate::cluster::write_tables;
use crate::sandbox::Sandbox;
#[cfg(feature = "dpdk")]
use crate::sending::{CASES, LOSSES, answers};

#[cfg(feature = "dpdk")]
#[test]
fn messages_over_dpdk_have_the_answers_of_one_process() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, case) in CASES.iter().enumerate() {
        let machines = 2 + number % 3;
        let options = format!("--cluster local:{machines} --transport dpdk");
        answers(&sandbox, case, (&options, ""));
    }
    let files = ["priors.csv", "ratings.mtx", "some.csv"];
    assert_eq!(sandbox.files(), files, "machines leave nothing");
}

#[cfg(feature = "dpdk")]
#[test]
fn lost_packets_of_dpdk_change_no_answer() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, case) in CASES.iter().enumerate() {
        let machines = 2 + number % 3;
        let options = format!("--cluster local:{machines} --transport dpdk");
        answers(&sandbox, case, (&options, LOSSES[1 + number % 2]));
    }
}

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
