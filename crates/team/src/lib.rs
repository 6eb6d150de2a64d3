//! Who may do what on a shared server, and who did what: users, tokens, rights, sign-in, and the audit log.
//!
//! Nothing here serves a request or opens a palace. The caller hands in every path; clocks are handed in too, except to
//! find out how old a file or a fetched key is.

pub mod accounts;
pub mod audit;
pub mod caller;
pub mod issuer;
mod private_file;
pub mod rights;
mod secret;
pub mod sessions;
pub mod throttle;

pub use accounts::{
    MadeToken, TeamAccounts, TeamToken, TeamUser, TokenId, TokenRequest, TokenText, UserStamp,
};
pub use audit::{
    AuditAct, AuditBreak, AuditBreakKind, AuditCounters, AuditEntry, AuditFilter, AuditHead, AuditKey,
    AuditLog, AuditLogOptions, AuditOutcome, AuditPage, AuditReason, AuditRecord, AuditReport, AuditSubject,
    AuditTicket, read_records, verify_log,
};
pub use caller::{SignInOutcome, SignInRefusal, TeamActor, TeamCaller};
pub use issuer::{ClaimGrant, TokenAlgorithm, TokenIssuerConfig, TokenIssuers};
pub use rights::{PalaceRights, RightsVerb, TeamGrant, TeamRights, VerbSet};
pub use sessions::{BrowserSessions, FormSecret, FoundSession, SessionCookie, SessionLimits};
pub use throttle::{RetryAfter, SignInThrottle};
