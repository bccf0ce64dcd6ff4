//! Signatures of requests by version 4 of Amazon's scheme, verified as S3 does.
//!
//! ```text
//! Authorization: AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/s3/aws4_request,
//!                SignedHeaders=NAME;NAME;..., Signature=HEX
//!
//! canonical request   method, path, query, headers, their names, hash of the body
//! text that is signed algorithm, time, scope, hash of the canonical request
//! key of a day        HMAC of DATE, REGION, s3 and aws4_request, one by the other, from the secret
//! ```
//! The header `host`, and each whose name begins with `x-amz-`, must be among those that are
//! signed. The hash of the body must be that of the body, unless it says `UNSIGNED-PAYLOAD`. Bodies
//! in signed chunks are refused: `object_store` sends none.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use ring::{digest, hmac};

use super::message::{Request, decoded};
use super::time;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// The region that the store says it is in.
pub(super) const REGION: &str = "nowhere-1";
/// Time that clocks may be apart.
const SKEW: Duration = Duration::from_mins(15);

/// A key that may sign.
pub(super) struct Key<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
    pub(super) region: &'a str,
}

/// Reason why a request is refused: a status, and the word of S3 for it.
pub(super) type Refusal = (u16, &'static str);

/// Words of an `Authorization` header.
struct Signature<'a> {
    id: &'a str,
    date: &'a str,
    region: &'a str,
    names: Vec<&'a str>,
    text: &'a str,
}

impl Key<'_> {
    /// Verifies that a request was signed by this key, at about this time.
    pub(super) fn verify(&self, request: &Request, now: SystemTime) -> Result<(), Refusal> {
        const MALFORMED: Refusal = (400, "AuthorizationHeaderMalformed");
        let header = request.header("authorization").ok_or((403, "AccessDenied"))?;
        let signature = Signature::of(&header).ok_or(MALFORMED)?;
        if signature.id != self.id {
            return Err((403, "InvalidAccessKeyId"));
        }
        let stamp = request.header("x-amz-date").ok_or((403, "AccessDenied"))?;
        if signature.region != self.region || !stamp.starts_with(signature.date) {
            return Err(MALFORMED);
        }
        let signed_at = time::of_signature(&stamp).ok_or((403, "AccessDenied"))?;
        let apart = now.duration_since(signed_at).unwrap_or_else(|ahead| ahead.duration());
        if apart > SKEW {
            return Err((403, "RequestTimeTooSkewed"));
        }
        let must_be_signed = |name: &str| name == "host" || name.starts_with("x-amz-");
        let mut names = request.headers.iter().map(|(name, _)| &**name);
        if !signature.names.contains(&"host")
            || names.any(|name| must_be_signed(name) && !signature.names.contains(&name))
        {
            return Err((403, "AccessDenied"));
        }
        let body = request.header("x-amz-content-sha256").ok_or((400, "InvalidRequest"))?;
        let scope = format!("{}/{}/s3/aws4_request", signature.date, signature.region);
        let canonical = canonical(request, &signature.names, &body);
        let text = format!(
            "{ALGORITHM}\n{stamp}\n{scope}\n{}",
            hexadecimal(&sha256(canonical.as_bytes()))
        );
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for part in scope.split('/') {
            key = signed(&key, part);
        }
        if hexadecimal(&signed(&key, &text)) != signature.text {
            return Err((403, "SignatureDoesNotMatch"));
        }
        match &*body {
            "UNSIGNED-PAYLOAD" => Ok(()),
            chunks if chunks.starts_with("STREAMING-") => Err((501, "NotImplemented")),
            hash if *hash == hexadecimal(&sha256(&request.body)) => Ok(()),
            _ => Err((400, "XAmzContentSHA256Mismatch")),
        }
    }
}

impl<'a> Signature<'a> {
    fn of(header: &'a str) -> Option<Self> {
        let words = header.strip_prefix(ALGORITHM)?;
        let word = |name: &str| {
            words.split(',').find_map(|word| word.trim().strip_prefix(name)?.strip_prefix('='))
        };
        let mut scope = word("Credential")?.split('/');
        let mut next = || scope.next();
        let (id, date, region) = (next()?, next()?, next()?);
        if (next(), next(), next()) != (Some("s3"), Some("aws4_request"), None) {
            return None;
        }
        let names = word("SignedHeaders")?.split(';').collect();
        Some(Self { id, date, region, names, text: word("Signature")? })
    }
}

/// The form of a request that is hashed and signed.
fn canonical(request: &Request, names: &[&str], body: &str) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let part = |text: &str| encoded(&decoded(&text.replace('+', " ")), false);
        (part(name), part(value))
    };
    let mut query: Vec<_> = query.split('&').filter(|it| !it.is_empty()).map(pair).collect();
    query.sort();
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let line = |name: &&str| format!("{name}:{}\n", request.header(name).unwrap_or_default());
    let headers: String = names.iter().map(line).collect();
    [
        &*request.method,
        &encoded(&decoded(path), true),
        &query.join("&"),
        &headers,
        &names.join(";"),
        body,
    ]
    .join("\n")
}

