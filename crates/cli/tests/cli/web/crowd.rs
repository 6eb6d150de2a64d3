//! Many at once, other users of the machine, and what an idle server holds.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::content::home_with_sample_palace;
use super::running::WebServer;
use super::scene::WebScene;
use crate::mcp_http::wire::{DEADLINE, Wire};

/// The connections of strangers.
const CROWD: usize = 2000;

/// Allows this process to hold so many connections.
fn allow_open_files(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < wanted) {
        let limit = Rlimit {
            current: Some(maximum.map_or(wanted, |maximum| maximum.min(wanted))),
            maximum,
        };
        setrlimit(Resource::Nofile, limit).unwrap();
    }
}

#[test]
fn two_thousand_connections_keep_no_visitor_from_its_pages() {
    allow_open_files(CROWD as u64 + 200);
    let scene = WebScene::start(&[]);
    let visitor = scene.visitor();
    let address = scene.server.address;
    let mut kept = Wire::open(address);
    kept.ask(&visitor.request("GET", "/map")).is(200);
    let mut crowd = Vec::with_capacity(CROWD);
    for n in 0..CROWD {
        let mut stream = TcpStream::connect(address).unwrap();
        // Some are silent, some never end their head, some ask without a cookie; the server drops most of them.
        let _ = match n % 3 {
            0 => Ok(()),
            1 => stream.write_all(b"GET / HTTP/1.1\r\nHost: 127"),
            _ => stream.write_all(&scene.server.ask("GET", "/list").bytes()),
        };
        crowd.push(stream);
        if n % 200 == 0 {
            kept.ask(&visitor.request("GET", "/drawer?id=bean-1")).is(200);
            visitor.get("/list").is(200);
        }
    }
    kept.ask(&visitor.request("GET", "/search?q=beans")).is(200);
    visitor.get("/search?q=beans").is(200);
    drop(crowd);
    visitor.get("/").is(200);
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_server_holds_little_memory() {
    let scene = WebScene::start(&[]);
    for target in ["/", "/search?q=beans", "/map", "/list", "/timeline"] {
        scene.visitor().get(target).is(200);
    }
    let held = scene.server.own_memory();
    assert!(held <= 25 << 20, "{held} bytes");
}

/// A home in which a program in the place of the browser notes the link that it is given.
fn server_that_opens_a_browser() -> (WebScene, String) {
    let home = home_with_sample_palace();
    let (bin, given) = (home.path("bin"), home.path("given"));
    fs::create_dir(&bin).unwrap();
    let browser = bin.join("xdg-open");
    fs::write(
        &browser,
        format!(
            "#!/bin/sh\necho \"$1\" > {0}.new && mv {0}.new {0}\n",
            given.display()
        ),
    )
    .unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = home.command(&["--json", "web", "--port", "0"]);
    command
        .env("DISPLAY", ":0")
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let server = WebServer::of_command(command);
    let begun = Instant::now();
    let link = loop {
        if let Ok(link) = fs::read_to_string(&given) {
            break link.trim().to_owned();
        }
        assert!(begun.elapsed() < DEADLINE, "no browser was opened");
        std::thread::yield_now();
    };
    (WebScene::of_server(home, server), link)
}

/// Opens an address as another user of this machine, and returns the answer. Only root can.
#[cfg(target_os = "linux")]
fn open_as_another_user(scene: &WebScene, link: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let target = link.strip_prefix(&scene.server.url("")).unwrap();
    let ask = String::from_utf8(
        scene
            .server
            .ask("GET", target)
            .with("Connection", "close")
            .bytes(),
    )
    .unwrap();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{} && printf %s \"$0\" >&3 && cat <&3",
        scene.server.address.port()
    );
    let mut other = Command::new("bash")
        .args(["-c", &script, &ask])
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = String::new();
    other.stdout.take().unwrap().read_to_string(&mut answer).unwrap();
    assert!(other.wait().unwrap().success());
    Some(answer)
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_that_other_users_see_in_the_list_of_processes_is_of_no_use_to_them() {
    let (scene, link) = server_that_opens_a_browser();
    assert_ne!(link, scene.server.link, "the printed link stays unused");
    if let Some(answer) = open_as_another_user(&scene, &link) {
        assert!(
            answer.starts_with("HTTP/1.1 401 ") && !answer.contains("set-cookie"),
            "{answer}"
        );
        assert!(answer.contains("somebody else"), "{answer}");
    }
    let target = link.strip_prefix(&scene.server.url("")).unwrap();
    let answer = Wire::open(scene.server.address)
        .ask(&scene.server.ask("GET", target))
        .is(303);
    assert!(answer.header("set-cookie").is_some(), "{answer:?}");
    Wire::open(scene.server.address)
        .ask(&scene.server.ask("GET", target))
        .is(401);
    scene.visitor().get("/").is(200);
    if let Some(answer) = open_as_another_user(&scene, &scene.server.url("/list")) {
        assert!(
            answer.starts_with("HTTP/1.1 401 ") && !answer.contains("data-id"),
            "{answer}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn enter_in_the_terminal_makes_a_link_for_another_browser() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::{BufRead as _, BufReader};
    let home = home_with_sample_palace();
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = fs::File::options().read(true).write(true).open(name).unwrap();
    // Reading in the background would stop the server, so the terminal must be its own.
    let mut command = Command::new("setsid");
    home.dress_command(&mut command);
    let mut server = command
        .args([
            "--ctty",
            env!("CARGO_BIN_EXE_loci"),
            "web",
            "--no-open",
            "--port",
            "0",
        ])
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .unwrap();
    drop(command);
    let mut terminal = fs::File::from(ours);
    let mut shown = BufReader::new(terminal.try_clone().unwrap());
    let mut read_link = || {
        let mut line = String::new();
        while !line.starts_with("http://") {
            line.clear();
            assert!(shown.read_line(&mut line).unwrap() > 0, "the terminal is gone");
        }
        line.trim().to_owned()
    };
    let first = read_link();
    terminal.write_all(b"\n").unwrap();
    let second = read_link();
    assert_ne!(first, second);
    let (_, rest) = first.split_once("http://").unwrap();
    let address = rest.split('/').next().unwrap().parse().unwrap();
    for link in [&first, &second] {
        super::running::RawVisitor::sign_in(address, link)
            .get("/")
            .is(200);
    }
    // Ctrl-C.
    terminal.write_all(b"\x03").unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}
