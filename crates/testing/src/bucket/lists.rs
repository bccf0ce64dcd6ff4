//! Lists of what a bucket holds, as S3 answers them.

use std::fmt::Write as _;

use super::State;
use super::message::{Answer, Request, text_of_xml};

/// Names in one answer to a list that states no number: few, so that lists have several.
const LIST_MAX: usize = 3;
/// When all objects were written, as lists say where a test says nothing else: later than now.
const LISTED: &str = "2126-11-26T12:00:00.000Z";

impl State {
    /// Lists keys of a bucket, a few at a time. Keys with the delimiter behind the prefix are one
    /// name, up to there.
    pub(super) fn list(&self, request: &Request) -> Answer {
        let parameter = |name: &str| request.query.get(name).map_or("", |value| value);
        let bucket = format!("{}/", request.path.trim_end_matches('/'));
        let (prefix, delimiter) = (parameter("prefix"), parameter("delimiter"));
        let behind = match parameter("continuation-token") {
            "" => parameter("start-after"),
            token => token,
        };
        let most = parameter("max-keys").parse().unwrap_or(LIST_MAX);
        let written = self.listed.as_deref().unwrap_or(LISTED);
        let (mut text, mut count, mut last) = ("<ListBucketResult>".to_owned(), 0, "");
        for (path, object) in &self.objects {
            let Some(key) = path.strip_prefix(&bucket) else { continue };
            let Some(rest) = key.strip_prefix(prefix) else { continue };
            let folder = rest.find(delimiter).filter(|_| !delimiter.is_empty());
            let name = folder.map_or(key, |at| &key[..prefix.len() + at + delimiter.len()]);
            if name <= behind || name == last {
                continue;
            }
            if count == most {
                let token = text_of_xml(last);
                let _ = write!(text, "<NextContinuationToken>{token}</NextContinuationToken>");
                break;
            }
            (count, last) = (count + 1, name);
            let name = text_of_xml(name);
            let _ = match folder {
                Some(_) => {
                    write!(text, "<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>")
                }
                None => write!(
                    text,
                    "<Contents><Key>{name}</Key><Size>{}</Size>\
                     <LastModified>{written}</LastModified><ETag>{}</ETag></Contents>",
                    object.bytes.len(),
                    text_of_xml(&object.tag),
                ),
            };
        }
        Answer::text(text + "</ListBucketResult>")
    }
}
