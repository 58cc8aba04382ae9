//! A model for tests.

use pi_core::Model;

/// Returns a plain text model: api `scripted`, provider `testkit`, no price, no limits.
#[must_use]
pub fn model() -> Model {
    Model::new("scripted-1", "scripted", "testkit", "")
}
