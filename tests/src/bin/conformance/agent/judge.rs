//! Comparison of a played scenario with what was recorded, or with what is right.

use integration_tests::compare::{self as values, Difference};
use integration_tests::{matcher, normalise};
use serde_json::{Map, Value};

use super::label::label;

/// Returns the differences.
pub(super) fn compare(expected: &Value, actual: &Value, is_agent: bool) -> Vec<String> {
    let (expected, actual) = (comparable(expected), comparable(actual));
    let mut judge = Judge {
        expected: &expected,
        actual: &actual,
        differences: Vec::new(),
    };
    let right_flow = judge.right("flow").is_some();
    judge.compare_flow();
    if !right_flow {
        judge.compare_log(is_agent);
    }
    judge.compare_rights();
    judge.compare_last(right_flow);
    judge.differences
}

/// Removes what makes no difference.
fn comparable(value: &Value) -> Value {
    let mut value = value.clone();
    normalise::clear_clock_times(&mut value);
    normalise::drop_optional_nulls(&mut value);
    let log = value.get_mut("log").and_then(Value::as_array_mut);
    for entry in log.into_iter().flatten() {
        // Whoever waits for its listeners is still busy while they see the end of the run.
        let is_end = entry
            .pointer("/event/type")
            .is_some_and(|kind| kind == "agent_end");
        if is_end && let Some(Value::Object(state)) = entry.get_mut("state") {
            state.shift_remove("isStreaming");
        }
    }
    value
}

struct Judge<'a> {
    expected: &'a Value,
    actual: &'a Value,
    differences: Vec<String>,
}

impl<'a> Judge<'a> {
    /// Returns what is right where the record is wrong.
    fn right(&self, key: &str) -> Option<&'a Value> {
        self.expected
            .get("oracle_suspect")?
            .get(format!("right_{key}"))
    }

    fn note(&mut self, place: &str, result: Result<(), Difference>) {
        if let Err(difference) = result {
            self.differences.push(difference.below(place).to_string());
        }
    }

    fn compare_flow(&mut self) {
        let flow = self
            .right("flow")
            .or(self.expected.get("flow"))
            .unwrap_or(&Value::Null);
        self.note("flow", values::equal(flow, &self.actual["flow"]));
        let unhandled = self.right("unhandled");
        let unhandled = unhandled
            .or(self.expected.get("unhandled"))
            .unwrap_or(&Value::Null);
        // A failure that nobody handles does not exist here.
        if self.right("flow").is_none() {
            self.note(
                "unhandled",
                values::equal(unhandled, &self.actual["unhandled"]),
            );
        }
    }

    fn compare_log(&mut self, is_agent: bool) {
        for kind in [
            "main",
            "llm",
            "tool",
            "prepareArguments",
            "hook",
            "listener_done",
        ] {
            let expected = of_kind(self.expected, kind);
            let actual = of_kind(self.actual, kind);
            if kind == "llm" && self.right("llm_calls").is_some() {
                continue;
            }
            if matches!(kind, "tool" | "hook") && self.right("tool_params").is_some() {
                continue;
            }
            self.note(&format!("log.{kind}"), equal_lists(&expected, &actual));
        }
        if self.right("inspect").is_none() {
            let (expected, actual) = (
                of_kind(self.expected, "inspect"),
                of_kind(self.actual, "inspect"),
            );
            self.note("log.inspect", equal_lists(&expected, &actual));
        }
        self.compare_listeners();
        if self.right("action_errors").is_none() {
            self.note(
                "log.action",
                values::equal(&outcomes(self.expected), &outcomes(self.actual)),
            );
        }
        self.compare_places(is_agent);
    }

    /// Compares what each listener but the main one has heard.
    fn compare_listeners(&mut self) {
        let heard = |value: &Value| {
            let mut heard = Map::new();
            for entry in log(value).filter(|entry| entry["k"] == "event") {
                if let Some(name) = entry.get("listener").and_then(Value::as_str) {
                    let list = heard
                        .entry(name)
                        .or_insert_with(|| Value::Array(Vec::new()));
                    list.as_array_mut()
                        .into_iter()
                        .for_each(|list| list.push(entry.clone()));
                }
            }
            Value::Object(heard)
        };
        self.note(
            "log.listeners",
            values::equal(&heard(self.expected), &heard(self.actual)),
        );
    }

    /// Checks the order of entries of different kinds, as far as it is required.
    fn compare_places(&mut self, is_agent: bool) {
        if is_agent && self.right("llm_calls").is_none() {
            let (expected, actual) = (llm_places(self.expected), llm_places(self.actual));
            self.note(
                "log.llm places (events before each call)",
                values::equal(&expected, &actual),
            );
        }
        let mut running = Vec::<&str>::new();
        for entry in log(self.actual) {
            let id = entry.get("id").and_then(Value::as_str).unwrap_or_default();
            match entry["k"].as_str().unwrap_or_default() {
                "event" if entry.get("listener").is_none() => {
                    let event = &entry["event"];
                    let id = event
                        .get("toolCallId")
                        .and_then(Value::as_str)
                        .unwrap_or_default();
                    match event["type"].as_str() {
                        Some("tool_execution_start") => running.push(id),
                        Some("tool_execution_end") => {
                            if let Some(place) = running.iter().position(|known| *known == id) {
                                running.remove(place);
                            }
                        }
                        _ => {}
                    }
                }
                "tool" | "hook" if !id.is_empty() && !running.contains(&id) && is_agent => {
                    let what = entry
                        .get("at")
                        .or(entry.get("hook"))
                        .unwrap_or(&Value::Null);
                    self.differences
                        .push(format!("log: {what} of {id} outside of its execution"));
                }
                _ => {}
            }
        }
    }

    /// Compares what is said beside the flow to be right.
    fn compare_rights(&mut self) {
        if let Some(calls) = self.right("llm_calls") {
            self.note(
                "llm calls",
                values::equal(calls, &self.actual["final"]["llmCalls"]),
            );
        }
        if let Some(right) = self.right("inspect") {
            let actual = Value::Array(
                of_kind(self.actual, "inspect")
                    .into_iter()
                    .cloned()
                    .collect(),
            );
            let mut right = right.clone();
            normalise::drop_optional_nulls(&mut right);
            self.note("log.inspect", matcher::check(&right, Some(&actual)));
        }
        if let Some(right) = self.right("tool_params") {
            let begun = of_kind(self.actual, "tool").into_iter();
            let begun = begun.filter(|entry| entry["at"] == "begin");
            let params: Map<String, Value> = begun
                .filter_map(|entry| {
                    Some((entry["id"].as_str()?.to_owned(), entry["params"].clone()))
                })
                .collect();
            self.note("tool params", values::equal(right, &Value::Object(params)));
        }
        if let Some(Value::Array(refused)) = self.right("action_errors") {
            self.compare_action_errors(refused);
        }
    }

    fn compare_action_errors(&mut self, refused: &'a [Value]) {
        let failed: Vec<&Value> = of_kind(self.actual, "action")
            .into_iter()
            .filter(|e| e["at"] == "error")
            .collect();
        for right in refused {
            let same = |entry: &&&Value| entry["id"] == right["id"] && entry["do"] == right["do"];
            let error = failed
                .iter()
                .find(same)
                .and_then(|entry| entry.get("error"));
            self.note(
                &format!("error of {}", right["id"]),
                matcher::check(&right["error"], error),
            );
        }
        if failed.len() > refused.len() {
            let actual = Value::from(failed.len());
            self.note(
                "refused actions",
                values::equal(&refused.len().into(), &actual),
            );
        }
    }

    fn compare_last(&mut self, right_flow: bool) {
        let Some(Value::Object(expected)) = self.expected.get("final") else {
            return;
        };
        for (key, recorded) in expected {
            let right = match key.as_str() {
                "state" => self.right("final_state"),
                "result" => self.right("result"),
                "llmCalls" => self.right("llm_calls"),
                "contextMessagesAfter" => self.right("context_messages_after"),
                _ => None,
            };
            // Where the flow differs, state and result are compared only if they are given, and
            // calls that belong to the wrong flow do not count.
            let follows_flow = matches!(
                key.as_str(),
                "state" | "result" | "llmCalls" | "maxConcurrentTools"
            );
            if right.is_none() && right_flow && follows_flow {
                continue;
            }
            let mut wanted = right.unwrap_or(recorded).clone();
            normalise::drop_optional_nulls(&mut wanted);
            if right.is_some() && wanted.is_null() && key == "contextMessagesAfter" {
                continue;
            }
            let place = format!("final.{key}");
            self.note(&place, values::equal(&wanted, &self.actual["final"][key]));
        }
    }
}

