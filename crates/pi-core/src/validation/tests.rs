//! The expected violations were produced by AJV 8.20 with `allErrors`, `strict: false` and
//! `ajv-formats` 3, for the arguments after coercion.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn validated(schema: &Value, arguments: &Value) -> Result<Value, ValidationError> {
    let validator = ArgumentValidator::new(schema).expect("schema");
    let arguments = arguments.as_object().expect("object");
    validator.validate("t", arguments).map(Value::Object)
}

fn property(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "v": schema } })
}

#[track_caller]
fn check_violations(schema: Value, arguments: Value, expected: &[&str]) {
    let error = validated(&schema, &arguments).expect_err("invalid");
    let found: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{schema} {arguments}");
}

#[track_caller]
fn check_coercion(schema: Value, value: Value, expected: Option<Value>) {
    let found = validated(&property(schema.clone()), &json!({ "v": value }));
    let found = found.ok().and_then(|found| found.get("v").cloned());
    // Compared as text: `5` and `5.0` are different results.
    let text = |value: Option<Value>| value.map(|value| value.to_string());
    assert_eq!(text(found), text(expected), "{value} as {schema}");
}

#[test]
fn scalars_are_coerced_without_loss() {
    let (number, integer) = (json!({ "type": "number" }), json!({ "type": "integer" }));
    let (boolean, string) = (json!({ "type": "boolean" }), json!({ "type": "string" }));
    let null = json!({ "type": "null" });
    let cases = [
        (&number, json!("5"), Some(json!(5))),
        (&number, json!(" -5.5 "), Some(json!(-5.5))),
        (&number, json!("1e3"), Some(json!(1000))),
        (
            &number,
            json!("18446744073709551615"),
            Some(json!(u64::MAX)),
        ),
        (&number, json!("12345678901234567890123"), None),
        (&number, json!("100000000000000000000"), Some(json!(1e20))),
        (&number, json!("1e999"), None),
        (&number, json!("1e-999"), None),
        (&number, json!("0e5"), Some(json!(0))),
        (&number, json!(""), None),
        (&number, json!("  "), None),
        (&number, json!("inf"), None),
        (&number, json!("NaN"), None),
        (&number, json!("0x10"), None),
        (&number, json!("5 apples"), None),
        (&number, json!(true), None),
        (&number, json!([5]), None),
        (&number, json!(5.0), Some(json!(5.0))),
        (&integer, json!(5.0), Some(json!(5))),
        (&integer, json!(-0.0), Some(json!(0))),
        (&integer, json!(1e300), Some(json!(1e300))),
        (&integer, json!("5.0"), Some(json!(5))),
        (&integer, json!("5.5"), None),
        (&integer, json!(5.5), None),
        (&boolean, json!("true"), Some(json!(true))),
        (&boolean, json!("false"), Some(json!(false))),
        (&boolean, json!("True"), None),
        (&boolean, json!(1), None),
        (&boolean, json!("1"), None),
        (&string, json!(5), Some(json!("5"))),
        (&string, json!(5.0), Some(json!("5"))),
        (&string, json!(1e21), Some(json!("1e+21"))),
        (&string, json!(1e-7), Some(json!("1e-7"))),
        (&string, json!(true), Some(json!("true"))),
        (&string, json!({}), None),
        (&null, json!(""), None),
        (&null, json!(0), None),
    ];
    for (schema, value, expected) in cases {
        check_coercion(schema.clone(), value, expected);
    }
}

#[test]
fn unions_prefer_what_is_valid_and_then_the_first_that_coercion_satisfies() {
    let either = json!({ "anyOf": [{ "type": "number" }, { "type": "string" }] });
    let nullable = json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] });
    let literals =
        json!({ "anyOf": [{ "type": "number", "const": 1 }, { "type": "number", "const": 3 }] });
    let exclusive = json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] });
    let tagged = json!({ "oneOf": [
        { "type": "object", "required": ["n"],
          "properties": { "kind": { "const": "a" }, "n": { "type": "string" } } },
        { "type": "object", "required": ["n"],
          "properties": { "kind": { "const": "b" }, "n": { "type": "integer" } } },
    ] });
    let cases = [
        (&either, json!("5"), Some(json!("5"))),
        (&either, json!(true), Some(json!("true"))),
        (&nullable, json!(null), Some(json!(null))),
        (&nullable, json!("5"), Some(json!(5))),
        (&nullable, json!("x"), None),
        (&literals, json!("3"), Some(json!(3))),
        (&literals, json!("2"), None),
        (&exclusive, json!("5"), None),
        (&exclusive, json!("5.5"), Some(json!(5.5))),
        (
            &tagged,
            json!({ "kind": "b", "n": "7" }),
            Some(json!({ "kind": "b", "n": 7 })),
        ),
        (
            &json!({ "type": ["string", "null"] }),
            json!(null),
            Some(json!(null)),
        ),
        (
            &json!({ "type": ["integer", "null"] }),
            json!("4"),
            Some(json!(4)),
        ),
        (
            &json!({ "type": ["boolean", "string"] }),
            json!("true"),
            Some(json!("true")),
        ),
    ];
    for (schema, value, expected) in cases {
        check_coercion(schema.clone(), value, expected);
    }
}

