//! A service account of Google, which signs its tokens itself, and the credentials of a user.
//!
//! ```text
//! token   HEADER.CLAIMS.SIGNATURE, each in base 64 of URLs without `=`
//! header  {"alg": "RS256", "kid": number of the key, ...}
//! claims  {"iss", "sub": name of the account, "scope", "iat", "exp": seconds since 1970}
//! ```

use std::time::{SystemTime, UNIX_EPOCH};

use ring::signature::{self, KeyPair, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

/// Key of the account, made by `openssl genpkey` for it alone.
const KEY: &str = include_str!("certificates/account.key");
const KEY_ID: &str = "0123456789abcdef";
const NAME: &str = "reader@tests.iam.gserviceaccount.com";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Seconds that a token lasts at most.
const LIFE_SECONDS: u64 = 3600;
/// Seconds that clocks may be apart.
const SKEW_SECONDS: u64 = 600;

/// The file of the account, as Google gives it out.
pub(super) fn account_file() -> String {
    json!({
        "type": "service_account",
        "project_id": "tests",
        "private_key_id": KEY_ID,
        "private_key": KEY,
        "client_email": NAME,
        "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    })
    .to_string()
}

/// Whether the account signed a token for the store, which lasts still.
pub(super) fn is_of_account(token: &str) -> bool {
    claims(token).is_some_and(|claims| is_fit(&claims, SystemTime::now()))
}

/// The claims of a token that the account signed.
fn claims(token: &str) -> Option<Value> {
    let (text, signature) = token.rsplit_once('.')?;
    let (header, claims) = text.split_once('.')?;
    let key = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).ok()?;
    let pair = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok()?;
    let public: &[u8] = pair.public_key().as_ref();
    let public = UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, public);
    public.verify(text.as_bytes(), &bytes(signature)?).ok()?;
    let header: Value = serde_json::from_slice(&bytes(header)?).ok()?;
    let is_known = header["alg"] == "RS256" && header["kid"] == KEY_ID;
    serde_json::from_slice(&bytes(claims)?).ok().filter(|_| is_known)
}

/// Whether claims are those of the account, for the store and for this time.
fn is_fit(claims: &Value, now: SystemTime) -> bool {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (Some(begin), Some(end)) = (claims["iat"].as_u64(), claims["exp"].as_u64()) else {
        return false;
    };
    let is_now = begin <= now + SKEW_SECONDS && now < end && end <= begin + LIFE_SECONDS;
    is_now && claims["iss"] == NAME && claims["sub"] == NAME && claims["scope"] == SCOPE
}

/// The bytes of a text in base 64 of URLs.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    for digits in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for place in 0..4 {
            let next = digits.get(place).map_or(Some(0), |byte| digit(*byte))?;
            word = (word << 6) | u32::from(next);
        }
        // Four digits are three bytes, three are two, and two are one.
        bytes.extend_from_slice(&word.to_be_bytes()[1..digits.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A token that `openssl dgst -sha256 -sign` signed on 29 November 2026 at noon.
    const SIGNED: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6IjAxMjM0NTY3ODlhYmNkZWYifQ.e\
        yJpc3MiOiJyZWFkZXJAdGVzdHMuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20iLCJzdWIiOiJyZ\
        WFkZXJAdGVzdHMuaWFtLmdzZXJ2aWNlYWNjb3VudC5jb20iLCJzY29wZSI6Imh0dHBzOi8vd\
        3d3Lmdvb2dsZWFwaXMuY29tL2F1dGgvY2xvdWQtcGxhdGZvcm0iLCJleHAiOjE3OTU5NTcyM\
        DAsImlhdCI6MTc5NTk1MzYwMH0.iNVNpsF8w_VixCSTFoHoFKoOCsAbIjvg9Fg8uLMlb6CU5\
        163djq6xk13Q6UvFWdNcWDdWfetsSQZLJkh1fRP0mr23pT2e19vmZk4acofNetSInDGzMWWv\
        yASBh75ItnDviI8yQmDzrK9MNl7RL708fjyrOJ6vpVCV3q1zWt5IceIKa5iilsSqbh6qjF1M\
        PihqoE0dpMhG0r2j5QFQN1rvjZz2tLeOtbMB9PNPtkeVLAdC0l_doWrwZ3zrmUMlkW6KZOgq\
        RFoBPGIXz4WMPmRg7PK6foqh6AGr9IZ8ilAOUuPkLux7ZqrMkXn6pcmk9ZThTZ8uQi33_VgA\
        XuMRoA35g";

    #[test]
    fn tokens_of_another_program_are_verified() {
        let found = claims(SIGNED).unwrap();
        let noon = UNIX_EPOCH + Duration::from_hours(498_876);
        assert!(is_fit(&found, noon) && is_fit(&found, noon + Duration::from_mins(59)));
        assert!(!is_fit(&found, noon + Duration::from_hours(1)), "it has expired");
        assert!(!is_fit(&found, noon - Duration::from_hours(1)), "it is not yet");
        for (name, other) in [("iss", json!("you")), ("scope", json!("all")), ("exp", json!(null))]
        {
            let mut claims = found.clone();
            claims[name] = other;
            assert!(!is_fit(&claims, noon), "{name}");
        }
    }

    #[test]
    fn tokens_that_were_altered_are_refused() {
        let (text, signature) = SIGNED.rsplit_once('.').unwrap();
        let (header, body) = text.split_once('.').unwrap();
        for other in [
            format!("{header}.{}.{signature}", body.replacen('Z', "Y", 1)),
            format!("{body}.{header}.{signature}"),
            format!("{text}.{}", signature.replacen(char::is_alphabetic, "0", 1)),
            text.to_owned(),
            String::new(),
        ] {
            assert!(claims(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn digits_are_bytes() {
        for (text, expected) in
            [("", &b""[..]), ("TQ", &b"M"[..]), ("TWE", &b"Ma"[..]), ("-_8A", &b"\xfb\xff\0"[..])]
        {
            assert_eq!(bytes(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(bytes("TQ=="), None);
    }
}
