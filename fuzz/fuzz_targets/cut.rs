//! Any bytes are read as text or refused; what was read goes back to them, and its pieces tile it in every shape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_mine::cut::{PieceLengths, TextShape, cut_text, edge_after, edge_before};
use loci_mine::decode::{decode_bytes, encode_text, piece_strays, read_strays, write_strays};
use unicode_segmentation::UnicodeSegmentation;

fuzz_target!(|input: (u8, &[u8])| {
    let (target, bytes) = input;
    let Ok(decoded) = decode_bytes(bytes.to_vec()) else {
        return;
    };
    let (text, strays) = (decoded.text.as_str(), &decoded.strays);
    assert_eq!(encode_text(text, decoded.encoding, strays), bytes);
    assert_eq!(read_strays(&write_strays(strays)).as_ref(), Some(strays));
    let how = PieceLengths {
        target: usize::from(target),
        whole: usize::from(target) * 4,
    };
    let mut starts: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
    starts.push(text.len());
    for shape in TextShape::ALL {
        let mut joined = Vec::with_capacity(bytes.len());
        let (mut end, mut line) = (0, 1);
        for piece in cut_text(text, shape, &how) {
            assert!(piece.start == end && piece.end > end && piece.line_start == line);
            let own = &text[piece.start..piece.end];
            joined.extend(encode_text(
                own,
                decoded.encoding,
                &piece_strays(strays, piece.start..piece.end),
            ));
            let before = edge_before(text, end, 20);
            assert!(text[..end].ends_with(before) && starts.binary_search(&(end - before.len())).is_ok());
            end = piece.end;
            assert!(starts.binary_search(&end).is_ok());
            line += own.matches('\n').count() as u64;
            assert_eq!(piece.line_end, line - u64::from(own.ends_with('\n')));
            let after = edge_after(text, end, 20);
            assert!(text[end..].starts_with(after) && starts.binary_search(&(end + after.len())).is_ok());
        }
        assert_eq!(end, text.len());
        assert_eq!(joined, bytes);
    }
});
