//! Which models there are, what they can do and what they cost.
//!
//! The facts are a snapshot (`models/NOTICE` says of what) and were not checked against the
//! providers: prices and limits change. Any of them can be overridden, see [`Catalog`].
//!
//! The facts about providers are always here; the models and their lookup are behind the features
//! `catalog`, which has the models of those who serve their own and of some clouds, and
//! `catalog-aggregators`, which adds those of Bedrock, Cloudflare, Hugging Face, OpenCode,
//! OpenRouter, Radius and Vercel.
#![cfg_attr(
    feature = "catalog",
    doc = r##"
# Examples
```
use pi_ai::catalog;

let model = catalog::get("anthropic", "claude-sonnet-4-5")?;
assert!(model.reasoning && model.takes_images());
assert_eq!(catalog::find("anthropic/claude-sonnet-4-5")?, model);

let error = catalog::find("anthropic/claude-sonet-4-5").unwrap_err();
assert!(error.to_string().contains("did you mean anthropic/claude-sonnet-4-5"));
# Ok::<(), catalog::LookupError>(())
```
"##
)]

mod providers;

#[cfg(feature = "catalog")]
mod entry;
#[cfg(feature = "catalog")]
mod error;
#[cfg(feature = "catalog")]
mod json;
#[cfg(feature = "catalog")]
mod lookup;
#[cfg(feature = "catalog")]
mod near;
#[cfg(feature = "catalog")]
#[rustfmt::skip]
#[path = "catalog/generated/tables.generated.rs"]
mod tables;

pub use self::providers::{ProviderInfo, provider, providers};

#[cfg(feature = "catalog")]
pub use self::{
    error::{JsonError, LookupError},
    lookup::{Catalog, find, get, models},
};

#[cfg(test)]
#[cfg(feature = "catalog")]
mod tests;
