//! The comparison itself: a matcher that lets everything pass would make every case worthless.

use bytes::Bytes;
use integration_tests::delivery::Delivery;
use integration_tests::{compare, matcher, normalise};
use serde_json::{Value, json};

#[test]
fn matchers_accept_and_refuse() {
    let cases = [
        // (pattern, accepted, refused)
        (json!(5), json!(5.0), json!(5.5)),
        (json!("a"), json!("a"), json!("A")),
        (json!(null), json!(null), json!(0)),
        (json!([1, 2]), json!([1, 2]), json!([1, 2, 3])),
        (json!([1, 2]), json!([1, 2]), json!([1])),
        (
            json!({ "a": 1 }),
            json!({ "a": 1, "b": 2 }),
            json!({ "b": 2 }),
        ),
        (json!({}), json!({ "b": 2 }), json!([])),
        (json!({ "$contains": "b" }), json!("abc"), json!("aBc")),
        (
            json!({ "$contains": ["a", "c"] }),
            json!("abc"),
            json!("ab"),
        ),
        (json!({ "$contains": "1" }), json!("1"), json!(1)),
        (json!({ "$notContains": "b" }), json!("aBc"), json!("abc")),
        (
            json!({ "$notContains": ["x", "b"] }),
            json!("ac"),
            json!("abc"),
        ),
        (json!({ "$matches": "^A.c$" }), json!("abC"), json!("abcd")),
        (
            json!({ "$matches": "\\bend(ed)?\\b" }),
            json!("it ENDED"),
            json!("sending"),
        ),
        (
            json!({ "$oneOf": [1, { "$contains": "x" }] }),
            json!("ax"),
            json!(2),
        ),
        (json!({ "$any": true }), json!(null), Value::Null),
        (json!({ "$null": true }), json!(null), json!(false)),
        (json!({ "$atLeast": 2 }), json!(2), json!(1.9)),
        (json!({ "$atMost": 2 }), json!(2.0), json!("1")),
        (json!({ "$atLeast": 2, "$atMost": 4 }), json!(3), json!(5)),
        (
            json!({ "$inOrder": [1, 3] }),
            json!([1, 2, 3]),
            json!([3, 2, 1]),
        ),
        (
            json!({ "$inOrder": [1, 1] }),
            json!([1, 2, 1]),
            json!([1, 2]),
        ),
        (
            json!({ "$each": { "a": 1 } }),
            json!([{ "a": 1 }, { "a": 1 }]),
            json!([{ "a": 2 }]),
        ),
        (
            json!({ "$none": { "a": 1 } }),
            json!([{ "a": 2 }]),
            json!([{ "a": 2 }, { "a": 1 }]),
        ),
        (
            json!({ "$inOrder": [1], "$none": 2 }),
            json!([0, 1]),
            json!([1, 2]),
        ),
        (
            json!({ "k": { "$absent": true } }),
            json!({}),
            json!({ "k": null }),
        ),
        (
            json!({ "$mistyped": 1 }),
            json!({ "$mistyped": 1 }),
            json!({ "a": 1 }),
        ),
    ];
    for (pattern, accepted, refused) in cases {
        assert_eq!(
            matcher::check(&pattern, Some(&accepted)),
            Ok(()),
            "{pattern} of {accepted}"
        );
        let refused = (!refused.is_null()).then_some(refused);
        assert!(
            matcher::check(&pattern, refused.as_ref()).is_err(),
            "{pattern} of {refused:?}"
        );
    }
}

#[test]
fn exact_comparison_finds_the_place() {
    let expected = json!({ "a": [{ "text": "one" }, { "text": "two" }], "n": 1 });
    let cases = [
        (
            json!({ "n": 1.0, "a": [{ "text": "one" }, { "text": "two" }] }),
            None,
        ),
        (
            json!({ "a": [{ "text": "one" }, { "text": "twO" }], "n": 1 }),
            Some("$.a[1].text"),
        ),
        (json!({ "a": [{ "text": "one" }], "n": 1 }), Some("$.a[1]")),
        (
            json!({ "a": [{ "text": "one" }, { "text": "two" }, {}], "n": 1 }),
            Some("$.a[2]"),
        ),
        (
            json!({ "a": [{ "text": "one" }, { "text": "two" }] }),
            Some("$.n"),
        ),
        (
            json!({ "a": [{ "text": "one", "x y": 0 }, { "text": "two" }], "n": 1 }),
            Some("$.a[0][\"x y\"]"),
        ),
    ];
    for (actual, place) in cases {
        let found = compare::equal(&expected, &actual)
            .err()
            .map(|difference| difference.path);
        assert_eq!(found.as_deref(), place, "{actual}");
    }
}

#[test]
fn a_generated_id_is_any_text_but_an_empty_one() {
    let expected = json!("{{GENERATED_TOOL_CALL_ID_1}}");
    assert_eq!(compare::equal(&expected, &json!("call-7")), Ok(()));
    assert!(compare::equal(&expected, &json!("")).is_err());
}

#[test]
fn long_texts_are_shown_around_their_difference() {
    let long = "x".repeat(500);
    let (left, right) = (
        json!(format!("{long}left{long}")),
        json!(format!("{long}right{long}")),
    );
    let difference = compare::equal(&left, &right)
        .expect_err("they differ")
        .to_string();
    assert!(
        difference.contains("left") && difference.contains("right"),
        "{difference}"
    );
    assert!(difference.len() < 400, "{difference}");
}

#[test]
fn only_fields_of_our_own_are_stripped() {
    let mut message = json!({
        "errorInfo": { "kind": "server" },
        "content": [{ "arguments": { "errorInfo": 1 }, "argumentsError": "cut" }],
        "details": { "suspended": true },
    });
    normalise::strip_own_fields(&mut message);
    let left = json!({
        "content": [{ "arguments": { "errorInfo": 1 } }],
        "details": { "suspended": true },
    });
    assert_eq!(message, left);
}

#[test]
fn only_times_of_a_clock_are_cleared() {
    let mut messages = json!([{ "timestamp": 999_999 }, { "timestamp": 1_000_000 }]);
    normalise::clear_clock_times(&mut messages);
    assert_eq!(
        messages,
        json!([{ "timestamp": 999_999 }, { "timestamp": 0 }])
    );
}

#[test]
fn signatures_that_are_items_compare_as_json() {
    let mut left = json!({ "thinkingSignature": r#"{"a":1,"b":2}"#, "textSignature": "plain" });
    let mut right = json!({ "thinkingSignature": r#"{"b": 2, "a": 1}"#, "textSignature": "plain" });
    normalise::open_signatures(&mut left);
    normalise::open_signatures(&mut right);
    assert_eq!(compare::equal(&left, &right), Ok(()));
}

#[test]
fn every_delivery_hands_over_the_whole_body() {
    let body = Bytes::from_static(b"data: 1\n\ndata: 2\r\n\r\nrest");
    for delivery in Delivery::ALL
        .into_iter()
        .chain((0..body.len()).map(Delivery::Cut))
    {
        assert_eq!(delivery.cut(&body).concat(), body, "{delivery}");
    }
    assert_eq!(Delivery::Lines.cut(&body).len(), 5);
    assert_eq!(Delivery::Pieces(7).cut(&body).len(), body.len().div_ceil(7));
    assert!(Delivery::Pieces(1).cut(&Bytes::new()).is_empty());
}
