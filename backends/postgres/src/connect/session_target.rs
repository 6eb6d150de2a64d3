//! The kind of server a session must be on: `target_session_attrs`.

use tokio_postgres::{Client, SimpleQueryMessage};

use super::settings::ParameterSources;
use crate::address::ConnectionParameter;

/// The demand of `target_session_attrs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionTarget {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// The state of a server that a demand looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionState {
    pub(super) is_standby: bool,
    pub(super) is_read_only: bool,
}

impl SessionTarget {
    pub(super) fn read(sources: &ParameterSources<'_>) -> loci_core::Result<Self> {
        sources.choose(
            ConnectionParameter::TargetSession,
            &[
                ("any", Self::Any),
                ("read-write", Self::ReadWrite),
                ("read-only", Self::ReadOnly),
                ("primary", Self::Primary),
                ("standby", Self::Standby),
                ("prefer-standby", Self::PreferStandby),
            ],
        )
    }

    /// Returns the demands of each round over all servers: `prefer-standby` takes any server in its second.
    pub(super) fn rounds(self) -> Vec<Self> {
        if self == Self::PreferStandby {
            vec![Self::Standby, Self::Any]
        } else {
            vec![self]
        }
    }

    /// Says why a server in this state is not wanted, if it is not.
    pub(super) fn find_objection(self, state: SessionState) -> Option<&'static str> {
        match self {
            Self::ReadWrite if state.is_read_only => Some("the session is read-only"),
            Self::ReadOnly if !state.is_read_only => Some("the session is not read-only"),
            Self::Primary if state.is_standby => Some("the server is a standby"),
            Self::Standby if !state.is_standby => Some("the server is not a standby"),
            _ => None,
        }
    }
}

impl SessionState {
    /// Reads the state from the values a server of version 14 or later reports by itself.
    pub(super) fn from_reported(standby: Option<&str>, read_only: Option<&str>) -> Option<Self> {
        let is_standby = standby? == "on";
        Some(Self {
            is_standby,
            is_read_only: is_standby || read_only? == "on",
        })
    }

    /// Asks an older server.
    pub(super) async fn ask(client: &Client) -> Result<Self, tokio_postgres::Error> {
        let question =
            "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only')";
        let messages = client.simple_query(question).await?;
        let row = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let column = |number| row.and_then(|row| row.try_get(number).ok().flatten());
        Ok(Self {
            is_standby: column(0) == Some("t"),
            is_read_only: column(1) == Some("on"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_demand_takes_the_servers_libpq_takes() {
        let writable = SessionState::from_reported(Some("off"), Some("off")).unwrap();
        let read_only = SessionState::from_reported(Some("off"), Some("on")).unwrap();
        let standby = SessionState::from_reported(Some("on"), Some("off")).unwrap();
        let check = |target: SessionTarget, taken: [bool; 3]| {
            let states = [writable, read_only, standby];
            assert_eq!(
                states.map(|state| target.find_objection(state).is_none()),
                taken,
                "{target:?}"
            );
        };
        check(SessionTarget::Any, [true, true, true]);
        check(SessionTarget::ReadWrite, [true, false, false]);
        check(SessionTarget::ReadOnly, [false, true, true]);
        check(SessionTarget::Primary, [true, true, false]);
        check(SessionTarget::Standby, [false, false, true]);
        assert_eq!(
            SessionTarget::PreferStandby.rounds(),
            [SessionTarget::Standby, SessionTarget::Any]
        );
        assert_eq!(SessionState::from_reported(None, Some("on")), None);
    }
}
