//! The violations of a value in the order in which AJV reports them.
//!
//! AJV works through each schema keyword by keyword in the order of its own vocabulary, not of the
//! schema. Every error here gets a key that spells its way from the root as ranks; sorting by key
//! then restores that order whatever the order in which the engine found the errors.

use std::cell::OnceCell;
use std::collections::HashMap;

use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use serde_json::Value;

use super::schema::{CompiledSchema, escaped};
use super::{Violation, wording};

/// AJV's vocabulary in its order. The keywords after `patternProperties` belong to dialects that
/// AJV does not read by default.
const KEYWORDS: &[&str] = &[
    "type",
    "$ref",
    "const",
    "enum",
    "not",
    "anyOf",
    "oneOf",
    "allOf",
    "if",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "format",
    "maxItems",
    "minItems",
    "uniqueItems",
    "prefixItems",
    "additionalItems",
    "items",
    "contains",
    "maxProperties",
    "minProperties",
    "required",
    "propertyNames",
    "additionalProperties",
    "dependencies",
    "properties",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Sorts after everything below the same keyword.
const LAST: usize = usize::MAX;

/// Returns what is wrong with `arguments`.
pub(super) fn violations(schema: &CompiledSchema, arguments: &Value) -> Vec<Violation> {
    let mut report = Report {
        schema,
        arguments,
        members: OnceCell::new(),
        entries: Vec::new(),
    };
    for error in schema.root().iter_errors(arguments) {
        report.add(&error, None);
    }
    let mut entries = report.entries;
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries.dedup_by(|a, b| a.once && b.once && a.key == b.key);
    entries.into_iter().map(|entry| entry.violation).collect()
}

struct Report<'a> {
    schema: &'a CompiledSchema,
    arguments: &'a Value,
    /// Positions of the properties of the arguments, by JSON pointer, once one is asked for.
    members: OnceCell<HashMap<String, usize>>,
    entries: Vec<Entry>,
}

struct Entry {
    key: Vec<usize>,
    violation: Violation,
    /// Whether several errors share this entry.
    once: bool,
}

type Error<'e> = jsonschema::ValidationError<'e>;

impl Report<'_> {
    /// Adds an error after the errors that led to it. `name` is set below `propertyNames`.
    fn add(&mut self, error: &Error<'_>, name: Option<&str>) {
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context } => {
                for cause in context.iter().flatten() {
                    self.add(cause, name);
                }
            }
            ValidationErrorKind::OneOfMultipleValid { context } => {
                // AJV stops at the second alternative that fits.
                let mut fitting = 0;
                for branch in context {
                    fitting += usize::from(branch.is_empty());
                    if fitting == 2 {
                        break;
                    }
                    for cause in branch {
                        self.add(cause, name);
                    }
                }
            }
            ValidationErrorKind::PropertyNames { error: cause } => {
                return self.add(cause, cause.instance().as_str());
            }
            _ => {}
        }
        let key = self.key(error, name);
        for wording in wording::of(self.schema, self.arguments, error) {
            self.entries.push(Entry {
                key: key.clone(),
                violation: Violation {
                    path: shown(error.instance_path().as_str(), wording.missing.as_deref()),
                    message: wording.message,
                },
                once: false,
            });
        }
    }

    fn key(&mut self, error: &Error<'_>, name: Option<&str>) -> Vec<usize> {
        let mut key = Vec::new();
        let mut node = Some(self.schema.root_place().node);
        let mut instance = Steps::new(error.instance_path());
        let evaluation = error.evaluation_path().as_str();
        let mut segments = evaluation.split('/').skip(1);
        while let Some(keyword) = segments.next() {
            key.push(rank(node, keyword));
            let mut below = node.and_then(|node| node.get(keyword));
            let named = matches!(
                keyword,
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
            );
            let listed = matches!(keyword, "anyOf" | "oneOf" | "allOf" | "prefixItems")
                || keyword == "items" && below.is_some_and(Value::is_array);
            if named || listed {
                let Some(segment) = segments.next() else {
                    // The error of the keyword itself: after those of its parts, except that
                    // missing dependencies come before schemas that depend on a property.
                    key.extend((keyword != "dependencies").then_some(LAST));
                    break;
                };
                key.push(position(below, segment));
                below = below.and_then(|below| below.pointer(&format!("/{segment}")));
            }
            match keyword {
                "$ref" => {
                    let reference = below.and_then(Value::as_str);
                    let target = reference.and_then(|to| self.schema.resolve(to));
                    below = target.map(|target| target.node);
                }
                "properties" | "prefixItems" => _ = instance.next(),
                "items" if listed => _ = instance.next(),
                "items" | "additionalItems" | "unevaluatedItems" | "contains" => {
                    key.push(instance.next().and_then(index).unwrap_or(LAST));
                }
                "patternProperties" | "additionalProperties" | "unevaluatedProperties" => {
                    key.push(instance.next().map_or(LAST, |member| self.member(member)));
                }
                "propertyNames" => {
                    let name = escaped(name.unwrap_or_default());
                    key.push(self.member(&format!("{}/{name}", instance.walked())));
                    self.add_once(&key, &instance, "property name must be valid");
                }
                "then" => self.add_once(&key, &instance, "must match \"then\" schema"),
                "else" => self.add_once(&key, &instance, "must match \"else\" schema"),
                _ => {}
            }
            node = below;
        }
        key
    }

    /// Adds the error that AJV reports once for all errors whose keys begin with `key`.
    fn add_once(&mut self, key: &[usize], instance: &Steps<'_>, message: &str) {
        let mut key = key.to_vec();
        key.push(LAST);
        self.entries.push(Entry {
            key,
            violation: Violation {
                path: shown(instance.walked(), None),
                message: message.to_owned(),
            },
            once: true,
        });
    }

    fn member(&self, pointer: &str) -> usize {
        let members = self.members.get_or_init(|| {
            let mut members = HashMap::new();
            number_members(self.arguments, &mut String::new(), &mut members);
            members
        });
        members.get(pointer).copied().unwrap_or(LAST)
    }
}

