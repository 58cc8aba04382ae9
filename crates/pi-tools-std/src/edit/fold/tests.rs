use proptest::collection::vec;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization as _;

use super::{Folded, plain_char};

/// The same fold over a whole text, without a map back.
fn folded(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line: String = line.nfkc().map(plain_char).collect();
        line.trim_end_matches([' ', '\t']).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn borders(folded: &Folded) -> Vec<usize> {
    (0..=folded.text.len())
        .filter(|index| folded.cuts.has(*index))
        .collect()
}

fn odd_text() -> impl Strategy<Value = String> {
    let odd = "[ab \t\n\u{a0}\u{2002}\u{3000}‘”–…ﬁ½ＡｶﾞゝガÉ\u{301}\u{327}\u{1100}\u{1161}\u{11a8}한\u{9c7}\u{9be}\u{344}\u{b4}\u{fdfa}]{0,30}";
    prop_oneof![odd, ".{0,30}"]
}

proptest! {
    #[test]
    fn folding_by_sequences_is_folding_the_whole(text in odd_text()) {
        let folded_text = Folded::new(text.as_bytes()).text;
        prop_assert_eq!(String::from_utf8(folded_text).unwrap(), folded(&text));
    }

    #[test]
    fn places_map_back_in_order(text in vec(any::<u8>(), 0..60), odd in odd_text()) {
        let source = [odd.as_bytes(), &text].concat();
        let folded = Folded::new(&source);
        let here = borders(&folded);
        let there = folded.cuts.in_other(&folded.source_cuts, &here);
        prop_assert!(there.is_sorted_by(|a, b| a < b), "{there:?}");
        prop_assert_eq!(there.len(), here.len());
        prop_assert_eq!(there.last(), Some(&source.len()));
        // Each piece comes from where the map says.
        for (here, there) in here.windows(2).zip(there.windows(2)) {
            let piece = Folded::new(&source[there[0]..there[1]]).text;
            let shown = &folded.text[here[0]..here[1]];
            let is_blank = shown.iter().all(|byte| b" \t".contains(byte));
            prop_assert!(piece == shown || is_blank, "{piece:?} {shown:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_stay() {
    assert_eq!(
        Folded::new(b"\xff\xe2\x80 \n\xc3").text,
        b"\xff\xe2\x80\n\xc3"
    );
}
