//! Options that say on which machines a run is made.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::values::parsed;

/// Where a run is made.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Advanced")]
pub(crate) struct ClusterArgs {
    /// Run on a cluster of N machines, which are processes of this computer, each with a disk (a
    /// directory in --scratch) and links of its own, on graphs that state their vertices (generated
    /// ones, raw records with --vertices, formats with a header); docs/cluster.md
    #[arg(long, value_name = "local:N", hide_short_help = true, value_parser = parsed::<Cluster>)]
    pub(crate) cluster: Option<Cluster>,
    /// The command is one of these machines
    #[arg(long, value_name = "MACHINE", hide = true, requires = "cluster")]
    #[arg(value_parser = parsed::<Seat>)]
    pub(crate) cluster_machine: Option<Seat>,
}

/// Machines of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// How many there are.
    pub(crate) machines: usize,
}

/// Machines of a cluster on one computer, at most.
const MACHINES_MAX: usize = 64;

impl FromStr for Cluster {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let machines = text.strip_prefix("local:").and_then(|count| count.parse().ok());
        match machines {
            Some(machines) if (1..=MACHINES_MAX).contains(&machines) => Ok(Self { machines }),
            _ => Err(format!("expected local:N, with 1 to {MACHINES_MAX} machines")),
        }
    }
}

/// Place of a machine in its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// Its rank.
    pub(crate) rank: usize,
    /// Number above which its incarnation is.
    pub(crate) above: u32,
    /// Its directory.
    pub(crate) directory: PathBuf,
}

impl FromStr for Seat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [rank, above, directory] = parts[..] else {
            return Err("expected RANK:ABOVE:DIR".to_owned());
        };
        let wrong = |_| "expected a number".to_owned();
        let (rank, above) = (rank.parse().map_err(wrong)?, above.parse().map_err(wrong)?);
        Ok(Self { rank, above, directory: directory.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_local() {
        assert_eq!("local:4".parse(), Ok(Cluster { machines: 4 }));
        for wrong in ["", "4", "local", "local:", "local:0", "local:65", "local:x", "ray:4"] {
            assert!(wrong.parse::<Cluster>().is_err(), "{wrong}");
        }
        let seat = Seat { rank: 3, above: 7, directory: "/a:b".into() };
        assert_eq!("3:7:/a:b".parse(), Ok(seat));
        assert!("3:7".parse::<Seat>().is_err() && "3:x:/".parse::<Seat>().is_err());
    }
}
