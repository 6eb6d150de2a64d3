//! A day of a server, as a caller of this crate writes it: sign-in, a session, a token, rights, and the log of it all.

use std::net::IpAddr;
use std::time::Instant;

use loci_core::Timestamp;
use loci_team::{
    AuditAct, AuditFilter, AuditLog, AuditOutcome, AuditRecord, BrowserSessions, SignInOutcome,
    SignInThrottle, TeamAccounts, TeamActor, TeamCaller, TeamRights, TokenRequest, read_records, verify_log,
};
use tempfile::TempDir;

use crate::child::{log_path, open_key, open_log};

fn now() -> Timestamp {
    "2026-05-01T09:00:00Z".parse().unwrap()
}

/// A server with one user, as far as this crate goes.
struct SmallServer {
    folder: TempDir,
    accounts: TeamAccounts,
    throttle: SignInThrottle,
    log: AuditLog,
}

impl SmallServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let accounts = TeamAccounts::open_or_create(folder.path().join("accounts.json")).unwrap();
        let rights = TeamRights::parse(["work/garden:write", "home:read"]).unwrap();
        accounts.add_user("anna", rights, now()).unwrap();
        accounts.set_password("anna", Some("correct horse")).unwrap();
        let log = open_log(folder.path(), Default::default());
        Self {
            folder,
            accounts,
            throttle: SignInThrottle::default(),
            log,
        }
    }

    /// Signs a browser in: the throttle first, then the password, and the log in any case.
    fn sign_in(&mut self, password: &str) -> Option<TeamCaller> {
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        self.throttle.admit("anna", address, Instant::now()).unwrap();
        let outcome = self.accounts.check_password("anna", password).unwrap();
        let (who, outcome, caller) = match outcome {
            SignInOutcome::Granted(caller) => {
                self.throttle.note_success("anna", address);
                (caller.actor.clone(), AuditOutcome::Done, Some(caller))
            }
            SignInOutcome::Refused(reason) => {
                (TeamActor::Anonymous, AuditOutcome::Refused(reason.into()), None)
            }
        };
        let record = AuditRecord::new(now(), who, AuditAct::SIGN_IN, outcome);
        self.log.append(record).unwrap().wait_durable().unwrap();
        caller
    }
}

#[test]
fn a_session_and_a_token_end_when_their_user_is_disabled() {
    let mut server = SmallServer::start();
    let caller = server.sign_in("correct horse").unwrap();
    let accounts = &server.accounts;
    let (mut sessions, instant) = (BrowserSessions::default(), Instant::now());
    let cookie = sessions.begin("anna", caller.stamp.unwrap(), instant).unwrap();
    let mut find = || {
        sessions
            .find(cookie.reveal(), |name| accounts.find_stamp(name), instant)
            .unwrap()
    };

    let session = find().unwrap();
    assert!(session.form_secret.matches(session.form_secret.reveal()));
    let caller = accounts.resume_user(&session.user).unwrap().unwrap();
    let work = caller.rights.on_palace("work").unwrap();
    assert!(work.writes.reaches_wing(Some("garden")) && work.deletes.is_nowhere());
    assert!(caller.rights.on_palace("attic").is_none());
    let made = accounts
        .make_token("anna", TokenRequest::default(), now())
        .unwrap();
    assert!(TeamAccounts::is_own_token(made.text.reveal()));

    accounts.disable_user("anna", now()).unwrap();
    assert!(find().is_none());
    assert!(accounts.resume_user("anna").unwrap().is_none());
    let refused = accounts.check_token(made.text.reveal(), now()).unwrap();
    assert!(refused.granted().is_none());
}

#[test]
fn who_signed_in_and_who_could_not_is_in_the_log() {
    let mut server = SmallServer::start();
    assert!(server.sign_in("wrong password").is_none());
    assert!(server.sign_in("correct horse").is_some());
    let head = server.log.head().unwrap();
    let path = log_path(server.folder.path());
    let filter = AuditFilter {
        act: Some("sign_in".into()),
        ..AuditFilter::default()
    };
    let page = read_records(&path, &filter, 10).unwrap();
    let records = page.entries.iter().map(|entry| &entry.record);
    let outcomes: Vec<String> = records
        .map(|record| format!("{} {}", record.who, record.outcome))
        .collect();
    assert_eq!(outcomes, ["anna done", "anonymous refused:wrong_password"]);
    let report = verify_log(&path, &open_key(server.folder.path()), &[head]).unwrap();
    assert!(report.is_whole(), "{report:?}");
}
