//! Comparing a text with the pieces that came before it, without keeping them.

/// Length and hash of a text that came in pieces: FNV-1a, which reads each byte once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    length: usize,
    hash: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            length: 0,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Digest {
    pub(crate) fn of(text: &str) -> Self {
        let mut digest = Self::default();
        digest.push(text);
        digest
    }

    pub(crate) fn push(&mut self, piece: &str) {
        self.length += piece.len();
        self.hash = piece.bytes().fold(self.hash, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }

    #[cfg(feature = "openai")]
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a whole text if the pieces were of another one; an empty text takes nothing back.
    #[cfg(feature = "openai")]
    pub(crate) fn replacement(&self, whole: &str) -> Option<String> {
        (!whole.is_empty() && *self != Self::of(whole)).then(|| whole.to_owned())
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_matter_how_a_text_is_cut() {
        for pieces in [&["Grüß", "e"][..], &["G", "rü", "", "ße"], &["Grüße"]] {
            let mut digest = Digest::default();
            pieces.iter().for_each(|piece| digest.push(piece));
            assert_eq!(digest, Digest::of("Grüße"));
            assert_ne!(digest, Digest::of("Grüsse"));
            assert_ne!(digest, Digest::of("Grüß"));
        }
        assert_eq!(Digest::default(), Digest::of(""));
    }
}
