//! Seals on whole buckets: who made a bucket, and that no bit of it was changed or read.
//!
//! One AES-128-GCM is over all messages of a bucket, which may be 46 datagrams: at 64 KiB its fixed
//! cost is spread over 8,000 messages. Encrypting costs less than a tag over plain bytes, because
//! the library's fast path is that of text, not of associated data.
//!
//! ```text
//! key    = HKDF-SHA256(secret of the run, sender, receiver, epoch)      one a direction of a pair
//! nonce  = rank and lane of the sender, number of the bucket            a number has one bucket
//! tag    : over bytes 32 to 96, over messages, and over the nonce, which bytes 0 to 16 are
//! text   : from the first message to the end, heads of other segments included
//! ```
//!
//! The heads in clear must be read before the text is whole, so their place in the text is taken by
//! the heads in clear, and the 16 bytes that lay there travel behind the head of the bucket.
//!
//! A bucket that is sent again is sent as it was, so that a number never has two texts.
//!
//! **Invariant:** a bucket with a bit changed is not opened, or was opened as it was sealed. Tested
//! by `each_flipped_bit_is_noticed`.

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

use crate::header::{HEAD_BYTES, Header, SEGMENT_HEAD_BYTES, TAG};

/// Protection of buckets on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// No protection: for a network that no other machine is on.
    Trusted,
    /// Encrypted, under a tag.
    #[default]
    Sealed,
}

/// Secret of a run, which all its machines know.
#[derive(Clone)]
pub struct Secret([u8; 32]);

/// One end of a lane: machine, and lane or thread of it.
pub type End = (u16, u16);

/// Keys of both directions between two ends.
pub(crate) struct Guard {
    protection: Protection,
    sends: LessSafeKey,
    receives: LessSafeKey,
}

impl Secret {
    /// A secret from a source of randomness, or from the session that machines have in common.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key for buckets from one end to the other in an epoch.
    fn key(&self, from: End, to: End, epoch: u32) -> LessSafeKey {
        let numbers = [from.0, from.1, to.0, to.1].map(u16::to_le_bytes);
        let epoch = epoch.to_le_bytes();
        let info = [numbers.as_flattened(), &epoch[..]];
        let salt = Salt::new(HKDF_SHA256, b"welter lanes 1");
        let extracted = salt.extract(&self.0);
        let key = extracted.expand(&info, &AES_128_GCM).map(UnboundKey::from);
        LessSafeKey::new(key.expect("a key has 16 bytes, which HKDF can give"))
    }
}

impl Guard {
    pub(crate) fn new(
        protection: Protection,
        secret: &Secret,
        here: End,
        peer: End,
        epoch: u32,
    ) -> Self {
        let (sends, receives) = (secret.key(here, peer, epoch), secret.key(peer, here, epoch));
        Self { protection, sends, receives }
    }

    /// Seals a bucket whose heads are written.
    pub(crate) fn seal(&self, image: &mut [u8]) {
        if self.protection == Protection::Trusted {
            return;
        }
        let Some(header) = Header::read(image) else { return };
        let (head, text) = image.split_at_mut(usize::from(header.first));
        let aad = Aad::from(&head[TAG.end..HEAD_BYTES]);
        let tag = self.sends.seal_in_place_separate_tag(nonce(&header), aad, text);
        let tag = tag.expect("a bucket is shorter than what may be sealed");
        head[TAG].copy_from_slice(tag.as_ref());
        for (index, displaced) in displaced(head) {
            let Some(place) = place(text, &header, index) else { break };
            displaced.copy_from_slice(place);
            header.segment_head(index as u8).write(place);
        }
    }

    /// Whether the bucket is as its sender sealed it. Its messages are decrypted.
    pub(crate) fn open(&self, image: &mut [u8]) -> bool {
        let Some(header) = Header::read(image) else { return false };
        if header.sealed != (self.protection == Protection::Sealed) {
            return false;
        }
        if !header.sealed {
            return true;
        }
        let Some((head, text)) = image.split_at_mut_checked(usize::from(header.first)) else {
            return false;
        };
        for (index, displaced) in displaced(head) {
            let Some(place) = place(text, &header, index) else { break };
            place.copy_from_slice(displaced);
        }
        let Ok(tag) = <[u8; 16]>::try_from(&head[TAG]) else { return false };
        let aad = Aad::from(&head[TAG.end..HEAD_BYTES]);
        let key = &self.receives;
        key.open_in_place_separate_tag(nonce(&header), aad, Tag::from(tag), text, 0..).is_ok()
    }

