//! AJV's words for what the engine found.

use std::collections::HashMap;
use std::iter;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::{Map, Value};

use super::js_text;
use super::schema::CompiledSchema;

pub(super) struct Wording {
    pub(super) message: String,
    /// The property that is missing.
    pub(super) missing: Option<String>,
}

/// Returns the errors that AJV reports where the engine reports `error` about `arguments`.
pub(super) fn of(
    schema: &CompiledSchema,
    arguments: &Value,
    error: &jsonschema::ValidationError<'_>,
) -> impl Iterator<Item = Wording> + use<> {
    let refused = match error.kind() {
        Kind::FalseSchema => refused_members(arguments, error),
        _ => None,
    };
    let times = match error.kind() {
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.len()
        }
        Kind::FalseSchema => refused.map_or(1, Map::len),
        // Found together with `additionalProperties`, a property can count as missing that is
        // there but not declared.
        Kind::Required { property } if is_present(error, property) => 0,
        _ => 1,
    };
    let missing = match error.kind() {
        Kind::Required { property } => property.as_str().map(str::to_owned),
        _ => None,
    };
    let message = message(schema, error, refused);
    iter::repeat_n((message, missing), times).map(|(message, missing)| Wording { message, missing })
}

fn message(
    schema: &CompiledSchema,
    error: &jsonschema::ValidationError<'_>,
    refused: Option<&Map<String, Value>>,
) -> String {
    match error.kind() {
        Kind::Type { kind } => format!("must be {}", types(schema, error, kind)),
        Kind::Required { property } => required(schema, error, property),
        Kind::Constant { .. } => "must be equal to constant".to_owned(),
        Kind::Enum { .. } => "must be equal to one of the allowed values".to_owned(),
        Kind::Not { .. } => "must NOT be valid".to_owned(),
        Kind::AnyOf { .. } => "must match a schema in anyOf".to_owned(),
        Kind::OneOfNotValid { .. } | Kind::OneOfMultipleValid { .. } => {
            "must match exactly one schema in oneOf".to_owned()
        }
        Kind::FalseSchema if refused.is_some() => "must NOT have additional properties".to_owned(),
        Kind::FalseSchema => "boolean schema is false".to_owned(),
        Kind::Maximum { limit } => format!("must be <= {}", number(limit)),
        Kind::Minimum { limit } => format!("must be >= {}", number(limit)),
        Kind::ExclusiveMaximum { limit } => format!("must be < {}", number(limit)),
        Kind::ExclusiveMinimum { limit } => format!("must be > {}", number(limit)),
        Kind::MultipleOf { multiple_of } => {
            format!("must be multiple of {}", js_text::float(*multiple_of))
        }
        Kind::MaxLength { limit } => format!("must NOT have more than {limit} characters"),
        Kind::MinLength { limit } => format!("must NOT have fewer than {limit} characters"),
        Kind::MaxItems { limit } => format!("must NOT have more than {limit} items"),
        Kind::AdditionalItems { limit } => format!("must NOT have more than {limit} items"),
        Kind::MinItems { limit } => format!("must NOT have fewer than {limit} items"),
        Kind::MaxProperties { limit } => format!("must NOT have more than {limit} properties"),
        Kind::MinProperties { limit } => format!("must NOT have fewer than {limit} properties"),
        Kind::Pattern { pattern } => format!("must match pattern \"{pattern}\""),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            let pattern = keyword_value(schema, error).and_then(Value::as_str);
            format!("must match pattern \"{}\"", pattern.unwrap_or_default())
        }
        Kind::Format { format } => format!("must match format \"{format}\""),
        Kind::UniqueItems => duplicates(schema, error),
        Kind::Contains => "must contain at least 1 valid item(s)".to_owned(),
        Kind::AdditionalProperties { .. } => "must NOT have additional properties".to_owned(),
        Kind::UnevaluatedProperties { .. } => "must NOT have unevaluated properties".to_owned(),
        Kind::UnevaluatedItems { .. } => "must NOT have unevaluated items".to_owned(),
        // Kinds AJV has no counterpart for.
        _ => error.to_string(),
    }
}

