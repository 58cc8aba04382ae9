//! Reading of stream cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use integration_tests::server::End;
use integration_tests::stored;
use pi_core::{Context, Model, Request, StreamOptions};
use serde::Deserialize;
use serde_json::Value;

use super::StoredResponse;

/// What `meta.json` says, as far as it is of use here.
#[derive(Deserialize)]
pub(crate) struct Meta {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) api: String,
    call: Option<String>,
    #[serde(default)]
    compare: Compare,
    #[serde(default)]
    run: RunNotes,
    pub(crate) skip: Option<Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Compare {
    error_message: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunNotes {
    lone_surrogates_replaced_in_expected: Option<Value>,
}

impl Meta {
    /// Returns why the case is not to be run.
    pub(crate) fn skip_reason(&self) -> Option<String> {
        match self.skip.as_ref()? {
            Value::Bool(false) | Value::Null => None,
            Value::String(reason) => Some(reason.clone()),
            _ => Some("marked as not decided".to_owned()),
        }
    }

    /// Leaves to the API what the recorded function leaves to it, and ours decides.
    fn complete(&self, options: &mut StreamOptions, model: &mut Model) {
        if self.call.as_deref() != Some("stream") {
            return;
        }
        let unsaid = match self.api.as_str() {
            "anthropic-messages" => {
                options.max_tokens.get_or_insert(model.max_tokens / 3);
                "thinkingEnabled"
            }
            "google-generative-ai" => "thinking",
            // A model without a known limit is not given one.
            _ => {
                model.max_tokens = 0;
                return;
            }
        };
        if options.extra.get(unsaid).is_none() {
            options.extra.insert(unsaid, Value::Null);
        }
    }
}

#[derive(Deserialize)]
struct ResponseMeta {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    end: Option<String>,
    body_file: Option<String>,
    #[serde(default)]
    sequence: Vec<Self>,
}

/// The right result of a suspect.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Right {
    pub(super) message: Option<Value>,
    pub(super) events: Option<Value>,
    pub(super) error_kind: Option<Value>,
    pub(super) attempts: Option<Value>,
}

/// One stream case.
pub(super) struct StreamCase {
    pub(super) name: String,
    pub(super) api: String,
    pub(super) skip: Option<String>,
    /// The texts of errors come from another platform: they only have to be there.
    pub(super) any_error_text: bool,
    /// Expected files lost surrogate halves: only the message is compared.
    pub(super) message_only: bool,
    pub(super) responses: Vec<StoredResponse>,
    pub(super) request: Request,
    pub(super) events: Value,
    pub(super) message: Value,
    pub(super) expected_request: Value,
    pub(super) right: Right,
    model: Value,
}

impl StreamCase {
    /// Reads the case of a `meta.json`; `None` if it is of another kind.
    pub(super) fn read(meta_file: &Path) -> Result<Option<Self>> {
        let meta: Meta = stored::parse(meta_file)?;
        if meta.kind != "stream" {
            return Ok(None);
        }
        let folder = meta_file.parent().context("a case without a folder")?;
        let file = |name: &str| folder.join(name);
        let model = stored::json(&file("model.json"))?;
        let right = file("right.json");
        let any_error_text = meta.compare.error_message.as_deref() == Some("any-nonempty");
        Ok(Some(Self {
            skip: meta.skip_reason(),
            name: meta.id,
            api: meta.api,
            any_error_text,
            message_only: meta
                .run
                .lone_surrogates_replaced_in_expected
                .is_some_and(is_set),
            responses: read_responses(folder)?,
            request: read_request(folder, &model)?,
            events: stored::json(&file("expected.events.json"))?,
            message: stored::json(&file("expected.message.json"))?,
            expected_request: stored::json(&file("expected.request.json"))?,
            right: if right.exists() {
                stored::parse(&right)?
            } else {
                Right::default()
            },
            model,
        }))
    }

    /// Returns the body if there is one response, and nothing happens but its stream of events.
    pub(super) fn plain_body(&self) -> Option<&Bytes> {
        match self.responses.as_slice() {
            [only] if only.status == 200 && only.end == End::Clean && only.is_event_stream() => {
                Some(&only.body)
            }
            _ => None,
        }
    }

    /// Returns the size of the largest body.
    pub(super) fn body_bytes(&self) -> usize {
        self.responses
            .iter()
            .map(|response| response.body.len())
            .max()
            .unwrap_or(0)
    }

    /// Returns true if the case has failing attempts, whose waits take real time.
    pub(super) fn is_slow(&self) -> bool {
        self.responses.iter().any(|response| response.status != 200)
    }

    /// Returns the request with `host` as the address of the server.
    pub(super) fn request_to(&self, host: &str) -> Result<Request> {
        let text = self.model.to_string().replace("{{HOST}}", host);
        let model: Model = serde_json::from_str(&text)?;
        let mut request = self.request.clone();
        request.model = model.into();
        Ok(request)
    }
}

fn is_set(value: Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
        && !value.as_array().is_some_and(Vec::is_empty)
}

/// Reads the request of a case of either kind.
pub(crate) fn read_request(folder: &Path, model: &Value) -> Result<Request> {
    let mut model = Model::deserialize(model).context("read model.json")?;
    let context: Context = stored::parse(&folder.join("context.json"))?;
    let mut options: StreamOptions = stored::parse(&folder.join("options.json"))?;
    let meta: Meta = stored::parse(&folder.join("meta.json"))?;
    meta.complete(&mut options, &mut model);
    Ok(Request::new(model, context).with_options(options))
}

fn read_responses(folder: &Path) -> Result<Vec<StoredResponse>> {
    let mut meta: ResponseMeta = stored::parse(&folder.join("response.meta.json"))?;
    let sequence = std::mem::take(&mut meta.sequence);
    let sequence = if sequence.is_empty() {
        vec![meta]
    } else {
        sequence
    };
    sequence
        .into_iter()
        .map(|meta| read_response(folder, meta))
        .collect()
}

fn read_response(folder: &Path, meta: ResponseMeta) -> Result<StoredResponse> {
    let path = folder.join(meta.body_file.as_deref().unwrap_or("response.sse"));
    let body = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(StoredResponse {
        status: meta.status,
        headers: meta.headers.into_iter().collect(),
        body: body.into(),
        end: match meta.end.as_deref() {
            Some("abort") => End::Reset,
            _ => End::Clean,
        },
    })
}
