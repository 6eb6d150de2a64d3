//! Whatever is done to the bytes of a log without its key is found.

use proptest::prelude::*;

use super::*;

/// A log with some records, as text lines, and its head.
fn made_log(records: i64) -> (TestLog, Vec<Vec<u8>>, AuditHead) {
    let test = TestLog::new();
    let head = test.fill(0..records);
    let bytes = test.bytes();
    let lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    (test, lines, head)
}

#[test]
fn every_single_changed_byte_is_found() {
    let (test, lines, head) = made_log(3);
    let whole = lines.concat();
    for place in 0..whole.len() {
        for change in [1, 0x20, 0x80] {
            let mut changed = whole.clone();
            changed[place] ^= change;
            test.replace(&changed);
            assert!(!test.verify(&[head]).is_whole(), "byte {place} ^ {change}");
        }
    }
    test.replace(&whole);
    assert!(test.verify(&[head]).is_whole());
}

#[test]
fn a_change_of_spelling_that_means_the_same_is_found() {
    let (test, lines, head) = made_log(3);
    let text = String::from_utf8(lines.concat()).unwrap();
    for (from, to) in [
        ("anna", "\\u0061nna"),
        ("\"who\"", " \"who\""),
        ("\"n\":2", "\"n\":2.0"),
        ("\n", "\r\n"),
        ("\n", "\n\n"),
    ] {
        test.replace(text.replacen(from, to, 1).as_bytes());
        assert!(!test.verify(&[head]).is_whole(), "{from} {to}");
    }
}

#[test]
fn each_removed_line_is_one_break_that_names_it() {
    let (test, lines, head) = made_log(6);
    for gone in 1..lines.len() - 1 {
        let mut left = lines.clone();
        left.remove(gone);
        test.replace(&left.concat());
        let report = test.verify(&[head]);
        let number = gone as u64 + 1;
        let expect = AuditBreakKind::Missing {
            first: number,
            last: number,
        };
        assert_eq!(report.breaks.len(), 1, "{report:?}");
        assert_eq!((&report.breaks[0].kind, report.breaks[0].line), (&expect, number));
    }
    test.replace(&lines[1..].concat());
    assert_eq!(test.verify(&[]).breaks[0].kind, AuditBreakKind::BeginningMissing);
}

#[test]
fn a_missing_end_is_found_by_a_known_head_only() {
    let (test, lines, head) = made_log(6);
    let whole = lines.concat();
    for end in 0..whole.len() {
        test.replace(&whole[..end]);
        let report = test.verify(&[head]);
        // Without its line feed the last record is still there.
        assert_eq!(report.is_whole(), end == whole.len() - 1, "{end}: {report:?}");
    }
    test.replace(&lines[..4].concat());
    assert!(test.verify(&[]).is_whole());
}

#[test]
fn a_log_that_was_written_anew_is_found_by_a_known_head() {
    let (test, _, head) = made_log(6);
    std::fs::remove_file(test.path()).unwrap();
    // With the key itself, and the very same records.
    let other = test.fill(0..6);
    assert_eq!(other.number, head.number);
    assert_ne!(other.mac, head.mac, "each chain begins with a random name");
    assert!(test.verify(&[]).is_whole());
    let report = test.verify(&[head, other]);
    assert_eq!(
        report.breaks[0].kind,
        AuditBreakKind::OtherHead { number: head.number }
    );
}

#[test]
fn lines_of_another_chain_do_not_fit() {
    let (test, lines, _) = made_log(6);
    std::fs::remove_file(test.path()).unwrap();
    test.fill(0..6);
    let others: Vec<Vec<u8>> = test
        .bytes()
        .split_inclusive(|b| *b == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let mixed = [&lines[..4], &others[4..]].concat();
    test.replace(&mixed.concat());
    assert!(!test.verify(&[]).is_whole());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lines_that_were_moved_doubled_or_removed_are_found(
        cut in 0_usize..14, length in 1_usize..6, to in 0_usize..14, doubles in any::<bool>()
    ) {
        let (test, lines, head) = made_log(12);
        let cut = cut.min(lines.len() - 1);
        let end = (cut + length).min(lines.len());
        let segment = lines[cut..end].to_vec();
        let mut changed = lines.clone();
        if !doubles {
            changed.drain(cut..end);
        }
        let to = to.min(changed.len());
        changed.splice(to..to, segment);
        test.replace(&changed.concat());
        let report = test.verify(&[head]);
        prop_assert_eq!(report.is_whole(), changed == lines, "{:?}", report);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0_usize..900) {
        let (test, lines, head) = made_log(3);
        let mut whole = lines.concat();
        whole.truncate(cut);
        whole.extend(bytes);
        test.replace(&whole);
        let _ = test.verify(&[head]);
        let _ = AuditLog::open(test.path(), test.key.clone(), AuditLogOptions::default());
        let _ = read_records(&test.path(), &AuditFilter::default(), 10).unwrap();
    }
}
