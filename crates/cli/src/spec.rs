//! Generated graphs as inputs: `rmat:22,seed=7,scramble`, `web:1000000,degree=20`.
//!
//! Words of a specification, as options, make `welter generate`.

use welter_input::generate::Weights;
use welter_input::generate::rmat::RmatOptions;
use welter_input::generate::web::WebOptions;

use crate::args::count;

/// A graph to be generated.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Generated {
    /// R-MAT.
    Rmat(RmatOptions),
    /// Web-like.
    Web(WebOptions),
}

/// The generator that an input names, if it does.
pub(crate) fn parse(input: &str) -> Option<Result<Generated, String>> {
    let (name, spec) = input.split_once(':')?;
    match name {
        "rmat" => Some(rmat(spec).map(Generated::Rmat)),
        "web" => Some(web(spec).map(Generated::Web)),
        _ => None,
    }
}

fn rmat(spec: &str) -> Result<RmatOptions, String> {
    let (first, rest) = split(spec);
    let scale = first.parse().map_err(|_| {
        format!("expected rmat:SCALE, a number such as rmat:20, found \"rmat:{first}\"")
    })?;
    let mut options = RmatOptions { scale, ..RmatOptions::default() };
    for (key, value) in rest {
        match key {
            "factor" => options.factor = number(key, value)?,
            "seed" => options.seed = number(key, value)?,
            "scramble" if value.is_none() => options.scramble = true,
            "weights" => options.weights = weights(value.unwrap_or_default())?,
            "quadrants" => options.quadrants = quadrants(value.unwrap_or_default())?,
            _ => {
                return Err(unknown(
                    key,
                    "factor=N, seed=N, scramble, weights=MAX|unit or \
                     quadrants=A/B/C/D",
                ));
            }
        }
    }
    Ok(options)
}

fn web(spec: &str) -> Result<WebOptions, String> {
    let (first, rest) = split(spec);
    let pages = count(first).map_err(|_| {
        format!("expected web:VERTICES, a number such as web:1000000, found \"web:{first}\"")
    })?;
    let mut options = WebOptions { pages, ..WebOptions::default() };
    for (key, value) in rest {
        match key {
            "degree" => options.degree = number(key, value)?,
            "seed" => options.seed = number(key, value)?,
            "weights" => options.weights = weights(value.unwrap_or_default())?,
            _ => return Err(unknown(key, "degree=N, seed=N or weights=MAX|unit")),
        }
    }
    Ok(options)
}

/// The first word, and the others as `key=value` or `key`.
fn split(spec: &str) -> (&str, impl Iterator<Item = (&str, Option<&str>)>) {
    let mut words = spec.split(',');
    let first = words.next().unwrap_or_default();
    (
        first,
        words.map(|word| {
            word.split_once('=').map_or((word, None), |(key, value)| (key, Some(value)))
        }),
    )
}

fn unknown(key: &str, expected: &str) -> String {
    format!("expected {expected}, found \"{key}\"")
}

fn number<T: std::str::FromStr>(key: &str, value: Option<&str>) -> Result<T, String> {
    let value = value.unwrap_or_default();
    value.parse().map_err(|_| format!("expected {key}=N, a whole number, found \"{value}\""))
}

/// Weights of edges: `none`, `unit`, or the largest integer.
pub(crate) fn weights(text: &str) -> Result<Weights, String> {
    match text {
        "none" => Ok(Weights::None),
        "unit" => Ok(Weights::Unit),
        _ => match text.parse() {
            Ok(max) => Ok(Weights::Integers { max }),
            Err(_) => Err("expected none, unit, or the largest integer weight".to_owned()),
        },
    }
}

/// Four probabilities, separated by `,` or `/`.
pub(crate) fn quadrants(text: &str) -> Result<[f64; 4], String> {
    let shares: Result<Vec<f64>, _> = text.split([',', '/']).map(str::parse).collect();
    shares
        .ok()
        .and_then(|shares| shares.try_into().ok())
        .ok_or_else(|| "expected four probabilities, such as 0.57/0.19/0.19/0.05".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rmat(spec: &str) -> Result<Generated, String> {
        parse(spec).unwrap()
    }

    #[test]
    fn specs_are_read() {
        assert_eq!(
            rmat("rmat:22,factor=8,seed=7,scramble,weights=255,quadrants=0.25/0.25/0.25/0.25"),
            Ok(Generated::Rmat(RmatOptions {
                scale: 22,
                factor: 8,
                seed: 7,
                scramble: true,
                weights: Weights::Integers { max: 255 },
                quadrants: [0.25; 4],
            }))
        );
        let web =
            WebOptions { pages: 1000, degree: 3, weights: Weights::Unit, ..WebOptions::default() };
        assert_eq!(parse("web:1_000,degree=3,weights=unit"), Some(Ok(Generated::Web(web))));
        assert_eq!(parse("graph.tsv"), None);
        assert_eq!(parse("C:/graph.tsv"), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (spec, message) in [
            ("rmat:", "expected rmat:SCALE"),
            ("rmat:x", "found \"rmat:x\""),
            ("rmat:9,colour=red", "found \"colour\""),
            ("rmat:9,scramble=1", "found \"scramble\""),
            ("rmat:9,seed=-1", "expected seed=N"),
            ("rmat:9,weights=-1", "largest integer"),
            ("rmat:9,quadrants=1/2/3", "four probabilities"),
            ("web:-5", "expected web:VERTICES"),
            ("web:5,scramble", "found \"scramble\""),
        ] {
            let error = parse(spec).unwrap().unwrap_err();
            assert!(error.contains(message), "{spec}: {error}");
        }
    }
}
