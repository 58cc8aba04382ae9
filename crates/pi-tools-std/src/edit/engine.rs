//! Edits of the bytes of a file.
//!
//! The steps: see the file as text ([`View`]), find each old text as it is or folded ([`Folded`]),
//! find the bytes of what was found, and put the new texts there ([`splice`]). No byte outside the
//! ranges that were found changes.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;

use super::find::{self, Places, Wanted};
use super::fold::{Folded, FoldedOld};
use super::nearest::nearest;
use super::refusal::{Hint, Refusal, Which};
use super::splice::{Replacement, splice};
use super::view::{Source, View, lf_only};
use crate::diff::Region;
use crate::read::Encoding;

/// How many lines of places are named when there should be one.
const LISTED: usize = 10;

/// The most places that one edit changes.
const MAX_PLACES: usize = 1_000_000;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edit {
    pub(crate) old_text: String,
    pub(crate) new_text: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

/// What is edited, and within which bounds.
pub(crate) struct Task<'a> {
    pub(crate) file: &'a [u8],
    pub(crate) encoding: Encoding,
    pub(crate) edits: &'a [Edit],
    /// The most bytes of the new file.
    pub(crate) max_bytes: u64,
    /// Asked now and then; the work ends if it says so.
    pub(crate) is_aborted: &'a dyn Fn() -> bool,
}

/// The outcome of edits.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Edited {
    /// The new file.
    pub(crate) bytes: Vec<u8>,
    /// What was replaced, in ascending order.
    pub(crate) regions: Vec<Region>,
    /// The edits whose old text was found in another spelling.
    pub(crate) fuzzy: Vec<usize>,
}

/// Applies edits to a file. Each is matched against the file as it is.
///
/// # Errors
/// If one of them cannot be applied; then none is.
pub(crate) fn apply(task: &Task<'_>) -> Result<Edited, Refusal> {
    if task.edits.is_empty() {
        return Err(Refusal::NoEdits);
    }
    let texts: Vec<Texts<'_>> = task.edits.iter().map(Texts::new).collect();
    if let Some(empty) = texts.iter().position(|texts| texts.old.is_empty()) {
        return Err(Refusal::Empty(task.which(empty)));
    }
    let view = View::new(Source::new(task.file, task.encoding));
    let matches = find_all(task, &view, &texts)?;
    check_counts(task, &view, &matches)?;
    let ranges = in_order(&matches)?;
    let replacements = replacements(&view, &texts, &ranges);
    let (bytes, regions) =
        splice(&view.source, &replacements, task.max_bytes).map_err(|bytes| Refusal::TooLarge {
            bytes,
            limit: task.max_bytes,
        })?;
    if bytes == task.file {
        return Err(Refusal::NoChange {
            edits: task.edits.len(),
        });
    }
    let fuzzy = matches.iter().enumerate().filter(|(_, found)| found.folded);
    Ok(Edited {
        bytes,
        regions,
        fuzzy: fuzzy.map(|(edit, _)| edit).collect(),
    })
}

impl Task<'_> {
    fn which(&self, edit: usize) -> Which {
        if self.edits.len() == 1 {
            Which::Only
        } else {
            Which::Of(edit)
        }
    }

    fn wanted(&self, edit: usize) -> Wanted {
        let all = self.edits.get(edit).is_some_and(|edit| edit.replace_all);
        Wanted {
            all,
            listed: if all { MAX_PLACES } else { LISTED },
        }
    }
}

/// The texts of an edit, their line breaks folded to LF.
struct Texts<'a> {
    old: Cow<'a, str>,
    new: Cow<'a, str>,
}

impl<'a> Texts<'a> {
    fn new(edit: &'a Edit) -> Self {
        Self {
            old: lf_only_str(&edit.old_text),
            new: lf_only_str(&edit.new_text),
        }
    }
}

fn lf_only_str(text: &str) -> Cow<'_, str> {
    match lf_only(text.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(folded) => {
            Cow::Owned(String::from_utf8(folded).expect("folding line breaks keeps UTF-8 valid"))
        }
    }
}

