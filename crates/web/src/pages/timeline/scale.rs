//! The scale of a heat map: four levels on a logarithmic scale, so that one busy day does not make all others pale.

/// The levels of days with drawers.
const LEVELS: u32 = 4;

/// The highest number of drawers of each level, for a busiest day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeatScale {
    upper: Vec<u64>,
}

impl HeatScale {
    /// Makes the scale for days of at most this many drawers.
    pub(super) fn for_busiest(most: u64) -> Self {
        let base = most as f64 + 1.0;
        let bound = |level: u32| base.powf(f64::from(level) / f64::from(LEVELS)).floor() as u64 - 1;
        let mut upper: Vec<u64> = (1..LEVELS).map(bound).collect();
        // The last bound is the number itself, whatever rounding makes of it.
        upper.push(most);
        Self { upper }
    }

    /// Returns the level of a day: 0 without drawers, else 1 to 4.
    pub(super) fn level_of(&self, drawers: u64) -> u32 {
        if drawers == 0 {
            return 0;
        }
        let below = self.upper.iter().filter(|upper| **upper < drawers).count();
        (below as u32 + 1).min(LEVELS)
    }

    /// Returns the class of a day's cell.
    pub(super) fn class_of(&self, drawers: u64) -> &'static str {
        match self.level_of(drawers) {
            0 => "level-0",
            1 => "level-1",
            2 => "level-2",
            3 => "level-3",
            _ => "level-4",
        }
    }

    /// Lists the first and last number of every level that a day can have.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        let mut first = 1;
        let mut ranges = Vec::new();
        for upper in &self.upper {
            if *upper >= first {
                ranges.push((first, *upper));
                first = upper + 1;
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_with_more_drawers_are_never_paler_and_the_busiest_is_darkest() {
        for most in [1, 2, 3, 4, 10, 99, 1_000, 123_456, u64::from(u32::MAX)] {
            let scale = HeatScale::for_busiest(most);
            assert_eq!(scale.level_of(0), 0);
            assert_eq!(scale.level_of(most), 4, "{most}");
            let counts = (1..=most.min(2_000)).chain([most / 2 + 1, most]);
            let levels: Vec<u32> = counts.map(|drawers| scale.level_of(drawers)).collect();
            assert!(levels.iter().all(|level| (1..=4).contains(level)), "{most}");
            assert!(levels.windows(2).all(|pair| pair[0] <= pair[1]), "{most}");
        }
    }

    #[test]
    fn the_legend_covers_every_number_once() {
        for most in [1, 2, 3, 17, 400] {
            let scale = HeatScale::for_busiest(most);
            let ranges = scale.ranges();
            let covered: Vec<u64> = ranges.iter().flat_map(|(first, last)| *first..=*last).collect();
            assert_eq!(covered, (1..=most).collect::<Vec<u64>>());
            for (first, last) in ranges {
                assert_eq!(scale.level_of(first), scale.level_of(last));
            }
        }
        assert_eq!(
            HeatScale::for_busiest(80).ranges(),
            [(1, 2), (3, 8), (9, 26), (27, 80)]
        );
    }
}
