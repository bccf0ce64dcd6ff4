//! Tags over whole buckets: who made a bucket, and that no bit of it was changed.
//!
//! One tag of AES-256-GCM is over all of a bucket, which may be 46 datagrams: at 64 KiB its fixed
//! cost is spread over 8,000 messages. Messages are authenticated, and encrypted if asked for.
//!
//! ```text
//! key    = HKDF-SHA256(secret of the run, sender, receiver, epoch)      one a direction of a pair
//! nonce  = rank and lane of the sender, number of the bucket            a number has one bucket
//! tag    : over bytes 32 to the end, and over the nonce, which bytes 0 to 16 are made of
//! ```
//!
//! A bucket that is sent again is sent as it was, so that a number never has two texts.
//!
//! **Invariant:** a bucket with a bit changed is not opened. Tested by
//! `each_flipped_bit_is_noticed`.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

use crate::header::{HEAD_BYTES, Header, TAG};

/// How buckets are protected on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// Not at all: for a network that nobody else is on.
    Trusted,
    /// By a tag.
    #[default]
    Tagged,
    /// By a tag, and encrypted.
    Encrypted,
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
        let key = extracted.expand(&info, &AES_256_GCM).map(UnboundKey::from);
        LessSafeKey::new(key.expect("a key has 32 bytes, which HKDF can give"))
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
        let nonce = nonce(&header);
        let tag = if self.protection == Protection::Encrypted {
            let (head, messages) = image.split_at_mut(HEAD_BYTES);
            let aad = Aad::from(&head[TAG.end..]);
            self.sends.seal_in_place_separate_tag(nonce, aad, messages)
        } else {
            self.sends.seal_in_place_separate_tag(nonce, Aad::from(&image[TAG.end..]), &mut [])
        };
        let tag = tag.expect("a bucket is shorter than what may be sealed");
        image[TAG].copy_from_slice(tag.as_ref());
    }

    /// Whether the bucket is as its sender sealed it. Its messages are decrypted.
    pub(crate) fn open(&self, image: &mut [u8]) -> bool {
        if self.protection == Protection::Trusted {
            return true;
        }
        let Some(header) = Header::read(image) else { return false };
        if header.encrypted != (self.protection == Protection::Encrypted) {
            return false;
        }
        let (nonce, key) = (nonce(&header), &self.receives);
        let Ok(tag) = <[u8; 16]>::try_from(&image[TAG]).map(Tag::from) else { return false };
        if header.encrypted {
            let (head, messages) = image.split_at_mut(HEAD_BYTES);
            let aad = Aad::from(&head[TAG.end..]);
            key.open_in_place_separate_tag(nonce, aad, tag, messages, 0..).is_ok()
        } else {
            let aad = Aad::from(&image[TAG.end..]);
            key.open_in_place_separate_tag(nonce, aad, tag, &mut [], 0..).is_ok()
        }
    }

    /// Whether messages of this end are encrypted.
    pub(crate) fn encrypts(&self) -> bool {
        self.protection == Protection::Encrypted
    }
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

    fn sealed(protection: Protection) -> (Guard, Bucket) {
        let secret = Secret::new([7; 32]);
        let sender = Guard::new(protection, &secret, (0, 1), (2, 3), 9);
        let receiver = Guard::new(protection, &secret, (2, 3), (0, 1), 9);
        let mut bucket = Bucket::new(Layout { segment_bytes: 136, segments: 2 });
        bucket.header = Header { lane: 1, number: 5, epoch: 9, width: 8, ..Header::default() };
        bucket.header.encrypted = sender.encrypts();
        let count = if sender.encrypts() { 5 } else { 20 };
        (0..count).for_each(|_| assert!(bucket.push(&[3; 8])));
        bucket.seal_heads();
        sender.seal(bucket.image_mut());
        (receiver, bucket)
    }

    #[test]
    fn each_flipped_bit_is_noticed() {
        for protection in [Protection::Tagged, Protection::Encrypted] {
            let (receiver, bucket) = sealed(protection);
            let image = bucket.image().to_vec();
            for bit in 0..8 * image.len() {
                let mut changed = image.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let is_opened = receiver.open(&mut changed);
                // Heads of other segments are told by `Arrived`, too.
                assert!(!is_opened || Arrived::open(&changed).is_none(), "bit {bit}");
            }
            let mut whole = image.clone();
            assert!(receiver.open(&mut whole));
            let arrived = Arrived::open(&whole).unwrap();
            assert!(arrived.messages::<8>().all(|message| *message == [3; 8]));
            assert_eq!(image == whole, protection == Protection::Tagged);
        }
    }

    #[test]
    fn buckets_of_others_are_not_opened() {
        let (receiver, bucket) = sealed(Protection::Tagged);
        let mut image = bucket.image().to_vec();
        let others = [
            Guard::new(Protection::Tagged, &Secret::new([8; 32]), (2, 3), (0, 1), 9),
            Guard::new(Protection::Tagged, &Secret::new([7; 32]), (2, 3), (0, 1), 10),
            Guard::new(Protection::Tagged, &Secret::new([7; 32]), (2, 4), (0, 1), 9),
            Guard::new(Protection::Tagged, &Secret::new([7; 32]), (0, 1), (2, 3), 9),
            Guard::new(Protection::Encrypted, &Secret::new([7; 32]), (2, 3), (0, 1), 9),
        ];
        assert!(others.iter().all(|other| !other.open(&mut image)));
        assert!(receiver.open(&mut image));
    }
}
