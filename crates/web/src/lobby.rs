//! The pages of a server of many palaces that belong to none of them: signing in, the list of palaces, users and tokens.

mod admin;
mod choice;
mod frame;
mod sign_in;

pub use admin::{AdminPage, MadeSecret, TokenRow, UserRow};
pub use choice::{LobbyPalaceRow, PalaceChoice};
pub use sign_in::SignInPage;

use crate::request::ThemeChoice;

/// What every page of the lobby shows of its visitor.
#[derive(Debug, Clone, Copy)]
pub struct LobbyVisitor<'a> {
    /// The name of the user.
    pub name: &'a str,
    /// The secret that forms carry.
    pub form_secret: &'a str,
    /// Whether the user administers the server.
    pub administers: bool,
    /// The colors the visitor chose.
    pub theme: ThemeChoice,
}