/// A walk along the JSON pointer to the offending value.
struct Steps<'e> {
    pointer: &'e str,
    end: usize,
}

impl<'e> Steps<'e> {
    fn new(location: &'e Location) -> Self {
        let pointer = location.as_str();
        Self { pointer, end: 0 }
    }

    /// Takes a step and returns the pointer so far; `None` at the end.
    fn next(&mut self) -> Option<&'e str> {
        let rest = self.pointer.get(self.end..)?.strip_prefix('/')?;
        self.end += 1 + rest.find('/').unwrap_or(rest.len());
        Some(self.walked())
    }

    fn walked(&self) -> &'e str {
        self.pointer.get(..self.end).unwrap_or_default()
    }
}

/// Returns the path as the model sees it.
fn shown(pointer: &str, missing: Option<&str>) -> String {
    match pointer.strip_prefix('/') {
        Some(path) => path.to_owned(),
        None => missing.unwrap_or("root").to_owned(),
    }
}

fn index(pointer: &str) -> Option<usize> {
    pointer.rsplit('/').next()?.parse().ok()
}

fn number_members(value: &Value, pointer: &mut String, members: &mut HashMap<String, usize>) {
    let parent = pointer.len();
    let mut visit = |segment: &str, value: &Value| {
        pointer.push('/');
        pointer.push_str(segment);
        members.insert(pointer.clone(), members.len());
        number_members(value, pointer, members);
        pointer.truncate(parent);
    };
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                visit(&escaped(name), value);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                visit(&index.to_string(), value);
            }
        }
        _ => {}
    }
}

fn rank(node: Option<&Value>, keyword: &str) -> usize {
    let keyword = match keyword {
        "then" | "else" => "if",
        // AJV checks these two types along with the keywords for them.
        "type" => match node.and_then(|node| node.get("type")?.as_str()) {
            Some("array") => first_used(node, "maxItems", "contains"),
            Some("object") => first_used(node, "maxProperties", "patternProperties"),
            _ => keyword,
        },
        _ => keyword,
    };
    // Keywords unknown to AJV come last.
    place(keyword).unwrap_or(KEYWORDS.len())
}

/// Returns the first of the keywords from `first` to `last` if the schema uses any of them.
fn first_used(node: Option<&Value>, first: &'static str, last: &str) -> &'static str {
    let (Some(from), Some(to)) = (place(first), place(last)) else {
        return "type";
    };
    let used = |keyword: &&str| node.is_some_and(|node| node.get(keyword).is_some());
    let mut group = KEYWORDS.iter().take(to + 1).skip(from);
    if group.any(used) { first } else { "type" }
}

fn place(keyword: &str) -> Option<usize> {
    KEYWORDS.iter().position(|known| *known == keyword)
}

/// Returns the position of a segment of a JSON pointer among the entries of a list or object.
fn position(entries: Option<&Value>, segment: &str) -> usize {
    let found = match entries {
        Some(Value::Object(members)) => {
            let name = segment.replace("~1", "/").replace("~0", "~");
            members.keys().position(|known| *known == name)
        }
        _ => segment.parse().ok(),
    };
    found.unwrap_or(LAST)
}
