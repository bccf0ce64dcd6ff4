//! Checksums of whole objects, as stores state them in headers.

use crc_fast::{CrcAlgorithm, checksum};

use super::message::{Answer, Request};

/// Checksum that the server states of each object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatedSum {
    /// CRC-64/NVME, to a request for a head that asks for it, as of what today's clients put.
    #[default]
    Nvme,
    /// CRC-32C likewise.
    Castagnoli,
    /// CRC-32 likewise, and of which bytes it is the server does not say.
    Plain,
    /// CRC-32C of the checksums of parts.
    Composite,
    /// CRC-32C in all answers, as of Google.
    Google,
    /// No sum: the server does not know the header.
    None,
    /// No sum: such a request is refused by this status.
    Refused(u16),
}

impl StatedSum {
    /// Adds headers to an answer with an object of these bytes, or refuses.
    pub(super) fn state(self, request: &Request, bytes: &[u8], answer: Answer) -> Answer {
        let mode = request.header("x-amz-checksum-mode");
        let asks = request.method == "HEAD" && mode.as_deref() == Some("ENABLED");
        let of = |algorithm| checksum(algorithm, bytes).to_be_bytes();
        let castagnoli = || base64(&of(CrcAlgorithm::Crc32Iscsi)[4..]);
        let type_of = |text: &str| ("x-amz-checksum-type", text.to_owned());
        let mut answer = answer;
        let stated = match self {
            Self::Google => vec![("x-goog-hash", format!("crc32c={},md5=AAAA", castagnoli()))],
            _ if !asks => Vec::new(),
            Self::Nvme => {
                let sum = base64(&of(CrcAlgorithm::Crc64Nvme));
                vec![("x-amz-checksum-crc64nvme", sum), type_of("FULL_OBJECT")]
            }
            Self::Castagnoli => {
                vec![("x-amz-checksum-crc32c", castagnoli()), type_of("FULL_OBJECT")]
            }
            Self::Plain => {
                vec![("x-amz-checksum-crc32", base64(&of(CrcAlgorithm::Crc32IsoHdlc)[4..]))]
            }
            Self::Composite => {
                let sum = format!("{}-2", base64(&[1, 2, 3, 4]));
                vec![("x-amz-checksum-crc32c", sum), type_of("COMPOSITE")]
            }
            Self::None => Vec::new(),
            Self::Refused(status) => return Answer::error(status, "NotImplemented"),
        };
        answer.headers.extend(stated);
        answer
    }
}

/// Bytes as text of base 64.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let word = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4 {
            let digit = (word >> (18 - 6 * place)) & 63;
            text.push(if place > chunk.len() { '=' } else { DIGITS[digit as usize].into() });
        }
    }
    text
}
