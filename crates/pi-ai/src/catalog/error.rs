//! Why there is no model.

use std::fmt;

/// Why a name leads to no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// There is no such provider.
    #[error("unknown provider {provider:?}{}", DidYouMean(suggestions))]
    UnknownProvider {
        /// What was looked for.
        provider: String,
        /// Providers that may have been meant, the likeliest first.
        suggestions: Vec<String>,
    },
    /// There is no such model.
    #[error("unknown model {id:?}{}{}", Of(provider.as_deref()), DidYouMean(suggestions))]
    UnknownModel {
        /// The provider, if one was named.
        provider: Option<String>,
        /// What was looked for.
        id: String,
        /// What may have been meant, as `provider/id`, the likeliest first.
        suggestions: Vec<String>,
    },
    /// Several providers have a model with that id.
    #[error("{} providers have a model {id:?}; name one of {}", candidates.len(), candidates.join(", "))]
    Ambiguous {
        /// What was looked for.
        id: String,
        /// The models, as `provider/id`.
        candidates: Vec<String>,
    },
    /// The provider is known, but its models are left out of this build.
    #[error(
        "the models of {provider} are left out of this build; turn on the feature {feature} of \
         pi-ai, or add the model to the catalogue"
    )]
    NotBuiltIn {
        /// The provider.
        provider: String,
        /// The feature of this crate that has its models.
        feature: &'static str,
    },
}

/// JSON that holds no models. The source says what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{place} cannot be read")]
pub struct JsonError {
    pub(super) place: String,
    pub(super) source: serde_json::Error,
}

struct Of<'a>(Option<&'a str>);

impl fmt::Display for Of<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(provider) => write!(f, " of {provider}"),
            None => Ok(()),
        }
    }
}

struct DidYouMean<'a>(&'a [String]);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(f, "; did you mean {}?", names.join(", ")),
        }
    }
}
