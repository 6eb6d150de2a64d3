//! Sealing and rotating, killed, without room on the disk, and beside other processes: the old state or the new one, and
//! never a sealed secret in the clear.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign.

use std::process::Stdio;
use std::time::{Duration, Instant};

use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

use super::*;

/// A palace with 40 sealed drawers and 40 in the clear.
fn half_sealed() -> TempHome {
    let home = new_home();
    home.json(0, &["init"]);
    let lines = |from: usize| -> String {
        (from..from + 40)
            .map(|n| format!("{}\n", json!({"id": format!("d{n}"), "text": secret_text(n)})))
            .collect()
    };
    home.file_lines(&lines(0)).expect_code(0);
    home.json(0, &["seal", "--policy", "keep"]);
    home.file_lines(&lines(40)).expect_code(0);
    home
}

fn secret_text(n: usize) -> String {
    format!("drawer {n} holds {} among its words", token(n))
}

/// Asserts that every drawer gives its words back, and that what was sealed at first is nowhere in the clear.
#[track_caller]
fn assert_nothing_lost(home: &TempHome) {
    let drawers = unseal_all(home);
    assert_eq!(drawers.len(), 80);
    for drawer in drawers {
        let n: usize = drawer["id"].as_str().unwrap()[1..].parse().unwrap();
        assert_eq!(text_of(&drawer), secret_text(n));
    }
    for n in (0..40).step_by(9) {
        assert_eq!(count_in_files(&home.palace(), &token(n)), 0, "secret {n}");
    }
}

#[test]
fn killed_anywhere_a_command_leaves_every_secret_sealed_or_as_it_was() {
    let (rounds, seed) = (campaign_rounds(6), campaign_seed());
    println!("sealing killed: {rounds} rounds, LOCI_SEED={seed}");
    let mut random = SeededRandom::new(seed);
    let mut killed = 0;
    for round in 0..rounds {
        let home = half_sealed();
        for args in [&["key", "rotate"][..], &["seal", "--yes"]] {
            let mut longest = Duration::from_millis(60);
            for _ in 0..4 {
                let began = Instant::now();
                let mut child = home
                    .command(args)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let wait = longest * random.below(1000) as u32 / 1000;
                while began.elapsed() < wait && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if child.try_wait().unwrap().is_none() {
                    child.kill().unwrap();
                    killed += 1;
                }
                child.wait().unwrap();
                longest *= 2;
                assert_nothing_lost(&home);
            }
            home.run(args).expect_code(0);
        }
        assert_nothing_lost(&home);
        for n in (40..80).step_by(9) {
            assert_eq!(
                count_in_files(&home.palace(), &token(n)),
                0,
                "round {round}, secret {n}"
            );
        }
        home.run(&["verify"]).expect_code(0);
    }
    println!("{killed} commands killed");
}

#[cfg(unix)]
#[test]
fn without_room_on_the_disk_a_command_fails_and_nothing_is_lost() {
    let home = half_sealed();
    let largest = std::fs::metadata(home.palace().join("palace.db")).unwrap().len() / 1024;
    for args in [
        &["key", "rotate"][..],
        &["seal", "--yes"],
        &["forget", "--finish"],
    ] {
        for blocks in [0, 8, largest / 2, largest, largest + 64] {
            // Files may not grow beyond this: to their writer that is a full disk.
            let mut command = Command::new("bash");
            command.args([
                "-c",
                &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""),
                "-",
            ]);
            command.arg(env!("CARGO_BIN_EXE_loci")).args(args);
            home.dress_command(&mut command);
            let outcome = run_command(command, b"");
            assert!(
                outcome.code == 0 || !outcome.err.is_empty(),
                "{args:?} in {blocks}: {outcome:?}"
            );
            assert_nothing_lost(&home);
        }
        home.run(args).expect_code(0);
    }
    for n in (40..80).step_by(9) {
        assert_eq!(count_in_files(&home.palace(), &token(n)), 0);
    }
}

#[test]
fn others_file_while_one_seals_forgets_and_rotates() {
    let home = half_sealed();
    home.json(0, &["seal", "--policy", "seal"]);
    let shared = format!("shared {}", token(7));
    std::thread::scope(|threads| {
        for writer in 0..2 {
            let (home, shared) = (&home, &shared);
            threads.spawn(move || {
                for n in 0..12 {
                    let id = format!("w{writer}-{n}");
                    home.run(&["add", &format!("{id} {shared}"), "--id", &id])
                        .expect_code(0);
                }
            });
        }
        for args in [
            &["seal", "--yes"][..],
            &["forget", "d3", "--yes"],
            &["key", "rotate"],
            &["maintain", "compact"],
        ] {
            home.run(args).expect_code(0);
        }
    });
    let drawers = unseal_all(&home);
    assert_eq!(drawers.len(), 80 - 1 + 24);
    for drawer in drawers {
        let (id, text) = (drawer["id"].as_str().unwrap(), text_of(&drawer));
        let expected = match id.strip_prefix('d') {
            Some(n) => secret_text(n.parse().unwrap()),
            None => format!("{id} {shared}"),
        };
        assert_eq!(text, expected);
    }
    assert_eq!(count_in_files(&home.palace(), &token(50)), 0);
}
