//! Wrong orders, members, conditions, provenance, ties and moments are caught.

use super::wrong::BackendFlaw;
use super::{expect_caught, find_case};
use loci_conformance::{CaseVerdict, examine_case};

#[test]
fn wrong_orders_are_caught() {
    for (flaw, name) in [
        (BackendFlaw::IgnoresOrder, "orders::the_latest_filed_comes_first"),
        (
            BackendFlaw::IgnoresOrder,
            "orders::the_latest_said_comes_first_drawers_without_a_time_of_saying_last",
        ),
        (
            BackendFlaw::IgnoresTies,
            "orders::the_byte_order_of_ids_breaks_every_tie",
        ),
        (
            BackendFlaw::PagesByOffset,
            "orders::pages_neither_repeat_nor_skip_the_drawers_that_stayed_whatever_is_written_in_between",
        ),
        (
            BackendFlaw::PagesByOffset,
            "orders::a_page_continues_at_the_right_place_although_the_drawer_it_was_taken_from_has_been_changed_or_removed_since",
        ),
        (
            BackendFlaw::DropsFilter,
            "orders::only_drawers_that_both_filters_accept_are_listed_in_any_order",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_members_and_conditions_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::FindsMembersByPart,
            "members::a_member_is_compared_whole_never_by_a_part_of_its_text",
        ),
        (
            BackendFlaw::DropsFilter,
            "members::contains_accepts_a_list_with_a_member_equal_to_its_operand",
        ),
        (
            BackendFlaw::CountsWithoutText,
            "conditions::count_counts_the_drawers_that_both_filters_accept",
        ),
        (
            BackendFlaw::DeletesWithoutText,
            "conditions::a_delete_by_condition_removes_the_drawers_that_both_filters_accept",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_provenance_is_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::LosesProvenanceOnUpdate,
            "provenance::update_sets_the_provenance_that_is_given_and_keeps_the_one_that_stands_otherwise",
        ),
        (
            BackendFlaw::HidesProvenance,
            "provenance::provenance_is_returned_whichever_fields_are_included",
        ),
        (
            BackendFlaw::MergesOnUpsert,
            "provenance::upsert_replaces_provenance_whole_and_takes_it_away_where_none_is_given",
        ),
    ] {
        expect_caught(flaw, name);
    }
}

#[test]
fn wrong_ties_and_inexact_queries_are_caught() {
    for (flaw, name) in [
        (
            BackendFlaw::IgnoresTies,
            "approximation::hits_of_a_query_with_equal_distance_come_in_the_byte_order_of_their_ids",
        ),
        (
            BackendFlaw::IgnoresTies,
            "approximation::hits_of_a_lexical_match_with_equal_score_come_in_the_byte_order_of_their_ids",
        ),
        (
            BackendFlaw::LosesAHit,
            "approximation::the_answer_equals_an_exact_comparison_with_every_vector",
        ),
        (
            BackendFlaw::LosesAHit,
            "approximation::where_approximate_answers_were_chosen_a_query_that_must_be_exact_is_exact",
        ),
        (
            BackendFlaw::LosesAHit,
            "approximation::after_exact_was_chosen_every_answer_is_exact",
        ),
    ] {
        expect_caught(flaw, name);
    }
    // These need a backend that says it approximates, which the flawless one behind `check` does not.
    for (flaw, name) in [
        (
            BackendFlaw::MissesTooMany,
            "approximation::with_approximate_query_at_least_nine_in_ten_of_the_true_nearest_are_found",
        ),
        (
            BackendFlaw::GuessesDistances,
            "approximation::with_approximate_query_no_hit_is_reported_with_a_wrong_distance",
        ),
        (
            BackendFlaw::HidesApproximation,
            "approximation::a_collection_says_whether_its_queries_are_approximate",
        ),
    ] {
        let verdict = examine_case(&super::wrong::WrongHarness(flaw), find_case(name));
        assert!(
            matches!(verdict, CaseVerdict::Broken(_)),
            "{flaw:?} passed {name}: {verdict:?}"
        );
    }
}

#[test]
fn wrong_moments_are_caught() {
    for name in [
        "moments::reads_of_a_moment_agree_with_each_other_whatever_is_written_meanwhile",
        "moments::reads_of_a_moment_agree_with_each_other_whatever_another_process_writes_meanwhile",
        "provenance::a_moment_returns_the_provenance_of_its_drawers",
    ] {
        expect_caught(BackendFlaw::MovingMoment, name);
    }
}
