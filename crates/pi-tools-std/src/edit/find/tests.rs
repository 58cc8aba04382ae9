use proptest::prelude::*;

use super::{Wanted, exact, occurrences};

proptest! {
    #[test]
    fn every_place_is_found_overlapping_ones_too(text in "[ab]{0,40}", old in "[ab]{1,5}") {
        let expected: Vec<usize> = (0..text.len())
            .filter(|start| text[*start..].starts_with(&old))
            .collect();
        let found: Vec<usize> = occurrences(text.as_bytes(), old.as_bytes()).collect();
        prop_assert_eq!(&found, &expected);

        let listed = 3;
        let disjoint = text.matches(&old).count();
        let all = exact(text.as_bytes(), old.as_bytes(), Wanted { all: true, listed });
        prop_assert_eq!(all.count, disjoint);
        prop_assert_eq!(all.ranges.len(), disjoint.min(listed));
        let one = exact(text.as_bytes(), old.as_bytes(), Wanted { all: false, listed });
        prop_assert_eq!(one.count == 1, expected.len() == 1);
    }
}
