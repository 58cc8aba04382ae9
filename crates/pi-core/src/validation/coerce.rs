//! Coercion without loss, guided by the schema.

use serde_json::{Map, Number, Value};

use super::js_text;
use super::schema::{CompiledSchema, Place};

/// What may be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Whatever lossless coercion can repair.
    Coerce,
    /// Only the notation of integers: for values that are valid already.
    Notation,
}

/// Levels of nested schemas (references and unions count) beyond which nothing is coerced.
const MAX_DEPTH: usize = 256;

/// Work allowed for each node of the arguments. Bounds schemas whose unions nest in unions, where
/// trying every combination of alternatives takes exponential time.
const STEPS_PER_NODE: usize = 64;

/// Coerces `value` in place. What cannot be coerced is left as it is.
pub(super) fn apply(schema: &CompiledSchema, value: &mut Value, mode: Mode) {
    let steps = size(value).saturating_mul(STEPS_PER_NODE);
    let mut coercion = Coercion {
        schema,
        mode,
        steps: steps.saturating_add(4096),
    };
    coercion.visit(&schema.root_place(), value, 0);
}

struct Coercion<'a> {
    schema: &'a CompiledSchema,
    mode: Mode,
    steps: usize,
}

impl<'a> Coercion<'a> {
    fn visit(&mut self, place: &Place<'a>, value: &mut Value, depth: usize) {
        if depth > MAX_DEPTH || !self.spend(1) {
            return;
        }
        let depth = depth + 1;
        let reference = place.node.get("$ref").and_then(Value::as_str);
        if let Some(target) = reference.and_then(|to| self.schema.resolve(to)) {
            self.visit(&target, value, depth);
        }
        for part in place.list("allOf") {
            self.visit(&part, value, depth);
        }
        if let Some(types) = place.node.get("type") {
            self.fit_type(types, value);
        }
        self.visit_union(place, "anyOf", value, depth);
        self.visit_union(place, "oneOf", value, depth);
        self.visit_condition(place, value, depth);
        match value {
            Value::Object(members) => self.visit_members(place, members, depth),
            Value::Array(items) => self.visit_items(place, items, depth),
            _ => {}
        }
    }

    fn fit_type(&self, types: &Value, value: &mut Value) {
        let listed = match types {
            Value::Array(listed) => listed.as_slice(),
            single => std::slice::from_ref(single),
        };
        let names = || listed.iter().filter_map(Value::as_str);
        let replacement = if names().any(|name| has_type(value, name)) {
            names()
                .all(|name| name != "number")
                .then(|| plain_integer(value))
                .flatten()
        } else if self.mode == Mode::Coerce {
            names().find_map(|name| converted(value, name))
        } else {
            None
        };
        if let Some(replacement) = replacement {
            *value = replacement;
        }
    }

    fn visit_union(&mut self, place: &Place<'a>, keyword: &str, value: &mut Value, depth: usize) {
        if place.node.get(keyword).is_none() || !self.spend(size(value)) {
            return;
        }
        let fits = |alternative: &Place<'_>, value: &Value| self.schema.fits(alternative, value);
        if let Some(fitting) = place.list(keyword).find(|part| fits(part, value)) {
            self.visit(&fitting, value, depth);
            return;
        }
        if self.mode == Mode::Notation {
            return;
        }
        for alternative in place.list(keyword) {
            if !self.spend(size(value)) {
                return;
            }
            let mut candidate = value.clone();
            self.visit(&alternative, &mut candidate, depth);
            let fits = |part: &Place<'_>| self.schema.fits(part, &candidate);
            let satisfied = match keyword {
                "oneOf" => place.list(keyword).filter(fits).count() == 1,
                _ => fits(&alternative),
            };
            if satisfied {
                *value = candidate;
                return;
            }
        }
    }

    fn visit_condition(&mut self, place: &Place<'a>, value: &mut Value, depth: usize) {
        let Some(condition) = place.child("if") else {
            return;
        };
        if !self.spend(size(value)) {
            return;
        }
        let branch = if self.schema.fits(&condition, value) {
            "then"
        } else {
            "else"
        };
        if let Some(branch) = place.child(branch) {
            self.visit(&branch, value, depth);
        }
    }

