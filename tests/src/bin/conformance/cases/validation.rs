//! Layer `validation`: arguments against a schema, coerced where that loses nothing.

use anyhow::{Context as _, Result};
use integration_tests::compare;
use pi_core::validation::ArgumentValidator;
use serde_json::{Map, Value, json};

use super::{Case, Findings};

pub(super) fn run(case: &Case) -> Result<Findings> {
    let mut findings = Findings::default();
    let schema = case.json("schema.json")?;
    let rows = case.json("arguments.json")?;
    let validator = ArgumentValidator::new(&schema)?;
    for sentence in case.invariants() {
        match sentence {
            // The validator only borrows what is stored.
            "the stored arguments equal the input for every row" => {}
            // Looked at below, row by row.
            "an error names the field" => {}
            other => findings.cannot(format!("the sentence \"{other}\"")),
        }
    }
    for row in rows.as_array().into_iter().flatten() {
        let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = row.get("arguments").and_then(Value::as_object);
        let arguments = arguments.with_context(|| format!("{name} has no arguments"))?;
        let expected = case.expected_of(name)?;
        let mut seen = Map::new();
        match validator.validate("tool", arguments) {
            Ok(coerced) => {
                seen.insert("valid".to_owned(), true.into());
                seen.insert("error".to_owned(), Value::Null);
                let coerced = Value::Object(coerced);
                // What the tool gets is all that it gets: further keys are not free here.
                if let Some(wanted) = expected.get("toolGets") {
                    findings.note(name, compare::equal(wanted, &coerced));
                }
                seen.insert("toolGets".to_owned(), coerced);
            }
            Err(error) => {
                let text = error.to_string();
                for field in arguments
                    .keys()
                    .filter(|field| !text.contains(field.as_str()))
                {
                    findings.differ(format!("{name}: the error does not name {field}: {text}"));
                }
                seen.insert("valid".to_owned(), false.into());
                seen.insert("error".to_owned(), json!(text));
                seen.insert("toolGets".to_owned(), Value::Null);
            }
        }
        findings.compare(name, expected, &seen);
    }
    Ok(findings)
}
