//! Who the ids of an export are: people and channels.

use std::collections::HashMap;

use crate::conversation::Conversation;
use crate::formats::json::{Fields, Json, top};

/// People by their ids.
#[derive(Debug, Default)]
pub(super) struct Users(HashMap<String, String>);

impl Users {
    /// Reads two lists of users; one that is broken gives those before the break.
    pub(super) fn read(users: &str, others: &str) -> Self {
        let mut names = HashMap::new();
        for list in [others, users] {
            each(list, &mut |user| {
                let profile = user.fields("profile");
                if let (Some(id), Some(name)) = (user.word("id"), name(&profile).or_else(|| name(user))) {
                    names.insert(id, name);
                }
            });
        }
        Self(names)
    }

    /// What somebody is called.
    pub(super) fn name(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// A person's name: the real one, else the one shown.
pub(super) fn name(about: &Fields<'_>) -> Option<String> {
    let names = ["real_name", "real_name_normalized", "display_name", "name"];
    names
        .iter()
        .find_map(|key| about.word(key).filter(|name| !name.trim().is_empty()))
}

/// The elements of a list, which Slack's interface wraps in `members`.
fn each(list: &str, take: &mut dyn FnMut(&Fields<'_>)) {
    if list.is_empty() {
        return;
    }
    // A broken list is noted where it matters: the ids stay as they are.
    let _ = top::each(list, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        match fields
            .get("members")
            .and_then(Json::items)
            .filter(|_| !fields.has("id"))
        {
            Some(inner) => inner
                .into_iter()
                .filter_map(Json::fields)
                .for_each(|one| take(&one)),
            None => take(&fields),
        }
        Ok(())
    });
}

/// Channels by the names of their folders.
#[derive(Debug, Default)]
pub(super) struct Channels(HashMap<String, Conversation>);

impl Channels {
    /// Adds a list of channels. A chat between two people has no name; its folder is its id.
    pub(super) fn add(&mut self, list: &str, users: &Users) {
        each(list, &mut |channel| {
            let id = channel.word("id");
            let name = channel.word("name");
            let Some(folder) = name.clone().or_else(|| id.clone()) else {
                return;
            };
            let title = name
                .map(|name| format!("#{name}"))
                .or_else(|| between(channel, users));
            self.0.insert(
                folder,
                Conversation {
                    id,
                    title,
                    ..Conversation::default()
                },
            );
        });
    }

    /// The channel with this folder, without its messages.
    pub(super) fn conversation(&self, folder: &str) -> Conversation {
        self.0.get(folder).cloned().unwrap_or_else(|| Conversation {
            id: Some(folder.to_owned()),
            title: Some(format!("#{folder}")),
            ..Conversation::default()
        })
    }
}

/// The names of those who talk.
fn between(channel: &Fields<'_>, users: &Users) -> Option<String> {
    let members = channel.items("members").into_iter().filter_map(Json::text);
    let names: Vec<String> = members
        .map(|id| users.name(&id).map_or(id.clone(), str::to_owned))
        .collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}
