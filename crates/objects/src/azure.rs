//! Variables of Azure's own tools, under the names that stores know.
//!
//! ```text
//! AZURE_STORAGE_ACCOUNT            the account
//! AZURE_STORAGE_KEY                its key
//! AZURE_STORAGE_CONNECTION_STRING  NAME=VALUE;NAME=VALUE of these, of a signature, of an address
//! IDENTITY_ENDPOINT                the service of an identity in App Service and Functions
//! ```

/// Names of Azure's tools, and the variables that stand for them.
const NAMES: [(&str, &str); 3] = [
    ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    ("IDENTITY_ENDPOINT", "AZURE_IDENTITY_ENDPOINT"),
];
/// Other names that stores know for those variables.
const OTHERS: [(&str, &[&str]); 3] = [
    ("AZURE_IDENTITY_ENDPOINT", &["AZURE_MSI_ENDPOINT"]),
    ("AZURE_STORAGE_ACCOUNT_KEY", &["AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY"]),
    ("AZURE_STORAGE_SAS_KEY", &["AZURE_STORAGE_SAS_TOKEN"]),
];
/// Names within a connection string, and the variables that stand for them.
const PARTS: [(&str, &str); 5] = [
    ("accountname", "AZURE_STORAGE_ACCOUNT_NAME"),
    ("accountkey", "AZURE_STORAGE_ACCOUNT_KEY"),
    ("sharedaccesssignature", "AZURE_STORAGE_SAS_KEY"),
    ("blobendpoint", "AZURE_STORAGE_ENDPOINT"),
    ("usedevelopmentstorage", "AZURE_STORAGE_USE_EMULATOR"),
];
/// Variables of Azure that do not begin with its name.
pub(crate) const UNPREFIXED: [&str; 2] = ["IDENTITY_ENDPOINT", "IDENTITY_HEADER"];
/// Ending of the addresses of accounts, where a connection string has no other.
const SUFFIX: &str = "core.windows.net";

/// Variables that stand for those of Azure's tools, as far as these say nothing themselves.
pub(crate) fn added(variables: &[(String, String)]) -> Vec<(String, String)> {
    let value_of = |name: &str| {
        let found = variables.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    };
    let is_stated = |name: &str| {
        let others =
            OTHERS.iter().filter(|(first, _)| *first == name).flat_map(|(_, others)| *others);
        others.copied().chain([name]).any(|name| value_of(name).is_some())
    };
    let renamed = NAMES.iter().filter_map(|(from, to)| Some((*to, value_of(from)?.to_owned())));
    let string = value_of("AZURE_STORAGE_CONNECTION_STRING").unwrap_or_default();
    let mut added: Vec<(String, String)> = Vec::new();
    for (name, value) in renamed.chain(parts(string)) {
        if !is_stated(name) && !added.iter().any(|(other, _)| other == name) {
            added.push((name.to_owned(), value));
        }
    }
    added
}

/// The address of an authority, to which names of tenants are put behind a `/`: tools name it with
/// one at its end, and some without `https://`.
pub(crate) fn authority(value: &str) -> String {
    let value = value.trim().trim_end_matches('/');
    let scheme = if value.is_empty() || value.contains("://") { "" } else { "https://" };
    format!("{scheme}{value}")
}

/// Variables by the parts of a connection string.
fn parts(string: &str) -> Vec<(&'static str, String)> {
    // Keys end with signs of equality.
    let pairs: Vec<(String, &str)> = string
        .split(';')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let value_of = |name: &str| {
        pairs.iter().find(|(other, _)| other == name).map(|(_, value)| (*value).to_owned())
    };
    let mut parts: Vec<(&str, String)> =
        PARTS.iter().filter_map(|(part, name)| Some((*name, value_of(part)?))).collect();
    let suffix = value_of("endpointsuffix").filter(|suffix| suffix != SUFFIX);
    if let (None, Some(address)) = (value_of("accountname"), value_of("blobendpoint")) {
        parts.extend(account(&address).map(|account| ("AZURE_STORAGE_ACCOUNT_NAME", account)));
    }
    if let (Some(suffix), Some(account), None) =
        (suffix, value_of("accountname"), value_of("blobendpoint"))
    {
        let protocol = value_of("defaultendpointsprotocol").unwrap_or_else(|| "https".to_owned());
        parts.push(("AZURE_STORAGE_ENDPOINT", format!("{protocol}://{account}.blob.{suffix}")));
    }
    parts
}

