//! A server of one test, which may stop it, kill it and start it again.

use std::ops::Deref;
use std::process::{Child, ChildStdin, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::files::{self, PostgresBuild};
use super::{PostgresServer, PrivatePostgresPlan, launch, name_log_of_failed_test, processes};

/// A server of one test; it ends with the value, and also if the test is killed.
#[derive(Debug)]
pub struct PrivatePostgres {
    server: PostgresServer,
    build: PostgresBuild,
    settings: Vec<(String, String)>,
    /// The server's main process; none while it is stopped.
    process: Option<Child>,
    guard: Child,
    /// The guard acts when this is closed, which the system does for a test that is killed.
    users: Option<ChildStdin>,
}

impl Deref for PrivatePostgres {
    type Target = PostgresServer;

    fn deref(&self) -> &PostgresServer {
        &self.server
    }
}

impl PrivatePostgres {
    #[track_caller]
    pub(super) fn start(plan: PrivatePostgresPlan) -> Self {
        let server = launch::make_server(&launch::test_name(), plan.port);
        // The guard first: a test that dies while it makes or starts the server leaves nothing behind.
        let mut guard = launch::start_guard(server.socket_folder(), Stdio::piped(), 0);
        let users = guard.stdin.take();
        let mut private = Self {
            server,
            build: plan.build,
            settings: plan.settings,
            process: None,
            guard,
            users,
        };
        launch::fill_folder(&private.server, private.build);
        for (name, contents) in &plan.files {
            let path = private.server.folder.join("data").join(name);
            files::write_for_server(&path, contents);
        }
        private.start_again();
        private
    }

    /// Starts a server that was stopped or killed, on the same data; a killed one recovers first.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.process.is_none(), "the server is running");
        self.process = Some(launch::start_process(&self.server, self.build, &self.settings));
    }

    /// Stops a running server fast, and starts it again.
    #[track_caller]
    pub fn restart(&mut self) {
        if self.process.is_some() {
            self.stop_fast();
        }
        self.start_again();
    }

    /// Stops the server in order: transactions are rolled back, connections closed, and everything is written.
    #[track_caller]
    pub fn stop_fast(&mut self) {
        self.end_process(Signal::INT);
    }

    /// Stops the server at once, as after a crash: the next start recovers from the log of writes.
    #[track_caller]
    pub fn stop_immediately(&mut self) {
        self.end_process(Signal::QUIT);
    }

    /// Kills the main process with SIGKILL, and waits until its other processes have noticed and ended.
    #[track_caller]
    pub fn kill(&mut self) {
        self.end_process(Signal::KILL);
    }

    /// Kills one of [`PostgresServer::backend_pids`] with SIGKILL, and waits until the server has ended every other
    /// connection because of that. It then recovers and goes on; [`PostgresServer::wait_until_ready`] waits for it.
    #[track_caller]
    pub fn kill_backend(&self, backend: i32) {
        assert!(
            self.backend_pids().contains(&backend),
            "{backend} is not a backend of this server"
        );
        let others = self.postmaster_pid().map(processes::children_of);
        kill_process(Pid::from_raw(backend).unwrap(), Signal::KILL).unwrap();
        processes::wait_for_end(&others.unwrap_or_default());
    }

    /// Replaces the rules of `pg_hba.conf`, which say who may connect and how, and makes the server read them.
    ///
    /// [`PostgresServer::run_sql`] connects as `postgres` through the socket without a password, so keep `local all
    /// postgres trust`.
    #[track_caller]
    pub fn set_access_rules(&self, rules: &str) {
        // Written in place, so that the file still belongs to the server.
        std::fs::write(self.server.folder.join("data/pg_hba.conf"), rules).unwrap();
        self.run_sql("postgres", "SELECT pg_reload_conf()");
    }

    #[track_caller]
    fn end_process(&mut self, signal: Signal) {
        let mut process = self.process.take().expect("the server was stopped before");
        let postmaster = Pid::from_child(&process);
        // Known only while they have their parent.
        let others = processes::children_of(postmaster.as_raw_nonzero().get());
        kill_process(postmaster, signal).unwrap();
        process.wait().unwrap();
        // A server does not start while processes of the last one have its memory.
        processes::wait_for_end(&others);
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        name_log_of_failed_test(&self.server);
        if self.process.is_some() {
            self.stop_immediately();
        }
        // A killed server leaves this file, and its number may belong to another process by now.
        let _ = std::fs::remove_file(self.server.folder.join("data/postmaster.pid"));
        drop(self.users.take());
        let _ = self.guard.wait();
    }
}
