//! Files of Amazon's tools, `~/.aws/credentials` and `~/.aws/config`, as variables.
//!
//! Of the profile that `AWS_PROFILE` names, or `default`, the keys of an account, a region and an
//! endpoint are taken, each where no variable says it; where it has no keys but a program that
//! hands them out (`credential_process`), that one is asked. Profiles of single sign-on and of
//! roles (`sso_*`, `role_arn`) have neither, and the roles of containers and instances are tried as
//! if there were no files; `aws configure export-credentials` is a program for them.
//!
//! ```text
//! [default]                          in `config` [profile NAME] for all but the default
//! aws_access_key_id = AKIA...
//! ```

pub(crate) mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use program::KeyProgram;

/// Bytes of a file at most.
const BYTES_MAX: u64 = 1 << 20;
/// Names in the files, and the variables that stand for them.
const NAMES: [(&str, &str); 5] = [
    ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
    ("region", "AWS_REGION"),
    ("endpoint_url", "AWS_ENDPOINT_URL"),
];
/// Variables that say who asks. Where one is there, no file does.
const WHO: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];
/// Variables that say where, each with its other name.
const WHERE: [[&str; 3]; 2] = [
    ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_REGION"],
    ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"],
];

/// The profile of the files, as far as it says more than the variables.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// Variables that they add.
    pub(crate) variables: Vec<(String, String)>,
    /// The program that hands out keys.
    pub(crate) program: Option<KeyProgram>,
}

impl Profile {
    /// The profile beside these variables; `home`: where its files are looked for.
    pub(crate) fn beside(variables: &[(String, String)], home: Option<&Path>) -> Self {
        let value_of = |name: &str| {
            let found = variables.iter().find(|(other, _)| other == name);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let found = names_and_values(value_of, home);
        let value = |name: &str| found.get(name).filter(|value| !value.is_empty());
        let is_whole = NAMES[..2].iter().all(|(name, _)| value(name).is_some());
        let is_known = WHO.iter().any(|name| value_of(name).is_some());
        let is_stated = |variable: &str| {
            let others = WHERE.iter().find(|names| names[0] == variable);
            match others {
                Some(names) => names.iter().any(|name| value_of(name).is_some()),
                None => is_known || !is_whole,
            }
        };
        let named = |(name, variable): &(&str, &str)| {
            let value = found.get(*name).filter(|_| !is_stated(variable))?;
            Some(((*variable).to_owned(), value.clone()))
        };
        let program = value("credential_process").filter(|_| !is_known && !is_whole);
        Self {
            variables: NAMES.iter().filter_map(named).collect(),
            program: program.cloned().map(KeyProgram::new),
        }
    }
}

/// Names and values of the profile in both files.
fn names_and_values<'a>(
    value_of: impl Fn(&str) -> Option<&'a str>,
    home: Option<&Path>,
) -> BTreeMap<String, String> {
    let file = |name: &str, usual: &str| {
        let usual = || home.map(|home| home.join(".aws").join(usual));
        value_of(name).map(PathBuf::from).or_else(usual)
    };
    let profile = value_of("AWS_PROFILE").unwrap_or("default");
    let heads = [profile.to_owned(), format!("profile {profile}")];
    let mut found = BTreeMap::new();
    for (path, head) in [
        (
            file("AWS_CONFIG_FILE", "config"),
            if profile == "default" { &heads[0] } else { &heads[1] },
        ),
        (file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &heads[0]),
    ] {
        let text = path.and_then(read).unwrap_or_default();
        found.extend(section(&text, head));
    }
    found
}

/// The text of a file; none that cannot be read says nothing.
pub(crate) fn read(path: PathBuf) -> Option<String> {
    let found = fs::metadata(&path).ok()?;
    if !found.is_file() || found.len() > BYTES_MAX {
        return None;
    }
    fs::read_to_string(path).ok()
}

/// Names and values below a head. Lines that are set in belong to the name above, and are of no
/// use here.
pub(crate) fn section(text: &str, head: &str) -> BTreeMap<String, String> {
    let mut is_ours = false;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let is_set_in = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.starts_with(['#', ';']) || line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            let words: Vec<&str> = name.split_whitespace().collect();
            is_ours = words.join(" ") == head;
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_ours && !is_set_in) else {
            continue;
        };
        let value = value.split(" #").next().unwrap_or_default().trim();
        found.insert(name.trim().to_ascii_lowercase(), value.to_owned());
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CREDENTIALS: &str = "\
# mine
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key=se/cr=et
[work]
AWS_ACCESS_KEY_ID = AKIAWORK   # by hand
aws_secret_access_key = other
aws_session_token = token
";
    const CONFIG: &str = "\
[default]
region = eu-north-1
s3 =
    endpoint_url = http://not.this
[profile work]
region = us-west-2
endpoint_url = http://127.0.0.1:9000
[profile program]
region = eu-west-2
credential_process = /usr/bin/keys --account 'mine' # by hand
[profile asked]
role_arn = arn:aws:iam::1:role/x
region = eu-west-1
";

    /// The profile beside these, by both files.
    fn beside(variables: &[(&str, &str)]) -> Profile {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".aws")).unwrap();
        fs::write(home.path().join(".aws/credentials"), CREDENTIALS).unwrap();
        fs::write(home.path().join(".aws/config"), CONFIG).unwrap();
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Profile::beside(&variables, Some(home.path()))
    }

    fn with(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        beside(variables).variables
    }

    fn are(found: &[(String, String)], expected: &[(&str, &str)]) {
        let found: Vec<(&str, &str)> =
            found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_profile_says_what_no_variable_says() {
        are(
            &with(&[]),
            &[
                ("AWS_ACCESS_KEY_ID", "AKIADEFAULT"),
                ("AWS_SECRET_ACCESS_KEY", "se/cr=et"),
                ("AWS_REGION", "eu-north-1"),
            ],
        );
        are(
            &with(&[("AWS_PROFILE", "work"), ("AWS_DEFAULT_REGION", "here-1")]),
            &[
                ("AWS_ACCESS_KEY_ID", "AKIAWORK"),
                ("AWS_SECRET_ACCESS_KEY", "other"),
                ("AWS_SESSION_TOKEN", "token"),
                ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"),
            ],
        );
        for who in WHO {
            are(&with(&[(who, "x")]), &[("AWS_REGION", "eu-north-1")]);
        }
        are(&with(&[("AWS_PROFILE", "asked")]), &[("AWS_REGION", "eu-west-1")]);
        are(&with(&[("AWS_PROFILE", "none")]), &[]);
        are(&Profile::beside(&[], None).variables, &[]);
    }

    #[test]
    fn a_program_is_asked_where_neither_variables_nor_files_have_keys() {
        let asked = [("AWS_PROFILE", "program")];
        let command = "/usr/bin/keys --account 'mine'".to_owned();
        assert_eq!(beside(&asked).program, Some(KeyProgram::new(command)));
        are(&with(&asked), &[("AWS_REGION", "eu-west-2")]);
        for who in WHO {
            assert_eq!(beside(&[asked[0], (who, "x")]).program, None);
        }
        for profile in ["default", "work", "asked", "none"] {
            assert_eq!(beside(&[("AWS_PROFILE", profile)]).program, None, "{profile}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[\\[\\]=#; \\na-c]{0,200}", head in "[a-c]{1,2}") {
            for (name, value) in section(&text, &head) {
                prop_assert!(!name.contains(['=', '\n']) && !value.contains('\n'));
            }
        }
    }
}
