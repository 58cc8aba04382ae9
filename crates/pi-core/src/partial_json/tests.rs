use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use super::*;

fn read<'a>(
    pieces: impl IntoIterator<Item = &'a str>,
) -> (Map<String, Value>, Option<ArgumentsError>) {
    let mut arguments = Map::new();
    let mut parser = PartialJson::new();
    for piece in pieces {
        parser.push(&mut arguments, piece);
    }
    let error = parser.finish(&mut arguments).err();
    (arguments, error)
}

/// Returns what the map shows after a piece, before the end is known.
fn shown(text: &str) -> Value {
    let mut arguments = Map::new();
    PartialJson::new().push(&mut arguments, text);
    Value::Object(arguments)
}

fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.split("").filter(|character| !character.is_empty())
}

/// Checks what is read from a text, whole and character by character.
#[track_caller]
fn check(text: &str, arguments: Value, error: Option<ArgumentsError>) {
    let whole = parse_arguments(text);
    assert_eq!(
        (Value::Object(whole.0.clone()), whole.1.clone()),
        (arguments, error),
        "{text}"
    );
    assert_eq!(
        read(characters(text)),
        whole,
        "{text}, character by character"
    );
}

fn syntax(offset: usize) -> Option<ArgumentsError> {
    Some(ArgumentsError::Syntax { offset })
}

#[test]
fn nothing_blanks_and_null_mean_no_arguments() {
    for text in ["", " ", " \n\t\r", "null", " null\n", "{}", " { } "] {
        check(text, json!({}), None);
    }
}

#[test]
fn a_value_that_is_no_object_is_refused() {
    let texts = [
        "[1]",
        "[",
        "42",
        "-1",
        "true",
        "false",
        "\"a.txt\"",
        r#""{\"a\":1}""#,
    ];
    for text in texts {
        check(text, json!({}), Some(ArgumentsError::NotAnObject));
    }
}

