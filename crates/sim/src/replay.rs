//! Overrides of a caller, as arguments of the command and back: a failing seed names all that it
//! takes to run it again.
//!
//! ```text
//! overrides(arguments(w)) = w
//! ```

use welter_protocol::config::Route;

use crate::catalogue::ALGORITHMS;
use crate::planted::BUGS;
use crate::schedule::Overrides;

const ROUTES: [(&str, Route); 2] = [("fold", Route::Fold), ("spill", Route::Spill)];

/// Reads overrides from arguments; leaves those that are for others.
///
/// # Errors
/// Argument that is not understood.
pub fn overrides(arguments: &[String]) -> Result<Overrides, String> {
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| arguments.iter().skip_while(|argument| *argument != name).nth(1);
    let mut overrides =
        Overrides { calm: has("--calm"), unaudited: has("--unaudited"), ..Overrides::default() };
    if let Some(named) = value("--algorithm") {
        overrides.algorithm =
            Some(one_of(named, ALGORITHMS.map(|known| (known.to_owned(), known)))?);
    }
    if let Some(named) = value("--route") {
        overrides.route =
            Some(one_of(named, ROUTES.map(|(name, route)| (name.to_owned(), route)))?);
    }
    if let Some(named) = value("--bug") {
        overrides.bug = Some(one_of(named, BUGS.map(|bug| (format!("{bug:?}"), bug)))?);
    }
    if let Some(number) = value("--machines") {
        let machines = number.parse().ok().filter(|machines| (1..=64).contains(machines));
        overrides.machines = Some(machines.ok_or("--machines is a number from 1 to 64")?);
    }
    Ok(overrides)
}

fn one_of<T, const N: usize>(named: &str, known: [(String, T); N]) -> Result<T, String> {
    let names = known.each_ref().map(|one| one.0.clone()).join(", ");
    let found = known.into_iter().find(|one| one.0 == named);
    found.map(|one| one.1).ok_or(format!("{named} is none of {names}"))
}

/// The arguments that say the same.
pub fn arguments(overrides: &Overrides) -> String {
    let Overrides { bug, unaudited, calm, algorithm, route, machines } = overrides;
    let mut all = String::new();
    let mut say = |option: Option<String>| all.extend(option.map(|option| format!(" --{option}")));
    say(calm.then(|| "calm".to_owned()));
    say(unaudited.then(|| "unaudited".to_owned()));
    say(algorithm.map(|algorithm| format!("algorithm {algorithm}")));
    let named = |route| ROUTES.into_iter().find(|known| known.1 == route);
    say(route.and_then(named).map(|(name, _)| format!("route {name}")));
    say(machines.map(|machines| format!("machines {machines}")));
    say(bug.map(|bug| format!("bug {bug:?}")));
    all
}

/// Command that shows a seed again, and the sources on which to run it.
pub fn command(seed: u64, overrides: &Overrides, commit: &str) -> String {
    format!("cargo xtask sim --seed {seed} --trace{}    (commit {commit})", arguments(overrides))
}

#[cfg(test)]
mod tests {
    use welter_protocol::planted::Bug;

    use super::*;

    #[test]
    fn wishes_come_back() {
        let all = Overrides {
            bug: Some(Bug::NoSync),
            unaudited: true,
            calm: true,
            algorithm: Some("bfs"),
            route: Some(Route::Fold),
            machines: Some(5),
        };
        for wishes_of in [all, Overrides::default()] {
            let line = command(7, &wishes_of, "abc");
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let found = overrides(&words).unwrap();
            assert_eq!(format!("{found:?}"), format!("{wishes_of:?}"));
        }
        for wrong in ["--bug None", "--route sideways", "--machines 0", "--algorithm x"] {
            let words: Vec<String> = wrong.split(' ').map(str::to_owned).collect();
            assert!(overrides(&words).is_err(), "{wrong}");
        }
    }
}
