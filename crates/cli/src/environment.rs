//! The place of a machine of several computers, as its environment says it.

/// Names of a rank: as torchrun says it, Slurm, and Kubernetes' jobs.
const RANKS: [&str; 3] = ["RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX"];

/// Names of the number of machines.
const SIZES: [&str; 2] = ["WORLD_SIZE", "SLURM_NTASKS"];

/// The rank of this machine.
pub(crate) fn rank() -> Option<usize> {
    number(&RANKS)
}

/// The number of machines.
pub(crate) fn machines() -> Option<usize> {
    number(&SIZES)
}

fn number(names: &[&str]) -> Option<usize> {
    names.iter().find_map(|name| std::env::var(name).ok()).and_then(|text| text.parse().ok())
}
