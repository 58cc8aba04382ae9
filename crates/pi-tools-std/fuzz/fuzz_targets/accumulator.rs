//! The end of an output does not depend on the pieces in which it comes, and keeps its limits.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use pi_tools_std::__fuzz::accumulated;

#[derive(Arbitrary, Debug)]
struct Input {
    bytes: Vec<u8>,
    cuts: Vec<u16>,
    max_lines: u8,
    max_bytes: u8,
}

fuzz_target!(|input: Input| {
    let max_lines = usize::from(input.max_lines) + 1;
    let max_bytes = usize::from(input.max_bytes) + 1;
    let whole = accumulated(&[&input.bytes], max_lines, max_bytes);
    let mut pieces = Vec::new();
    let mut rest = &input.bytes[..];
    for cut in &input.cuts {
        let (piece, behind) = rest.split_at(usize::from(*cut).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    assert_eq!(accumulated(&pieces, max_lines, max_bytes), whole);
    assert!(whole.trim_end_matches('\n').len() <= max_bytes);
    assert!(whole.lines().count() <= max_lines);
    let only_a_terminal = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!whole.contains(only_a_terminal));
});
