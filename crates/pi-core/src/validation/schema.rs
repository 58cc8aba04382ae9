//! A schema with everything compiled from it: the whole at once, parts when first asked for.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jsonschema::{Draft, PatternOptions, Registry, ValidationOptions, Validator};
use serde_json::{Value, json};

use super::{SchemaError, format};

/// The name under which parts of the schema refer to the whole.
const ROOT_URI: &str = "urn:tool-parameters";

/// Steps a pattern with look-around or back-references may take on one string before it counts as
/// not matching. All other patterns run in linear time.
const BACKTRACK_LIMIT: usize = 100_000;

/// Bytes one compiled pattern may take.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;

pub(super) struct CompiledSchema {
    source: Value,
    draft: Draft,
    root: Validator,
    registry: Registry<'static>,
    /// Validators for parts, by JSON pointer; `None` where a part does not compile on its own.
    parts: Cache,
    /// Matchers for the names in `patternProperties`.
    patterns: Cache,
}

type Cache = Mutex<HashMap<String, Option<Arc<Validator>>>>;

/// A subschema and the JSON pointer to it.
#[derive(Clone)]
pub(super) struct Place<'a> {
    pub(super) node: &'a Value,
    pub(super) pointer: String,
}

impl<'a> Place<'a> {
    /// Returns the subschema under `keyword`, if there is one.
    pub(super) fn child(&self, keyword: &str) -> Option<Self> {
        let node = self.node.get(keyword)?;
        Some(self.step(node, keyword))
    }

    /// Returns the subschema under `keyword` and `name`, if there is one.
    pub(super) fn member(&self, keyword: &str, name: &str) -> Option<Self> {
        let node = self.node.get(keyword)?.get(name)?;
        Some(self.step(node, &format!("{keyword}/{}", escaped(name))))
    }

    /// Returns the subschemas in the list under `keyword`.
    pub(super) fn list(&self, keyword: &str) -> impl Iterator<Item = Self> {
        let entries = self.node.get(keyword).and_then(Value::as_array);
        let entries = entries.map(Vec::as_slice).unwrap_or_default();
        let place = move |(index, node)| self.step(node, &format!("{keyword}/{index}"));
        entries.iter().enumerate().map(place)
    }

    fn step(&self, node: &'a Value, segments: &str) -> Self {
        let pointer = format!("{}/{segments}", self.pointer);
        Self { node, pointer }
    }
}

impl CompiledSchema {
    pub(super) fn new(source: &Value) -> Result<Self, SchemaError> {
        let draft = match source.get("$schema") {
            Some(_) => Draft::default().detect(source),
            None if has_tuple_items(source) => Draft::Draft201909,
            None => Draft::Draft202012,
        };
        if draft == Draft::Unknown {
            return Err(SchemaError {
                path: "/$schema".to_owned(),
                reason: "unknown dialect of JSON Schema".to_owned(),
            });
        }
        let root = options(draft).build(source).map_err(schema_error)?;
        let registry = Registry::new()
            .draft(draft)
            .add(ROOT_URI, source.clone())
            .and_then(|registry| registry.prepare())
            .map_err(|error| SchemaError {
                path: String::new(),
                reason: error.to_string(),
            })?;
        Ok(Self {
            source: source.clone(),
            draft,
            root,
            registry,
            parts: Cache::default(),
            patterns: Cache::default(),
        })
    }

    pub(super) fn root(&self) -> &Validator {
        &self.root
    }

    pub(super) fn root_place(&self) -> Place<'_> {
        Place {
            node: &self.source,
            pointer: String::new(),
        }
    }

    /// Follows a `$ref` into the schema itself; anchors and embedded documents are not followed.
    pub(super) fn resolve(&self, reference: &str) -> Option<Place<'_>> {
        let fragment = reference.strip_prefix('#')?;
        let pointer = percent_decoded(fragment)?;
        let node = self.source.pointer(&pointer)?;
        Some(Place { node, pointer })
    }

    /// Returns what the schema has at `pointer`.
    pub(super) fn lookup(&self, pointer: &str) -> Option<&Value> {
        self.source.pointer(pointer)
    }

    /// Returns whether `value` fits the subschema at `place` taken alone.
    pub(super) fn fits(&self, place: &Place<'_>, value: &Value) -> bool {
        let part = cached(&self.parts, &place.pointer, || {
            let reference = format!("{ROOT_URI}#{}", percent_encoded(&place.pointer));
            options(self.draft)
                .with_registry(&self.registry)
                .build(&json!({ "$ref": reference }))
                .ok()
        });
        part.is_some_and(|part| part.is_valid(value))
    }

    /// Returns whether the property name matches a key of `patternProperties`.
    pub(super) fn name_matches(&self, pattern: &str, name: &Value) -> bool {
        let matcher = cached(&self.patterns, pattern, || {
            options(self.draft)
                .build(&json!({ "pattern": pattern }))
                .ok()
        });
        matcher.is_some_and(|matcher| matcher.is_valid(name))
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.source, f)
    }
}

fn options<'i>(draft: Draft) -> ValidationOptions<'i> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(PATTERN_SIZE_LIMIT)
        .dfa_size_limit(PATTERN_SIZE_LIMIT);
    let options = jsonschema::options()
        .with_draft(draft)
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(patterns);
    format::register(options)
}

fn schema_error(error: jsonschema::ValidationError<'_>) -> SchemaError {
    SchemaError {
        path: error.instance_path().as_str().to_owned(),
        reason: error.to_string(),
    }
}

fn cached(
    cache: &Cache,
    key: &str,
    build: impl FnOnce() -> Option<Validator>,
) -> Option<Arc<Validator>> {
    // A poisoned lock only means that an earlier build did not finish; entries are whole.
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = cache.get(key) {
        return known.clone();
    }
    let built = build().map(Arc::new);
    cache.insert(key.to_owned(), built.clone());
    built
}

fn has_tuple_items(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("items").is_some_and(Value::is_array)
                || members.values().any(has_tuple_items)
        }
        Value::Array(entries) => entries.iter().any(has_tuple_items),
        _ => false,
    }
}

/// Escapes a name for use in a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn percent_encoded(pointer: &str) -> String {
    let mut encoded = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'~' | b'-' | b'_' | b'.' | b'$' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn percent_decoded(fragment: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(decoded).ok()
}
