//! Tests that cross crates.

mod conformance_selftest;
