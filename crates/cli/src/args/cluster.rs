//! Options that say on which machines a run is made.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::values::{bytes, not_negative, parsed};

/// Machines of a command, and how they know each other.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct PlaceArgs {
    /// Run on a cluster: local:N processes of this computer; ray or ray:ADDRESS; static:FILE or
    /// env, where all run this command: docs/cluster.md
    #[arg(long, value_name = "WHERE", hide_short_help = true, value_parser = parsed::<Cluster>)]
    pub(crate) cluster: Option<Cluster>,
    /// Rank of this machine [default: what its environment says]
    #[arg(long, value_name = "I", hide_short_help = true, requires = "cluster")]
    pub(crate) rank: Option<usize>,
    /// Key by which machines know each other (`welter cluster`)
    #[arg(long, value_name = "FILE", hide_short_help = true, requires = "cluster")]
    pub(crate) credentials: Option<PathBuf>,
    /// Let machines speak without proof or secrecy
    #[arg(long, hide_short_help = true, requires = "cluster", conflicts_with = "credentials")]
    pub(crate) insecure_trusted_network: bool,
    /// Seconds in which a machine must come
    #[arg(long, value_name = "SECONDS", hide_short_help = true, requires = "cluster")]
    #[arg(default_value_t = 60)]
    pub(crate) patience: u64,
    /// The command is one of these machines
    #[arg(long, value_name = "MACHINE", hide = true, requires = "cluster")]
    #[arg(value_parser = parsed::<Seat>)]
    pub(crate) cluster_machine: Option<Seat>,
}

/// Where a run is made.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Figures of all machines while they run, for Prometheus
    #[arg(long, value_name = "ADDRESS", hide_short_help = true, requires = "cluster")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Way of messages between machines, on route `send`
    #[arg(long, hide_short_help = true, requires = "cluster")]
    pub(crate) transport: Option<TransportArg>,
    /// Network card of --transport dpdk, as DPDK names it, with its options
    #[arg(long, value_name = "DEVICE", hide_short_help = true, requires = "cluster")]
    pub(crate) dpdk_device: Option<String>,
    /// Options of DPDK itself, in place of those that suit the device
    #[arg(long, value_name = "OPTIONS", hide_short_help = true, requires = "dpdk_device")]
    #[arg(allow_hyphen_values = true)]
    pub(crate) dpdk_options: Option<String>,
    /// Whether updates of route `send` meet before they are sent [default: auto]
    #[arg(long, hide_short_help = true, requires = "cluster")]
    pub(crate) combine: Option<CombineArg>,
    /// Threads of a machine that send for others, on route `send` [default: each sends itself]
    #[arg(long, value_name = "N", hide_short_help = true, requires = "cluster")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=16))]
    pub(crate) senders: Option<u16>,
    /// Readiness of machines to be helped: 0 never, 1 as in Chaos [default: 1]
    #[arg(long, value_name = "ALPHA", hide_short_help = true, requires = "cluster")]
    #[arg(value_parser = not_negative)]
    pub(crate) steal_bias: Option<f64>,
    /// Blocks that lie on a second machine too
    #[arg(long, value_name = "BLOCKS", hide_short_help = true, requires = "cluster")]
    pub(crate) mirror: Option<MirrorArg>,
    #[command(flatten)]
    pub(crate) placing: PlacementArgs,
}

/// Place of chunks on a cluster.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlacementArgs {
    /// Disks of chunks: even, random, owner, weighted or weighted:W,W,.. [default: by rates]
    #[arg(long, value_name = "HOW", help_heading = "Cluster", hide_short_help = true)]
    #[arg(requires = "cluster", value_parser = parsed::<PlacementArg>)]
    pub(crate) placement: Option<PlacementArg>,
    /// Bytes a second that a machine sends at best, for plans
    #[arg(long, value_name = "SIZE", help_heading = "Cluster", hide_short_help = true)]
    #[arg(requires = "cluster", value_parser = bytes)]
    pub(crate) network: Option<u64>,
}

