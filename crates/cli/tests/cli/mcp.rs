//! `loci mcp` driven by real clients over standard input and output: the official SDKs of Python and TypeScript, and
//! scripts that speak raw lines.
//!
//! What is expected stands in `mcp/`, one function for each test here. `scripts/mcp-clients` installs the clients.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use loci_testkit::{mcp_clients_folder, mcp_python};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp")
}

/// Runs one function of a script, which exits with a message where something is not as expected.
#[track_caller]
fn play(script: &str, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = if script.ends_with(".py") {
        mcp_python()
    } else {
        let mut node = Command::new(mcp_clients_folder().join("node/bin/node"));
        node.env_clear();
        node
    };
    command
        .arg(scripts().join(script))
        .arg(case)
        .arg(env!("CARGO_BIN_EXE_loci"))
        .arg(folder.path())
        .env("HOME", folder.path())
        .env("LOCI_TEST_MCP", mcp_clients_folder())
        .env("PYTHONUTF8", "1");
    if let Some(seed) = std::env::var_os("LOCI_SEED") {
        command.env("LOCI_SEED", seed);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "{script} {case}: {}\n{said}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

/// One test for each function of the scripts.
macro_rules! cases {
    ($($script:ident . $suffix:ident: $($case:ident)+;)+) => {
        $(mod $script {
            $(#[test]
            fn $case() {
                super::play(concat!(stringify!($script), ".", stringify!($suffix)), stringify!($case));
            })+
        })+

        const CASES: &[(&str, &[&str])] = &[
            $((concat!(stringify!($script), ".", stringify!($suffix)), &[$(stringify!($case)),+])),+
        ];
    };
}

cases! {
    python_client.py:
        every_revision_is_agreed_on
        every_tool_gives_what_its_schema_says
        resources_and_prompts_are_listed_and_read
        a_mine_says_how_far_it_is
        a_cancelled_mine_stops
        http_speaks_the_same;
    typescript_client.mjs:
        every_revision_is_agreed_on
        every_tool_gives_what_its_schema_says
        resources_and_prompts_are_listed_and_read
        a_mine_says_how_far_it_is
        a_cancelled_mine_stops
        http_speaks_the_same;
    lines.py:
        lines_that_are_no_requests_are_answered
        what_can_be_read_of_a_broken_line_is_its_id
        an_id_in_use_is_refused_and_nothing_is_done
        none_is_passed_over_however_late_the_client_reads
        a_line_too_long_is_refused_and_the_next_is_read
        unknown_methods_tools_and_prompts_are_refused
        every_message_of_a_batch_is_answered
        what_comes_before_the_handshake_harms_nothing
        a_thousand_requests_in_flight_are_answered_once_each
        the_handshake_and_the_lists_need_no_palace
        the_list_of_tools_is_short_and_always_the_same
        every_revision_is_agreed_on
        requests_that_say_their_revision_need_no_handshake;
    writes.py:
        unknown_arguments_are_named
        what_is_meant_is_understood
        more_than_one_goes_only_by_its_count
        success_is_never_said_of_what_is_not_there
        a_key_writes_once
        two_servers_at_once_write_once_for_each_key
        a_new_model_is_noticed_by_a_running_server
        the_beginning_of_an_id_is_enough_to_read_it
        a_diary_is_read_to_its_end_while_it_is_written
        a_name_too_long_is_refused
        what_one_server_changes_another_finds;
    scopes.py:
        a_reader_has_no_tool_that_writes
        other_wings_are_not_read
        other_wings_are_no_resources
        other_wings_are_not_written
        a_wing_is_the_same_however_it_is_spelled
        keys_and_texts_of_other_wings_are_not_told
        cursors_do_not_lead_out;
    budgets.py:
        no_reply_is_larger_than_its_budget
        what_is_given_does_not_make_a_reply_larger
        pages_of_a_search_show_each_hit_once
        pages_of_lists_show_everything_once
        pages_of_resources_show_each_address_once
        a_long_text_comes_back_byte_for_byte
        orders_in_stored_text_are_flagged_and_quoted
        names_cannot_break_out_of_their_line;
    endings.py:
        the_server_ends_when_its_client_closes
        last_requests_are_answered
        the_server_ends_when_its_client_closes_during_a_mine
        the_server_ends_well_when_asked_to
        what_was_acknowledged_before_the_end_is_there
        what_was_stored_is_never_called_cancelled
        a_mine_stops_when_the_server_is_asked_to_end
        the_server_ends_when_its_client_is_killed_in_mid_call
        a_client_that_does_not_read_cannot_keep_the_server;
    together.py:
        four_servers_and_a_mine_write_and_none_is_refused
        searches_are_answered_while_mines_run
        what_killed_servers_acknowledged_is_there;
}

/// Functions that take a scene are cases, and none is left out here.
#[test]
fn every_case_of_the_scripts_is_a_test() {
    for (script, cases) in CASES.iter().filter(|(script, _)| script.ends_with(".py")) {
        let text = std::fs::read_to_string(scripts().join(script)).unwrap();
        let written: BTreeSet<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("def ")?.strip_suffix("(scene):"))
            .filter(|name| *name != "dying_client")
            .collect();
        assert_eq!(written, cases.iter().copied().collect(), "{script}");
    }
}