#[test]
fn null_is_left_out_only_where_the_property_is_optional_and_refuses_it() {
    let schema = json!({
        "type": "object", "required": ["r"],
        "properties": {
            "r": { "type": ["string", "null"] }, "s": { "type": "string", "default": "x" },
            "n": { "type": "null" }, "deep": { "type": "object", "properties": { "a": { "type": "number" } } },
        },
    });
    let found = validated(
        &schema,
        &json!({ "z": null, "r": null, "s": null, "n": null, "deep": { "a": null, "b": 1 } }),
    );
    let expected = json!({ "z": null, "r": null, "n": null, "deep": { "b": 1 } });
    assert_eq!(found, Ok(expected));

    let required = json!({ "required": ["r"], "properties": { "r": { "type": "string" } } });
    check_violations(required, json!({ "r": null }), &["r: must be string"]);
}

#[test]
fn nested_values_and_references_are_coerced() {
    let schema = json!({
        "type": "object",
        "properties": {
            "tree": { "$ref": "#/$defs/Tree" },
            "list": { "type": "array", "items": { "type": "integer" } },
            "pair": { "prefixItems": [{ "type": "string" }, { "type": "boolean" }], "items": { "type": "number" } },
            "all": { "allOf": [{ "properties": { "a": { "type": "number" } } }, { "properties": { "b": { "type": "string" } } }] },
            "cond": { "if": { "required": ["n"] }, "then": { "properties": { "n": { "type": "number" } } } },
        },
        "patternProperties": { "^x-": { "type": "boolean" } },
        "additionalProperties": { "type": "string" },
        "$defs": { "Tree": {
            "type": "object",
            "properties": { "v": { "type": "number" }, "kids": { "type": "array", "items": { "$ref": "#/$defs/Tree" } } },
        } },
    });
    let found = validated(
        &schema,
        &json!({
            "tree": { "v": "1", "kids": [{ "v": "2", "kids": [] }] }, "list": ["1", 2.0, 3],
            "pair": [1, "true", "2"], "all": { "a": "1", "b": 2 }, "cond": { "n": "1" },
            "x-on": "true", "rest": 5,
        }),
    );
    let expected = json!({
        "tree": { "v": 1, "kids": [{ "v": 2, "kids": [] }] }, "list": [1, 2, 3],
        "pair": ["1", true, 2], "all": { "a": 1, "b": "2" }, "cond": { "n": 1 },
        "x-on": true, "rest": "5",
    });
    assert_eq!(found, Ok(expected));
}

#[test]
fn tuples_of_older_dialects_are_understood() {
    let tuple =
        json!({ "items": [{ "type": "string" }, { "type": "number" }], "additionalItems": false });
    check_coercion(tuple.clone(), json!([1, "2"]), Some(json!(["1", 2])));
    check_violations(
        property(tuple),
        json!({ "v": [[], 1, 2] }),
        &["v: must NOT have more than 2 items", "v/0: must be string"],
    );
}

