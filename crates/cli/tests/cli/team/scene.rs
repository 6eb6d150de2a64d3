//! A server of a team, its users and what they send.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};

use loci_testkit::TempHome;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::mcp_http::wire::{Answer, Ask, Wire};
use crate::new_home;

/// A home with the config of a server.
pub(crate) struct TeamHome {
    pub(crate) home: TempHome,
    config: String,
}

impl TeamHome {
    /// Makes a home whose server serves these palaces: names and references.
    pub(crate) fn new(palaces: &[(&str, &str)]) -> Self {
        Self::with_config(palaces, "")
    }

    /// The same with more lines at the top of the config.
    pub(crate) fn with_config(palaces: &[(&str, &str)], more: &str) -> Self {
        let home = new_home();
        Self::in_home(home, palaces, more)
    }

    /// The same in a home that has palaces already.
    pub(crate) fn in_home(home: TempHome, palaces: &[(&str, &str)], more: &str) -> Self {
        let mut config = format!("listen = \"127.0.0.1:0\"\ndata = \"./served\"\n{more}\n[palaces]\n");
        for (name, reference) in palaces {
            config += &format!("{} = {}\n", json!(name), json!(reference));
        }
        config += "[limits]\nrequests_per_second = 100000\nburst = 100000\n";
        let config = home.write("serve.toml", config);
        Self { home, config }
    }

    /// Runs a command of the server's owner, such as `user add`.
    #[track_caller]
    pub(crate) fn manage(&self, args: &[&str]) -> Json {
        let whole = [&["serve"], args, &["--config", &self.config]].concat();
        self.home.json(0, &whole)
    }

    /// Adds a user with rights, and returns a token of that user.
    #[track_caller]
    pub(crate) fn add_user(&self, name: &str, grants: &[&str]) -> String {
        let mut args = vec!["user", "add", name];
        for grant in grants {
            args.extend(["--rights", grant]);
        }
        self.manage(&args);
        self.make_token(name)
    }

    /// Gives a user a password.
    #[track_caller]
    pub(crate) fn set_password(&self, name: &str, password: &str) {
        let args = [
            "--json",
            "serve",
            "user",
            "password",
            name,
            "--config",
            &self.config,
        ];
        self.home
            .run_with(&args, format!("{password}\n").as_bytes())
            .expect_code(0);
    }

    /// Makes a token of a user.
    #[track_caller]
    pub(crate) fn make_token(&self, name: &str) -> String {
        let made = self.manage(&["token", "make", name]);
        made["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{made}"))
            .to_owned()
    }

    /// Verifies the audit log; `heads` are ones that were known before.
    #[track_caller]
    pub(crate) fn verify_audit(&self, heads: &[&str]) -> Json {
        let mut args = vec!["audit", "verify"];
        for head in heads {
            args.extend(["--head", head]);
        }
        self.manage(&args)
    }

    /// The lines of the audit log.
    pub(crate) fn audit_lines(&self) -> Vec<Json> {
        let text = fs::read_to_string(self.audit_path()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    pub(crate) fn audit_path(&self) -> PathBuf {
        self.home.path("served/audit.log")
    }

    /// Starts the server.
    #[track_caller]
    pub(crate) fn serve(&self) -> TeamServer {
        TeamServer::start(self)
    }
}

/// The real binary, serving a team; killed when it is no longer needed.
pub(crate) struct TeamServer {
    pub(crate) address: SocketAddr,
    child: Child,
    _out: BufReader<ChildStdout>,
}

impl TeamServer {
    #[track_caller]
    fn start(team: &TeamHome) -> Self {
        let mut command = team.home.command(&["--json", "serve", "--config", &team.config]);
        let log = fs::File::create(team.home.path("server.log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let printed: Json = serde_json::from_str(&line).unwrap_or_else(|error| {
            let log = fs::read_to_string(team.home.path("server.log")).unwrap();
            panic!("{error}: {line:?}\n{log}")
        });
        let address = printed["address"].as_str().unwrap_or_else(|| panic!("{printed}"));
        Self {
            address: address.parse().unwrap(),
            child,
            _out: out,
        }
    }

    /// Returns the address of a path.
    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Begins a request.
    pub(crate) fn request(&self, method: &str, target: &str) -> Ask {
        Ask::bare(method, target).with("Host", &self.address.to_string())
    }

    /// Sends a request on a connection of its own.
    #[track_caller]
    pub(crate) fn send(&self, ask: &Ask) -> Answer {
        Wire::open(self.address).ask(ask)
    }

    /// A call of a tool over the JSON interface.
    pub(crate) fn call(&self, token: &str, palace: &str, tool: &str, arguments: &Json) -> Ask {
        self.request("POST", &format!("/api/v1/p/{palace}/{tool}"))
            .bearing(token)
            .with("Content-Type", "application/json")
            .with_body(arguments.to_string().as_bytes())
    }

    /// Signs a browser in and returns its cookie.
    #[track_caller]
    pub(crate) fn sign_in(&self, name: &str, secret: &str) -> String {
        let answer = self.send(&self.sign_in_form(name, secret)).is(303);
        let cookie = answer.header("set-cookie").unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    /// The form by which a browser signs in.
    pub(crate) fn sign_in_form(&self, name: &str, secret: &str) -> Ask {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let form = format!("name={}&password={}&next=/", encode(name), encode(secret));
        self.form("/sign-in", &form)
    }

    /// A form as the own pages send it.
    pub(crate) fn form(&self, target: &str, form: &str) -> Ask {
        self.request("POST", target)
            .with("Origin", &format!("http://{}", self.address))
            .with("Sec-Fetch-Site", "same-origin")
            .with("Content-Type", "application/x-www-form-urlencoded")
            .with_body(form.as_bytes())
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }

    /// Waits until the process has ended; returns its exit status.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for TeamServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
