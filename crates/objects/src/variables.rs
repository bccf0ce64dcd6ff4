//! Variables whose values no request can be made with, found before one is made.
//!
//! `object_store` puts some values into headers and addresses as they are, and panics where they do
//! not fit there: a token that ends with its line, an address without `http://`.
//!
//! Invariant: a text of this module holds names of variables, and no value. Tested by
//! `values_that_fit_into_no_request_are_named_and_not_shown`.

use http::Uri;

/// Variables with the address of a server.
const ADDRESSES: [&str; 12] = [
    "AWS_ENDPOINT",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_METADATA_ENDPOINT",
    "AZURE_AUTHORITY_HOST",
    "AZURE_ENDPOINT",
    "AZURE_IDENTITY_ENDPOINT",
    "AZURE_MSI_ENDPOINT",
    "AZURE_STORAGE_AUTHORITY_HOST",
    "AZURE_STORAGE_ENDPOINT",
    "GOOGLE_BASE_URL",
];
/// Variables with a word of a header.
const WORDS: [&str; 7] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_SESSION_TOKEN",
    "AWS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "GOOGLE_BEARER_TOKEN",
    "IDENTITY_HEADER",
];
/// Variables with a part of an address.
const PARTS: [&str; 7] = [
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "AZURE_AUTHORITY_ID",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_AUTHORITY_ID",
    "AZURE_STORAGE_TENANT_ID",
    "AZURE_TENANT_ID",
];

/// The first variable of those that begin so which no request can be made with, in words.
pub(crate) fn unusable(variables: &[(String, String)], beginnings: &[&str]) -> Option<String> {
    let is_of_them = |(name, value): &&(String, String)| {
        !value.is_empty() && beginnings.iter().any(|beginning| name.starts_with(beginning))
    };
    variables.iter().filter(is_of_them).find_map(|(name, value)| {
        let name = name.as_str();
        if ADDRESSES.contains(&name) && !is_address(value) {
            return Some(format!("{name} holds no address of a server, such as https://HOST"));
        }
        let is_unfit =
            WORDS.contains(&name) && !is_word(value) || PARTS.contains(&name) && !is_part(value);
        is_unfit.then(|| {
            format!("{name} holds a character that no request can bear, as the end of a line is")
        })
    })
}

/// Whether this can be a word of a header: printable ASCII without blanks.
pub(crate) fn is_word(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_part(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether requests can be sent there. Both kinds of addresses are made of it.
fn is_address(value: &str) -> bool {
    let is_server = |uri: Uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
    };
    value.parse::<Uri>().is_ok_and(is_server) && url::Url::parse(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, value: &str, beginnings: &[&str]) -> Option<String> {
        unusable(&[("AWS_OTHER".into(), "\n".into()), (name.into(), value.into())], beginnings)
    }

    #[test]
    fn values_that_fit_into_no_request_are_named_and_not_shown() {
        for (name, value) in [
            ("AWS_SESSION_TOKEN", "sec/ret\n"),
            ("AWS_ACCESS_KEY_ID", " sec"),
            ("AWS_REGION", "<sec>"),
            ("AZURE_STORAGE_TOKEN", "sec\u{e9}"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "sec/ret"),
            ("GOOGLE_BEARER_TOKEN", "sec ret"),
            ("IDENTITY_HEADER", "sec\r"),
            ("AWS_ENDPOINT_URL", "localhost:9000/sec"),
            ("AWS_ENDPOINT_URL", "http://sec ret/"),
            ("AWS_ENDPOINT_URL", "http://sec:99999/"),
            ("AZURE_STORAGE_ENDPOINT", "ftp://sec/"),
            ("GOOGLE_BASE_URL", "/sec"),
        ] {
            let beginnings = [&name[..4]];
            let text = found(name, value, &beginnings).unwrap();
            assert!(text.starts_with(&format!("{name} holds ")), "{value}: {text}");
            assert!(!text.contains("sec"), "{text}");
            // A store of another cloud does not look at it.
            assert_eq!(found(name, value, &["OTHER_"]), None, "{name}");
        }
    }

    #[test]
    fn usual_values_are_taken() {
        for (name, value) in [
            ("AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2Vj//+=="),
            ("AWS_SESSION_TOKEN", ""),
            ("AWS_SECRET_ACCESS_KEY", "any thing\n"),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/path"),
            ("AWS_METADATA_ENDPOINT", "http://[fd00:ec2::254]"),
            ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"),
            ("AZURE_TENANT_ID", "0c0c-example.onmicrosoft.com"),
            ("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com"),
            ("GOOGLE_SERVICE_ACCOUNT_KEY", "{\n}\n"),
            ("GOOGLE_BEARER_TOKEN", "ya29.a-b_c"),
        ] {
            assert_eq!(found(name, value, &[&name[..4]]), None, "{name}={value}");
        }
    }
}
