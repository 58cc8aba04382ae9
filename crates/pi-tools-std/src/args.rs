//! What is done to the arguments of a call before they are validated: older and other spellings of
//! a field are accepted, and numbers may come as text.

use pi_core::ToolError;
use serde_json::{Map, Value};

/// A field of a tool's arguments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    name: &'static str,
    /// Other names, first one first. They are not advertised.
    aliases: &'static [&'static str],
    form: Form,
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Anything that is no number.
    Other,
    /// A whole number.
    Whole,
    /// Any number.
    Number,
}

impl Field {
    /// Any field but a number.
    pub(crate) const fn other(name: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            form: Form::Other,
            required: false,
        }
    }

    /// A whole number.
    pub(crate) const fn whole(name: &'static str) -> Self {
        Self {
            form: Form::Whole,
            ..Self::other(name)
        }
    }

    /// A number of seconds.
    pub(crate) const fn number(name: &'static str) -> Self {
        Self {
            form: Form::Number,
            ..Self::other(name)
        }
    }

    /// Returns all names by which it may come.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(crate) const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    pub(crate) const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Rewrites arguments into the form of the schema.
///
/// # Errors
/// If a number is not whole where a whole one is needed.
pub(crate) fn prepare(
    mut arguments: Map<String, Value>,
    fields: &[Field],
) -> Result<Map<String, Value>, ToolError> {
    for field in fields {
        for alias in field.aliases {
            if arguments.get(field.name).is_none_or(Value::is_null)
                && let Some(value) = arguments.shift_remove(*alias)
            {
                arguments.insert(field.name.to_owned(), value);
            }
        }
        let Some(value) = arguments.get_mut(field.name) else {
            continue;
        };
        if value.is_null() && !field.required {
            arguments.shift_remove(field.name);
        } else if field.form != Form::Other {
            read_number(value, *field)?;
        }
    }
    Ok(arguments)
}

/// Reads a number that is written as text, and makes sure that a whole one is whole.
fn read_number(value: &mut Value, field: Field) -> Result<(), ToolError> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Some(number) = number else {
        return Ok(());
    };
    if field.form == Form::Whole {
        if !number.is_finite() || number.fract() != 0.0 {
            return Err(ToolError::new(format!(
                "{} must be a whole number.",
                field.name
            )));
        }
        // Whole numbers beyond the range count as its ends, which are past any file.
        let whole = value.as_i64().unwrap_or(number as i64);
        *value = Value::from(whole);
    } else if !number.is_finite() {
        return Err(ToolError::new(format!(
            "Invalid {}: must be a positive number of seconds.",
            field.name
        )));
    } else if value.is_string() {
        *value = Value::from(number);
    }
    Ok(())
}

/// Reads a limit of a call: at least `least`, and `default` if it names none.
pub(crate) fn limit(asked: Option<i64>, least: usize, default: usize) -> usize {
    match asked {
        Some(asked) => usize::try_from(asked).map_or_else(
            |_| if asked < 0 { least } else { usize::MAX },
            |asked| asked.max(least),
        ),
        None => default,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Field, prepare};

    const FIELDS: &[Field] = &[
        Field::other("path").required().or(&["file_path"]),
        Field::whole("limit"),
        Field::number("timeout"),
    ];

    #[track_caller]
    fn check(arguments: serde_json::Value, expected: serde_json::Value) {
        let serde_json::Value::Object(arguments) = arguments else {
            panic!("no object");
        };
        match prepare(arguments, FIELDS) {
            Ok(arguments) => assert_eq!(serde_json::Value::Object(arguments), expected),
            Err(error) => assert_eq!(json!(error.to_string()), expected),
        }
    }

    #[test]
    fn other_names_are_accepted_unless_the_right_one_is_there() {
        check(json!({ "file_path": "a" }), json!({ "path": "a" }));
        check(
            json!({ "file_path": "a", "path": "b" }),
            json!({ "file_path": "a", "path": "b" }),
        );
    }

    #[test]
    fn null_is_absent_where_a_field_is_optional() {
        check(
            json!({ "path": null, "file_path": "a" }),
            json!({ "path": "a" }),
        );
        check(
            json!({ "path": null, "limit": null, "other": null }),
            json!({ "path": null, "other": null }),
        );
    }

    #[test]
    fn numbers_may_come_as_text() {
        for (limit, expected) in [
            (json!("10"), json!(10)),
            (json!(" -3 "), json!(-3)),
            (json!("5.0"), json!(5)),
            (json!(5.0), json!(5)),
            (
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_993_i64),
            ),
            (json!(1e300), json!(i64::MAX)),
            (json!("ten"), json!("ten")),
            (json!([1]), json!([1])),
        ] {
            check(json!({ "limit": limit }), json!({ "limit": expected }));
        }
        check(json!({ "timeout": "0.5" }), json!({ "timeout": 0.5 }));
        check(
            json!({ "timeout": "inf" }),
            json!("Invalid timeout: must be a positive number of seconds."),
        );
    }

    #[test]
    fn numbers_that_are_not_whole_are_refused() {
        for limit in [json!(1.5), json!("1.5"), json!("NaN"), json!("inf")] {
            check(
                json!({ "limit": limit }),
                json!("limit must be a whole number."),
            );
        }
    }
}
