//! Errors in options that a caller in this process gave, in the words of that caller, who knows
//! arguments by names (`damping=2`) and no command line.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::algorithms::{REGISTRY, words};
use crate::failure::Failure;

/// The refusal of options.
pub(super) fn refusal(error: &clap::Error) -> Failure {
    Failure::usage(explanation(error).unwrap_or_else(|| stripped(error)))
}

fn explanation(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(all)) => Some(all.join(", ")),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg).map(|argument| names(&argument));
    let value = text(ContextKind::InvalidValue).map(|value| literal(&value));
    let words = text(ContextKind::ValidValue);
    match error.kind() {
        ErrorKind::InvalidValue => {
            let (argument, words) = (argument?, words?);
            Some(match value.filter(|value| value != "\"\"") {
                Some(value) => format!("{argument}={value}: expected one of {words}"),
                None => format!("{argument}: expected one of {words}"),
            })
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)?.to_string();
            Some(format!("{}={}: {why}", argument?, value?))
        }
        ErrorKind::UnknownArgument => {
            let near = text(ContextKind::SuggestedArg).map(|near| names(&near));
            let near = near.map_or(String::new(), |near| format!(" (is {near} meant?)"));
            Some(format!("{}: there is no such option{near}", argument?))
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).map(|other| names(&other))?;
            let argument = argument?;
            Some(if argument == other {
                format!("{argument}: is said more than once")
            } else {
                format!("{argument} does not go together with {other}")
            })
        }
        ErrorKind::MissingRequiredArgument => {
            Some(format!("expected {} too, which the other options need", argument?))
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            Some(format!("{name}: no algorithm is called so{}", near(&name)))
        }
        _ => None,
    }
}

/// The algorithms that a name may mean.
fn near(name: &str) -> String {
    let meant = words::meant(name, REGISTRY);
    let listed: Vec<String> =
        meant.iter().map(|entry| format!("{} ({})", entry.name, entry.about)).collect();
    if listed.is_empty() {
        let all: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        return format!("; there are {}", all.join(", "));
    }
    format!("; perhaps {}", listed.join(", or "))
}

/// `--no-header, --ids <KIND>` as `no_header, ids`.
fn names(stated: &str) -> String {
    let name = |word: &str| {
        let word = word.trim().trim_start_matches('-');
        let end = word.find([' ', '=', '<', '[']).unwrap_or(word.len());
        word[..end].replace('-', "_")
    };
    stated.split(',').map(name).collect::<Vec<_>>().join(", ")
}

/// A value as it stands in a call.
fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => value.to_owned(),
        Err(_) => format!("{value:?}"),
    }
}

/// The text of the command line, without what only it can do.
fn stripped(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let ends = ["\n\nUsage", "\n\nFor more"].into_iter().filter_map(|end| text.find(end));
    text[..ends.min().unwrap_or(text.len())].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use clap::{Arg, ArgAction, Command};

    use super::*;

    fn said(words: &[&str]) -> String {
        let share = clap::value_parser!(u64).range(1..=9);
        let command = Command::new("x")
            .no_binary_name(true)
            .arg(Arg::new("way").long("way").value_parser(["in", "out"]))
            .arg(Arg::new("count").long("count-max").value_parser(share).requires("way"))
            .arg(Arg::new("no").long("no-way").action(ArgAction::SetTrue).conflicts_with("way"));
        let error = command.try_get_matches_from(words).unwrap_err();
        refusal(&error).message().to_owned()
    }

    #[test]
    fn options_are_refused_as_a_caller_knows_them() {
        for (words, expected) in [
            (&["--way=up"][..], "way=\"up\": expected one of in, out"),
            (&["--way=in", "--count-max=x"], "count_max=\"x\": invalid digit found in string"),
            (&["--way=in", "--count-max=0"], "count_max=0: 0 is not in 1..=9"),
            (&["--count-max=1"], "expected way too, which the other options need"),
            (&["--way=in", "--way=in"], "way: is said more than once"),
            (&["--wey=in"], "wey: there is no such option (is way meant?)"),
        ] {
            assert_eq!(said(words), expected);
        }
        let conflict = said(&["--way=in", "--no-way"]);
        assert!(conflict.contains("way does not go together with "), "{conflict}");
    }
}
