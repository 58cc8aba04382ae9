//! The model that a case talks to.

use anyhow::Result;
use pi_core::Model;
use serde_json::{Value, json};

/// What a case says of its target; each part has a default.
#[derive(Default)]
pub(super) struct Target<'a> {
    /// An object with `provider`, `api` and `model`.
    pub(super) target: Option<&'a Value>,
    pub(super) api: &'a str,
    pub(super) compat: Option<&'a Value>,
    /// What the model reads: `text`, `image`.
    pub(super) input: Option<&'a Value>,
    /// Fields that replace those of the model.
    pub(super) fields: Option<&'a Value>,
}

impl Target<'_> {
    pub(super) fn api(&self) -> &str {
        self.field("api").unwrap_or(self.api)
    }

    /// Makes the model; `host` is the address of the server.
    pub(super) fn model(&self, host: &str) -> Result<Model> {
        let mut model = json!({
            "id": self.field("model").unwrap_or("test-model"),
            "name": "Test",
            "api": self.api(),
            "provider": self.field("provider").unwrap_or("test"),
            "baseUrl": format!("http://{host}/v1"),
            "reasoning": true,
            "input": ["text", "image"],
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 },
            "contextWindow": 200_000,
            "maxTokens": 8192,
        });
        if let Some(compat) = self.compat {
            model["compat"] = compat.clone();
        }
        if let Some(input) = self.input {
            model["input"] = input.clone();
        }
        for (key, value) in self.fields.and_then(Value::as_object).into_iter().flatten() {
            model[key] = value.clone();
        }
        Ok(serde_json::from_value(model)?)
    }

    fn field(&self, key: &str) -> Option<&str> {
        self.target?.get(key)?.as_str()
    }
}
