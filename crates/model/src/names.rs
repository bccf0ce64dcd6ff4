//! Many strings, such as the names of all vertices.

/// Many strings in two allocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// `ends[i]` is where string `i` ends in `text`, in bytes.
    ends: Vec<u64>,
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    /// No strings.
    pub fn new() -> Self {
        Self { text: String::new(), ends: Vec::new() }
    }

    /// No strings, and room for `count` with `text_bytes` bytes of text.
    pub fn with_capacity(count: usize, text_bytes: usize) -> Self {
        Self { text: String::with_capacity(text_bytes), ends: Vec::with_capacity(count) }
    }

    /// Takes all strings out and keeps their memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// All strings, one behind the other.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Appends a string.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// String number `index`.
    ///
    /// # Panics
    /// When `index` is out of range.
    pub fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start as usize..self.ends[index] as usize]
    }

    /// The strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Heap bytes that these names take.
    pub fn bytes(&self) -> u64 {
        (self.text.capacity() + self.ends.capacity() * size_of::<u64>()) as u64
    }
}

impl<'a> FromIterator<&'a str> for Names {
    fn from_iter<I: IntoIterator<Item = &'a str>>(iter: I) -> Self {
        let mut names = Self::new();
        iter.into_iter().for_each(|name| names.push(name));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_order_and_empty_strings() {
        let names: Names = ["a", "", "libc6"].into_iter().collect();
        assert_eq!(names.len(), 3);
        assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "", "libc6"]);
    }
}
