use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::{Edit, Edited};
use super::run;
use crate::edit::fold::FoldedOld;
use crate::edit::utf16;
use crate::read::Encoding;

/// Pieces of files: line breaks of every kind, bytes that are no text, and characters that fold.
const PIECES: &[&[u8]] = &[
    b"a",
    b"b",
    b"-",
    b"'",
    b"\"",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b"  \n",
    b"fi",
    b"...",
    "\u{201c}".as_bytes(),
    "\u{2019}".as_bytes(),
    "\u{2013}".as_bytes(),
    "\u{a0}".as_bytes(),
    "\u{fb01}".as_bytes(),
    "\u{2026}".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{e9}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{1f600}".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\xff",
    b"\xc3",
    b"\xe2\x80",
    b"\xed\xa0\x80",
    b"\0",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = String> {
    vec(select(PIECES), 0..4)
        .prop_map(|pieces| String::from_utf8_lossy(&pieces.concat()).into_owned())
}

fn encoding() -> impl Strategy<Value = Encoding> {
    select(vec![Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf16Be])
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = (text(), text(), any::<bool>()).prop_map(|(old_text, new_text, replace_all)| Edit {
        old_text,
        new_text,
        replace_all,
    });
    vec(edit, 0..4)
}

/// Takes the replaced ranges out of both files: what is left must be the same.
fn check_kept(file: &[u8], edited: &Edited) {
    let (mut old, mut new) = (0, 0);
    for region in &edited.regions {
        let kept = &edited.bytes[new..region.new.start];
        assert_eq!(&file[old..region.old.start], kept);
        (old, new) = (region.old.end, region.new.end);
    }
    assert_eq!(file[old..], edited.bytes[new..]);
}

proptest! {
    #[test]
    fn no_byte_outside_of_the_ranges_changes(
        file in bytes(), encoding in encoding(), edits in edits()
    ) {
        if let Ok(edited) = run(&file, encoding, &edits) {
            check_kept(&file, &edited);
        }
    }

    #[test]
    fn what_is_replaced_is_an_old_text(
        file in bytes(), old in text(), replace_all in any::<bool>()
    ) {
        let new_text = "<new>".to_owned();
        let edit = Edit { old_text: old.clone(), new_text, replace_all };
        let Ok(edited) = run(&file, Encoding::Utf8, &[edit]) else { return Ok(()) };
        check_kept(&file, &edited);
        prop_assert!(replace_all || edited.regions.len() == 1);
        let lines = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
        for region in &edited.regions {
            let replaced = std::str::from_utf8(&file[region.old.clone()]).unwrap();
            let (replaced, old) = (lines(replaced), lines(&old));
            if edited.fuzzy.is_empty() {
                prop_assert_eq!(replaced, old);
            } else {
                let folded = |text: &str| FoldedOld::new(text).unwrap().text;
                prop_assert_eq!(folded(&replaced), folded(&old));
            }
            prop_assert_eq!(&edited.bytes[region.new.clone()], b"<new>");
        }
    }

    #[test]
    fn edits_and_their_inverse_give_the_original(
        parts in vec(bytes(), 1..6),
        news in vec(text(), 6),
        encoding in encoding(),
        with_mark in any::<bool>(),
    ) {
        let encoded = |text: &[u8]| match encoding {
            Encoding::Utf8 => text.to_vec(),
            encoding => utf16::encode(&String::from_utf8_lossy(text), encoding),
        };
        let mut file = if with_mark { encoded("\u{feff}".as_bytes()) } else { Vec::new() };
        let mut edits = Vec::new();
        for (number, (part, new)) in parts.iter().zip(news).enumerate() {
            let old_text = format!("<{number}>");
            file.extend(encoded(part));
            file.extend(encoded(old_text.as_bytes()));
            let new_text = format!("[{number}{new}]");
            edits.push(Edit { old_text, new_text, replace_all: false });
        }
        let inverse: Vec<Edit> = edits
            .iter()
            .map(|edit| Edit {
                old_text: edit.new_text.clone(),
                new_text: edit.old_text.clone(),
                replace_all: false,
            })
            .collect();
        let edited = run(&file, encoding, &edits).unwrap();
        let back = run(&edited.bytes, encoding, &inverse).unwrap();
        prop_assert_eq!(back.bytes, file);
    }
}
