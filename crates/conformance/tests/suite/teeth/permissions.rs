//! Handles that know or do more than they may, keys, budgets, creations and drops that are wrong are caught.

use super::wrong::BackendFlaw;
use super::{expect_caught, expect_caught_by_chance};

#[test]
fn leaks_past_the_filter_of_a_handle_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::IgnoresSight,
            "visibility::a_drawer_out_of_sight_is_never_returned_by_filter",
        ),
        (
            BackendFlaw::IgnoresSight,
            "visibility::a_drawer_out_of_sight_is_never_counted",
        ),
        (
            BackendFlaw::LeaksById,
            "visibility::a_drawer_out_of_sight_is_never_returned_by_id",
        ),
        (
            BackendFlaw::LeaksFacets,
            "visibility::facets_count_no_drawer_out_of_sight_and_name_none_of_its_values",
        ),
        (
            BackendFlaw::LeaksWordStatistics,
            "visibility::words_are_matched_and_scored_as_if_the_drawers_out_of_sight_did_not_exist",
        ),
        (
            BackendFlaw::LeaksSeq,
            "visibility::info_does_not_move_when_drawers_out_of_sight_are_written",
        ),
        (
            BackendFlaw::OffersTheFeed,
            "visibility::a_restricted_handle_has_none_of_the_sub_traits",
        ),
        (
            BackendFlaw::MomentOfEverything,
            "visibility::a_moment_sees_what_its_handle_sees",
        ),
        (
            BackendFlaw::IgnoresSight,
            "restricted_writes::an_update_of_a_drawer_out_of_sight_lists_its_id_as_missing_and_changes_nothing",
        ),
        (
            BackendFlaw::IgnoresSight,
            "restricted_writes::a_delete_by_condition_removes_only_drawers_in_sight",
        ),
        (
            BackendFlaw::AppliesOneByOne,
            "restricted_writes::a_new_drawer_that_the_filter_would_not_accept_is_invalid_and_nothing_of_the_batch_is_written",
        ),
        (
            BackendFlaw::ChecksSightBeforeTheWrite,
            "restricted_writes::an_update_whose_result_the_filter_would_not_accept_is_invalid_and_nothing_of_the_batch_is_written",
        ),
        (
            BackendFlaw::NamesHiddenTwins,
            "restricted_writes::errors_and_receipts_name_no_id_out_of_sight",
        ),
        (
            BackendFlaw::LeaksSeq,
            "restricted_writes::the_receipt_of_a_batch_that_changed_nothing_is_the_same_whatever_was_written_out_of_sight",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn a_check_apart_from_the_write_is_caught() {
    for name in [
        "restricted_writes::a_drawer_that_moves_out_of_sight_is_never_changed_by_a_write_that_was_decided_before",
        "restricted_writes::a_drawer_that_moves_out_of_sight_in_another_process_is_never_changed_by_a_write_that_was_decided_before",
    ] {
        expect_caught_by_chance(BackendFlaw::ChecksSightBeforeTheWrite, name);
    }
}

#[test]
fn writes_through_a_handle_that_may_not_write_are_caught() {
    for name in [
        "read_handles::the_default_options_open_a_handle_that_may_not_write",
        "read_handles::through_a_handle_that_may_not_write_every_batch_is_unsupported_and_nothing_is_written",
        "read_handles::through_a_handle_that_may_not_write_no_model_is_recorded",
        "read_handles::through_a_handle_that_may_not_write_no_step_of_a_change_of_model_is_taken_and_no_vector_is_stored",
        "read_handles::through_a_handle_that_may_not_write_no_source_is_revised",
        "read_handles::through_a_handle_that_may_not_write_no_upkeep_runs",
        "read_handles::through_a_handle_that_may_not_write_nothing_is_erased",
    ] {
        expect_caught(BackendFlaw::IgnoresWritable, name);
    }
}

#[test]
fn wrong_words_about_the_recorded_model_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::ForgetsToAdopt,
            "recorded_model::a_handle_that_adopts_the_recorded_model_writes_as_if_it_had_declared_exactly_that_one",
        ),
        (
            BackendFlaw::InventsAModel,
            "recorded_model::where_no_model_is_recorded_a_handle_that_adopts_it_declares_nothing",
        ),
        (
            BackendFlaw::AdoptsOnEachWrite,
            "recorded_model::if_the_recorded_model_changes_later_a_write_that_carries_vectors_is_an_identity_mismatch",
        ),
        (
            BackendFlaw::AdoptsOnEachWrite,
            "recorded_model::where_no_model_is_recorded_a_handle_that_adopts_it_declares_nothing",
        ),
        (
            BackendFlaw::AdoptsOverTheEmbedder,
            "recorded_model::a_given_embedder_wins_over_the_recorded_model",
        ),
        (
            BackendFlaw::TellsTheModelOfNow,
            "recorded_model::the_model_is_the_one_recorded_when_the_handle_was_opened_whatever_is_recorded_later",
        ),
        (
            BackendFlaw::TellsTheModelOfNow,
            "recorded_model::the_model_is_answered_without_a_look_at_the_store_also_once_that_is_closed",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_keys_and_budgets_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::ForgetsKeysElsewhere,
            "idempotency::a_batch_applied_before_by_another_process_is_not_applied_again_and_its_receipt_is_returned_as_it_was",
        ),
        (
            BackendFlaw::ForgetsKeysElsewhere,
            "idempotency::a_key_is_remembered_after_its_palace_was_closed",
        ),
        (
            BackendFlaw::UsesUpTheKeyOfAFailure,
            "idempotency::a_batch_that_failed_leaves_its_key_unused",
        ),
        (
            BackendFlaw::UsesUpTheKeyOfAFailure,
            "idempotency::a_batch_that_timed_out_leaves_its_key_unused",
        ),
        (
            BackendFlaw::TakesAKeyForOtherWrites,
            "idempotency::the_key_together_with_other_writes_is_a_conflict_and_nothing_is_written",
        ),
        (
            BackendFlaw::IgnoresBudgets,
            "budgets::a_write_whose_budget_is_used_up_is_timed_out_and_nothing_was_written",
        ),
        (
            BackendFlaw::IgnoresBudgets,
            "budgets::a_read_whose_budget_is_used_up_is_timed_out",
        ),
        (
            BackendFlaw::WritesThenTimesOut,
            "budgets::a_write_whose_budget_is_used_up_is_timed_out_and_nothing_was_written",
        ),
    ] {
        expect_caught(flaw, name);
    }
    expect_caught_by_chance(
        BackendFlaw::ForgetsKeysElsewhere,
        "idempotency::of_processes_that_apply_a_batch_under_one_key_at_once_one_applies_it_and_all_have_its_receipt",
    );
}

