//! Placement of chunks on the disks of machines: as it is stated, or as rates say that are known.
//!
//! ```text
//! even       max(slowest disk, network)                       unless another one is surely faster
//! weighted   max(all disks alike, network of the fastest)     where even takes a quarter longer
//! owner      twice max(slowest disk, network without chunks)  where even takes longer than that
//! ```
//!
//! Machines of a cluster look for chunks everywhere, so each may place its own as it likes: what
//! one knows of disks, and another that came later does not, divides no run. Draws at random, as in
//! Chaos, are stated alone: shares that are levelled differ less (decision 130). With their owners
//! chunks are as uneven as partitions are, and disks rest whose owners do, for which twice the time
//! is assumed.
//!
//! Invariant: where chunks lie changes no answer. Tested by `chunks_may_lie_anywhere`.

use welter_cluster::{DiskRates, Footprint};
use welter_protocol::placement::Placement;

use crate::args::PlacementArg;
use crate::failure::Failure;
use crate::number_format::short;

/// Times that disks that are filled alike must take of those that are filled by their rates, so
/// that these are: chunks that are drawn by weights differ from their shares.
const GAIN: f64 = 1.25;

/// Times the mean that a machine is taken to have of chunks that lie with their owners.
const UNEVEN: f64 = 2.0;

/// Weight of the fastest disk.
const WEIGHT_MAX: f64 = 1000.0;

/// Rates of the disks of all machines, as far as a process knows them.
#[derive(Clone, Debug, Default)]
pub(crate) enum KnownDisks {
    /// Machines are processes of one computer, and have this share of its disk.
    Shared(Option<DiskRates>),
    /// Rates that machines told each other, by rank, of disks that were measured.
    Exchanged(Vec<Option<DiskRates>>),
    /// Rates that no machine has told.
    #[default]
    Unknown,
}

impl KnownDisks {
    /// Rates of the disk of each machine, or the reason why they are not known.
    pub(crate) fn rates(&self, machines: usize) -> Result<Vec<DiskRates>, String> {
        match self {
            Self::Shared(Some(rates)) => Ok(vec![*rates; machines]),
            Self::Shared(None) => Err("machines share one disk, which was not measured".to_owned()),
            Self::Exchanged(all) => {
                let unknown = |rank: usize| format!("the disk of machine {rank} was not measured");
                let each = all.iter().enumerate();
                each.map(|(rank, rates)| rates.ok_or_else(|| unknown(rank))).collect()
            }
            Self::Unknown => Err("rates of other machines' disks are not known here".to_owned()),
        }
    }
}

/// Rates of a disk, as a machine tells them: zeros where it was not measured.
pub(crate) fn rates_bytes(rates: Option<DiskRates>) -> Vec<u8> {
    let [read, write] = rates.map_or([0.0; 2], |it| [it.read, it.write]).map(f64::to_le_bytes);
    [read, write].concat()
}

/// The rates that were told so, if there are any.
pub(crate) fn rates_of(bytes: &[u8]) -> Option<DiskRates> {
    let (read, write) = bytes.split_first_chunk::<8>()?;
    let write: [u8; 8] = write.try_into().ok()?;
    let [read, write] = [*read, write].map(f64::from_le_bytes);
    let is_rate = |rate: f64| rate.is_finite() && rate > 0.0;
    (is_rate(read) && is_rate(write)).then_some(DiskRates { read, write })
}

/// Placement of a run, and why it is that.
#[derive(Clone, Debug)]
pub(crate) struct PlacementChoice {
    /// The rule.
    pub(crate) placement: Placement,
    /// Reason for it, in words.
    pub(crate) reason: String,
    /// Note for a person, where what is stated cannot be had.
    pub(crate) note: Option<String>,
}

impl PlacementChoice {
    fn new(placement: Placement, reason: impl Into<String>) -> Self {
        Self { placement, reason: reason.into(), note: None }
    }

    /// Name that `--placement` has for it.
    pub(crate) fn name(&self) -> &'static str {
        match self.placement {
            Placement::Even => "even",
            Placement::Random => "random",
            Placement::Owner => "owner",
            Placement::Weighted(_) => "weighted",
            Placement::Directory => "directory",
        }
    }

    /// Times the mean that a machine is to have of all chunks.
    pub(crate) fn times_mean(&self, rank: usize) -> f64 {
        let Placement::Weighted(weights) = &self.placement else { return 1.0 };
        let all: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let own = weights.get(rank).copied().unwrap_or(0);
        f64::from(own) * weights.len() as f64 / all.max(1) as f64
    }
}

