//! Every limit of the tools, in one place.

use std::time::Duration;

/// The most that the tools take in and give out. Every tool of a set uses the same value, set by
/// `ToolSetBuilder::limits`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Lines of one result: 2,000.
    pub output_lines: usize,
    /// Bytes of one result: 51,200.
    pub output_bytes: usize,
    /// Characters of one line that `grep` shows: 500.
    pub grep_line_chars: usize,
    /// Matches that `grep` shows when the call names no limit: 100.
    pub grep_matches: usize,
    /// Results that `find` shows when the call names no limit: 1,000.
    pub find_results: usize,
    /// Entries that `ls` shows when the call names no limit: 500.
    pub ls_entries: usize,
    /// Entries that `ls` looks at: 100,000.
    pub ls_scanned: usize,
    /// How long `grep` and `find` search: 30 s.
    pub search_time: Duration,
    /// Bytes of a file that `edit` takes: 64 MiB.
    pub edit_bytes: u64,
    /// Bytes that `write` writes: 64 MiB.
    pub write_bytes: u64,
    /// Bytes of an image file that `read` takes: 32 MiB.
    pub image_file_bytes: u64,
    /// Pixels of a side of an image that `read` takes: 16,384.
    pub image_side: u32,
    /// Bytes of memory for decoding an image: 256 MiB.
    pub image_memory: u64,
    /// Pixels of a side of an image that the model gets: 2,000.
    pub image_shown_side: u32,
    /// Bytes of base64 of an image that the model gets: 4.5 MiB.
    pub image_shown_base64: usize,
    /// The least time between two updates of `bash`: 100 ms.
    pub bash_update_interval: Duration,
    /// Bytes of the file that keeps the whole output of a command: 256 MiB.
    pub bash_spill_bytes: u64,
    /// How long a command runs when the call names no timeout: 600 s. `None` for ever.
    pub bash_timeout: Option<Duration>,
    /// The longest timeout that a call can name: 3,600 s. `None` for any.
    pub bash_timeout_max: Option<Duration>,
    /// Blocking calls on files that run at once: 8.
    pub blocking_calls: usize,
    /// Images that are decoded at once: 2.
    pub image_calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_lines: 2_000,
            output_bytes: 51_200,
            grep_line_chars: 500,
            grep_matches: 100,
            find_results: 1_000,
            ls_entries: 500,
            ls_scanned: 100_000,
            search_time: Duration::from_secs(30),
            edit_bytes: 64 << 20,
            write_bytes: 64 << 20,
            image_file_bytes: 32 << 20,
            image_side: 16_384,
            image_memory: 256 << 20,
            image_shown_side: 2_000,
            image_shown_base64: 9 << 19,
            bash_update_interval: Duration::from_millis(100),
            bash_spill_bytes: 256 << 20,
            bash_timeout: Some(Duration::from_secs(600)),
            bash_timeout_max: Some(Duration::from_secs(3_600)),
            blocking_calls: 8,
            image_calls: 2,
        }
    }
}