#[test]
fn text_behind_the_object_is_refused_and_the_object_kept() {
    let error = || Some(ArgumentsError::TrailingData);
    check(r#"{"path":"a"}{"path":"b"}"#, json!({"path": "a"}), error());
    check(r#"{"a":1} }"#, json!({"a": 1}), error());
    check("{},", json!({}), error());
    check("null {}", json!({}), error());
}

#[test]
fn a_cut_text_keeps_what_could_be_read() {
    let cases = [
        ("{", json!({})),
        ("nul", json!({})),
        (r#"{"pa"#, json!({})),
        (r#"{"path""#, json!({})),
        (r#"{"path":"#, json!({})),
        (r#"{"path":""#, json!({"path": ""})),
        (r#"{"path":"a.t"#, json!({"path": "a.t"})),
        (r#"{"path":"a.t\"#, json!({"path": "a.t"})),
        (r#"{"path":"a.t\u00e"#, json!({"path": "a.t"})),
        (r#"{"path":"a","#, json!({"path": "a"})),
        (r#"{"a":1,"b":12"#, json!({"a": 1})),
        (r#"{"a":true,"b":fals"#, json!({"a": true})),
        (r#"{"a":{"#, json!({"a": {}})),
        (r#"{"a":[1,"x"#, json!({"a": [1, "x"]})),
        (
            r#"{"a":[[{"b":[null,{"c":"d"#,
            json!({"a": [[{"b": [null, {"c": "d"}]}]]}),
        ),
    ];
    for (text, arguments) in cases {
        check(text, arguments.clone(), Some(ArgumentsError::Cut));
        assert_eq!(shown(text), arguments, "{text}");
    }
}

#[test]
fn a_syntax_error_stops_the_reading_where_it_is() {
    let cases = [
        ("x", json!({}), 0),
        ("\u{feff}{}", json!({}), 0),
        ("nil", json!({}), 1),
        ("{\u{e9}}", json!({}), 1),
        (r#"{"path": a.txt"#, json!({}), 9),
        (r#"{"a":"b" "c":1}"#, json!({"a": "b"}), 9),
        (r#"{"a":"b",}"#, json!({"a": "b"}), 9),
        (
            r#"{"a":"b","c":"d\x","e":1}"#,
            json!({"a": "b", "c": "d"}),
            16,
        ),
        (r#"{"a":"\u12g4"}"#, json!({"a": ""}), 10),
        (r#"{"a\q":1}"#, json!({}), 4),
        (r#"{"a":[1,]}"#, json!({"a": [1]}), 8),
        (r#"{"a":[1}}"#, json!({"a": [1]}), 7),
        (r#"{"a":{]}"#, json!({"a": {}}), 6),
        (r#"{"a":{"b":1]}"#, json!({"a": {"b": 1}}), 11),
        ("{a:1}", json!({}), 1),
        ("{,}", json!({}), 1),
        (r#"{"a",1}"#, json!({}), 4),
        (r#"{"a":}"#, json!({}), 5),
        (r#"{"a":]}"#, json!({}), 5),
        (r#"{"a":tru}"#, json!({}), 8),
        (r#"{"a":truex}"#, json!({"a": true}), 9),
        (r#"{"a":None}"#, json!({}), 5),
        (r#"{"a":01}"#, json!({}), 6),
        (r#"{"a":+1}"#, json!({}), 5),
        (r#"{"a":.5}"#, json!({}), 5),
        (r#"{"a":1.}"#, json!({}), 7),
        (r#"{"a":-}"#, json!({}), 6),
        (r#"{"a":1e}"#, json!({}), 7),
        (r#"{"a":1e+}"#, json!({}), 8),
        (r#"{"a":1.5.2}"#, json!({}), 8),
    ];
    for (text, arguments, offset) in cases {
        check(text, arguments, syntax(offset));
    }
}

#[test]
fn numbers_are_those_of_serde_json() {
    let numbers = [
        "0",
        "-0",
        "-0.0",
        "7",
        "-7",
        "1.5",
        "5.0",
        "1e3",
        "1E-3",
        "0e0",
        "1.25e+2",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "0.1000000000000000055511151231257827",
        "1e308",
        "1e-400",
    ];
    for number in numbers {
        let text = format!(r#"{{"a":{number},"b":[{number}]}}"#);
        let expected: Value = serde_json::from_str(&text).unwrap();
        let (arguments, error) = read(characters(&text));
        // The text tells -0.0 from 0 and 5.0 from 5, which comparing floats does not.
        assert_eq!(Value::Object(arguments).to_string(), expected.to_string());
        assert_eq!(error, None);
    }
}

#[test]
fn a_number_out_of_range_is_null_and_reported_and_the_rest_is_read() {
    check(
        r#"{"a":1e400,"b":-1e999,"c":"d"}"#,
        json!({"a": null, "b": null, "c": "d"}),
        syntax(5),
    );
    check(r#"{"a":1e400,"c"#, json!({"a": null}), syntax(5));
}

#[test]
fn escapes_are_decoded_and_lone_surrogates_replaced() {
    let cases = [
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"\u0041\u00e9\u20AC\u0000", "A\u{e9}\u{20ac}\0"),
        (r"\ud83c\udf0d", "\u{1f30d}"),
        (r"\uDBFF\uDFFF", "\u{10ffff}"),
        (r"\ud83c", "\u{fffd}"),
        (r"\ud83cx", "\u{fffd}x"),
        (r"\ud83c\n", "\u{fffd}\n"),
        (r"\ud83c\u0041", "\u{fffd}A"),
        (r"\ud83c\ud83c\udf0d", "\u{fffd}\u{1f30d}"),
        (r"\udf0d", "\u{fffd}"),
        (r"\udf0d\ud83c", "\u{fffd}\u{fffd}"),
        ("a\tb\nc\u{0}", "a\tb\nc\u{0}"),
        ("naïve 🌍", "naïve 🌍"),
    ];
    for (text, value) in cases {
        check(&format!(r#"{{"a":"{text}"}}"#), json!({"a": value}), None);
        check(&format!(r#"{{"{text}":[1]}}"#), json!({value: [1]}), None);
    }
}

#[test]
fn half_a_surrogate_pair_is_held_back_until_the_end() {
    let text = r#"{"a":"x\ud83c"#;
    assert_eq!(shown(text), json!({"a": "x"}));
    check(text, json!({"a": "x\u{fffd}"}), Some(ArgumentsError::Cut));
    check(
        r#"{"a":"x","\ud83c"#,
        json!({"a": "x"}),
        Some(ArgumentsError::Cut),
    );
}

#[test]
fn the_last_value_of_a_repeated_key_wins() {
    check(
        r#"{"a":"x","b":1,"a":"yz"}"#,
        json!({"a": "yz", "b": 1}),
        None,
    );
    check(
        r#"{"a":{"x":1},"b":1,"a":{"y":[2,"z"]}}"#,
        json!({"a": {"y": [2, "z"]}, "b": 1}),
        None,
    );
    check(
        r#"{"o":{"a":[1],"b":1,"c":2,"a":[3]}}"#,
        json!({"o": {"a": [3], "b": 1, "c": 2}}),
        None,
    );
    assert_eq!(
        shown(r#"{"a":"x","b":1,"a":tru"#),
        json!({"a": "x", "b": 1})
    );
    assert_eq!(shown(r#"{"a":"x","b":1,"a":"y"#), json!({"a": "y", "b": 1}));
}

#[test]
fn keys_keep_the_order_in_which_they_came() {
    let text = r#"{"z":1,"a":{"y":1,"b":2},"m":[],"c":"d"}"#;
    let (arguments, _) = parse_arguments(text);
    assert_eq!(Value::Object(arguments).to_string(), text);
}

#[test]
fn nesting_is_limited_without_recursion() {
    let nested = |depth: usize| format!("{{\"a\":{}1{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(parse_arguments(&nested(MAX_DEPTH - 1)).1, None);
    assert_eq!(
        parse_arguments(&nested(MAX_DEPTH)).1,
        Some(ArgumentsError::TooDeep)
    );
    assert_eq!(
        parse_arguments(&"{\"a\":".repeat(100_000)).1,
        Some(ArgumentsError::TooDeep)
    );
}

#[test]
fn completion_shows_before_the_end_of_the_text() {
    let mut arguments = Map::new();
    let mut parser = PartialJson::new();
    parser.push(&mut arguments, "{\"a\":{}");
    assert!(!parser.is_complete());
    parser.push(&mut arguments, "} ");
    assert!(parser.is_complete());
    parser.push(&mut arguments, "x");
    assert!(!parser.is_complete());
}

#[test]
fn another_map_in_between_is_no_panic() {
    let text = r#"{"a":[{"b":"x","c":[1,2]}],"d":{"e":"f"}}"#;
    for cut in 0..text.len() {
        let mut parser = PartialJson::new();
        parser.push(&mut Map::new(), &text[..cut]);
        parser.push(&mut Map::new(), &text[cut..]);
        assert_eq!(parser.finish(&mut Map::new()), Ok(()));
    }
}

/// Any JSON value with short keys, so that some are repeated.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |value| {
        prop_oneof![
            vec(value.clone(), 0..6).prop_map(Value::from),
            any_object(value).prop_map(Value::from),
        ]
    })
}

fn any_object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let key = prop_oneof![
        select(vec!["a", "b"]).prop_map(str::to_owned),
        any::<String>()
    ];
    vec((key, value), 0..6).prop_map(Map::from_iter)
}

/// Any JSON object as text: compact or over several lines.
fn any_text() -> impl Strategy<Value = String> {
    (any_object(any_value()), any::<bool>()).prop_map(|(object, pretty)| {
        let text = if pretty {
            serde_json::to_string_pretty(&object)
        } else {
            serde_json::to_string(&object)
        };
        text.unwrap()
    })
}

/// Text made of pieces of JSON, most of it wrong at some point.
fn almost_json() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "{", "}", "[", "]", ":", ",", "\"", "\"a\":", "\"b\":", "{\"a\":", "1", "-", "0", ".5",
        "e9", "true", "nu", "null", "\\", "\\u", "d83c", "\\ud83c", "\\udf0d", "é", " ", "\n", "x",
    ]);
    vec(piece, 0..30).prop_map(|pieces| format!("{{\"a\":{}", pieces.concat()))
}

/// Checks that nothing that was shown goes away or becomes something else.
fn assert_grows(before: &Map<String, Value>, after: &Map<String, Value>) {
    for (key, value) in before {
        match (value, after.get(key)) {
            (_, None) => panic!("key {key:?} disappeared"),
            (Value::Object(before), Some(Value::Object(after))) => assert_grows(before, after),
            (Value::Array(before), Some(Value::Array(after))) => {
                assert!(before.len() <= after.len());
            }
            (Value::String(before), Some(Value::String(after))) => {
                assert!(after.starts_with(before))
            }
            (before, Some(after)) => assert_eq!(before, after),
        }
    }
}

proptest! {
    #[test]
    fn the_whole_is_what_serde_json_reads(text in any_text()) {
        let (arguments, error) = parse_arguments(&text);
        let expected: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(error, None);
        prop_assert_eq!(Value::Object(arguments).to_string(), expected.to_string());
    }

    #[test]
    fn what_is_wrong_for_serde_json_is_an_error_and_else_the_same(text in almost_json()) {
        let (arguments, error) = parse_arguments(&text);
        match serde_json::from_str::<Value>(&text) {
            Ok(expected) => {
                prop_assert_eq!(Value::Object(arguments), expected);
                prop_assert_eq!(error, None);
            }
            // Lone surrogates and control characters are the two things that are let through.
            Err(_) => prop_assert!(error.is_some() || text.contains("\\u") || text.contains('\n')),
        }
    }

    #[test]
    fn values_only_grow(text in any_text()) {
        let mut before = Map::new();
        let mut arguments = Map::new();
        let mut parser = PartialJson::new();
        for character in characters(&text) {
            parser.push(&mut arguments, character);
            assert_grows(&before, &arguments);
            before.clone_from(&arguments);
        }
    }

    #[test]
    fn a_prefix_shows_the_same_however_it_was_cut(text in prop_oneof![any_text(), almost_json()]) {
        let mut arguments = Map::new();
        let mut parser = PartialJson::new();
        let mut read = 0;
        for character in characters(&text) {
            parser.push(&mut arguments, character);
            read += character.len();
            prop_assert_eq!(Value::Object(arguments.clone()), shown(&text[..read]));
        }
    }

    #[test]
    fn any_split_gives_the_same_as_the_whole(
        text in prop_oneof![any_text(), almost_json()],
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(read(pieces), parse_arguments(&text));
    }

    #[test]
    fn any_text_is_read_without_a_panic(bytes in any::<Vec<u8>>(), text in any::<String>()) {
        let _ = parse_arguments(&String::from_utf8_lossy(&bytes));
        let _ = parse_arguments(&text);
        let _ = parse_arguments(&format!("{{\"{text}"));
    }
}