/// Text in percent signs but for what needs none in any part of a URL, and `/` in a path.
fn encoded(text: &str, is_path: bool) -> String {
    let plain = |byte: u8| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_path && byte == b'/'
    };
    let one = |byte: u8| {
        if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(one).collect()
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

fn signed(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key of the examples in Amazon's documentation of signatures ("Transferring payload in a
    /// single chunk").
    const PUBLISHED: Key = Key {
        id: "AKIAIOSFODNN7EXAMPLE",
        secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        region: "us-east-1",
    };
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    /// A request of the examples: first line, headers but those that all have, body and signature.
    type Example =
        (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

    const EXAMPLES: [Example; 4] = [
        (
            "GET /test.txt",
            &[("range", "bytes=0-9")],
            "",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT /test%24file.text",
            &[
                ("date", "Fri, 24 May 2013 00:00:00 GMT"),
                ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
            ],
            "Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET /?lifecycle",
            &[],
            "",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET /?prefix=J&max-keys=2",
            &[],
            "",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ];

    fn request((first, headers, body, signature): Example) -> Request {
        let hash = hexadecimal(&sha256(body.as_bytes()));
        let mut headers = headers.to_vec();
        headers.push(("host", "examplebucket.s3.amazonaws.com"));
        headers.push(("x-amz-content-sha256", &hash));
        headers.push(("x-amz-date", "20130524T000000Z"));
        headers.sort_unstable();
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let signed = format!(
            "{ALGORITHM} Credential={}/20130524/us-east-1/s3/aws4_request,SignedHeaders={},\
             Signature={signature}",
            PUBLISHED.id,
            names.join(";"),
        );
        let mut text = format!("{first} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers.into_iter().chain([("authorization", &*signed)]) {
            write!(text, "{name}: {value}\r\n").unwrap();
        }
        write!(text, "\r\n{body}").unwrap();
        Request::read(&mut text.as_bytes()).unwrap().unwrap()
    }

    fn now() -> SystemTime {
        time::of_signature("20130524T000000Z").unwrap()
    }

    #[test]
    fn published_signatures_are_verified() {
        assert_eq!(hexadecimal(&sha256(b"")), EMPTY);
        for example in EXAMPLES {
            assert_eq!(PUBLISHED.verify(&request(example), now()), Ok(()), "{example:?}");
        }
    }

    type Alter = fn(&mut Request);

    #[test]
    fn a_request_that_was_altered_is_refused() {
        let refusal = |alter: &dyn Fn(&mut Request)| {
            let mut altered = request(EXAMPLES[1]);
            alter(&mut altered);
            PUBLISHED.verify(&altered, now()).unwrap_err().1
        };
        let mut altered = 0;
        for place in 0..request(EXAMPLES[1]).headers.len() {
            let name = request(EXAMPLES[1]).headers[place].0.clone();
            if name == "content-length" || name == "authorization" {
                continue;
            }
            let code = refusal(&|it| it.headers[place].1 += "0");
            // A time that is none has no signature.
            let expected = ["SignatureDoesNotMatch", "AccessDenied"];
            assert!(code == expected[usize::from(name == "x-amz-date")], "{name}: {code}");
            refusal(&|it| drop(it.headers.remove(place)));
            altered += 1;
        }
        assert_eq!(altered, 5);
        let acl = || ("x-amz-acl".to_owned(), "public-read".to_owned());
        let cases: [(&str, Alter); 5] = [
            ("SignatureDoesNotMatch", |it| it.method = "POST".into()),
            ("SignatureDoesNotMatch", |it| it.target += "?acl"),
            ("SignatureDoesNotMatch", |it| it.target = "/test%25file.text".into()),
            ("XAmzContentSHA256Mismatch", |it| it.body[0] ^= 1),
            ("AccessDenied", |it| it.headers.retain(|(name, _)| name != "authorization")),
        ];
        assert_eq!(refusal(&|it| it.headers.push(acl())), "AccessDenied");
        for (code, alter) in cases {
            assert_eq!(refusal(&alter), code);
        }
    }

    #[test]
    fn other_keys_regions_and_times_are_refused() {
        let request = request(EXAMPLES[0]);
        let refusal = |key: Key, now: SystemTime| key.verify(&request, now).unwrap_err();
        let wrong = Key { secret: "wrong", ..PUBLISHED };
        assert_eq!(refusal(wrong, now()), (403, "SignatureDoesNotMatch"));
        assert_eq!(refusal(Key { id: "OTHER", ..PUBLISHED }, now()), (403, "InvalidAccessKeyId"));
        let elsewhere = Key { region: "eu-west-1", ..PUBLISHED };
        assert_eq!(refusal(elsewhere, now()), (400, "AuthorizationHeaderMalformed"));
        let almost = Duration::from_mins(14);
        for time in [now() + almost, now() - almost] {
            assert_eq!(PUBLISHED.verify(&request, time), Ok(()));
        }
        for time in [now() + 2 * SKEW, now() - 2 * SKEW] {
            assert_eq!(refusal(PUBLISHED, time), (403, "RequestTimeTooSkewed"));
        }
    }
}
