//! The suite has teeth: each backend that is wrong in one way breaks the case that promises the contrary.

mod answers;
mod beyond;
mod collection;
mod keys;
mod moving;
mod permissions;
mod revising;
mod sight;
mod turning;
mod wrong;

use loci_conformance::{Case, Verdict, cases, examine};

use self::wrong::{Flaw, WrongHarness};

fn case(name: &str) -> &'static Case {
    let found = cases().into_iter().find(|case| case.name() == name);
    found.expect(name)
}

/// Shows that a case is kept by the reference behind the same wrapper and broken by the wrong backend.
fn check(flaw: Flaw, name: &str) {
    assert_eq!(
        examine(&WrongHarness(Flaw::None), case(name)),
        Verdict::Kept,
        "{name} without a flaw"
    );
    let verdict = examine(&WrongHarness(flaw), case(name));
    assert!(
        matches!(verdict, Verdict::Broken(_)),
        "{flaw:?} passed {name}: {verdict:?}"
    );
}

/// Shows that a wrong backend breaks a case whose outcome depends on chance, within a few tries.
fn check_by_chance(flaw: Flaw, name: &str) {
    let broken = || matches!(examine(&WrongHarness(flaw), case(name)), Verdict::Broken(_));
    assert!((0..20).any(|_| broken()), "{flaw:?} passed {name} twenty times");
}

#[test]
fn the_wrapper_alone_breaks_no_case() {
    for case in cases() {
        let verdict = examine(&WrongHarness(Flaw::None), case);
        assert!(
            !matches!(verdict, Verdict::Broken(_)),
            "{}: {verdict:?}",
            case.name()
        );
    }
}

#[test]
fn wrong_writes_are_caught() {
    for (flaw, name) in [
        (
            Flaw::OverwritesOnAdd,
            "writes::add_never_overwrites_an_id_that_exists_is_left_as_it_is_and_listed_as_kept",
        ),
        (
            Flaw::ReportsKeptAsAdded,
            "writes::add_never_overwrites_an_id_that_exists_is_left_as_it_is_and_listed_as_kept",
        ),
        (
            Flaw::MergesOnUpsert,
            "writes::upsert_replaces_whole_whatever_stood_under_its_id",
        ),
        (
            Flaw::CreatesOnUpdate,
            "writes::update_of_a_missing_id_is_listed_as_missing_and_nothing_is_created",
        ),
        (
            Flaw::ForgetsBadVectors,
            "refusals::vectors_that_are_not_finite_or_all_zero_are_refused_before_anything_is_written",
        ),
        (
            Flaw::AppliesOneByOne,
            "refusals::a_batch_whose_last_write_is_refused_leaves_nothing",
        ),
        (
            Flaw::FilesTwins,
            "twins::add_of_the_same_piece_of_the_same_source_under_another_id_is_not_filed_and_listed_as_a_twin",
        ),
        (
            Flaw::ForgetsMissingVectors,
            "writes::the_receipt_lists_which_of_those_added_replaced_or_updated_have_no_vector_now",
        ),
        (
            Flaw::GarblesContext,
            "indexed_text::context_is_kept_with_the_row_or_not_at_all",
        ),
    ] {
        check(flaw, name);
    }
}

#[test]
fn wrong_reads_are_caught() {
    for (flaw, name) in [
        (
            Flaw::DropsFilter,
            "filters::equality_follows_type_families_text_numbers_and_booleans_are_never_equal",
        ),
        (
            Flaw::DropsDocumentFilter,
            "filters::documents_are_matched_by_exact_case_sensitive_substring",
        ),
        (
            Flaw::LosesAHit,
            "query::the_answer_is_the_nearest_of_those_the_filter_accepts_never_fewer_because_others_were_nearer",
        ),
        (
            Flaw::DropsEmptyLists,
            "query::for_each_vector_its_own_list_even_when_all_are_empty",
        ),
        (
            Flaw::IgnoresOffset,
            "reads::limit_and_offset_page_in_a_stable_order",
        ),
        (Flaw::ReturnsEveryField, "reads::fields_not_included_are_absent"),
        (
            Flaw::TurnsIntegersToFloats,
            "verbatim::metadata_is_kept_exactly_integers_floats_booleans_and_texts_apart",
        ),
        (
            Flaw::TrimsText,
            "verbatim::the_text_is_kept_verbatim_may_be_empty",
        ),
        (
            Flaw::RemembersReads,
            "reads::a_reader_sees_every_write_acknowledged_before_it_began_from_any_process",
        ),
        (
            Flaw::FeedForgetsDeletes,
            "changes::a_removed_drawer_is_listed_as_removed",
        ),
        (
            Flaw::FeedIgnoresLimit,
            "changes::at_most_limit_changes_come_at_once_and_the_next_cursor_goes_on_without_repeats",
        ),
        (
            Flaw::FeedSkips,
            "changes::whoever_follows_the_feed_has_the_same_ids_as_the_collection",
        ),
    ] {
        check(flaw, name);
    }
}

