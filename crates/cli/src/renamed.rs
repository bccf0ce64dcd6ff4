//! Parameters of runs that were begun before parameters and their values were renamed.
//!
//! Command lines need none of this: clap takes the old names as hidden aliases. What is kept beside
//! them is the algorithm's parameters with their defaults, which a resumed run compares with those
//! of today. Tested by `parameters_of_before_are_those_of_today`.

use serde_json::Value;

/// Parameters: the name before, and the name now.
const NAMES: &[(&str, &str)] = &[
    ("teleport_from", "personalization"),
    ("sinks_from", "dangling_weights"),
    ("start_from", "initial"),
    ("side_from", "membership"),
    ("side_column", "membership_column"),
    ("side_above", "membership_above"),
    ("side_default", "membership_default"),
];

/// Values of parameters: the parameter, the value before, and the value now.
const VALUES: &[(&str, &str, &str)] = &[
    ("dangling", "papers", "unnormalized"),
    ("method", "labels", "label-propagation"),
    ("frontier", "local", "async"),
    ("index", "bands", "blocks"),
    ("index", "rows", "csr"),
];

/// Whether parameters that were kept, as JSON, are these.
pub(crate) fn are(kept: &str, parameters: &Value) -> bool {
    let Ok(mut kept) = serde_json::from_str::<Value>(kept) else { return false };
    let Some(map) = kept.as_object_mut() else { return false };
    for (before, now) in NAMES {
        if let Some(value) = map.remove(*before) {
            map.insert((*now).to_owned(), value);
        }
    }
    for (name, before, now) in VALUES {
        if let Some(value) = map.get_mut(*name).filter(|value| *value == before) {
            *value = Value::from(*now);
        }
    }
    // Text that was read again, as the other side was.
    serde_json::from_str::<Value>(&parameters.to_string()).is_ok_and(|now| now == kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_of_before_are_those_of_today() {
        let now = json!({
            "damping": 0.1 + 0.2, "dangling": "unnormalized", "personalization": ["a"],
            "dangling_weights": [], "initial": [],
        });
        let kept = json!({
            "damping": 0.1 + 0.2, "dangling": "papers", "teleport_from": ["a"],
            "sinks_from": [], "start_from": [],
        });
        assert!(are(&kept.to_string(), &now) && are(&now.to_string(), &now));
        let other = json!({
            "damping": 0.3, "dangling": "papers", "teleport_from": ["a"],
            "sinks_from": [], "start_from": [],
        });
        assert!(!are(&other.to_string(), &now));
        let kept = r#"{"method":"labels","frontier":"local","index":"rows"}"#;
        let now = json!({"method": "label-propagation", "frontier": "async", "index": "csr"});
        assert!(are(kept, &now));
        for odd in ["", "[]", "3", r#"{"method":"labels"}"#] {
            assert!(!are(odd, &now), "{odd}");
        }
    }
}
