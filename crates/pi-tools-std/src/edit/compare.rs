//! Compares a file before and after edits.

use super::engine::Edited;
use super::utf16;
use crate::diff::{Diff, Region};
use crate::read::Encoding;

/// Says what edits have changed. `path` is the name in the patch.
pub(super) fn compare(path: &str, old: &[u8], encoding: Encoding, edited: &Edited) -> Diff {
    if encoding == Encoding::Utf8 {
        return Diff::of_regions(path, old, &edited.bytes, &edited.regions);
    }
    let mut old = Utf8::new(old, encoding);
    let mut new = Utf8::new(&edited.bytes, encoding);
    let mut regions = Vec::with_capacity(edited.regions.len());
    for region in &edited.regions {
        regions.push(Region {
            old: old.up_to(region.old.start)..old.up_to(region.old.end),
            new: new.up_to(region.new.start)..new.up_to(region.new.end),
        });
    }
    Diff::of_regions(path, &old.whole(), &new.whole(), &regions)
}

/// A file in UTF-16 that is turned into UTF-8 from its start to its end.
struct Utf8<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
    done: usize,
    text: String,
}

impl<'a> Utf8<'a> {
    fn new(bytes: &'a [u8], encoding: Encoding) -> Self {
        Self {
            bytes,
            encoding,
            done: 0,
            text: String::new(),
        }
    }

    /// Goes on to an index of the file, and returns the one of the text that belongs to it.
    fn up_to(&mut self, index: usize) -> usize {
        let piece = self.bytes.get(self.done..index).unwrap_or_default();
        self.text.push_str(&utf16::decode(piece, self.encoding));
        self.done = index;
        self.text.len()
    }

    fn whole(mut self) -> Vec<u8> {
        self.up_to(self.bytes.len());
        self.text.into_bytes()
    }
}
