//! Every algorithm of the catalogue on 1 to 8 machines, by both routes (programs over triangles
//! by `spill` alone), with and without faults: the reference's answer.

use welter_protocol::config::Route;
use welter_sim::catalogue::ALGORITHMS;
use welter_sim::checkers::progress::End;
use welter_sim::schedule::{Overrides, Schedule};
use welter_sim::world::World;

#[test]
fn every_algorithm_on_every_cluster() {
    for (place, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for machines in 1..=8 {
            for route in [Route::Fold, Route::Spill] {
                for (calm, seeds) in [(true, 2), (false, 4)] {
                    for seed in 0..seeds {
                        let overrides = Overrides {
                            calm,
                            algorithm: Some(algorithm),
                            route: Some(route),
                            machines: Some(machines),
                            ..Overrides::default()
                        };
                        let seed = seed + 100 * place as u64 + 7000 * machines as u64;
                        let report = World::run(&Schedule::of(seed, &overrides), false);
                        let failure = report.failure;
                        let what = format!("{algorithm} {route:?} on {machines}, seed {seed}");
                        assert_eq!(failure, None, "{what}");
                        assert!(!calm || report.end == End::Finished, "{what}: {:?}", report.end);
                    }
                }
            }
        }
    }
}