/// The account whose blobs have this address: the first label of its host, or of the path where
/// the host is a number or this machine.
fn account(address: &str) -> Option<String> {
    let address = url::Url::parse(address).ok()?;
    let label = match address.host()? {
        url::Host::Domain(host) if host.contains('.') => host.split('.').next()?.to_owned(),
        _ => address.path_segments()?.next()?.to_owned(),
    };
    Some(label).filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn are(variables: &[(&str, &str)], expected: &[(&str, &str)]) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let found = added(&variables.iter().map(owned).collect::<Vec<_>>());
        assert_eq!(found, expected.iter().map(owned).collect::<Vec<_>>());
    }

    #[test]
    fn names_of_the_tools_stand_for_those_of_stores() {
        let tools = [("AZURE_STORAGE_ACCOUNT", "mine"), ("AZURE_STORAGE_KEY", "a+/=")];
        let [account, key] = tools;
        let known = [("AZURE_STORAGE_ACCOUNT_NAME", "mine"), ("AZURE_STORAGE_ACCOUNT_KEY", "a+/=")];
        are(&tools, &known);
        are(&[account, key, ("AZURE_STORAGE_ACCOUNT_NAME", "other")], &known[1..]);
        are(&[account, key, ("AZURE_STORAGE_ACCESS_KEY", "other")], &known[..1]);
        are(&[("AZURE_STORAGE_ACCOUNT", "")], &[]);
        let service = ("IDENTITY_ENDPOINT", "http://127.0.0.1:1/msi/token");
        are(&[service], &[("AZURE_IDENTITY_ENDPOINT", service.1)]);
        are(&[service, ("AZURE_MSI_ENDPOINT", "http://other")], &[]);
    }

    #[test]
    fn an_authority_ends_without_a_slash_and_is_asked_by_https() {
        for (value, expected) in [
            ("https://login.microsoftonline.com/", "https://login.microsoftonline.com"),
            ("login.microsoftonline.us", "https://login.microsoftonline.us"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1"),
            (" ", ""),
        ] {
            assert_eq!(authority(value), expected);
        }
    }

    #[test]
    fn a_connection_string_says_the_same_in_one() {
        let with = |string: &str, expected: &[(&str, &str)]| {
            are(&[("AZURE_STORAGE_CONNECTION_STRING", string)], expected);
        };
        let known =
            [("AZURE_STORAGE_ACCOUNT_NAME", "mine"), ("AZURE_STORAGE_ACCOUNT_KEY", "a+/==")];
        let usual = "DefaultEndpointsProtocol=https;AccountName=mine;AccountKey=a+/==;\
                     EndpointSuffix=core.windows.net";
        with(usual, &known);
        let china = usual.replace(".windows.net", ".chinacloudapi.cn");
        let there = ("AZURE_STORAGE_ENDPOINT", "https://mine.blob.core.chinacloudapi.cn");
        with(&china, &[known[0], known[1], there]);
        with(
            "BlobEndpoint=http://127.0.0.1:1/mine; SharedAccessSignature=sv=1&sig=x%3D",
            &[
                ("AZURE_STORAGE_SAS_KEY", "sv=1&sig=x%3D"),
                ("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:1/mine"),
                known[0],
            ],
        );
        let address = "https://mine.blob.core.windows.net/";
        with(
            &format!("BlobEndpoint={address};QueueEndpoint=x;SharedAccessSignature=sv=1"),
            &[("AZURE_STORAGE_SAS_KEY", "sv=1"), ("AZURE_STORAGE_ENDPOINT", address), known[0]],
        );
        with("UseDevelopmentStorage=true", &[("AZURE_STORAGE_USE_EMULATOR", "true")]);
        with(";;AccountName;=;", &[]);
        are(
            &[
                ("AZURE_STORAGE_CONNECTION_STRING", usual),
                ("AZURE_STORAGE_ACCOUNT", "first"),
                ("AZURE_STORAGE_MASTER_KEY", "other"),
            ],
            &[("AZURE_STORAGE_ACCOUNT_NAME", "first")],
        );
    }

    proptest! {
        #[test]
        fn any_connection_string_is_read(string in "[AaNn;= cotu]{0,80}") {
            for (_, value) in parts(&string) {
                prop_assert!(!value.contains(';') && !value.is_empty());
            }
        }
    }
}
