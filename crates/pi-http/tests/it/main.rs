//! The transport against servers on real sockets that do what a test tells them.

#[cfg(test)]
mod clock;
#[cfg(test)]
mod deadlines;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod retries;
#[cfg(test)]
mod server;
#[cfg(test)]
mod streaming;
#[cfg(test)]
mod words;