    /// Whether buckets of this end are sealed.
    pub(crate) fn seals(&self) -> bool {
        self.protection == Protection::Sealed
    }
}

/// Room for bytes that the heads of segments 1 and up displace.
fn displaced(head: &mut [u8]) -> impl Iterator<Item = (usize, &mut [u8])> {
    (1..).zip(head[HEAD_BYTES..].chunks_exact_mut(SEGMENT_HEAD_BYTES))
}

/// Where the head of a segment lies in the text.
fn place<'a>(text: &'a mut [u8], header: &Header, index: usize) -> Option<&'a mut [u8]> {
    let at = index * header.segment as usize - usize::from(header.first);
    text.get_mut(at..at + SEGMENT_HEAD_BYTES)
}

/// Acknowledgements alone have numbers of their own, with the top bit set.
fn nonce(header: &Header) -> Nonce {
    let number = header.number | u64::from(header.bare) << 63;
    let mut nonce = [0; 12];
    nonce[..2].copy_from_slice(&header.rank.to_le_bytes());
    nonce[2..4].copy_from_slice(&header.lane.to_le_bytes());
    nonce[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::{Arrived, Bucket, Layout};

    fn sealed(segments: usize) -> (Guard, Bucket) {
        let secret = Secret::new([7; 32]);
        let sender = Guard::new(Protection::Sealed, &secret, (0, 1), (2, 3), 9);
        let receiver = Guard::new(Protection::Sealed, &secret, (2, 3), (0, 1), 9);
        let mut bucket = Bucket::new(Layout { segment_bytes: 152, segments });
        bucket.header = Header { lane: 1, number: 5, epoch: 9, width: 8, ..Header::default() };
        bucket.header.sealed = sender.seals();
        let count = bucket.layout().messages(8) - 2;
        (0..count).for_each(|_| assert!(bucket.push(&[3; 8])));
        bucket.seal_heads();
        sender.seal(bucket.image_mut());
        (receiver, bucket)
    }

    #[test]
    fn each_flipped_bit_is_noticed() {
        for segments in 1..4 {
            let (receiver, bucket) = sealed(segments);
            let image = bucket.image().to_vec();
            let mut whole = image.clone();
            assert!(receiver.open(&mut whole));
            let arrived = Arrived::open(&whole).unwrap();
            assert!(arrived.messages::<8>().all(|message| *message == [3; 8]));
            assert!(!image.windows(8).any(|bytes| bytes == [3; 8]));
            let first = usize::from(arrived.header().first);
            for bit in 0..8 * image.len() {
                let mut changed = image.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let is_opened = receiver.open(&mut changed) && Arrived::open(&changed).is_some();
                // Heads of other segments in clear tell where these belong, and nothing else.
                let in_head = bit / 8 >= 152 && bit / 8 % 152 < SEGMENT_HEAD_BYTES;
                assert_eq!(is_opened, in_head, "bit {bit}");
                assert!(!is_opened || changed[first..] == whole[first..], "bit {bit}");
            }
        }
    }

    #[test]
    fn buckets_of_others_are_not_opened() {
        let (receiver, bucket) = sealed(2);
        let mut image = bucket.image().to_vec();
        let others = [
            Guard::new(Protection::Sealed, &Secret::new([8; 32]), (2, 3), (0, 1), 9),
            Guard::new(Protection::Sealed, &Secret::new([7; 32]), (2, 3), (0, 1), 10),
            Guard::new(Protection::Sealed, &Secret::new([7; 32]), (2, 4), (0, 1), 9),
            Guard::new(Protection::Sealed, &Secret::new([7; 32]), (0, 1), (2, 3), 9),
            Guard::new(Protection::Trusted, &Secret::new([7; 32]), (2, 3), (0, 1), 9),
        ];
        assert!(others.iter().all(|other| !other.open(&mut image.clone())));
        assert!(receiver.open(&mut image));
    }
}
