//! Ids of tool calls that services forget to give.

/// Makes an id for a call that has none. It differs between the calls of a reply, and between
/// replies by their id, from which `seed` is taken.
pub(crate) fn invented(seed: &str, number: usize) -> String {
    let hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("call_{hash:016x}_{number}")
}