fn log(value: &Value) -> impl Iterator<Item = &Value> {
    value
        .get("log")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns the entries of a kind; `main` are the events of the main listener.
fn of_kind<'a>(value: &'a Value, kind: &str) -> Vec<&'a Value> {
    log(value)
        .filter(|entry| match kind {
            "main" => entry["k"] == "event" && entry.get("listener").is_none(),
            kind => entry["k"] == kind,
        })
        .collect()
}

fn equal_lists(expected: &[&Value], actual: &[&Value]) -> Result<(), Difference> {
    let list = |entries: &[&Value]| Value::Array(entries.iter().copied().cloned().collect());
    values::equal(&list(expected), &list(actual)).map_err(|mut difference| {
        let place = difference.path.trim_start_matches("$[");
        let number = place
            .split(']')
            .next()
            .and_then(|text| text.parse::<usize>().ok());
        let entry = number.and_then(|number| expected.get(number).or(actual.get(number)));
        if let Some(event) = entry.and_then(|entry| entry.get("event")) {
            difference.path = format!("{} ({})", difference.path, label(event));
        }
        difference
    })
}

/// Returns, for each action, what became of it.
fn outcomes(value: &Value) -> Value {
    let mut outcomes = Map::new();
    for entry in log(value).filter(|entry| entry["k"] == "action") {
        let key = format!("{} {}", text(entry, "id"), text(entry, "do"));
        let outcome = match entry.get("error") {
            Some(error) => format!("error: {}", error.as_str().unwrap_or_default()),
            None => text(entry, "at").to_owned(),
        };
        let list = outcomes
            .entry(key)
            .or_insert_with(|| Value::Array(Vec::new()));
        list.as_array_mut()
            .into_iter()
            .for_each(|list| list.push(Value::from(outcome.as_str())));
    }
    Value::Object(outcomes)
}

/// Returns, for each call of the model, the number of events before it.
fn llm_places(value: &Value) -> Value {
    let mut events = 0_usize;
    let mut places = Vec::new();
    for entry in log(value) {
        match entry["k"].as_str() {
            Some("event") if entry.get("listener").is_none() => events += 1,
            Some("llm") => places.push(Value::from(events)),
            _ => {}
        }
    }
    Value::Array(places)
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}
