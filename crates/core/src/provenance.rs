//! Provenance: the agent that filed a drawer, the door it used, and the kind of place the words came from.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way a drawer came to be stored. Written once, by the door that files it; never guessed from the drawer's
/// kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// The door it came through.
    pub door: FilingDoor,
    /// The kind of place its words came from.
    pub origin: OriginKind,
    /// The agent or person that filed it, as the door knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Provenance {
    /// Creates provenance for words from `origin` that came through `door`, without naming who filed them.
    pub fn new(door: FilingDoor, origin: OriginKind) -> Self {
        Self {
            door,
            origin,
            by: None,
        }
    }

    /// Names the agent or person that filed it.
    #[must_use]
    pub fn filed_by(mut self, by: impl Into<String>) -> Self {
        self.by = Some(by.into());
        self
    }
}

// One table gives the enum, its names on disk and the way back, so that none of the three can miss a
// variant.
macro_rules! named_enum {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns its name in files and JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }

            /// Returns the value of this name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named_enum! {
    /// The door a drawer was filed through.
    FilingDoor {
        /// The command line.
        Terminal = "terminal",
        /// The pages of `loci web`.
        Page = "page",
        /// An agent's tool call.
        Agent = "agent",
        /// A harness's hook.
        Hook = "hook",
        /// An import of exported lines or of another tool's database.
        Import = "import",
        /// A program that uses the engine as a library.
        Library = "library",
    }
}

named_enum! {
    /// The kind of place a drawer's words came from.
    OriginKind {
        /// Typed or piped by the palace's owner.
        Hand = "hand",
        /// Written by an agent.
        Note = "note",
        /// A file of a project.
        File = "file",
        /// A transcript in a harness's own folder, or one that a hook named.
        HarnessTranscript = "harness_transcript",
        /// A transcript found anywhere else.
        LooseTranscript = "loose_transcript",
        /// Exported lines.
        Export = "export",
        /// The storage of another memory tool.
        ForeignMemory = "foreign_memory",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for door in FilingDoor::ALL {
            assert_eq!(FilingDoor::parse(door.name()), Some(*door));
        }
        for origin in OriginKind::ALL {
            assert_eq!(OriginKind::parse(origin.name()), Some(*origin));
            assert_eq!(serde_json::to_value(origin).unwrap(), origin.name());
        }
    }
}
