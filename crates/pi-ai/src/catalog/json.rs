//! Models from JSON.

use pi_core::Model;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::catalog::{Catalog, JsonError};

/// The type of the entries that are models of conversations.
const CHAT: &str = "chat";

impl Catalog {
    /// Adds models from JSON: a list of them, or an object that has one under `models`, in the shape
    /// of this crate's `models/models.json` or of a serialized [`Model`].
    ///
    /// An entry that names its `api` is a whole model. One that does not changes the model with its
    /// `provider` and `id`: each field that it has replaces that field as a whole. Entries whose
    /// `type` is not `chat` are skipped, unknown fields are kept in `extra`.
    ///
    /// # Errors
    /// If the text is no such JSON, or an entry is no model and changes none; nothing is added then.
    pub fn with_json(mut self, text: &str) -> Result<Self, JsonError> {
        let models = list(text).map_err(|source| JsonError {
            place: "the list of models".to_owned(),
            source,
        })?;
        for (index, entry) in models.into_iter().enumerate() {
            if entry.get("type").is_some_and(|kind| kind != CHAT) {
                continue;
            }
            let place = place(index, &entry);
            let model = self.read(entry);
            self.add(model.map_err(|source| JsonError { place, source })?);
        }
        Ok(self)
    }

    fn read(&self, mut entry: Map<String, Value>) -> Result<Model, serde_json::Error> {
        entry.shift_remove("type");
        let text = |key| entry.get(key).and_then(Value::as_str);
        let known = match (text("provider"), text("id"), text("api")) {
            (Some(provider), Some(id), None) => self.known(provider, id),
            _ => None,
        };
        let mut fields = match known.map(serde_json::to_value).transpose()? {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        fields.extend(entry);
        if !fields.contains_key("name")
            && let Some(id) = fields.get("id").cloned()
        {
            fields.insert("name".to_owned(), id);
        }
        Model::deserialize(Value::Object(fields))
    }
}

/// Reads the list itself, or the object that has it.
fn list(text: &str) -> Result<Vec<Map<String, Value>>, serde_json::Error> {
    let list = match serde_json::from_str(text)? {
        Value::Object(mut file) => file.shift_remove("models").unwrap_or_default(),
        list => list,
    };
    Vec::deserialize(list)
}

fn place(index: usize, entry: &Map<String, Value>) -> String {
    let text = |key| entry.get(key).and_then(Value::as_str);
    match (text("provider"), text("id")) {
        (Some(provider), Some(id)) => format!("the model {provider}/{id}"),
        _ => format!("entry {} of the models", index + 1),
    }
}
