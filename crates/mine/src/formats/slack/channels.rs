//! The people and channels of an export, by their ids.

use std::collections::HashMap;

use crate::conversation::Conversation;
use crate::formats::json::{JsonFields, JsonSlice, top};

/// Names of people by their ids.
#[derive(Debug, Default)]
pub(super) struct SlackUsers(HashMap<String, String>);

impl SlackUsers {
    /// Reads two lists of users; a broken list gives the users before the break.
    pub(super) fn read(users: &str, others: &str) -> Self {
        let mut names = HashMap::new();
        // The workspace's own list comes last and wins over that of the organisation.
        for list in [others, users] {
            each_entry(list, &mut |user| {
                let profile = user.fields("profile");
                if let (Some(id), Some(name)) = (
                    user.nonempty_text("id"),
                    person_name(&profile).or_else(|| person_name(user)),
                ) {
                    names.insert(id, name);
                }
            });
        }
        Self(names)
    }

    /// Returns a person's name.
    pub(super) fn name(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }
}

/// Returns a person's real name, else the display name.
pub(super) fn person_name(about: &JsonFields<'_>) -> Option<String> {
    let names = ["real_name", "real_name_normalized", "display_name", "name"];
    names
        .iter()
        .find_map(|key| about.nonempty_text(key).filter(|name| !name.trim().is_empty()))
}

/// Passes the entries of a list to `take`; Slack's API wraps them in `members`.
fn each_entry(list: &str, take: &mut dyn FnMut(&JsonFields<'_>)) {
    if list.is_empty() {
        return;
    }
    // A broken list only costs names: the ids stay in their place, so nothing is noted here.
    let _ = top::each_value(list, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        match fields
            .get("members")
            .and_then(JsonSlice::items)
            .filter(|_| !fields.has("id"))
        {
            Some(inner) => inner
                .into_iter()
                .filter_map(JsonSlice::fields)
                .for_each(|one| take(&one)),
            None => take(&fields),
        }
        Ok(())
    });
}

/// Channels by folder name.
#[derive(Debug, Default)]
pub(super) struct SlackChannels(HashMap<String, Conversation>);

impl SlackChannels {
    /// Adds a list of channels. A chat between two people has no name; its folder is named by its id.
    pub(super) fn add_list(&mut self, list: &str, users: &SlackUsers) {
        each_entry(list, &mut |channel| {
            let id = channel.nonempty_text("id");
            let name = channel.nonempty_text("name");
            let Some(folder) = name.clone().or_else(|| id.clone()) else {
                return;
            };
            let title = name
                .map(|name| format!("#{name}"))
                .or_else(|| participant_names(channel, users));
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

    /// Returns the channel of this folder, without its messages.
    pub(super) fn conversation_for(&self, folder: &str) -> Conversation {
        self.0.get(folder).cloned().unwrap_or_else(|| Conversation {
            id: Some(folder.to_owned()),
            title: Some(format!("#{folder}")),
            ..Conversation::default()
        })
    }
}

/// Returns the names of a chat's members.
fn participant_names(channel: &JsonFields<'_>, users: &SlackUsers) -> Option<String> {
    let members = channel.items("members").into_iter().filter_map(JsonSlice::text);
    let names: Vec<String> = members
        .map(|id| users.name(&id).map_or(id.clone(), str::to_owned))
        .collect();
    Some(names.join(", ")).filter(|names| !names.is_empty())
}
