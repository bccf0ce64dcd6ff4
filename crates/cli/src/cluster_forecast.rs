//! Time of an iteration of a cluster before it begins, of each machine, and what it goes into.
//!
//! ```text
//! disk        bytes of its chunks and sets, by the rates that a probe kept
//! network     bytes to others: by the rate that is stated, on one computer by what cores take
//! processor   edges, vertices and bytes that are made, by the costs of runs on one machine
//! time        the longest of those that are known, since they overlap
//! ```
//!
//! So it is a bound from below: messages, sums over blocks and waits are in none of them.

use std::fmt::Write;

use welter_cluster::Footprint;
use welter_engine::Throughput;
use welter_engine::plan::{EdgeWork, human_bytes};

use crate::cluster_placement::{KnownDisks, PlacementChoice};
use crate::number_format::short;

/// Work of the cores of a machine in an iteration over all edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineWork {
    /// Work on an edge.
    pub(crate) of: EdgeWork,
    /// Edges of a machine.
    pub(crate) edges: u64,
    /// Vertices of a machine.
    pub(crate) vertices: u64,
    /// Threads that compute.
    pub(crate) threads: usize,
}

/// Speeds of machines, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speeds {
    /// Rates of their disks.
    pub(crate) disks: KnownDisks,
    /// Bytes a second that each sends at best.
    pub(crate) network: Option<f64>,
    /// Number of machines.
    pub(crate) machines: usize,
    /// Machines that share the cores of a computer.
    pub(crate) sharing: usize,
}

/// Forecast of a machine for an iteration over all edges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MachineForecast {
    /// Bytes from its disk.
    pub(crate) read_bytes: u64,
    /// Bytes to its disk.
    pub(crate) written_bytes: u64,
    /// Bytes to others.
    pub(crate) sent_bytes: u64,
    /// Seconds of its disk, of its network and of its cores, as far as they are foreseen.
    seconds: [Option<f64>; 3],
}

/// Resources, in their order.
const RESOURCES: [&str; 3] = ["disk", "network", "processor"];

impl MachineForecast {
    /// Seconds that it takes at least, where any are foreseen.
    pub(crate) fn seconds(&self) -> Option<f64> {
        self.limit().map(|(_, seconds)| seconds)
    }

