//! The providers against servers on real sockets.

#[cfg(test)]
mod anthropic;
#[cfg(test)]
mod google;
#[cfg(test)]
mod local;
#[cfg(test)]
mod openai_completions;
#[cfg(test)]
mod openai_responses;
#[cfg(test)]
mod providers;
#[cfg(all(test, feature = "vertex"))]
mod vertex;