/// The placement of a run on `machines` machines, whose plan has this footprint, as far as it is
/// foreseen. `network`: bytes a second of a machine's network, where they are stated.
///
/// # Errors
/// When weights are stated, and not one for each machine.
pub(crate) fn choose(
    stated: Option<&PlacementArg>,
    machines: usize,
    (disks, network): (&KnownDisks, Option<f64>),
    footprint: Option<&Footprint>,
) -> Result<PlacementChoice, Failure> {
    let rates = disks.rates(machines);
    let Some(stated) = stated else {
        let by_rates = |rates: Vec<DiskRates>| {
            let is_one = matches!(disks, KnownDisks::Shared(_));
            let seconds = disk_seconds(&rates, footprint);
            free((&seconds[..], is_one), footprint.zip(network))
        };
        return Ok(rates.map_or_else(|why| PlacementChoice::new(Placement::Even, why), by_rates));
    };
    let placement = match (stated, rates) {
        (PlacementArg::Even, _) => Placement::Even,
        (PlacementArg::Random, _) => Placement::Random,
        (PlacementArg::Owner, _) => Placement::Owner,
        (PlacementArg::Rates, Ok(rates)) => {
            Placement::Weighted(weights(&disk_seconds(&rates, footprint)))
        }
        (PlacementArg::Rates, Err(_)) if matches!(disks, KnownDisks::Shared(_)) => {
            Placement::Weighted(vec![1; machines])
        }
        (PlacementArg::Rates, Err(why)) => {
            let note = Some(format!("--placement weighted: {why}; disks were filled evenly"));
            return Ok(PlacementChoice { note, ..PlacementChoice::new(Placement::Even, why) });
        }
        (PlacementArg::Weights(weights), _) if weights.len() == machines => {
            Placement::Weighted(weights.clone())
        }
        (PlacementArg::Weights(weights), _) => {
            let what = format!("--placement: {} weights of {machines} machines", weights.len());
            return Err(Failure::usage(what).hint("state one for each, in the order of ranks"));
        }
    };
    Ok(PlacementChoice::new(placement, "it is stated"))
}

/// Seconds of each disk for its share of an iteration, if they are filled alike; without a
/// footprint of as much that is read as is written.
fn disk_seconds(rates: &[DiskRates], footprint: Option<&Footprint>) -> Vec<f64> {
    let seconds = |rates: &DiskRates| match footprint {
        Some(footprint) => footprint.disk_seconds(rates),
        None => 1.0 / rates.read + 1.0 / rates.write,
    };
    rates.iter().map(|rates| seconds(rates).max(f64::MIN_POSITIVE)).collect()
}

/// Weights of disks that take these seconds for as much each.
fn weights(seconds: &[f64]) -> Vec<u32> {
    let fastest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |seconds: &f64| (WEIGHT_MAX * fastest / seconds).round().max(1.0) as u32;
    seconds.iter().map(weight).collect()
}

