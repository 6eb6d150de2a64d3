//! The suite has teeth: each backend with one flaw breaks the case that promises the contrary.

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

use loci_conformance::{CaseVerdict, ConformanceCase, all_cases, examine_case};

use self::wrong::{BackendFlaw, WrongHarness};

fn find_case(name: &str) -> &'static ConformanceCase {
    let found = all_cases().into_iter().find(|case| case.name() == name);
    found.expect(name)
}

/// Checks that a case passes on the unflawed wrapper and fails on the flawed one.
fn expect_caught(flaw: BackendFlaw, name: &str) {
    assert_eq!(
        examine_case(&WrongHarness(BackendFlaw::None), find_case(name)),
        CaseVerdict::Kept,
        "{name} without a flaw"
    );
    let verdict = examine_case(&WrongHarness(flaw), find_case(name));
    assert!(
        matches!(verdict, CaseVerdict::Broken(_)),
        "{flaw:?} passed {name}: {verdict:?}"
    );
}

/// Checks that a flawed backend fails a case whose outcome depends on timing or chance, within a few tries.
fn expect_caught_by_chance(flaw: BackendFlaw, name: &str) {
    let broken = || {
        matches!(
            examine_case(&WrongHarness(flaw), find_case(name)),
            CaseVerdict::Broken(_)
        )
    };
    assert!((0..20).any(|_| broken()), "{flaw:?} passed {name} twenty times");
}

#[test]
fn the_wrapper_alone_breaks_no_case() {
    for case in all_cases() {
        let verdict = examine_case(&WrongHarness(BackendFlaw::None), case);
        assert!(
            !matches!(verdict, CaseVerdict::Broken(_)),
            "{}: {verdict:?}",
            case.name()
        );
    }
}