#[test]
fn messages_are_those_of_ajv() {
    let cases = [
        (json!({ "type": "string" }), json!([]), "must be string"),
        (
            json!({ "type": ["string", "null"] }),
            json!([]),
            "must be string,null",
        ),
        (
            json!({ "minLength": 3 }),
            json!("ab"),
            "must NOT have fewer than 3 characters",
        ),
        (
            json!({ "maxLength": 1 }),
            json!("ab"),
            "must NOT have more than 1 characters",
        ),
        (
            json!({ "pattern": "^a+\"$" }),
            json!("z"),
            "must match pattern \"^a+\"$\"",
        ),
        (
            json!({ "format": "email" }),
            json!("a@b"),
            "must match format \"email\"",
        ),
        (json!({ "minimum": 1 }), json!(0), "must be >= 1"),
        (json!({ "maximum": 1e21 }), json!(1e22), "must be <= 1e+21"),
        (
            json!({ "exclusiveMinimum": 1.5 }),
            json!(1.5),
            "must be > 1.5",
        ),
        (json!({ "exclusiveMaximum": 1.0 }), json!(1), "must be < 1"),
        (
            json!({ "multipleOf": 0.5 }),
            json!(0.7),
            "must be multiple of 0.5",
        ),
        (
            json!({ "enum": ["a"] }),
            json!("b"),
            "must be equal to one of the allowed values",
        ),
        (
            json!({ "const": "k" }),
            json!("z"),
            "must be equal to constant",
        ),
        (
            json!({ "minItems": 1 }),
            json!([]),
            "must NOT have fewer than 1 items",
        ),
        (
            json!({ "maxItems": 0 }),
            json!([1]),
            "must NOT have more than 0 items",
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 2, 1, 2, 1]),
            "must NOT have duplicate items (items ## 2 and 4 are identical)",
        ),
        (
            json!({ "uniqueItems": true, "items": { "type": "number" } }),
            json!([1, 2, 1, 2, 1]),
            "must NOT have duplicate items (items ## 4 and 2 are identical)",
        ),
        (
            json!({ "contains": { "const": 1 } }),
            json!([]),
            "must contain at least 1 valid item(s)",
        ),
        (
            json!({ "minProperties": 1 }),
            json!({}),
            "must NOT have fewer than 1 properties",
        ),
        (
            json!({ "maxProperties": 0 }),
            json!({ "a": 1 }),
            "must NOT have more than 0 properties",
        ),
        (
            json!({ "required": ["a"] }),
            json!({}),
            "must have required property 'a'",
        ),
        (
            json!({ "dependencies": { "a": ["b"] } }),
            json!({ "a": 1 }),
            "must have property b when property a is present",
        ),
        (
            json!({ "additionalProperties": false }),
            json!({ "a": 1 }),
            "must NOT have additional properties",
        ),
        (
            json!({ "not": { "type": "string" } }),
            json!("a"),
            "must NOT be valid",
        ),
        (json!(false), json!(1), "boolean schema is false"),
    ];
    for (schema, value, expected) in cases {
        let line = format!("v: {expected}");
        check_violations(property(schema), json!({ "v": value }), &[&line]);
    }
}

#[test]
fn violations_come_in_the_order_of_ajv() {
    check_violations(
        json!({
            "additionalProperties": false,
            "properties": { "b": { "type": "number" }, "a": { "pattern": "^x", "maxLength": 0, "type": "string", "enum": ["x"] } },
            "required": ["z", "y"], "type": "object",
        }),
        json!({ "more": 1, "a": "k", "b": "k", "most": 2 }),
        &[
            "z: must have required property 'z'",
            "y: must have required property 'y'",
            "root: must NOT have additional properties",
            "root: must NOT have additional properties",
            "b: must be number",
            "a: must be equal to one of the allowed values",
            "a: must NOT have more than 0 characters",
            "a: must match pattern \"^x\"",
        ],
    );
    check_violations(
        json!({ "properties": { "r": { "type": "array", "maxItems": 2, "items": {
            "type": "object", "properties": { "n/m~": { "type": "string" } }, "required": ["n"] } } } }),
        json!({ "r": [{}, { "n": 1, "n/m~": [] }, { "n": 1 }] }),
        &[
            "r: must NOT have more than 2 items",
            "r/0: must have required property 'n'",
            "r/1/n~1m~0: must be string",
        ],
    );
    check_violations(
        json!({ "properties": { "o": { "anyOf": [
            { "type": "object", "properties": { "k": { "const": "x" } }, "required": ["k", "l"] },
            { "$ref": "#/$defs/Other" }, { "type": "string" },
        ] } }, "$defs": { "Other": { "type": "object", "properties": { "k": { "const": "y" } } } } }),
        json!({ "o": { "k": "z" } }),
        &[
            "o: must have required property 'l'",
            "o/k: must be equal to constant",
            "o/k: must be equal to constant",
            "o: must be string",
            "o: must match a schema in anyOf",
        ],
    );
    check_violations(
        property(
            json!({ "type": "object", "maxProperties": 3, "enum": [1], "oneOf": [{ "minLength": 4 }, { "maxLength": 1 }] }),
        ),
        json!({ "v": "ab" }),
        &[
            "v: must be equal to one of the allowed values",
            "v: must NOT have fewer than 4 characters",
            "v: must NOT have more than 1 characters",
            "v: must match exactly one schema in oneOf",
            "v: must be object",
        ],
    );
}