/// Rule by which chunks get the machines that store them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlacementArg {
    /// All disks alike.
    Even,
    /// One at random.
    Random,
    /// The machine of their partition.
    Owner,
    /// By the rates of disks that were measured.
    Rates,
    /// By these weights, one a machine, not all 0.
    Weights(Vec<u32>),
}

impl FromStr for PlacementArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let weights = |all: &str| all.split(',').map(|weight| weight.parse().ok()).collect();
        match text {
            "even" => return Ok(Self::Even),
            "random" => return Ok(Self::Random),
            "owner" => return Ok(Self::Owner),
            "weighted" => return Ok(Self::Rates),
            _ => {}
        }
        let weights: Option<Vec<u32>> = text.strip_prefix("weighted:").and_then(weights);
        match weights {
            Some(weights) if weights.iter().any(|weight| *weight > 0) => Ok(Self::Weights(weights)),
            _ => Err("expected even, random, owner, weighted or weighted:2,1,1".to_owned()),
        }
    }
}

/// Way of messages between machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    /// connections of TCP
    Tcp,
    /// datagrams of UDP
    Udp,
    /// memory that processes of one computer share
    Shared,
    /// packets past the kernel: docs/dpdk.md
    Dpdk,
}

/// Blocks that lie on two machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MirrorArg {
    /// values at checkpoints
    Vertices,
    /// values and edges
    All,
    /// no blocks
    None,
}

/// Choice of the sender of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CombineArg {
    /// where that is expected to be cheaper
    Auto,
    /// always
    Always,
    /// never: each update is a message
    Never,
}

/// Machines of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// Processes of this computer, of this number.
    Local(usize),
    /// Computers of a list.
    Static(PathBuf),
    /// Computers that the environment states.
    Env,
    /// Nodes of a Ray cluster, at this address or the one that Ray finds.
    Ray(Option<String>),
}

/// Machines of a cluster, at most.
pub(crate) const MACHINES_MAX: usize = 64;

impl FromStr for Cluster {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "env" {
            return Ok(Self::Env);
        }
        if let Some(file) = text.strip_prefix("static:").filter(|file| !file.is_empty()) {
            return Ok(Self::Static(file.into()));
        }
        if text == "ray" {
            return Ok(Self::Ray(None));
        }
        if let Some(address) = text.strip_prefix("ray:").filter(|address| !address.is_empty()) {
            return Ok(Self::Ray(Some(address.to_owned())));
        }
        let machines = text.strip_prefix("local:").and_then(|count| count.parse().ok());
        match machines {
            Some(machines) if (1..=MACHINES_MAX).contains(&machines) => Ok(Self::Local(machines)),
            _ => Err(format!("expected local:N with 1 to {MACHINES_MAX}, static:FILE, env or ray")),
        }
    }
}

/// Route of machines: place where their updates wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineRoute {
    /// Messages, nowhere else.
    Send,
    /// Nowhere: edges come to accumulators.
    Fold,
    /// Storage.
    Spill,
}

impl MachineRoute {
    /// All, in the order in which they are preferred.
    pub(crate) const ALL: [Self; 3] = [Self::Send, Self::Fold, Self::Spill];

    /// Name that `--route` has for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Fold => "fold",
            Self::Spill => "spill",
        }
    }
}

impl FromStr for MachineRoute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let route = Self::ALL.into_iter().find(|route| route.name() == text);
        route.ok_or_else(|| "expected send, fold or spill".to_owned())
    }
}

/// Place of a machine in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Rank of the machine.
    pub(crate) rank: usize,
    /// Number above which the incarnation of the machine is.
    pub(crate) above: u32,
    /// Route that the command has chosen for all machines.
    pub(crate) route: MachineRoute,
    /// Bytes of memory for which it was chosen; 0 where memory was not looked at.
    pub(crate) memory_bytes: u64,
    /// Way in which it reads the input.
    pub(crate) reading: SeatReading,
    /// Directory of the machine.
    pub(crate) directory: PathBuf,
}

