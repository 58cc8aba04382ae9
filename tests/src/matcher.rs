//! Matchers: expectations in JSON that leave room.
//!
//! A plain value must be equal. In an object the listed keys must match and others are free; a list
//! must match in length and order. An object with a `$` key is a matcher, and several in one object
//! must all match.

use std::borrow::Cow;

use regex::RegexBuilder;
use serde_json::{Map, Value};

use crate::compare::{Difference, equal_scalars, member};

/// The keys that make an object a matcher.
const MATCHERS: [&str; 12] = [
    "$contains",
    "$notContains",
    "$matches",
    "$oneOf",
    "$any",
    "$absent",
    "$null",
    "$atLeast",
    "$atMost",
    "$inOrder",
    "$each",
    "$none",
];

/// Compares a value with a pattern; `None` is a value that is not there.
///
/// # Errors
/// The first difference.
pub fn check(pattern: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    check_at("$", pattern, actual)
}

fn is_matcher(key: &str) -> bool {
    MATCHERS.contains(&key)
}

fn check_at(path: &str, pattern: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    match pattern {
        Value::Object(fields) if fields.keys().any(|key| is_matcher(key)) => {
            for (key, argument) in fields {
                if is_matcher(key) {
                    check_matcher(path, key, argument, actual)?;
                }
            }
            let plain = fields.iter().filter(|(key, _)| !is_matcher(key));
            check_fields(path, plain, actual)
        }
        Value::Object(fields) => match actual {
            Some(Value::Object(_)) => check_fields(path, fields.iter(), actual),
            _ => Err(Difference::new(path, Some(pattern), actual)),
        },
        Value::Array(items) => check_items(path, pattern, items, actual),
        scalar => match actual {
            Some(actual) if equal_scalars(scalar, actual) => Ok(()),
            _ => Err(Difference::new(path, Some(scalar), actual)),
        },
    }
}

fn check_fields<'a>(
    path: &str,
    fields: impl Iterator<Item = (&'a String, &'a Value)>,
    actual: Option<&Value>,
) -> Result<(), Difference> {
    let empty = Map::new();
    let actual = actual.and_then(Value::as_object).unwrap_or(&empty);
    for (key, pattern) in fields {
        check_at(&member(path, key), pattern, actual.get(key))?;
    }
    Ok(())
}

fn check_items(
    path: &str,
    pattern: &Value,
    items: &[Value],
    actual: Option<&Value>,
) -> Result<(), Difference> {
    let Some(Value::Array(found)) = actual else {
        return Err(Difference::new(path, Some(pattern), actual));
    };
    for (index, item) in items.iter().enumerate() {
        check_at(&format!("{path}[{index}]"), item, found.get(index))?;
    }
    match found.get(items.len()) {
        Some(extra) => Err(Difference::new(
            &format!("{path}[{}]", items.len()),
            None,
            Some(extra),
        )),
        None => Ok(()),
    }
}

fn check_matcher(
    path: &str,
    name: &str,
    argument: &Value,
    actual: Option<&Value>,
) -> Result<(), Difference> {
    let unmet = || {
        Err(Difference::unmet(
            path,
            format!("{name} {argument}"),
            actual,
        ))
    };
    let fulfilled = match name {
        "$contains" => {
            let text = actual.and_then(Value::as_str);
            text.is_some_and(|text| parts(argument).all(|part| text.contains(part)))
        }
        "$notContains" => {
            let text = actual.and_then(Value::as_str);
            text.is_some_and(|text| !parts(argument).any(|part| text.contains(part)))
        }
        "$matches" => return check_expression(path, argument, actual),
        "$oneOf" => return check_one_of(path, argument, actual),
        "$any" => actual.is_some(),
        "$absent" => actual.is_none(),
        "$null" => actual.is_some_and(Value::is_null),
        "$atLeast" => compare_numbers(argument, actual).is_some_and(|order| order.is_ge()),
        "$atMost" => compare_numbers(argument, actual).is_some_and(|order| order.is_le()),
        "$inOrder" => return check_in_order(path, argument, actual),
        "$each" => return check_each(path, argument, actual),
        "$none" => {
            let items = actual.and_then(Value::as_array);
            items.is_some_and(|items| {
                items
                    .iter()
                    .all(|item| check_at(path, argument, Some(item)).is_err())
            })
        }
        _ => false,
    };
    if fulfilled { Ok(()) } else { unmet() }
}

/// The texts of an argument that is a text or a list of texts.
fn parts(argument: &Value) -> impl Iterator<Item = &str> {
    let list = match argument {
        Value::Array(list) => list.as_slice(),
        single => std::slice::from_ref(single),
    };
    list.iter().filter_map(Value::as_str)
}

fn check_expression(
    path: &str,
    argument: &Value,
    actual: Option<&Value>,
) -> Result<(), Difference> {
    let source = argument.as_str().unwrap_or_default();
    let expression = match RegexBuilder::new(source).case_insensitive(true).build() {
        Ok(expression) => expression,
        Err(error) => {
            return Err(Difference::unmet(
                path,
                format!("a readable expression: {error}"),
                actual,
            ));
        }
    };
    let text: Option<Cow<'_, str>> = match actual {
        Some(Value::String(text)) => Some(Cow::Borrowed(text)),
        _ => None,
    };
    match text {
        Some(text) if expression.is_match(&text) => Ok(()),
        _ => Err(Difference::unmet(
            path,
            format!("a text like /{source}/"),
            actual,
        )),
    }
}

/// Fails with the difference of the alternative that fits furthest.
fn check_one_of(path: &str, argument: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    let alternatives = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut nearest: Option<Difference> = None;
    for alternative in alternatives {
        match check_at(path, alternative, actual) {
            Ok(()) => return Ok(()),
            Err(difference) => {
                if nearest
                    .as_ref()
                    .is_none_or(|known| known.path.len() < difference.path.len())
                {
                    nearest = Some(difference);
                }
            }
        }
    }
    Err(match nearest {
        Some(mut difference) => {
            difference.expected = format!(
                "(nearest of {}) {}",
                alternatives.len(),
                difference.expected
            );
            difference
        }
        None => Difference::unmet(path, "one of no alternatives", actual),
    })
}

fn compare_numbers(limit: &Value, actual: Option<&Value>) -> Option<std::cmp::Ordering> {
    actual?.as_f64()?.partial_cmp(&limit.as_f64()?)
}

fn check_in_order(path: &str, argument: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    let wanted = argument.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(Value::Array(found)) = actual else {
        return Err(Difference::new(path, Some(argument), actual));
    };
    let mut rest = found.iter();
    for (index, pattern) in wanted.iter().enumerate() {
        if !rest
            .by_ref()
            .any(|item| check_at(path, pattern, Some(item)).is_ok())
        {
            let expected = format!("in this order, as number {}: {pattern}", index + 1);
            return Err(Difference::unmet(
                path,
                crate::compare::shorten(&expected),
                actual,
            ));
        }
    }
    Ok(())
}

fn check_each(path: &str, argument: &Value, actual: Option<&Value>) -> Result<(), Difference> {
    let Some(Value::Array(found)) = actual else {
        return Err(Difference::unmet(path, "a list", actual));
    };
    for (index, item) in found.iter().enumerate() {
        check_at(&format!("{path}[{index}]"), argument, Some(item))?;
    }
    Ok(())
}
