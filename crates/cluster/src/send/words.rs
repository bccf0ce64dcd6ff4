//! Words at the barrier: numbers and runs of bytes, one behind the other.
//!
//! All machines run one executable, so there is no version; a word that is not what was expected is
//! a broken invariant, and never read beyond its end.

use super::error::Stop;

/// A word that is being made.
#[derive(Default)]
pub(super) struct Word(Vec<u8>);

impl Word {
    pub(super) fn number(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn numbers(self, numbers: &[u64]) -> Self {
        numbers.iter().fold(self.number(numbers.len() as u64), |word, &it| word.number(it))
    }

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        let mut word = self.number(bytes.len() as u64);
        word.0.extend_from_slice(bytes);
        word
    }

    pub(super) fn end(self) -> Vec<u8> {
        self.0
    }
}

/// A word that is being read.
pub(super) struct WordReader<'w>(pub(super) &'w [u8]);

impl<'w> WordReader<'w> {
    pub(super) fn take(&mut self, count: u64) -> Result<&'w [u8], Stop> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let split = self.0.split_at_checked(count);
        let (taken, rest) = split.ok_or_else(|| Stop::broken("a word at a barrier is short"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Result<u64, Stop> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    pub(super) fn numbers(&mut self) -> Result<Vec<u64>, Stop> {
        let count = self.number()?;
        // Grows with what is there, whatever the count says.
        (0..count).map(|_| self.number()).collect()
    }

    pub(super) fn bytes(&mut self) -> Result<&'w [u8], Stop> {
        let count = self.number()?;
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_shorter_ones_are_errors() {
        let word = Word::default().number(7).numbers(&[1, u64::MAX]).bytes(b"abc").end();
        let read = |word: &[u8]| -> Result<_, Stop> {
            let mut reader = WordReader(word);
            Ok((reader.number()?, reader.numbers()?, reader.bytes()?.to_vec()))
        };
        assert_eq!(read(&word).unwrap(), (7, vec![1, u64::MAX], b"abc".to_vec()));
        for length in 0..word.len() {
            assert!(read(&word[..length]).is_err(), "{length} bytes");
        }
        assert!(WordReader(&[255; 8]).bytes().is_err());
    }
}
