//! What the id of a model tells about it.

/// The generation of Gemini models that takes images within the results of functions, is asked for
/// thinking by level, and wants its signatures back.
const THIRD: u32 = 3;

/// What the id of a model tells about it; ids may have a publisher in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Family {
    /// The first number of a Gemini model's version.
    generation: Option<u32>,
    pub(super) is_pro: bool,
    pub(super) kind: Kind,
}

/// The models that differ by more than their generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Pro25,
    Flash25,
    FlashLite25,
    /// A model of another vendor, which wants the ids of calls.
    Foreign,
    Other,
}

impl Family {
    pub(super) fn of(id: &str) -> Self {
        let id = id.to_ascii_lowercase();
        let version = id.split_once("gemini-").map(|(_, version)| version);
        let version = version.map(|version| version.strip_prefix("live-").unwrap_or(version));
        let generation = version.and_then(|version| {
            let end = version.find(|c: char| !c.is_ascii_digit());
            version.get(..end.unwrap_or(version.len()))?.parse().ok()
        });
        Self {
            generation,
            is_pro: version.is_some_and(|version| version.contains("-pro")),
            kind: Kind::of(&id),
        }
    }

    /// Returns true for Gemini 3 and later.
    pub(super) fn is_new(self) -> bool {
        self.generation
            .is_some_and(|generation| generation >= THIRD)
    }

    /// Returns true for Gemini 2.5 and before: their images go beside the results of functions.
    pub(super) fn is_old(self) -> bool {
        self.generation.is_some_and(|generation| generation < THIRD)
    }
}

impl Kind {
    fn of(id: &str) -> Self {
        if id.contains("2.5-pro") {
            return Self::Pro25;
        }
        if id.contains("2.5-flash-lite") {
            return Self::FlashLite25;
        }
        if id.contains("2.5-flash") {
            return Self::Flash25;
        }
        if id.starts_with("claude-") || id.starts_with("gpt-oss-") {
            return Self::Foreign;
        }
        Self::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generation_is_read_wherever_it_stands() {
        for (id, is_new, is_old, is_pro) in [
            ("gemini-2.5-flash", false, true, false),
            ("gemini-2.5-pro", false, true, true),
            ("gemini-live-2.5-flash", false, true, false),
            ("gemini-3-pro-preview", true, false, true),
            ("google/Gemini-3.1-Pro-preview", true, false, true),
            ("gemini-12-neon", true, false, false),
            ("gemini-flash-latest", false, false, false),
            ("gemma-4-31b-it", false, false, false),
            ("claude-opus-4", false, false, false),
        ] {
            let family = Family::of(id);
            let found = (family.is_new(), family.is_old(), family.is_pro);
            assert_eq!(found, (is_new, is_old, is_pro), "{id}");
        }
    }
}
