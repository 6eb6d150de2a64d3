//! What is in a record, and finding records again.

use super::*;

#[test]
fn a_record_is_read_back_as_it_was_written() {
    let test = TestLog::new();
    let full = AuditRecord {
        time: time(7),
        who: TeamActor::Foreign {
            issuer: "https://id.example".into(),
            subject: "a#b".into(),
        },
        token: Some("0123456789ab".parse().unwrap()),
        address: Some("2001:db8::1".parse().unwrap()),
        palace: Some("work".into()),
        act: AuditAct::new("mine").unwrap(),
        subject: AuditSubject {
            drawers: vec!["d1".into(), "line\nbreak".into()],
            count: Some(2),
            wings: vec!["w\u{43e}rk".into()],
            query_chars: Some(12),
            name: Some("ben".into()),
        },
        outcome: AuditOutcome::Failed(ErrorKind::Locked.into()),
    };
    let log = test.open();
    log.append(full.clone()).unwrap();
    let page = read_records(&test.path(), &AuditFilter::default(), 1).unwrap();
    assert_eq!((page.entries[0].number, &page.entries[0].record), (2, &full));
    let mut refused = full;
    refused.outcome = AuditOutcome::Refused(SignInRefusal::Expired.into());
    log.append(refused.clone()).unwrap();
    let page = read_records(&test.path(), &AuditFilter::default(), 1).unwrap();
    assert_eq!(page.entries[0].record, refused);
    assert_eq!(refused.outcome.to_string(), "refused:expired");
}

#[test]
fn a_line_has_the_fields_that_people_search_for() {
    let test = TestLog::new();
    test.fill(0..1);
    let text = String::from_utf8(test.bytes()).unwrap();
    let line = text.lines().last().unwrap();
    let start = r#"{"n":2,"time":"2026-05-28T20:26:40Z","who":"anna","act":"search","subject":{"query_chars":0},"outcome":"done","mac":""#;
    assert!(line.starts_with(start), "{line}");
}

#[test]
fn hostile_names_cannot_make_a_line_long_or_break_it() {
    let test = TestLog::new();
    let hostile = "\n\u{1}{\"n\":1}\u{2028}".repeat(10_000);
    let mut record = record(0);
    record.palace = Some(hostile.clone());
    record.who = TeamActor::Foreign {
        issuer: hostile.clone(),
        subject: hostile.clone(),
    };
    record.subject.drawers = vec![hostile.clone(); 5000];
    record.subject.wings = vec![hostile.clone(); 5000];
    record.subject.name = Some(hostile);
    let log = test.open();
    log.append(record).unwrap();
    let head = log.head().unwrap();
    drop(log);
    let longest = test
        .bytes()
        .split(|b| *b == b'\n')
        .map(<[u8]>::len)
        .max()
        .unwrap();
    assert!(longest < line::LONGEST_LINE, "{longest}");
    assert!(test.verify(&[head]).is_whole());
    let page = read_records(&test.path(), &AuditFilter::default(), 1).unwrap();
    let subject = &page.entries[0].record.subject;
    assert_eq!(
        (subject.drawers.len(), subject.wings.len(), subject.count),
        (100, 20, Some(5000))
    );
}

#[test]
fn records_are_found_newest_first_through_every_file() {
    let test = TestLog::new();
    let options = AuditLogOptions {
        part_bytes: 3000,
        ..AuditLogOptions::default()
    };
    let log = test.open_with(options);
    for second in 0..100 {
        let mut record = record(second);
        if second % 10 == 0 {
            record.who = TeamActor::User("ben".into());
            record.subject.drawers = vec![format!("d{second}")];
        }
        log.append(record).unwrap();
    }
    let find = |filter: &AuditFilter, limit| read_records(&test.path(), filter, limit).unwrap();
    let queries = |page: &AuditPage| -> Vec<u64> {
        page.entries
            .iter()
            .filter_map(|entry| entry.record.subject.query_chars)
            .collect()
    };
    let ben = AuditFilter {
        who: Some(TeamActor::User("ben".into())),
        ..AuditFilter::default()
    };
    assert_eq!(queries(&find(&ben, 100)), [90, 80, 70, 60, 50, 40, 30, 20, 10, 0]);
    let mut paged = Vec::new();
    let mut filter = ben.clone();
    loop {
        let page = find(&filter, 3);
        paged.extend(queries(&page));
        filter.before = page.next_before;
        if filter.before.is_none() {
            break;
        }
    }
    assert_eq!(paged, queries(&find(&ben, 100)));
    let some = AuditFilter {
        since: Some(time(40)),
        until: Some(time(60)),
        ..ben
    };
    assert_eq!(queries(&find(&some, 100)), [50, 40]);
    let drawer = AuditFilter {
        subject: Some("d30".into()),
        ..AuditFilter::default()
    };
    assert_eq!(queries(&find(&drawer, 100)), [30]);
    let act = AuditFilter {
        act: Some("chain_begun".into()),
        ..AuditFilter::default()
    };
    assert_eq!(find(&act, 100).entries[0].number, 1);
    let none = AuditFilter {
        outcome: Some("refused".into()),
        ..AuditFilter::default()
    };
    assert_eq!(find(&none, 100), AuditPage::default());
}

#[test]
fn lines_that_are_not_records_are_counted_and_passed_over() {
    let test = TestLog::new();
    test.fill(0..3);
    let text = String::from_utf8(test.bytes()).unwrap();
    let garbage = "x".repeat(2 * line::LONGEST_LINE);
    let spoilt = text.replacen('\n', &format!("\n{garbage}\nnot a record\n"), 1) + "{\"n\":";
    test.replace(spoilt.as_bytes());
    let page = read_records(&test.path(), &AuditFilter::default(), 10).unwrap();
    assert_eq!(page.entries.len(), 4);
    assert!(page.unreadable_lines >= 3, "{}", page.unreadable_lines);
    assert!(
        read_records(Path::new("/nowhere/audit.log"), &AuditFilter::default(), 1)
            .unwrap()
            .entries
            .is_empty()
    );
}