#[test]
fn conditions_and_property_names_add_an_error_of_their_own() {
    check_violations(
        property(json!({ "if": { "minimum": 3 }, "then": { "multipleOf": 2, "maximum": 4 } })),
        json!({ "v": 5 }),
        &[
            "v: must be <= 4",
            "v: must be multiple of 2",
            "v: must match \"then\" schema",
        ],
    );
    check_violations(
        property(json!({ "propertyNames": { "pattern": "^a", "minLength": 2 } })),
        json!({ "v": { "c": 1, "b": 1 } }),
        &[
            "v: must NOT have fewer than 2 characters",
            "v: must match pattern \"^a\"",
            "v: property name must be valid",
            "v: must NOT have fewer than 2 characters",
            "v: must match pattern \"^a\"",
            "v: property name must be valid",
        ],
    );
}

#[test]
fn formats_are_those_of_ajv_formats() {
    let cases = [
        ("email", "a.b+c@d-e.co", true),
        ("email", "\"a b\"@c.d", false),
        ("email", "a..b@c.d", false),
        ("date", "2024-02-29", true),
        ("date", "2023-02-29", false),
        ("date-time", "2024-01-01T12:00:00Z", true),
        ("date-time", "2024-01-01 12:00:00.5+0100", true),
        ("date-time", "2024-01-01T12:00:00", false),
        ("date-time", "2024-02-30T12:00:00Z", false),
        ("iso-date-time", "2024-01-01T12:00:00", true),
        ("time", "12:00:00", false),
        ("time", "23:59:60Z", true),
        ("time", "00:59:60+01:00", true),
        ("time", "12:00:60Z", false),
        ("time", "12:00:00+01", true),
        ("time", "12:00:00.Z", false),
        ("uri", "http://x.y/z", true),
        ("uri", "::", false),
        (
            "uuid",
            "urn:uuid:123E4567-e89b-12d3-a456-426614174000",
            true,
        ),
        ("uuid", "123e4567e89b12d3a456426614174000", false),
        ("ipv4", "256.1.1.1", false),
        ("ipv6", "::ffff:1.2.3.4", true),
        ("hostname", "a_b", false),
        ("regex", "(", false),
        ("byte", "aGk=", true),
        ("byte", "aGk", false),
        ("url", "https://example.com/a?b", true),
        ("url", "example.com", false),
        ("no-such-format", "x", true),
    ];
    for (format, text, valid) in cases {
        let schema = property(json!({ "type": "string", "format": format }));
        let found = validated(&schema, &json!({ "v": text }));
        assert_eq!(found.is_ok(), valid, "{format} {text}");
    }
}

