//! A file as the old texts are compared with it.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

use super::utf16::{self, Characters};
use crate::read::Encoding;

/// The text of a file in UTF-8, every line break folded to LF, without its byte-order mark. Bytes
/// that are no text stay as they are.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) source: Source<'a>,
    pub(super) text: Cow<'a, [u8]>,
}

/// The bytes of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) encoding: Encoding,
    /// Bytes of the mark at the start.
    mark: usize,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8], encoding: Encoding) -> Self {
        let mark: &[u8] = match encoding {
            Encoding::Utf8 => b"\xef\xbb\xbf",
            Encoding::Utf16Le => b"\xff\xfe",
            Encoding::Utf16Be => b"\xfe\xff",
        };
        Self {
            bytes,
            encoding,
            mark: if bytes.starts_with(mark) {
                mark.len()
            } else {
                0
            },
        }
    }

    /// The bytes behind the mark.
    fn body(&self) -> &'a [u8] {
        self.bytes.get(self.mark..).unwrap_or_default()
    }

    /// Finds the next LF at or behind an index.
    pub(super) fn next_lf(&self, from: usize) -> Option<usize> {
        let rest = self.bytes.get(from..)?;
        let found = match self.encoding {
            Encoding::Utf8 => memchr(b'\n', rest),
            _ => {
                let lf = self.encoded("\n");
                rest.chunks_exact(2)
                    .position(|unit| unit == &*lf)
                    .map(|unit| unit * 2)
            }
        };
        found.map(|found| from + found)
    }

    /// Returns true if the file has a CR.
    pub(super) fn has_cr(&self) -> bool {
        match self.encoding {
            Encoding::Utf8 => memchr(b'\r', self.bytes).is_some(),
            _ => {
                let cr = self.encoded("\r");
                self.body().chunks_exact(2).any(|unit| unit == &*cr)
            }
        }
    }

    /// Writes a text as the file does.
    pub(super) fn encoded<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        match self.encoding {
            Encoding::Utf8 => Cow::Borrowed(text.as_bytes()),
            _ => Cow::Owned(utf16::encode(text, self.encoding)),
        }
    }
}

impl<'a> View<'a> {
    pub(super) fn new(source: Source<'a>) -> Self {
        let body = source.body();
        let text = match source.encoding {
            Encoding::Utf8 => lf_only(body),
            encoding => {
                let mut text = Vec::with_capacity(body.len());
                for (_, code_point) in Characters::new(body, encoding) {
                    utf16::push_utf8(&mut text, code_point);
                }
                Cow::Owned(text)
            }
        };
        Self { source, text }
    }

    /// Finds where places in the view are in the file. The places ascend and are borders of
    /// characters.
    pub(super) fn in_source(&self, ascending: &[usize]) -> Vec<usize> {
        let (body, mark) = (self.source.body(), self.source.mark);
        let mut found = Vec::with_capacity(ascending.len());
        if self.source.encoding == Encoding::Utf8 {
            let mut breaks = memmem::find_iter(body, b"\r\n").peekable();
            let mut folded = 0;
            for &place in ascending {
                while breaks.next_if(|at| at - folded < place).is_some() {
                    folded += 1;
                }
                found.push(mark + place + folded);
            }
            return found;
        }
        let mut characters = Characters::new(body, self.source.encoding);
        let (mut here, mut there) = (0, mark);
        for &place in ascending {
            while here < place {
                let Some((bytes, code_point)) = characters.next() else {
                    break;
                };
                here += utf16::utf8_len(code_point);
                there += bytes;
            }
            found.push(there);
        }
        found
    }

    /// Finds the lines of places in the view, counted from 1 as `read` counts them: by LF alone.
    /// The places ascend.
    pub(super) fn lines(&self, ascending: &[usize]) -> Vec<usize> {
        let (mut line, mut counted) = (1, 0);
        let mut lines = Vec::with_capacity(ascending.len());
        for place in self.in_source(ascending) {
            line += self.count_lf(counted..place);
            counted = place;
            lines.push(line);
        }
        lines
    }

    fn count_lf(&self, range: Range<usize>) -> usize {
        let bytes = self.source.bytes.get(range).unwrap_or_default();
        match self.source.encoding {
            Encoding::Utf8 => memchr_iter(b'\n', bytes).count(),
            _ => {
                let lf = self.source.encoded("\n");
                bytes.chunks_exact(2).filter(|unit| *unit == &*lf).count()
            }
        }
    }
}

/// Folds the line breaks of a text to LF.
pub(super) fn lf_only(text: &[u8]) -> Cow<'_, [u8]> {
    let mut breaks = memchr_iter(b'\r', text).peekable();
    if breaks.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut folded = Vec::with_capacity(text.len());
    let mut copied = 0;
    for cr in breaks {
        folded.extend_from_slice(text.get(copied..cr).unwrap_or_default());
        copied = cr + 1;
        if text.get(copied) != Some(&b'\n') {
            folded.push(b'\n');
        }
    }
    folded.extend_from_slice(text.get(copied..).unwrap_or_default());
    Cow::Owned(folded)
}