/// Returns the object whose properties are all refused by `additionalProperties`. Where none is
/// declared, the engine reports its first member as refused by a `false` schema.
fn refused_members<'v>(
    arguments: &'v Value,
    error: &jsonschema::ValidationError<'_>,
) -> Option<&'v Map<String, Value>> {
    let is_keyword = error
        .schema_path()
        .as_str()
        .ends_with("/additionalProperties");
    let value = arguments.pointer(error.instance_path().as_str())?;
    let members = value.as_object()?;
    (is_keyword && value != error.instance().as_ref()).then_some(members)
}

fn is_present(error: &jsonschema::ValidationError<'_>, property: &Value) -> bool {
    let name = property.as_str();
    name.is_some_and(|name| error.instance().get(name).is_some())
}

fn types(
    schema: &CompiledSchema,
    error: &jsonschema::ValidationError<'_>,
    kind: &TypeKind,
) -> String {
    match (keyword_value(schema, error), kind) {
        (Some(Value::Array(listed)), _) => {
            let names: Vec<_> = listed.iter().filter_map(Value::as_str).collect();
            names.join(",")
        }
        (_, TypeKind::Single(single)) => single.to_string(),
        (_, TypeKind::Multiple(several)) => {
            let names: Vec<_> = several.iter().map(|single| single.to_string()).collect();
            names.join(",")
        }
    }
}

fn required(
    schema: &CompiledSchema,
    error: &jsonschema::ValidationError<'_>,
    property: &Value,
) -> String {
    let triggers = keyword_value(schema, error).and_then(Value::as_object);
    let Some(triggers) = triggers else {
        let property = property.as_str().unwrap_or_default();
        return format!("must have required property '{property}'");
    };
    // `dependentRequired` or `dependencies`: find the property that asks for the missing one.
    let instance = error.instance();
    let asking = triggers.iter().find_map(|(trigger, wanted)| {
        let wanted = wanted.as_array()?;
        let asks = instance.get(trigger).is_some() && wanted.contains(property);
        asks.then_some((trigger, wanted))
    });
    match asking {
        Some((trigger, wanted)) => {
            let names: Vec<_> = wanted.iter().filter_map(Value::as_str).collect();
            let noun = match names.len() {
                1 => "property",
                _ => "properties",
            };
            let names = names.join(", ");
            format!("must have {noun} {names} when property {trigger} is present")
        }
        None => error.to_string(),
    }
}

/// Names the pair of equal items that AJV finds first: it looks from the end.
fn duplicates(schema: &CompiledSchema, error: &jsonschema::ValidationError<'_>) -> String {
    let instance = error.instance();
    let mut positions: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, item) in instance.as_array().into_iter().flatten().enumerate() {
        positions.entry(canonical(item)).or_default().push(index);
    }
    let pairs = positions.values().filter_map(|found| match found[..] {
        [.., earlier, later] => Some((earlier, later)),
        _ => None,
    });
    // Items known to be scalar are looked up in a table, others compared pair by pair.
    let pair = if has_scalar_items(schema, error) {
        pairs.max().map(|(earlier, later)| (later, earlier))
    } else {
        pairs.max_by_key(|(_, later)| *later)
    };
    match pair {
        Some((first, second)) => {
            format!("must NOT have duplicate items (items ## {first} and {second} are identical)")
        }
        None => "must NOT have duplicate items".to_owned(),
    }
}

fn has_scalar_items(schema: &CompiledSchema, error: &jsonschema::ValidationError<'_>) -> bool {
    let path = error.schema_path().as_str();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let types = schema
        .lookup(parent)
        .and_then(|parent| parent.get("items")?.get("type"));
    let is_scalar = |name: &Value| name != "object" && name != "array";
    match types {
        Some(Value::Array(listed)) => !listed.is_empty() && listed.iter().all(is_scalar),
        Some(single) => is_scalar(single),
        None => false,
    }
}

/// Returns a text that is the same for equal values and no others.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => js_text::number(number),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let member =
                |(name, value): (&String, &Value)| format!("{name:?}:{}", canonical(value));
            let members: Vec<_> = members.into_iter().map(member).collect();
            format!("{{{}}}", members.join(","))
        }
        scalar => scalar.to_string(),
    }
}

fn keyword_value<'a>(
    schema: &'a CompiledSchema,
    error: &jsonschema::ValidationError<'_>,
) -> Option<&'a Value> {
    schema.lookup(error.schema_path().as_str())
}

fn number(limit: &Value) -> String {
    limit.as_number().map(js_text::number).unwrap_or_default()
}
