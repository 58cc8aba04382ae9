//! Sizes as people and models read them.

/// Writes a size as `123B`, `1.5KB` or `2.0MB`, in steps of 1,024.
pub(crate) fn shown(bytes: u64) -> String {
    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * 1024;
    match bytes {
        0..KIB => format!("{bytes}B"),
        KIB..MIB => format!("{:.1}KB", bytes as f64 / KIB as f64),
        _ => format!("{:.1}MB", bytes as f64 / MIB as f64),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_have_one_decimal_from_a_kilobyte_on() {
        for (bytes, expected) in [
            (0, "0B"),
            (1023, "1023B"),
            (1024, "1.0KB"),
            (51_200, "50.0KB"),
            (1_048_575, "1024.0KB"),
            (2 * 1_048_576, "2.0MB"),
            (u64::MAX, "17592186044416.0MB"),
        ] {
            assert_eq!(super::shown(bytes), expected);
        }
    }
}
