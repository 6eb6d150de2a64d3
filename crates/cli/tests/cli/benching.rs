//! `loci bench` as a user runs it: beside a palace or in it, never touching a drawer, and leaving nothing behind.

use super::*;

const WORKLOAD: &str = r#"{"rounds": 3, "batch": 40, "filters": [20]}"#;

fn bench(home: &TempHome, more: &[&str]) -> Json {
    let workload = home.write("w.json", WORKLOAD);
    let mut args = vec!["bench", "--rows", "100", "--dim", "8", "--workload", &workload];
    args.extend(more);
    home.json(0, &args)
}

#[test]
fn a_run_leaves_the_palace_and_the_folder_as_they_were() {
    let home = new_home();
    home.run(&["add", "We ship on Thursdays.", "--id", "own"])
        .expect_code(0);
    let drawers = home.run(&["export"]).expect_code(0).out;
    home.write("w.json", WORKLOAD);
    let before = home.list_names();
    let report = bench(&home, &[]);
    assert_eq!(report["rows"], 100);
    let phases: Vec<&str> = report["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|phase| phase["name"].as_str().unwrap())
        .collect();
    assert_eq!(phases[..2], ["loaded", "settled"]);
    assert!(phases.contains(&"after reindex"), "{phases:?}");
    let loaded = &report["phases"][0]["figures"];
    assert_eq!(loaded["recall 20 %"]["median"], 1.0);
    assert_eq!(loaded["query"]["samples"].as_array().unwrap().len(), 3);
    assert_eq!(home.list_names(), before);
    assert_eq!(home.run(&["export"]).expect_code(0).out, drawers);
}

#[test]
fn the_place_is_said_first_and_a_page_is_written_on_request() {
    let home = new_home();
    let workload = home.write("w.json", WORKLOAD);
    let args = [
        "bench",
        "--rows",
        "50",
        "--dim",
        "4",
        "--workload",
        &workload,
        "--html",
        "page.html",
    ];
    let ran = home.run(&args).expect_code(0);
    assert!(ran.err.contains("filing 50 drawers in ") && ran.err.contains("removed at the end"));
    assert!(
        ran.out.contains("after compact") && ran.out.contains("drawers/s"),
        "{}",
        ran.out
    );
    let page = std::fs::read_to_string(home.path("page.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("<script"));
}

#[test]
fn two_reports_are_compared_with_their_differences_named() {
    let home = new_home();
    for (name, seed) in [("one.json", "1"), ("two.json", "2")] {
        let report = bench(&home, &["--seed", seed]);
        home.write(name, report.to_string());
    }
    let compared = home.json(0, &["bench", "compare", "one.json", "two.json"]);
    assert_eq!(compared["differences"][0], "seed: 1 and 2");
    let figures = compared["figures"].as_array().unwrap();
    assert!(figures.iter().any(|figure| figure["figure"] == "query 20 %"));
    let ran = home
        .run(&["bench", "compare", "one.json", "two.json"])
        .expect_code(0);
    assert!(
        ran.out.contains('×') && ran.err.contains("the runs differ in seed"),
        "{ran:?}"
    );
}

#[test]
fn a_palace_that_takes_no_writes_is_refused_and_nothing_is_left() {
    let home = new_home();
    std::fs::create_dir(home.path("old")).unwrap();
    let names = home.list_names();
    let refused = home.json(2, &["bench", "--rows", "10", "--palace", "chroma:./old"]);
    assert_eq!(refused["error"]["kind"], "unsupported", "{refused}");
    assert_eq!(home.list_names(), names);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_removes_what_it_filed() {
    let home = new_home();
    home.run(&["add", "We ship on Thursdays."]).expect_code(0);
    let before = home.list_names();
    let mut command = home.command(&["bench", "--rows", "200000", "--dim", "64"]);
    let mut run = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The note about the place comes first; after the next line of the folder there is something to remove.
    let scratch = || {
        let names = home.list_names();
        names
            .iter()
            .any(|name| name.contains(".loci-bench-") && name.ends_with("palace.db"))
    };
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !scratch() {
        assert!(
            std::time::Instant::now() < until,
            "nothing was filed: {:?}",
            home.list_names()
        );
        assert!(run.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.contains("the benchmark was interrupted"), "{told}");
    assert_eq!(home.list_names(), before);
}