/// The placement that is best, of disks that take these seconds, where a network is known or not.
fn free((seconds, is_one): (&[f64], bool), network: Option<(&Footprint, f64)>) -> PlacementChoice {
    let slowest = seconds.iter().copied().fold(0.0, f64::max);
    let fastest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let rate = seconds.iter().map(|seconds| 1.0 / seconds).sum::<f64>() / seconds.len() as f64;
    // All disks end together then.
    let alike = 1.0 / rate;
    let [sent, kept] = network.map_or([0.0; 2], |(footprint, rate)| {
        let stays = footprint.sent_bytes.saturating_sub(footprint.placed_bytes);
        [footprint.sent_bytes, stays].map(|bytes| bytes as f64 / rate)
    });
    let [even, weighted] = [slowest.max(sent), alike.max(sent * alike / fastest)];
    let owner = UNEVEN * slowest.max(kept);
    if owner < even.min(weighted) {
        let [all, less] = [even, owner].map(short);
        let why = format!("the network is the limit: {all} an iteration, and {less} at owners");
        return PlacementChoice::new(Placement::Owner, why);
    }
    if even > GAIN * weighted {
        let share = 100.0 * alike / slowest;
        let why = format!("the slowest disk has {share:.0} % of the mean rate");
        return PlacementChoice::new(Placement::Weighted(weights(seconds)), why);
    }
    let why = if is_one {
        "machines share one disk"
    } else if sent > slowest {
        "the network takes longer than any disk"
    } else {
        "no disk is much slower than the mean"
    };
    PlacementChoice::new(Placement::Even, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(read: f64) -> DiskRates {
        DiskRates { read, write: read / 2.0 }
    }

    /// A gigabyte from the disk, of which all but a tenth is sent because it lies elsewhere.
    fn footprint() -> Footprint {
        let sent_bytes = 1_000_000_000;
        Footprint {
            memory: Vec::new(),
            disk: Vec::new(),
            sent_bytes,
            placed_bytes: 900_000_000,
            read_bytes: sent_bytes,
            written_bytes: 0,
        }
    }

    fn told(all: &[f64]) -> KnownDisks {
        KnownDisks::Exchanged(all.iter().map(|read| Some(rates(*read))).collect())
    }

    fn chosen(disks: &KnownDisks, network: Option<f64>) -> PlacementChoice {
        let machines = if let KnownDisks::Exchanged(all) = disks { all.len() } else { 3 };
        choose(None, machines, (disks, network), Some(&footprint())).unwrap()
    }

    #[test]
    fn disks_of_one_rate_are_filled_evenly_and_others_by_their_rates() {
        let even = |disks: &KnownDisks, why: &str| {
            let found = chosen(disks, None);
            assert_eq!((found.name(), &*found.reason), ("even", why), "{disks:?}");
        };
        even(&told(&[1e9, 1e9, 0.8e9]), "no disk is much slower than the mean");
        // One that is far faster than all others is no reason.
        even(&told(&[1e9, 1e9, 1e9, 1e9, 1.5e9]), "no disk is much slower than the mean");
        even(&KnownDisks::Shared(Some(rates(1e9))), "machines share one disk");
        even(&KnownDisks::Shared(None), "machines share one disk, which was not measured");
        even(&KnownDisks::Unknown, "rates of other machines' disks are not known here");
        let unknown = KnownDisks::Exchanged(vec![Some(rates(1e9)), None]);
        even(&unknown, "the disk of machine 1 was not measured");
        let slow = chosen(&told(&[1e9, 1e9, 0.25e9]), None);
        assert_eq!(slow.placement, Placement::Weighted(vec![1000, 1000, 250]));
        assert_eq!(slow.reason, "the slowest disk has 33 % of the mean rate");
        let shares = [0, 1, 2].map(|rank| slow.times_mean(rank));
        assert!((shares.iter().sum::<f64>() - 3.0).abs() < 1e-9 && shares[0] > 1.3, "{shares:?}");
    }

    #[test]
    fn owners_store_where_the_network_is_the_limit() {
        let disks = told(&[1e9, 1e9]);
        // The disk takes a second. Twice that is less than three, and more than one and a half.
        for (network, name) in [(1e9 / 3.0, "owner"), (1e9 / 1.5, "even"), (1e12, "even")] {
            assert_eq!(chosen(&disks, Some(network)).name(), name, "{network}");
        }
        let slow = told(&[1e9, 1e9, 0.25e9]);
        assert_eq!(chosen(&slow, Some(1e12)).name(), "weighted");
        // All disks together wait for the network, which one that is fuller would make worse.
        let found = chosen(&slow, Some(1e9 / 5.0));
        assert_eq!(found.reason, "the network takes longer than any disk");
        assert_eq!(chosen(&slow, Some(1e9 / 20.0)).name(), "owner");
        assert_eq!(chosen(&KnownDisks::Unknown, Some(1.0)).name(), "even", "disks may be slower");
        let one = KnownDisks::Shared(Some(rates(1e9)));
        assert!(chosen(&one, Some(1e8)).reason.starts_with("the network is the limit: 10"));
    }

    #[test]
    fn placements_that_are_stated_are_kept() {
        let place = |stated: PlacementArg, disks: &KnownDisks| {
            choose(Some(&stated), 2, (disks, Some(1.0)), Some(&footprint()))
        };
        let (disks, untold) = (told(&[1e9, 0.5e9]), KnownDisks::Unknown);
        for (stated, placement) in [
            (PlacementArg::Even, Placement::Even),
            (PlacementArg::Random, Placement::Random),
            (PlacementArg::Owner, Placement::Owner),
            (PlacementArg::Rates, Placement::Weighted(vec![1000, 500])),
            (PlacementArg::Weights(vec![0, 7]), Placement::Weighted(vec![0, 7])),
        ] {
            let found = place(stated, &disks).unwrap();
            assert_eq!((found.placement, &*found.reason), (placement, "it is stated"));
            assert_eq!(found.note, None);
        }
        let found = place(PlacementArg::Rates, &untold).unwrap();
        assert!(found.name() == "even" && found.note.is_some(), "{found:?}");
        let found = place(PlacementArg::Rates, &KnownDisks::Shared(None)).unwrap();
        assert_eq!(found.placement, Placement::Weighted(vec![1, 1]));
        assert!(place(PlacementArg::Weights(vec![1; 3]), &untold).is_err());
    }

    #[test]
    fn rates_are_told_in_bytes() {
        for rates in [None, Some(rates(2.5e8))] {
            assert_eq!(rates_of(&rates_bytes(rates)), rates);
        }
        let wrong = rates_bytes(Some(DiskRates { read: f64::NAN, write: 1.0 }));
        for wrong in [&wrong[..], &[], &[1; 8], &[1; 15], &[1; 17]] {
            assert_eq!(rates_of(wrong), None, "{wrong:?}");
        }
    }
}
