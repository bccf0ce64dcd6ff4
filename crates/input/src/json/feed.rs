//! The bytes of a JSON file, which two look at: the decoder, and the graph that is made of it.

use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

use crate::documents::bytes::Bytes;
use crate::error::InputError;

/// The bytes of a file, which the decoder and what is made of it both look at.
#[derive(Clone)]
pub(super) struct Feed<'a>(Rc<RefCell<Bytes<'a>>>);

impl<'a> Feed<'a> {
    pub(super) fn new(bytes: Bytes<'a>) -> Self {
        Self(Rc::new(RefCell::new(bytes)))
    }

    /// Lets the decoder gather `bytes` more bytes.
    pub(super) fn allow(&self, bytes: usize) {
        self.0.borrow_mut().allow(bytes);
    }

    pub(super) fn line(&self) -> u64 {
        self.0.borrow().line()
    }

    /// Reason why the bytes ended before their end.
    pub(super) fn take_failure(&self) -> Option<InputError> {
        self.0.borrow_mut().take_failure()
    }
}

impl Read for Feed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}