/// Way in which a machine of this computer reads the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeatReading {
    /// All of it.
    All,
    /// Its share, alone, as it did before it was started again.
    Share,
    /// Its share, with the others, who meet at this port. The route comes later.
    Joint(u16),
}

impl fmt::Display for SeatReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Share => f.write_str("share"),
            Self::Joint(port) => port.fmt(f),
        }
    }
}

impl FromStr for SeatReading {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "share" => Ok(Self::Share),
            port => port.parse().map(Self::Joint).map_err(|_| "expected a port".to_owned()),
        }
    }
}

impl Seat {
    /// The seat with what the command tells its machine, as it stands in the words of a seat.
    pub(crate) fn told(&self, words: &str) -> Result<Self, String> {
        let Self { rank, above, directory, .. } = self;
        let seat = format!("{rank}:{above}:{words}:.").parse::<Self>()?;
        Ok(Self { directory: directory.clone(), ..seat })
    }
}

impl FromStr for Seat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let [rank, above, route, memory, reading, directory] = parts[..] else {
            return Err("expected RANK:ABOVE:ROUTE:BYTES:READING:DIR".to_owned());
        };
        let wrong = |_| "expected a number".to_owned();
        let (rank, above) = (rank.parse().map_err(wrong)?, above.parse().map_err(wrong)?);
        let route = route.parse::<MachineRoute>()?;
        let memory_bytes = memory.parse::<u64>().map_err(wrong)?;
        let reading = reading.parse()?;
        Ok(Self { rank, above, route, memory_bytes, reading, directory: directory.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_have_names_and_weights() {
        assert_eq!("owner".parse(), Ok(PlacementArg::Owner));
        assert_eq!("weighted".parse(), Ok(PlacementArg::Rates));
        assert_eq!("weighted:2,0,1".parse(), Ok(PlacementArg::Weights(vec![2, 0, 1])));
        for wrong in ["", "Even", "weighted:", "weighted:0,0", "weighted:1,,2", "owner:1", "1,2"] {
            assert!(wrong.parse::<PlacementArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn clusters_are_processes_or_computers() {
        assert_eq!("local:4".parse(), Ok(Cluster::Local(4)));
        assert_eq!("static:a:b".parse(), Ok(Cluster::Static("a:b".into())));
        assert_eq!("env".parse(), Ok(Cluster::Env));
        assert_eq!("ray".parse(), Ok(Cluster::Ray(None)));
        assert_eq!("ray:a:63".parse(), Ok(Cluster::Ray(Some("a:63".to_owned()))));
        for wrong in
            ["", "static:", "4", "local", "local:", "local:0", "local:65", "local:x", "ray:"]
        {
            assert!(wrong.parse::<Cluster>().is_err(), "{wrong}");
        }
        let (route, directory) = (MachineRoute::Send, "/a:b".into());
        let reading = SeatReading::Share;
        let seat = Seat { rank: 3, above: 7, route, memory_bytes: 9, reading, directory };
        assert_eq!("3:7:send:9:share:/a:b".parse(), Ok(seat.clone()));
        for (word, reading) in [("all", SeatReading::All), ("4711", SeatReading::Joint(4711))] {
            let words = format!("fold:0:{word}");
            let told = seat.told(&words).unwrap();
            assert_eq!((told.reading, told.route), (reading, MachineRoute::Fold));
            assert_eq!((reading.to_string(), &told.directory), (word.to_owned(), &seat.directory));
        }
        for wrong in [
            "3:7",
            "3:x:fold:0:all:/",
            "3:7:ranges:0:all:/",
            "3:7:fold:x:all:/",
            "3:7:fold:0:some:/",
            "3:7:/a:b",
        ] {
            assert!(wrong.parse::<Seat>().is_err(), "{wrong}");
        }
    }
}
