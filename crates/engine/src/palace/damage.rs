//! Damage met while a palace answered: every interface shows it with the answer.

use loci_core::PalaceFinding;

use super::Palace;

impl Palace {
    /// Lists the damage that this process has met in the palace so far. A caller who sees only some wings learns only
    /// that there is some.
    pub fn list_damage(&self) -> Vec<PalaceFinding> {
        let Some(address) = self.located.get() else {
            return Vec::new();
        };
        let damage = address.backend.list_damage(&address.reference);
        if damage.is_empty() || !self.access.is_restricted() {
            return damage;
        }
        vec![PalaceFinding::of_hidden_damage()]
    }
}
