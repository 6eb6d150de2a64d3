//! A set of elements: one bit each.

/// A set of elements of one graph.
#[derive(Debug, Clone, Default)]
pub(crate) struct ElementSet {
    bits: Vec<u64>,
    count: u64,
}

impl ElementSet {
    /// Creates an empty set for elements below `elements`.
    pub(super) fn new(elements: usize) -> Self {
        Self {
            bits: vec![0; elements.div_ceil(64)],
            count: 0,
        }
    }

    /// Adds an element. Returns `false` if it is in the set already or out of range.
    pub(super) fn insert(&mut self, element: u32) -> bool {
        let (at, bit) = (element as usize / 64, 1_u64 << (element % 64));
        let Some(word) = self.bits.get_mut(at).filter(|word| **word & bit == 0) else {
            return false;
        };
        *word |= bit;
        self.count += 1;
        true
    }

    /// Returns whether an element is in the set.
    pub(crate) fn contains(&self, element: u32) -> bool {
        let bit = 1_u64 << (element % 64);
        self.bits
            .get(element as usize / 64)
            .is_some_and(|word| word & bit != 0)
    }

    /// Returns the number of elements in the set.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_counts_once() {
        let mut set = ElementSet::new(65);
        assert!(set.insert(64) && set.insert(0) && !set.insert(64));
        assert!(!set.insert(128), "out of range");
        assert!(set.contains(64) && !set.contains(1) && !set.contains(4096));
        assert_eq!(set.len(), 2);
    }
}
