//! The palaces that a command works on, and the damage met in them: every answer tells of it, whatever the command.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::PalaceFinding;
use loci_engine::PalaceAddress;
use serde_json::Value as Json;

/// The palaces that a command has located so far. Clones share the list.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenedPalaces(Arc<Mutex<OpenedState>>);

#[derive(Debug, Default)]
struct OpenedState {
    addresses: Vec<PalaceAddress>,
    /// Damage of palaces that were looked at without being opened.
    seen: Vec<PalaceFinding>,
}

impl OpenedPalaces {
    fn lock_state(&self) -> MutexGuard<'_, OpenedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the palace that a command is about to open.
    pub(crate) fn add(&self, address: &PalaceAddress) {
        self.lock_state().addresses.push(address.clone());
    }

    /// Adds damage of a palace that is not in the list any more.
    pub(crate) fn add_damage(&self, damage: Vec<PalaceFinding>) {
        self.lock_state().seen.extend(damage);
    }

    /// Lists the damage that was met in any of them, each once.
    pub(crate) fn list_damage(&self) -> Vec<PalaceFinding> {
        let state = self.lock_state();
        let met = state
            .addresses
            .iter()
            .flat_map(|address| address.backend.list_damage(&address.reference));
        let mut damage: Vec<PalaceFinding> = Vec::new();
        for finding in met.chain(state.seen.iter().cloned()) {
            if !damage.contains(&finding) {
                damage.push(finding);
            }
        }
        damage
    }
}

/// Adds damage to the `warnings` of a JSON document, unless they have it; a list has no room for any.
pub(crate) fn add_to_warnings(document: &mut Json, damage: &[PalaceFinding]) {
    let Some(fields) = document.as_object_mut() else {
        return;
    };
    // An examination lists its own findings, of which these are some.
    if fields.contains_key("findings") {
        return;
    }
    let warnings = fields
        .entry("warnings")
        .or_insert_with(|| Json::Array(Vec::new()));
    let Some(warnings) = warnings.as_array_mut() else {
        return;
    };
    for finding in damage {
        let said = |one: &Json| one.get("message").and_then(Json::as_str) == Some(&finding.message);
        if !warnings.iter().any(said) {
            warnings.extend(serde_json::to_value(finding));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::FindingSeverity;
    use serde_json::json;

    #[test]
    fn damage_is_added_to_the_warnings_of_a_document_once() {
        let damage = [PalaceFinding::new("a", FindingSeverity::Error, "torn")];
        let told = json!({"code": "a", "severity": "error", "message": "torn"});
        let check = |mut document: Json, expected: Json| {
            add_to_warnings(&mut document, &damage);
            assert_eq!(document, expected);
        };
        check(json!({"n": 1}), json!({"n": 1, "warnings": [told]}));
        check(json!({"warnings": []}), json!({"warnings": [told]}));
        check(json!({"warnings": [told]}), json!({"warnings": [told]}));
        check(json!({"findings": []}), json!({"findings": []}));
        check(json!([1]), json!([1]));
    }
}
