//! Uploads in parts, those in blocks of Azure, and its batches.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::message::{Answer, Request, decoded};
use super::{OpenUpload, State};

/// Text between the parts of an answer to a batch.
const BOUNDARY: &str = "next";

impl State {
    /// Begins an upload in parts.
    pub(super) fn begin(&mut self, request: &Request) -> Answer {
        self.versions += 1;
        let id = format!("upload-{}", self.versions);
        let (path, attributes) = (request.path.clone(), request.attributes());
        self.uploads.insert(id.clone(), OpenUpload { path, attributes, parts: BTreeMap::new() });
        Answer::text(format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
             </InitiateMultipartUploadResult>"
        ))
    }

    /// Takes a part of an upload, finishes it, or gives it up.
    pub(super) fn upload(&mut self, request: &Request) -> Answer {
        let id = &request.query["uploadId"];
        let is_there = self.objects.contains_key(&request.path);
        let source = self.source(request).map(|found| found.map(|it| it.bytes.to_vec()));
        let Some(upload) = self.uploads.get_mut(id).filter(|it| it.path == request.path) else {
            return Answer::error(404, "NoSuchUpload");
        };
        match &*request.method {
            "PUT" => {
                let number = request.query.get("partNumber").and_then(|it| it.parse().ok());
                let (number, copied) = (number.unwrap_or(0), source.is_some());
                match source.unwrap_or_else(|| Ok(request.body.clone())) {
                    Ok(bytes) => upload.parts.insert(number, bytes),
                    Err((status, code)) => return Answer::error(status, code),
                };
                if copied {
                    return Answer::text("<CopyPartResult><ETag>part</ETag></CopyPartResult>");
                }
                let tag = ("ETag", "\"part\"".to_owned());
                Answer { status: 200, headers: vec![tag], ..Answer::default() }
            }
            "POST" if request.if_none && is_there => Answer::error(412, "PreconditionFailed"),
            "POST" => {
                let body = String::from_utf8_lossy(&request.body);
                let named = elements(&body, "PartNumber");
                let parts = named.map(|number| upload.parts.get(&number.parse().ok()?));
                let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
                    return Answer::error(400, "InvalidPart");
                };
                let whole = parts.into_iter().flatten().copied().collect();
                let attributes = upload.attributes.clone();
                self.uploads.remove(id);
                let Answer { headers, .. } = self.put(&request.path, whole, attributes);
                let answer = Answer::text(
                    "<CompleteMultipartUploadResult><ETag>whole</ETag>\
                     </CompleteMultipartUploadResult>",
                );
                Answer { headers, ..answer }
            }
            _ => {
                self.uploads.remove(id);
                Answer { status: 204, ..Answer::default() }
            }
        }
    }

    /// Takes a block as Azure does, or makes an object of some.
    pub(super) fn block(&mut self, request: &Request) -> Answer {
        let path = request.path.clone();
        if let Some(name) = request.query.get("blockid") {
            self.blocks.insert((path, name.clone()), request.body.clone());
            return Answer { status: 201, ..Answer::default() };
        }
        let body = String::from_utf8_lossy(&request.body);
        let named = elements(&body, "Uncommitted");
        let blocks = named.map(|name| self.blocks.get(&(path.clone(), name.to_owned())));
        let Some(blocks) = blocks.collect::<Option<Vec<_>>>() else {
            return Answer::error(400, "InvalidBlockList");
        };
        let whole = blocks.into_iter().flatten().copied().collect();
        self.blocks.retain(|(other, _), _| *other != path);
        self.put(&path, whole, request.attributes())
    }

    /// Removes the objects of a batch, of which each part is a request of Azure.
    pub(super) fn batch(&mut self, request: &Request) -> Answer {
        let (body, mut number, mut text) =
            (String::from_utf8_lossy(&request.body), 0, String::new());
        for line in body.lines().filter_map(|line| line.strip_prefix("DELETE /")) {
            let path = decoded(line.split(' ').next().unwrap_or_default());
            let status = if self.objects.remove(&path).is_some() { 202 } else { 404 };
            let _ = write!(
                text,
                "--{BOUNDARY}\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n\
                 HTTP/1.1 {status} -\r\n\r\n\r\n"
            );
            number += 1;
        }
        let kind = format!("multipart/mixed; boundary={BOUNDARY}");
        let headers = vec![("Content-Type", kind)];
        Answer { status: 202, headers, ..Answer::text(format!("{text}--{BOUNDARY}--\r\n")) }
    }
}

/// Texts of the elements of a name.
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once(&begin)?;
        let (inner, behind) = behind.split_once(&end)?;
        rest = behind;
        Some(inner)
    })
}
