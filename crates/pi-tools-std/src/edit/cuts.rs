//! Where the pieces of a text begin.

const BITS: usize = u64::BITS as usize;

/// The places where the pieces of a text begin, one bit for each byte.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    words: Vec<u64>,
    len: usize,
}

impl Cuts {
    /// Begins a piece behind the text so far.
    pub(super) fn begin(&mut self) {
        let (word, bit) = (self.len / BITS, self.len % BITS);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    /// Adds bytes to the last piece.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.len += bytes;
    }

    /// Returns true if a piece begins at an index.
    pub(super) fn has(&self, index: usize) -> bool {
        self.words
            .get(index / BITS)
            .is_some_and(|word| word >> (index % BITS) & 1 == 1)
    }

    /// Finds the beginnings in another text that belong to those in this one: the tenth there to
    /// the tenth here. The indices ascend, and a piece begins at each.
    pub(super) fn in_other(&self, other: &Self, ascending: &[usize]) -> Vec<usize> {
        let mut here = Counted::new(&self.words);
        let mut there = Counted::new(&other.words);
        ascending
            .iter()
            .map(|&index| there.nth(here.before(index)))
            .collect()
    }
}

/// Counts bits from the front of a set, in ascending order of what is asked.
struct Counted<'a> {
    words: &'a [u64],
    word: usize,
    /// How many bits the words before that one have.
    bits: usize,
}

impl<'a> Counted<'a> {
    fn new(words: &'a [u64]) -> Self {
        Self {
            words,
            word: 0,
            bits: 0,
        }
    }

    /// Counts the bits before an index.
    fn before(&mut self, index: usize) -> usize {
        while self.word < index / BITS {
            self.step();
        }
        let below = self.current() & ((1 << (index % BITS)) - 1);
        self.bits + below.count_ones() as usize
    }

    /// Finds the index of a bit by its number.
    fn nth(&mut self, number: usize) -> usize {
        while self.word < self.words.len() && self.bits + self.ones() <= number {
            self.step();
        }
        let mut word = self.current();
        for _ in self.bits..number {
            // Takes out the lowest bit.
            word &= word.wrapping_sub(1);
        }
        self.word * BITS + word.trailing_zeros() as usize
    }

    fn step(&mut self) {
        self.bits += self.ones();
        self.word += 1;
    }

    fn ones(&self) -> usize {
        self.current().count_ones() as usize
    }

    fn current(&self) -> u64 {
        self.words.get(self.word).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Cuts;

    fn cuts(at: &[usize]) -> Cuts {
        let mut cuts = Cuts::default();
        for &index in at {
            cuts.grow(index - cuts.len);
            cuts.begin();
        }
        cuts
    }

    #[test]
    fn beginnings_are_found_by_their_number() {
        let here = [0, 1, 2, 63, 64, 65, 127, 128, 1000];
        let there = [5, 6, 200, 201, 202, 300, 301, 640, 641];
        let (a, b) = (cuts(&here), cuts(&there));
        assert_eq!(a.in_other(&b, &here), there);
        assert_eq!(b.in_other(&a, &there), here);
        assert_eq!(a.in_other(&b, &[64, 1000]), [202, 641]);
        assert!(a.has(63) && a.has(1000) && !a.has(66) && !a.has(5000));
    }
}