#[test]
fn wrong_writes_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::OverwritesOnAdd,
            "writes::add_never_overwrites_an_id_that_exists_is_left_as_it_is_and_listed_as_kept",
        ),
        (
            BackendFlaw::ReportsKeptAsAdded,
            "writes::add_never_overwrites_an_id_that_exists_is_left_as_it_is_and_listed_as_kept",
        ),
        (
            BackendFlaw::MergesOnUpsert,
            "writes::upsert_replaces_whole_whatever_stood_under_its_id",
        ),
        (
            BackendFlaw::CreatesOnUpdate,
            "writes::update_of_a_missing_id_is_listed_as_missing_and_nothing_is_created",
        ),
        (
            BackendFlaw::ForgetsBadVectors,
            "refusals::vectors_that_are_not_finite_or_under_the_metric_cosine_all_zero_are_refused_before_anything_is_written",
        ),
        (
            BackendFlaw::ForgetsBadVectors,
            "query::under_l2_and_ip_a_vector_of_zeros_is_stored_and_found_like_any_other",
        ),
        (
            BackendFlaw::AppliesOneByOne,
            "refusals::a_batch_whose_last_write_is_refused_leaves_nothing",
        ),
        (
            BackendFlaw::FilesTwins,
            "twins::add_of_the_same_piece_of_the_same_source_under_another_id_is_not_filed_and_listed_as_a_twin",
        ),
        (
            BackendFlaw::ForgetsMissingVectors,
            "writes::the_receipt_lists_which_of_those_added_replaced_or_updated_have_no_vector_now",
        ),
        (
            BackendFlaw::GarblesContext,
            "indexed_text::context_is_kept_with_the_row_or_not_at_all",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_reads_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::DropsFilter,
            "filters::equality_follows_type_families_text_numbers_and_booleans_are_never_equal",
        ),
        (
            BackendFlaw::DropsDocumentFilter,
            "filters::documents_are_matched_by_exact_case_sensitive_substring",
        ),
        (
            BackendFlaw::LosesAHit,
            "query::the_answer_is_the_nearest_of_those_the_filter_accepts_never_fewer_because_others_were_nearer",
        ),
        (
            BackendFlaw::DropsEmptyLists,
            "query::for_each_vector_its_own_list_even_when_all_are_empty",
        ),
        (
            BackendFlaw::IgnoresOffset,
            "reads::limit_and_offset_page_in_a_stable_order",
        ),
        (
            BackendFlaw::ReturnsEveryField,
            "reads::fields_not_included_are_absent",
        ),
        (
            BackendFlaw::TurnsIntegersToFloats,
            "verbatim::metadata_is_kept_exactly_integers_floats_booleans_and_texts_apart",
        ),
        (
            BackendFlaw::TrimsText,
            "verbatim::the_text_is_kept_verbatim_may_be_empty",
        ),
        (
            BackendFlaw::RemembersReads,
            "reads::a_reader_sees_every_write_acknowledged_before_it_began_from_any_process",
        ),
        (
            BackendFlaw::FeedForgetsDeletes,
            "changes::a_removed_drawer_is_listed_as_removed",
        ),
        (
            BackendFlaw::FeedIgnoresLimit,
            "changes::at_most_limit_changes_come_at_once_and_the_next_cursor_goes_on_without_repeats",
        ),
        (
            BackendFlaw::FeedSkips,
            "changes::whoever_follows_the_feed_has_the_same_ids_as_the_collection",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_openings_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::CreatesOnOpen,
            "open::of_a_missing_palace_not_even_a_folder_is_created",
        ),
        (
            BackendFlaw::CreatesOnOpen,
            "open::a_missing_collection_is_not_found_and_nothing_is_created",
        ),
        (
            BackendFlaw::SeesAnotherPalace,
            "isolation::nothing_written_under_one_palace_is_seen_under_another",
        ),
        (
            BackendFlaw::IgnoresNamespace,
            "isolation::nothing_written_under_one_namespace_is_seen_changed_or_removed_under_another",
        ),
        (
            BackendFlaw::IgnoresEmbedder,
            "identity::a_declared_embedder_that_is_known_not_to_be_the_stored_one_is_refused_naming_both",
        ),
        (
            BackendFlaw::AlwaysListsDamage,
            "lifecycle::a_palace_that_was_not_opened_or_is_sound_has_no_damage_to_list",
        ),
        (
            BackendFlaw::NamesEveryPalaceAlike,
            "open::a_palace_keeps_its_id_and_no_other_palace_has_it",
        ),
        (
            BackendFlaw::AnswersAfterClose,
            "lifecycle::after_close_every_call_on_its_collections_is_closed",
        ),
        (
            BackendFlaw::ForgetsTheFiles,
            "replaced_files::a_palace_whose_files_vanished_is_not_found",
        ),
        (
            BackendFlaw::ForgetsTheFiles,
            "replaced_files::a_handle_on_files_that_were_replaced_never_answers_with_what_is_gone",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_changes_of_model_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::AnswersFromTheOldSpace,
            "switch::finish_turns_every_answer_over_at_once_for_every_handle",
        ),
        (
            BackendFlaw::FinishesIncomplete,
            "switch::while_a_drawer_lacks_a_vector_finish_is_a_conflict_that_says_how_many_and_nothing_changes",
        ),
        (
            BackendFlaw::LeavesAGhost,
            "spaces::a_drawer_removed_during_a_switch_is_found_in_no_space",
        ),
        (
            BackendFlaw::FillsStaleTexts,
            "filling::a_vector_of_a_text_that_has_changed_since_is_stale_and_never_answers",
        ),
        (
            BackendFlaw::FillsWhilePaused,
            "rollback::pause_stops_those_who_fill_and_begin_goes_on_from_there",
        ),
        (
            BackendFlaw::ForgetsOtherSpaces,
            "spaces::a_new_vector_keeps_the_vectors_in_the_other_spaces",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_revisions_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::IgnoresExpects,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            BackendFlaw::IgnoresExpects,
            "revisions::a_revision_that_expects_a_record_is_overtaken_where_there_is_none",
        ),
        (
            BackendFlaw::WritesDrawersOfOvertaken,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            BackendFlaw::StopsAtOvertaken,
            "revisions::a_revision_whose_source_has_another_record_by_now_is_overtaken_nothing_of_it_is_written_and_the_others_go_on",
        ),
        (
            BackendFlaw::LosesTheLastPart,
            "revisions::parts_are_applied_one_after_the_other_as_apply_applies_batches",
        ),
        (
            BackendFlaw::CommitsPartsApart,
            "refused_revisions::an_error_in_a_later_part_leaves_every_drawer_and_record_as_it_was",
        ),
        (
            BackendFlaw::CommitsPartsApart,
            "refused_revisions::a_vector_of_another_dimension_in_a_later_part_is_refused_and_nothing_is_written",
        ),
        (
            BackendFlaw::CommitsRevisionsApart,
            "refused_revisions::an_error_in_a_later_revision_leaves_every_drawer_and_record_as_it_was",
        ),
        (
            BackendFlaw::RestartsRevisions,
            "revisions::a_revision_has_a_number_that_no_earlier_record_of_the_collection_had_not_even_a_forgotten_one",
        ),
        (
            BackendFlaw::FilesRecordsAsDrawers,
            "sources::a_record_is_not_a_drawer_it_is_not_counted_found_exported_or_listed_among_the_changes",
        ),
        (
            BackendFlaw::ListsSourcesAsAsked,
            "sources::the_records_of_some_sources_come_in_byte_order_of_their_names",
        ),
        (
            BackendFlaw::RepeatsTheLastSource,
            "sources::records_are_listed_that_come_after_a_name_in_byte_order_at_most_as_many_as_asked_for",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn revisions_that_come_between_each_other_or_are_seen_in_part_are_caught() {
    expect_caught_by_chance(
        BackendFlaw::IgnoresExpects,
        "revisions::of_those_who_revise_a_source_at_once_one_is_done_and_the_others_are_overtaken",
    );
    expect_caught_by_chance(
        BackendFlaw::CommitsPartsApart,
        "revisions::a_reader_sees_all_revisions_of_a_list_whole_or_not_at_all",
    );
}

#[test]
fn a_batch_that_is_seen_in_part_is_caught() {
    expect_caught_by_chance(
        BackendFlaw::AppliesOneByOne,
        "concurrency::a_reader_sees_a_batch_whole_or_not_at_all",
    );
}

#[test]
fn the_model_catches_what_it_models() {
    for flaw in [
        BackendFlaw::OverwritesOnAdd,
        BackendFlaw::MergesOnUpsert,
        BackendFlaw::FilesTwins,
        BackendFlaw::DropsFilter,
        BackendFlaw::LosesAHit,
        BackendFlaw::TurnsIntegersToFloats,
        BackendFlaw::FeedForgetsDeletes,
        BackendFlaw::FinishesIncomplete,
        BackendFlaw::IgnoresSight,
        BackendFlaw::LeaksFacets,
        BackendFlaw::IgnoresOrder,
        BackendFlaw::CountsWithoutText,
        BackendFlaw::LosesProvenanceOnUpdate,
        BackendFlaw::TakesAKeyForOtherWrites,
    ] {
        expect_caught_by_chance(flaw, "model::random_histories_answer_like_the_reference");
    }
}

#[test]
fn a_failure_of_the_model_says_how_to_play_it_again() {
    let name = "model::random_histories_answer_like_the_reference";
    let words = (0..20).find_map(|_| {
        match examine_case(&WrongHarness(BackendFlaw::OverwritesOnAdd), find_case(name)) {
            CaseVerdict::Broken(words) => Some(words),
            _ => None,
        }
    });
    let words = words.expect("the model catches a backend that overwrites");
    assert!(words.contains("play it again with the seed "), "{words}");
    assert!(words.contains("Apply"), "{words}");
}