#[test]
fn batches_that_overwrite_what_was_not_expected_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::OverwritesTheUnexpected,
            "expectations::if_one_of_them_was_changed_or_removed_nothing_is_written_and_the_call_is_a_conflict",
        ),
        (
            BackendFlaw::OverwritesTheUnexpected,
            "expectations::a_drawer_out_of_sight_is_expected_in_vain",
        ),
        (
            BackendFlaw::OverwritesTheUnexpected,
            "expectations::of_those_who_expect_one_drawer_and_change_it_at_once_one_succeeds",
        ),
        (
            BackendFlaw::ComparesVectorsToo,
            "expectations::a_drawer_that_only_got_another_vector_is_as_it_was_read",
        ),
        (
            BackendFlaw::ComparesRepetitions,
            "expectations::a_repetition_under_its_key_is_not_compared_again",
        ),
        (
            BackendFlaw::UsesUpTheKeyOfAFailure,
            "expectations::a_repetition_under_its_key_is_not_compared_again",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_creations_drops_and_erasures_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::OpensOnExclusiveCreate,
            "creation::exclusive_creation_of_a_collection_that_exists_is_a_conflict_and_leaves_it_unchanged",
        ),
        (
            BackendFlaw::OpensOnExclusiveCreate,
            "creation::of_several_exclusive_creations_at_once_exactly_one_succeeds",
        ),
        (
            BackendFlaw::AnswersAfterDrop,
            "dropping::handles_on_the_dropped_collection_are_not_found_from_then_on",
        ),
        (
            BackendFlaw::FollowsTheName,
            "dropping::handles_on_the_dropped_collection_are_not_found_after_a_collection_of_that_name_was_made_again",
        ),
        (
            BackendFlaw::FollowsTheName,
            "dropping::handles_in_other_processes_are_not_found_after_a_collection_of_that_name_was_made_again",
        ),
        (
            BackendFlaw::KeepsALogOfTexts,
            "erasure::no_byte_of_the_text_metadata_words_or_vectors_of_an_erased_drawer_is_left_in_any_file_of_the_palace",
        ),
    ] {
        expect_caught(flaw, name);
    }
    expect_caught_by_chance(
        BackendFlaw::ChecksBeforeItCreates,
        "creation::of_several_exclusive_creations_by_processes_at_once_exactly_one_succeeds",
    );
}