#[test]
fn the_text_for_the_model_shows_the_arguments_as_received() {
    let schema = json!({
        "type": "object", "required": ["value"],
        "properties": { "value": { "type": "string" }, "n": { "type": "number" } },
    });
    let arguments =
        json!({ "z": { "k": [1, {}, []] }, "n": "5", "f": [5.0, 1e21], "s": "日\u{1}\"" });
    let error = validated(&schema, &arguments).expect_err("invalid");
    let expected = r#"Validation failed for tool "t":
  - value: must have required property 'value'

Received arguments:
{
  "z": {
    "k": [
      1,
      {},
      []
    ]
  },
  "n": "5",
  "f": [
    5,
    1e+21
  ],
  "s": "日\u0001\""
}"#;
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_broken_schema_is_an_error_that_names_the_place() {
    let cases = [
        (
            json!({ "type": "strin" }),
            "invalid parameter schema at /type: ",
        ),
        (
            property(json!({ "pattern": "(" })),
            "invalid parameter schema at /properties/v/pattern: ",
        ),
        (
            json!({ "pattern": "(a{1000}){1000}" }),
            "invalid parameter schema at /pattern: ",
        ),
        (
            json!({ "$ref": "https://example.com/schema.json" }),
            "invalid parameter schema: ",
        ),
        (
            json!({ "$ref": "file:///etc/hosts" }),
            "invalid parameter schema: ",
        ),
        (
            json!({ "$ref": "#/$defs/Nowhere" }),
            "invalid parameter schema: ",
        ),
        (
            json!({ "$schema": "https://example.com/dialect" }),
            "invalid parameter schema at /$schema: ",
        ),
        (json!("string"), "invalid parameter schema: "),
    ];
    for (schema, expected) in cases {
        let error = ArgumentValidator::new(&schema).expect_err("broken");
        let text = error.to_string();
        assert!(text.starts_with(expected), "{schema}: {text}");
    }
}

#[test]
fn a_pattern_that_backtracks_without_end_counts_as_not_matching() {
    let schema = property(json!({ "pattern": "^(?=a)(a|a)*(?<!b)$" }));
    let text = format!("{}b", "a".repeat(60));
    let expected = "v: must match pattern \"^(?=a)(a|a)*(?<!b)$\"";
    check_violations(schema, json!({ "v": text }), &[expected]);
}

#[test]
fn schemas_that_refer_to_themselves_come_to_an_end() {
    let endless = json!({ "properties": { "v": { "$ref": "#/properties/v/allOf/0" } } });
    let cyclic = property(json!({ "$ref": "#/$defs/A" }));
    let mut cyclic = cyclic;
    cyclic["$defs"] =
        json!({ "A": { "type": "object", "properties": { "v": { "$ref": "#/$defs/A" } } } });
    assert!(ArgumentValidator::new(&endless).is_err());
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({ "v": deep });
    }
    assert_eq!(validated(&cyclic, &deep), Ok(deep));
}

/// Schemas that overlap with the values of `arguments` often enough to be met, missed and repaired.
fn schemas() -> Vec<Value> {
    let scalar = json!({ "type": ["integer", "boolean"] });
    vec![
        json!({ "properties": { "a": { "type": "integer" }, "b": { "type": "string" } }, "required": ["a"] }),
        json!({ "properties": { "a": { "anyOf": [{ "type": "number" }, { "type": "boolean" }, { "type": "null" }] } },
                "additionalProperties": scalar }),
        json!({ "properties": { "a": { "oneOf": [{ "type": "integer" }, { "type": "array", "items": { "type": "integer" } }] },
                                "b": { "$ref": "#" } } }),
        json!({ "patternProperties": { "a": { "type": "string" }, "b": { "enum": [5, "5", true] } } }),
        json!({ "if": { "properties": { "a": { "type": "string" } } },
                "then": { "properties": { "b": { "type": "integer" } } },
                "else": { "properties": { "b": { "type": "string" } } } }),
        json!({ "allOf": [{ "properties": { "a": { "type": "number" } } }, { "properties": { "a": { "type": "integer" } } }] }),
    ]
}

fn arguments() -> impl Strategy<Value = Value> {
    let scalar = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!("true"),
        json!(5),
        json!(5.0),
        json!(5.5),
        json!("5"),
        json!("5.0"),
        json!("x"),
        json!(""),
    ]);
    let value = scalar.prop_recursive(3, 16, 3, |inner| {
        let name = prop::sample::select(vec!["a", "b", "c"]);
        let object = prop::collection::vec((name, inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            object.prop_map(|members| members.into_iter().collect()),
        ]
    });
    let name = prop::sample::select(vec!["a", "b", "c"]);
    prop::collection::vec((name, value), 0..4).prop_map(|members| members.into_iter().collect())
}

/// Writes whole floats as integers, the one change that valid values may see.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.as_f64() == Some(5.0) => json!(5),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), plain(value)))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn a_valid_value_is_never_changed(arguments in arguments()) {
        for schema in schemas() {
            if jsonschema::is_valid(&schema, &arguments) {
                let found = validated(&schema, &arguments).expect("valid");
                prop_assert_eq!(plain(&found), plain(&arguments), "{}", schema);
            }
        }
    }

    #[test]
    fn validation_is_idempotent_and_its_result_valid(arguments in arguments()) {
        for schema in schemas() {
            if let Ok(found) = validated(&schema, &arguments) {
                prop_assert!(jsonschema::is_valid(&schema, &found), "{}", schema);
                let again = validated(&schema, &found).expect("valid");
                prop_assert_eq!(again.to_string(), found.to_string(), "{}", schema);
            }
        }
    }
}
