//! `welter resume`: resumes a run from its last checkpoint.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use welter_objects::Location;
use welter_progress::FailureKind;

use crate::args::{ResumeArgs, RunOptions};
use crate::argv;
use crate::checkpoint::{RunDescription, command, reopened, run_description};
use crate::cluster_directory;
use crate::environment;
use crate::failure::Failure;
use crate::interrupt;
use crate::run;

/// `welter resume`.
pub(crate) fn resume(args: ResumeArgs) -> Result<(), Failure> {
    let here = |error| {
        Failure::new(FailureKind::Storage, format!("where this is cannot be known: {error}"))
    };
    if args.says_parts() {
        let what = "results in parts go where the run was begun to write them";
        return Err(Failure::usage(what).hint("name a file, or leave -o out"));
    }
    let args = args.absolute().map_err(here)?;
    let directory = args.directory.clone();
    let other = other_owner(&directory);
    if let Some(owner) = other.filter(|_| !args.says_output()) {
        let name = directory.display();
        let what = format!("{name}: belongs to user {owner}, and says where results go");
        return Err(
            Failure::new(FailureKind::Permission, what).hint("say yourself where they go, with -o")
        );
    }
    let machines = cluster_directory::description(&directory)?;
    if let Some((_, rank)) = &machines {
        refuse_unheard(&args, rank.is_none())?;
    }
    let put = |options: &mut RunOptions| {
        if other.is_some() {
            options.output.report = None;
        }
        args.put(options);
    };
    if let Some((description, rank)) = machines {
        let name = directory.display().to_string();
        let RunDescription { algorithm, mut options, arguments } =
            run_description(&description, &name, enter, put)?;
        // A bucket has one description, of the first machine; the environment says which this is.
        options.cluster.place.rank = match Location::of(&directory) {
            Some(_) => environment::rank(),
            None => rank.or(options.cluster.place.rank),
        };
        options.checkpoint.checkpoint = Some(directory);
        argv::resume(arguments);
        return run::run(&*algorithm, &options, None);
    }
    let begun = reopened(&directory, enter, put)?;
    interrupt::will_resume(&command(begun.checkpoints.directory()));
    run::run(&*begun.algorithm, &begun.options, Some(begun.checkpoints))
}

/// Enters the directory in which a run was begun, from which it names a path.
fn enter(directory: &Path, path: &Path) -> Result<(), Failure> {
    std::env::set_current_dir(directory).map_err(|error| {
        let (directory, path) = (directory.display(), path.display());
        let what = format!("{directory}: the run was begun here, and names {path} from here");
        Failure::new(FailureKind::Missing, format!("{what}: {error}"))
            .hint("make this directory, with the files in it that the run names")
    })
}

/// Refuses what machines of a cluster would not hear of: processes of one computer are started with
/// the words of then.
fn refuse_unheard(args: &ResumeArgs, are_processes: bool) -> Result<(), Failure> {
    let Some(option) = args.unheard_by_machines(are_processes) else { return Ok(()) };
    let what = format!("{option}: machines of a cluster continue as they were told at first");
    Err(Failure::usage(what).hint(format!("leave {option} out")))
}

/// User who may change checkpoints, if that is another one: the owner of the directory or of the
/// manifest.
fn other_owner(directory: &Path) -> Option<u32> {
    let user = rustix::process::geteuid().as_raw();
    let owners = [directory, &directory.join("checkpoint")].map(|path| fs::metadata(path).ok());
    owners.into_iter().flatten().map(|found| found.uid()).find(|owner| *owner != user)
}
