//! Signatures of requests by the key of an account of Azure ("Authorize with Shared Key"), verified
//! as its blob storage does.
//!
//! ```text
//! Authorization: SharedKey ACCOUNT:SIGNATURE
//!
//! text that is signed   method, eleven usual headers, those that begin with x-ms-, the account
//!                       and the path as it was sent, the parameters
//! ```

use std::fmt::Write as _;

use ring::hmac;

use super::message::Request;
use super::sums::base64;

/// Headers whose values are signed, in their order.
const HEADERS: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];

/// Whether a request was signed by the key of an account.
pub(super) fn is_signed(request: &Request, account: &str, key: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let signature = hmac::sign(&key, text(request, account).as_bytes());
    let expected = format!("SharedKey {account}:{}", base64(signature.as_ref()));
    request.header("authorization") == Some(expected)
}

/// The text that is signed.
fn text(request: &Request, account: &str) -> String {
    let mut text = format!("{}\n", request.method);
    for name in HEADERS {
        let value = request.header(name).unwrap_or_default();
        // No bytes are none at all.
        let is_nothing = name == "content-length" && value == "0";
        let _ = writeln!(text, "{}", if is_nothing { "" } else { value.as_str() });
    }
    let mut own: Vec<&(String, String)> =
        request.headers.iter().filter(|(name, _)| name.starts_with("x-ms-")).collect();
    own.sort();
    for (name, value) in own {
        let _ = writeln!(text, "{name}:{value}");
    }
    let path = request.target.split('?').next().unwrap_or_default();
    let _ = write!(text, "/{account}{path}");
    for (name, value) in &request.query {
        let _ = write!(text, "\n{}:{value}", name.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8] = b"very-secret-very-secret-very-sec";
    const LIST: &str = "bs/5r8YO0NAiUMTOegK3TtF8VCxSMw4rr8aDMIThCs0=";
    const PUT: &str = "+Cj0+JsbhOVjRmnztKtzFWVUyn/+FADFvJG8FGu1X88=";

    fn request(text: &str) -> Request {
        Request::read(&mut text.replace('\n', "\r\n").as_bytes()).unwrap().unwrap()
    }

    /// Signatures that a program of other authors made of these texts by the same key: `hmac` and
    /// `base64` of Python.
    #[test]
    fn signatures_of_another_program_are_verified() {
        let list = "GET /me/box?restype=container&comp=list&prefix=a%2Fb HTTP/1.1\n\
                    x-ms-version: 2023-11-03\nDate: Sun, 29 Nov 2026 12:00:00 GMT\n\
                    Content-Length: 0\nAuthorization: SharedKey me:LIST\n\n";
        let put = "PUT /me/box/a%20b HTTP/1.1\nx-ms-blob-type: BlockBlob\n\
                   x-ms-version: 2023-11-03\nDate: Sun, 29 Nov 2026 12:00:00 GMT\n\
                   Content-Type: text/plain\nIf-None-Match: *\nContent-Length: 3\n\
                   Authorization: SharedKey me:PUT\n\nabc";
        for (text, name, signature) in [(list, "LIST", LIST), (put, "PUT", PUT)] {
            let text = text.replace(&format!("me:{name}"), &format!("me:{signature}"));
            assert!(is_signed(&request(&text), "me", KEY), "{text}");
            for (from, to) in [("2023-11-03", "2023-11-04"), ("/me/box", "/me/bow"), ("12:", "13:")]
            {
                assert!(!is_signed(&request(&text.replacen(from, to, 1)), "me", KEY), "{from}");
            }
            assert!(!is_signed(&request(&text), "me", b"other"));
            assert!(!is_signed(&request(&text), "you", KEY));
        }
    }
}
