//! Pairs of letters that words and names in programs are made of.

/// For each first letter, the letters that often follow it, as bits; together 280 pairs, 97 of 100 that occur in English
/// prose and in names of Rust programs. Counted over our own sample of both.
const FOLLOWERS: [u32; 26] = [
    0x1fe_bd6e, 0x116_4911, 0x01e_cdb5, 0x016_4959, 0x1ef_bd7f, 0x01e_6979, 0x016_6191, 0x00a_4111,
    0x2ae_fc7f, 0x000_0000, 0x004_0110, 0x11c_c939, 0x11c_d113, 0x13e_ed7d, 0x07e_fd6f, 0x11e_c991,
    0x010_0000, 0x13e_fd7d, 0x11c_dd95, 0x11e_d9bd, 0x00e_b97f, 0x000_4111, 0x002_6191, 0x008_8001,
    0x00c_e000, 0x000_0010,
];

/// Returns whether the second letter often follows the first one, in either case.
pub(super) fn are_common(first: u8, second: u8) -> bool {
    let place = |letter: u8| letter.to_ascii_lowercase().wrapping_sub(b'a');
    let followers = FOLLOWERS.get(usize::from(place(first))).copied().unwrap_or(0);
    followers.checked_shr(u32::from(place(second))).unwrap_or(0) & 1 == 1
}