#[test]
fn wrong_openings_are_caught() {
    for (flaw, name) in [
        (
            Flaw::CreatesOnOpen,
            "open::of_a_missing_palace_not_even_a_folder_is_created",
        ),
        (
            Flaw::CreatesOnOpen,
            "open::a_missing_collection_is_not_found_and_nothing_is_created",
        ),
        (
            Flaw::SeesAnotherPalace,
            "isolation::nothing_written_under_one_palace_is_seen_under_another",
        ),
        (
            Flaw::IgnoresNamespace,
            "isolation::nothing_written_under_one_namespace_is_seen_changed_or_removed_under_another",
        ),
        (
            Flaw::IgnoresEmbedder,
            "identity::a_declared_embedder_that_is_known_not_to_be_the_stored_one_is_refused_naming_both",
        ),
        (
            Flaw::AnswersAfterClose,
            "lifecycle::after_close_every_call_on_its_collections_is_closed",
        ),
        (
            Flaw::ForgetsTheFiles,
            "replaced_files::a_palace_whose_files_vanished_is_not_found",
        ),
        (
            Flaw::ForgetsTheFiles,
            "replaced_files::a_handle_on_files_that_were_replaced_never_answers_with_what_is_gone",
        ),
    ] {
        check(flaw, name);
    }
}

#[test]
fn wrong_changes_of_model_are_caught() {
    for (flaw, name) in [
        (
            Flaw::AnswersFromTheOldSpace,
            "switch::finish_turns_every_answer_over_at_once_for_every_handle",
        ),
        (
            Flaw::FinishesIncomplete,
            "switch::while_a_drawer_lacks_a_vector_finish_is_a_conflict_that_says_how_many_and_nothing_changes",
        ),
        (
            Flaw::LeavesAGhost,
            "spaces::a_drawer_removed_during_a_switch_is_found_in_no_space",
        ),
        (
            Flaw::FillsStaleTexts,
            "filling::a_vector_of_a_text_that_has_changed_since_is_stale_and_never_answers",
        ),
        (
            Flaw::FillsWhilePaused,
            "rollback::pause_stops_those_who_fill_and_begin_goes_on_from_there",
        ),
        (
            Flaw::ForgetsOtherSpaces,
            "spaces::a_new_vector_keeps_the_vectors_in_the_other_spaces",
        ),
    ] {
        check(flaw, name);
    }
}

#[test]
fn wrong_revisions_are_caught() {
    for (flaw, name) in [
        (
            Flaw::IgnoresExpects,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            Flaw::IgnoresExpects,
            "revisions::a_revision_that_expects_a_record_is_overtaken_where_there_is_none",
        ),
        (
            Flaw::WritesDrawersOfOvertaken,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            Flaw::StopsAtOvertaken,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            Flaw::LosesTheLastPart,
            "revisions::parts_are_applied_one_after_the_other_as_apply_applies_batches",
        ),
        (
            Flaw::CommitsPartsApart,
            "refused_revisions::an_error_in_a_later_part_leaves_every_drawer_and_record_as_it_was",
        ),
        (
            Flaw::CommitsPartsApart,
            "refused_revisions::a_vector_of_another_dimension_in_a_later_part_is_refused_and_nothing_is_written",
        ),
        (
            Flaw::CommitsRevisionsApart,
            "refused_revisions::an_error_in_a_later_revision_leaves_every_drawer_and_record_as_it_was",
        ),
        (
            Flaw::RestartsRevisions,
            "revisions::a_revision_has_a_number_that_no_earlier_record_of_the_collection_had_not_even_a_forgotten_one",
        ),
        (
            Flaw::FilesRecordsAsDrawers,
            "sources::a_record_is_no_drawer_it_is_not_counted_found_exported_or_listed_among_the_changes",
        ),
        (
            Flaw::ListsSourcesAsAsked,
            "sources::the_records_of_some_sources_come_in_byte_order_of_their_names",
        ),
        (
            Flaw::RepeatsTheLastSource,
            "sources::records_are_listed_that_come_after_a_name_in_byte_order_at_most_as_many_as_asked_for",
        ),
    ] {
        check(flaw, name);
    }
}

#[test]
fn revisions_that_come_between_each_other_or_are_seen_in_part_are_caught() {
    check_by_chance(
        Flaw::IgnoresExpects,
        "revisions::of_those_who_revise_a_source_at_once_one_is_done_and_the_others_are_overtaken",
    );
    check_by_chance(
        Flaw::CommitsPartsApart,
        "revisions::a_reader_sees_all_revisions_of_a_list_whole_or_not_at_all",
    );
}

#[test]
fn a_batch_that_is_seen_in_part_is_caught() {
    check_by_chance(
        Flaw::AppliesOneByOne,
        "concurrency::a_reader_sees_a_batch_whole_or_not_at_all",
    );
}

#[test]
fn the_model_catches_what_it_models() {
    for flaw in [
        Flaw::OverwritesOnAdd,
        Flaw::MergesOnUpsert,
        Flaw::FilesTwins,
        Flaw::DropsFilter,
        Flaw::LosesAHit,
        Flaw::TurnsIntegersToFloats,
        Flaw::FeedForgetsDeletes,
        Flaw::FinishesIncomplete,
        Flaw::IgnoresSight,
        Flaw::LeaksFacets,
        Flaw::IgnoresOrder,
        Flaw::CountsWithoutText,
        Flaw::LosesProvenanceOnUpdate,
        Flaw::TakesAKeyForOtherWrites,
    ] {
        check_by_chance(flaw, "model::random_histories_answer_like_the_reference");
    }
}

#[test]
fn a_failure_of_the_model_says_how_to_play_it_again() {
    let name = "model::random_histories_answer_like_the_reference";
    let words = (0..20).find_map(
        |_| match examine(&WrongHarness(Flaw::OverwritesOnAdd), case(name)) {
            Verdict::Broken(words) => Some(words),
            _ => None,
        },
    );
    let words = words.expect("the model catches a backend that overwrites");
    assert!(words.contains("LOCI_MODEL_SEED="), "{words}");
    assert!(words.contains("Apply"), "{words}");
}
