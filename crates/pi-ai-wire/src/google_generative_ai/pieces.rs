//! Arguments that come in pieces, each with the place where it belongs.

use serde_json::{Map, Value};

use super::chunk::PartialArg;

/// The most steps of a path; what lies deeper is no argument of a tool.
const MAX_STEPS: usize = 64;

/// The arguments of one call, put together from their pieces.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) content_index: usize,
    /// The service's id of the call; empty if it gave none.
    pub(super) wire_id: String,
    pub(super) signature: Option<String>,
    arguments: Value,
    /// The path of the string that goes on.
    open_path: Option<String>,
    /// A piece had no place among the others.
    is_broken: bool,
}

impl Pieces {
    pub(super) fn new(content_index: usize, wire_id: String, signature: Option<String>) -> Self {
        Self {
            content_index,
            wire_id,
            signature,
            arguments: Value::Object(Map::new()),
            open_path: None,
            is_broken: false,
        }
    }

    pub(super) fn push(&mut self, piece: PartialArg<'_>) {
        let path = &*piece.json_path;
        let goes_on = piece.will_continue == Some(true);
        let follows = self.open_path.as_deref() == Some(path);
        let place = steps(path).and_then(|steps| find(&mut self.arguments, &steps));
        let Some(place) = place else {
            tracing::debug!("skipped a piece of arguments without a place");
            self.is_broken = true;
            return;
        };
        match (piece.string_value, piece.number_value, piece.bool_value) {
            (Some(text), ..) => match place {
                Value::String(whole) if follows => whole.push_str(&text),
                place => *place = Value::String(text.0.into_owned()),
            },
            (None, Some(number), _) => *place = Value::Number(number),
            (None, None, Some(flag)) => *place = Value::Bool(flag),
            // A value that is `null`, or the bare end of a string: both have no value.
            (None, None, None) => {}
        }
        if goes_on {
            if !follows {
                self.open_path = Some(path.to_owned());
            }
        } else {
            self.open_path = None;
        }
    }

    /// Returns the JSON text of the arguments. Where `is_whole` is false, or a piece is missing, its
    /// end is left out, so that nobody takes it for what the model meant.
    pub(super) fn text(&self, is_whole: bool) -> String {
        let mut text = self.arguments.to_string();
        if !is_whole || self.is_broken {
            text.pop();
        }
        text
    }
}

#[derive(Debug, PartialEq)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// Reads a path such as `$.a[0]['b c']`.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let step;
        (step, rest) = step_of(rest)?;
        steps.push(step);
        if steps.len() > MAX_STEPS {
            return None;
        }
    }
    (!steps.is_empty()).then_some(steps)
}

fn step_of(path: &str) -> Option<(Step<'_>, &str)> {
    if let Some(name) = path.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, rest) = name.split_at_checked(end)?;
        return (!name.is_empty()).then_some((Step::Key(name), rest));
    }
    let inner = path.strip_prefix('[')?;
    for quote in ['\'', '"'] {
        if let Some(name) = inner.strip_prefix(quote) {
            let (name, rest) = name.split_once(quote)?;
            return Some((Step::Key(name), rest.strip_prefix(']')?));
        }
    }
    let (index, rest) = inner.split_once(']')?;
    Some((Step::Index(index.parse().ok()?), rest))
}

/// Finds a place, making it where it is not there. Lists grow by one element at a time.
fn find<'v>(root: &'v mut Value, steps: &[Step<'_>]) -> Option<&'v mut Value> {
    let mut place = root;
    for step in steps {
        place = match step {
            Step::Key(name) => {
                if place.is_null() {
                    *place = Value::Object(Map::new());
                }
                place.as_object_mut()?.entry(*name).or_insert(Value::Null)
            }
            Step::Index(index) => {
                if place.is_null() {
                    *place = Value::Array(Vec::new());
                }
                let list = place.as_array_mut()?;
                if *index == list.len() {
                    list.push(Value::Null);
                }
                list.get_mut(*index)?
            }
        };
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts pieces together: path, value as JSON, whether it goes on.
    fn joined(pieces: &[(&str, &str, bool)], is_whole: bool) -> String {
        let mut all = Pieces::new(0, String::new(), None);
        for (path, value, goes_on) in pieces {
            let path = serde_json::to_string(path).unwrap();
            let json = format!(r#"{{"jsonPath":{path},{value}"willContinue":{goes_on}}}"#);
            all.push(serde_json::from_str(&json).unwrap());
        }
        all.text(is_whole)
    }

    #[test]
    fn pieces_find_their_places() {
        let pieces = [
            ("$.path", r#""stringValue":"a","#, true),
            ("$.path", r#""stringValue":".txt","#, true),
            ("$.path", r#""stringValue":"","#, false),
            ("$.limit", r#""numberValue":5,"#, false),
            ("$.lines[0].from", r#""numberValue":1.5,"#, false),
            ("$.lines[1].from", r#""boolValue":true,"#, false),
            ("$['a b'][\"c.d\"]", r#""stringValue":"x","#, false),
            ("$.none", r#""nullValue":null,"#, false),
        ];
        assert_eq!(
            joined(&pieces, true),
            r#"{"path":"a.txt","limit":5,"lines":[{"from":1.5},{"from":true}],"a b":{"c.d":"x"},"none":null}"#
        );
        let again = [
            ("$.a", r#""stringValue":"x","#, false),
            ("$.a", r#""stringValue":"y","#, false),
        ];
        assert_eq!(joined(&again, true), r#"{"a":"y"}"#);
    }

    #[test]
    fn what_is_not_whole_does_not_look_whole() {
        let pieces = [("$.path", r#""stringValue":"a","#, true)];
        assert_eq!(joined(&pieces, false), r#"{"path":"a""#);
        let deep = format!("${}", ".a".repeat(100));
        for path in [
            "", "$", "a", "$.", "$.a[", "$.a[x]", "$.a[9]", "$['a'", "$.s.t", &deep,
        ] {
            let pieces = [
                ("$.s", r#""stringValue":"a","#, false),
                (path, r#""stringValue":"a","#, false),
            ];
            let text = joined(&pieces, true);
            assert!(
                !text.ends_with("}}") && text != r#"{"s":"a"}"#,
                "{path}: {text}"
            );
            assert!(
                serde_json::from_str::<Value>(&text).is_err(),
                "{path}: {text}"
            );
        }
    }
}