    fn visit_members(&mut self, place: &Place<'a>, members: &mut Map<String, Value>, depth: usize) {
        if self.mode == Mode::Coerce {
            members.retain(|name, value| !value.is_null() || self.keeps_null(place, name));
        }
        let patterns = place.node.get("patternProperties");
        let patterns = patterns.and_then(Value::as_object);
        for (name, value) in members {
            let mut known = false;
            if let Some(property) = place.member("properties", name) {
                known = true;
                self.visit(&property, value, depth);
            }
            let text = patterns.map(|_| Value::from(name.as_str()));
            for pattern in patterns.into_iter().flat_map(Map::keys) {
                let matches = |text| self.schema.name_matches(pattern, text);
                let property = place.member("patternProperties", pattern);
                if let Some(property) = property.filter(|_| text.as_ref().is_some_and(matches)) {
                    known = true;
                    self.visit(&property, value, depth);
                }
            }
            if let Some(rest) = place.child("additionalProperties").filter(|_| !known) {
                self.visit(&rest, value, depth);
            }
        }
    }

    /// Returns false for a declared, optional property that does not accept `null`.
    fn keeps_null(&self, place: &Place<'a>, name: &str) -> bool {
        let Some(property) = place.member("properties", name) else {
            return true;
        };
        let required = place.node.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|known| known == name))
            || self.schema.fits(&property, &Value::Null)
    }

    fn visit_items(&mut self, place: &Place<'a>, items: &mut [Value], depth: usize) {
        // Before 2020-12 a tuple is a list under `items`, and `additionalItems` is the rest.
        let (tuple, rest) = match place.node.get("items") {
            Some(Value::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        let mut tuple = place.list(tuple);
        let rest = place.child(rest);
        for item in items {
            match tuple.next().as_ref().or(rest.as_ref()) {
                Some(schema) => self.visit(schema, item, depth),
                None => return,
            }
        }
    }

    fn spend(&mut self, steps: usize) -> bool {
        let left = self.steps.checked_sub(steps);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => is_integer(number),
        ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("object", Value::Object(_))
        | ("array", Value::Array(_)) => true,
        _ => false,
    }
}

fn converted(value: &Value, name: &str) -> Option<Value> {
    match (name, value) {
        ("number", Value::String(text)) => parsed(text).map(Value::Number),
        ("integer", Value::String(text)) => parsed(text).filter(is_integer).map(Value::Number),
        ("boolean", Value::String(text)) => match text.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("string", Value::Number(number)) => Some(Value::String(js_text::number(number))),
        ("string", Value::Bool(flag)) => Some(Value::String(flag.to_string())),
        _ => None,
    }
}

fn is_integer(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns the integer that `value` writes with a fraction or exponent (`5.0`), if it does.
fn plain_integer(value: &Value) -> Option<Value> {
    let number = value.as_number().filter(|number| number.is_f64())?;
    shortest(number.as_f64()?)
        .filter(|plain| !plain.is_f64())
        .map(Value::Number)
}

/// Reads a decimal number; white space around it is ignored. `None` where reading would lose
/// digits of an integer, or all digits of a fraction.
fn parsed(text: &str) -> Option<Number> {
    let text = text.trim();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts_as_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts_as_number {
        // Rust would read `inf` and `nan` too.
        return None;
    }
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    if let Ok(integer) = text.parse::<u64>() {
        return Some(integer.into());
    }
    let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
    let digits = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let vanished = float == 0.0 && digits.contains(|c: char| c.is_ascii_digit() && c != '0');
    let whole = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    let rounded = whole && format!("{:.0}", float.abs()) != unsigned.trim_start_matches('0');
    if vanished || rounded {
        return None;
    }
    shortest(float)
}

/// Returns an integer if `float` is one that 64 bits hold, else the float.
fn shortest(float: f64) -> Option<Number> {
    // Both bounds are powers of two and thus exact; inside of them the casts are exact too.
    const I64_END: f64 = 9_223_372_036_854_775_808.0;
    const U64_END: f64 = 18_446_744_073_709_551_616.0;
    if float.fract() != 0.0 {
        Number::from_f64(float)
    } else if (-I64_END..I64_END).contains(&float) {
        Some((float as i64).into())
    } else if (I64_END..U64_END).contains(&float) {
        Some((float as u64).into())
    } else {
        Number::from_f64(float)
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Object(members) => 1 + members.values().map(size).sum::<usize>(),
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
