//! Any text is read as a filter or refused; what was read prints back to an equal filter.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_core::{DocumentFilter, Drawer, DrawerId, Filter, Metadata};

fuzz_target!(|text: &str| {
    let metadata = Metadata::new().with_entry("a", 1_i64).with_entry("b", "text").with_entry("c", 0.5).with_entry("d", true);
    let drawer = Drawer { metadata: Some(metadata), ..Drawer::with_id_only(DrawerId::new("x").expect("not empty")) };
    if let Ok(filter) = Filter::parse_str(text) {
        let _ = filter.accepts(&drawer);
        assert_eq!(Filter::parse_str(&filter.to_string()).expect("what was printed"), filter);
    }
    if let Ok(filter) = DocumentFilter::parse_str(text) {
        let _ = filter.accepts("some text");
        assert_eq!(DocumentFilter::parse_str(&filter.to_string()).expect("what was printed"), filter);
    }
});