    /// The resource that takes longest, and its seconds.
    fn limit(&self) -> Option<(&'static str, f64)> {
        let known = RESOURCES.into_iter().zip(self.seconds);
        let known = known.filter_map(|(name, seconds)| Some((name, seconds?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// The forecast for a person.
    fn line(&self) -> String {
        let [disk, network, processor] = self.seconds.map(|it| it.map(short));
        let within =
            |time: Option<String>| time.map_or(String::new(), |time| format!(" in {time}"));
        let [read, written, sent] =
            [self.read_bytes, self.written_bytes, self.sent_bytes].map(human_bytes);
        let (disk, network) = (within(disk), within(network));
        let processor =
            processor.map_or(String::new(), |time| format!(", {time} of its processor"));
        format!("{read} read and {written} written{disk}, {sent} sent{network}{processor}")
    }
}

impl Speeds {
    /// Forecasts of all machines, by rank, of which each has this footprint in the mean.
    pub(crate) fn forecast(
        &self,
        footprint: &Footprint,
        work: Option<&MachineWork>,
        placement: Option<&PlacementChoice>,
    ) -> Vec<MachineForecast> {
        let rates = self.disks.rates(self.machines);
        let is_shared = matches!(self.disks, KnownDisks::Shared(_));
        let made = footprint.written_bytes + footprint.sent_bytes;
        let processor = work.map(|work| self.processor_seconds(work, made));
        let machine = |rank: usize| {
            let times = placement.map_or(1.0, |placement| placement.times_mean(rank));
            let share = |bytes: u64| (bytes as f64 * times) as u64;
            let disk = rates.as_ref().ok().and_then(|rates| rates.get(rank));
            let disk = disk.map(|rates| footprint.disk_seconds(rates));
            // All of them wait for a disk that they share, wherever chunks lie.
            let disk = disk.map(|seconds| if is_shared { seconds } else { seconds * times });
            // Chunks are sent by the machine that has them.
            let placed = footprint.placed_bytes;
            let sent_bytes = footprint.sent_bytes.saturating_sub(placed) + share(placed);
            let network = self.network.map(|rate| sent_bytes as f64 / rate);
            MachineForecast {
                read_bytes: share(footprint.read_bytes),
                written_bytes: share(footprint.written_bytes),
                sent_bytes,
                seconds: [disk, network, processor],
            }
        };
        (0..self.machines).map(machine).collect()
    }

    /// Seconds of a machine's cores, which make `made` bytes for disks and others.
    fn processor_seconds(&self, work: &MachineWork, made: u64) -> f64 {
        let MachineWork { of, edges, vertices, threads } = *work;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // More threads than there are cores take turns.
        let turns = ((self.sharing * threads) as f64 / cores as f64).max(1.0);
        let throughput = Throughput::of_core();
        turns * of.seconds([edges, vertices, made], threads.max(1), &throughput)
    }

    /// Forecasts for a person, with what is not foreseen, and why.
    pub(crate) fn lines(&self, all: &[MachineForecast]) -> String {
        let slowest = all.iter().filter_map(MachineForecast::limit);
        let slowest = slowest.max_by(|one, other| one.1.total_cmp(&other.1));
        let mut text = match slowest {
            Some((limit, seconds)) => format!(
                "time      about {} an iteration over all edges, at least; the limit is the \
                 {limit}\n",
                short(seconds)
            ),
            None => "time      not foreseen\n".to_owned(),
        };
        // Writing to a string cannot fail.
        match all {
            [first, others @ ..] if others.iter().all(|it| it == first) => {
                let _ = writeln!(text, "          each machine: {}", first.line());
            }
            _ => {
                for (rank, machine) in all.iter().enumerate() {
                    let _ = writeln!(text, "          machine {rank}: {}", machine.line());
                }
            }
        }
        let why_not = [
            self.disks.rates(self.machines).err(),
            self.network.is_none().then(|| "no rate is stated (--network)".to_owned()),
            Some("its costs were measured for programs of other kinds".to_owned()),
        ];
        let lacks = |at: usize| all.iter().any(|machine| machine.seconds[at].is_none());
        for (at, why) in why_not.into_iter().enumerate().filter(|(at, _)| lacks(*at)) {
            let (name, why) = (RESOURCES[at], why.unwrap_or_default());
            let _ = writeln!(text, "          {name} not foreseen: {why}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use welter_cluster::DiskRates;
    use welter_protocol::placement::Placement;
    use welter_store::header::Encoding;

    use super::*;

    fn footprint() -> Footprint {
        Footprint {
            memory: Vec::new(),
            disk: Vec::new(),
            sent_bytes: 600,
            placed_bytes: 400,
            read_bytes: 1000,
            written_bytes: 500,
        }
    }

    fn speeds(disks: KnownDisks, network: Option<f64>) -> Speeds {
        Speeds { disks, network, machines: 2, sharing: 1 }
    }

    fn weighted(weights: Vec<u32>) -> PlacementChoice {
        let placement = Placement::Weighted(weights);
        PlacementChoice { placement, reason: String::new(), note: None }
    }

    #[test]
    fn the_slowest_of_disk_and_network_is_the_time() {
        let rates = DiskRates { read: 1000.0, write: 250.0 };
        let speeds = speeds(KnownDisks::Shared(Some(rates)), Some(100.0));
        let all = speeds.forecast(&footprint(), None, None);
        assert_eq!(all[0].seconds, [Some(3.0), Some(6.0), None]);
        assert_eq!((all.len(), all[1].limit()), (2, Some(("network", 6.0))));
        let text = speeds.lines(&all);
        assert!(text.starts_with("time      about 6 s an iteration over all edges"), "{text}");
        assert!(text.contains(", at least; the limit is the network\n"), "{text}");
        assert!(text.contains("each machine: 1000 B read and 500 B written in 3 s"), "{text}");
        assert!(text.contains("\n          processor not foreseen: "), "{text}");
        assert!(!text.contains("disk not foreseen"), "{text}");
    }

    #[test]
    fn machines_have_bytes_as_their_weights_are() {
        let placement = weighted(vec![1, 3]);
        let rates = [1000.0, 3000.0].map(|read| Some(DiskRates { read, write: read }));
        let of = |disks| speeds(disks, None).forecast(&footprint(), None, Some(&placement));
        let all = of(KnownDisks::Exchanged(rates.to_vec()));
        let bytes = |it: &MachineForecast| [it.read_bytes, it.written_bytes, it.sent_bytes];
        assert_eq!([&all[0], &all[1]].map(bytes), [[500, 250, 400], [1500, 750, 800]]);
        assert_eq!([&all[0], &all[1]].map(|it| it.seconds[0]), [Some(0.75); 2]);
        let shared = of(KnownDisks::Shared(rates[0]));
        assert_eq!([&shared[0], &shared[1]].map(|it| it.seconds[0]), [Some(1.5); 2]);
        let speeds = speeds(KnownDisks::Unknown, None);
        let text = speeds.lines(&of(KnownDisks::Unknown));
        assert!(text.starts_with("time      not foreseen\n          machine 0: 500 B"), "{text}");
        for name in RESOURCES {
            assert!(text.contains(&format!("\n          {name} not foreseen: ")), "{text}");
        }
    }

    #[test]
    fn cores_that_are_shared_take_longer() {
        let of = EdgeWork {
            encoding: Encoding::Packed,
            accum: 8,
            weighted: false,
            state: 0,
            groups: false,
            passes: 1,
        };
        let work = MachineWork { of, edges: 1 << 20, vertices: 1 << 10, threads: 1 };
        let seconds = |sharing| {
            let speeds = Speeds { sharing, ..speeds(KnownDisks::Unknown, None) };
            let all = speeds.forecast(&footprint(), Some(&work), None);
            assert_eq!(all[0].limit().unwrap().0, "processor");
            all[0].seconds().unwrap()
        };
        // A thousand for each core, whatever a busy machine makes of the measurement.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert!(seconds(1000 * cores) > 20.0 * seconds(1));
    }
}
