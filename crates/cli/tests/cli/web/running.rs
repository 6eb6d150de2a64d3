//! A server of pages, and a visitor that speaks in raw bytes.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use loci_testkit::TempHome;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use crate::mcp_http::wire::{Answer, Ask, Wire};

/// The real binary, serving pages; killed when it is no longer needed.
pub(crate) struct WebServer {
    pub(crate) address: SocketAddr,
    /// The link that signs in once.
    pub(crate) link: String,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl WebServer {
    /// Starts a server of the palace of a home, on a free port.
    #[track_caller]
    pub(crate) fn start(home: &TempHome, args: &[&str]) -> Self {
        let fixed = ["--json", "web", "--no-open", "--port", "0"];
        Self::of_command(home.command(&[&fixed, args].concat()))
    }

    /// Starts a server by a command that prints its link as JSON.
    #[track_caller]
    pub(crate) fn of_command(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let printed: Json = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(printed["error"].is_null(), "{printed}");
        Self {
            address: printed["address"].as_str().unwrap().parse().unwrap(),
            link: printed["url"].as_str().unwrap().to_owned(),
            child,
            out,
        }
    }

    /// Returns the address of a page.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Opens the link, which must still be unused.
    #[track_caller]
    pub(crate) fn sign_in(&self) -> RawVisitor {
        RawVisitor::sign_in(self.address, &self.link)
    }

    /// A request of someone without a cookie.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Ask {
        Ask::bare(method, target).with("Host", &self.address.to_string())
    }

    /// Returns the memory of its own that it uses, in bytes: what is not backed by a file.
    #[cfg(target_os = "linux")]
    pub(crate) fn own_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
        kilobytes.parse::<u64>().unwrap() * 1024
    }

    /// Sends it a signal and waits for its end: the exit status, and whatever else it printed.
    pub(crate) fn end(mut self, signal: Signal) -> (Option<i32>, String, String) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        self.out.read_to_string(&mut out).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A signed-in visitor that speaks in raw bytes.
#[derive(Debug, Clone)]
pub(crate) struct RawVisitor {
    address: SocketAddr,
    /// The cookie as it is sent: its name and value.
    pub(crate) cookie: String,
}

impl RawVisitor {
    /// Signs in by a link.
    #[track_caller]
    pub(crate) fn sign_in(address: SocketAddr, link: &str) -> Self {
        let (_, target) = link.split_once(&address.to_string()).unwrap();
        let ask = Ask::bare("GET", target).with("Host", &address.to_string());
        let answer = Wire::open(address).ask(&ask).is(303);
        let cookie = answer.header("set-cookie").unwrap();
        Self {
            address,
            cookie: cookie.split(';').next().unwrap().to_owned(),
        }
    }

    /// A request of this visitor, from the address bar.
    pub(crate) fn request(&self, method: &str, target: &str) -> Ask {
        Ask::bare(method, target)
            .with("Host", &self.address.to_string())
            .with("Cookie", &self.cookie)
    }

    /// Opens a page.
    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Answer {
        Wire::open(self.address).ask(&self.request("GET", target))
    }

    /// Returns the secret that its forms carry.
    #[track_caller]
    pub(crate) fn form_secret(&self) -> String {
        let page = self.get("/").is(200).body;
        let (_, rest) = page.split_once("name=\"form_secret\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }

    /// A form as the own pages send it, with this body.
    pub(crate) fn form(&self, target: &str, body: &str) -> Ask {
        self.request("POST", target)
            .with("Origin", &format!("http://{}", self.address))
            .with("Sec-Fetch-Site", "same-origin")
            .with("Content-Type", "application/x-www-form-urlencoded")
            .with_body(body.as_bytes())
    }
}