/// The places of one old text in the view.
struct Found {
    places: Places,
    folded: bool,
}

/// Finds every old text.
///
/// # Errors
/// If one is not there.
fn find_all(task: &Task<'_>, view: &View<'_>, texts: &[Texts<'_>]) -> Result<Vec<Found>, Refusal> {
    let mut folded_view = None;
    let mut all = Vec::with_capacity(texts.len());
    for (edit, texts) in texts.iter().enumerate() {
        if (task.is_aborted)() {
            return Err(Refusal::Aborted);
        }
        let wanted = task.wanted(edit);
        let mut found = Found {
            places: find::exact(&view.text, texts.old.as_bytes(), wanted),
            folded: false,
        };
        if found.places.count == 0
            && let Some(old) = FoldedOld::new(&texts.old)
        {
            let folded = folded_view.get_or_insert_with(|| Folded::new(&view.text));
            let mut places = find::folded(folded, &old, wanted);
            places.ranges = folded.in_source(&view.text, &places.ranges, &old);
            found = Found {
                places,
                folded: true,
            };
        }
        if found.places.count == 0 {
            return Err(Refusal::NotFound {
                which: task.which(edit),
                hint: hint(view, texts),
            });
        }
        all.push(found);
    }
    Ok(all)
}

fn hint(view: &View<'_>, texts: &Texts<'_>) -> Option<Hint> {
    let new = texts.new.as_bytes();
    if !texts.new.trim().is_empty() && memchr::memmem::find(&view.text, new).is_some() {
        return Some(Hint::AlreadyThere);
    }
    let nearest = nearest(&view.text, &texts.old)?;
    match *view.lines(&nearest.lines) {
        [first_line, last_line] => Some(Hint::Closest {
            first_line,
            last_line,
            text: nearest.text,
        }),
        _ => None,
    }
}

fn check_counts(task: &Task<'_>, view: &View<'_>, all: &[Found]) -> Result<(), Refusal> {
    for (edit, found) in all.iter().enumerate() {
        let (count, ranges) = (found.places.count, &found.places.ranges);
        let which = task.which(edit);
        if !task.wanted(edit).all && count > 1 {
            let starts: Vec<usize> = ranges.iter().map(|range| range.start).collect();
            let lines = view.lines(&starts);
            return Err(Refusal::Several {
                which,
                count,
                lines,
            });
        }
        if count > ranges.len() {
            return Err(Refusal::TooMany {
                which,
                limit: MAX_PLACES,
            });
        }
    }
    Ok(())
}

/// Lists the ranges of all edits, with the number of the edit, in the order of the file.
///
/// # Errors
/// If two overlap.
fn in_order(all: &[Found]) -> Result<Vec<(Range<usize>, usize)>, Refusal> {
    let mut ranges = Vec::new();
    for (edit, found) in all.iter().enumerate() {
        ranges.extend(
            found
                .places
                .ranges
                .iter()
                .map(|range| (range.clone(), edit)),
        );
    }
    ranges.sort_by_key(|(range, edit)| (range.start, *edit));
    for pair in ranges.windows(2) {
        if let [(range, first), (next, second)] = pair
            && next.start < range.end
        {
            return Err(Refusal::Overlap(*first, *second));
        }
    }
    Ok(ranges)
}

fn replacements<'a>(
    view: &View<'_>,
    texts: &'a [Texts<'_>],
    ranges: &[(Range<usize>, usize)],
) -> Vec<Replacement<'a>> {
    let places: Vec<usize> = ranges
        .iter()
        .flat_map(|(range, _)| [range.start, range.end])
        .collect();
    let places = view.in_source(&places);
    let mut replacements = Vec::with_capacity(ranges.len());
    for (place, (_, edit)) in places.chunks_exact(2).zip(ranges) {
        if let ([start, end], Some(texts)) = (place, texts.get(*edit)) {
            replacements.push(Replacement {
                range: *start..*end,
                text: &texts.new,
            });
        }
    }
    replacements
}

#[cfg(test)]
mod tests;
