//! Times of which the quantiles are told, in bounded memory.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Up to here every millisecond is counted by itself. It is a power of two.
const EXACT: u64 = 64;
/// Beyond that, the times between a power of two and the next one are counted in so many steps.
const STEPS: u64 = EXACT / 2;

/// How long something took, each time that it was done: how often that was, and the quantiles of the times.
///
/// However many times are added, at most 1,920 counts are kept. A quantile of up to 64 ms is exact; a longer one may be told up to
/// 1/32 too high, but never higher than the longest time. Times of several agents can be added up.
///
/// ```
/// # use toolfence_agent as toolfence;
/// use toolfence::metrics::Times;
///
/// let mut times = Times::default();
/// (1..=50).for_each(|ms| times.add(ms));
/// assert_eq!((times.count(), times.p50(), times.p90(), times.most()), (50, 25, 45, 50));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// How many times there are of each step.
    steps: BTreeMap<u16, u64>,
    count: u64,
    sum: u64,
    most: u64,
}

impl Times {
    /// Adds a time in milliseconds.
    pub fn add(&mut self, ms: u64) {
        let step = self.steps.entry(step(ms)).or_default();
        *step = step.saturating_add(1);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(ms);
        self.most = self.most.max(ms);
    }

    /// Adds all of the other times.
    pub fn add_all(&mut self, other: &Times) {
        for (at, count) in &other.steps {
            let step = self.steps.entry(*at).or_default();
            *step = step.saturating_add(*count);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.most = self.most.max(other.most);
    }

    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of the times together in milliseconds, exactly.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The time in milliseconds that half of them took at most; 0 where there is none.
    pub fn p50(&self) -> u64 {
        self.quantile(50)
    }

    /// The time in milliseconds that nine of ten took at most; 0 where there is none.
    pub fn p90(&self) -> u64 {
        self.quantile(90)
    }

    /// The longest time in milliseconds; 0 where there is none.
    pub fn most(&self) -> u64 {
        self.most
    }

    fn quantile(&self, percent: u64) -> u64 {
        // The rank is rounded up, as for the nearest-rank method.
        let rank = u64::try_from((u128::from(self.count) * u128::from(percent)).div_ceil(100)).unwrap_or(u64::MAX);
        let mut passed = 0_u64;
        for (at, count) in &self.steps {
            passed = passed.saturating_add(*count);
            if passed >= rank {
                return highest(*at).min(self.most);
            }
        }
        self.most
    }
}

/// `{"count": .., "p50": .., "p90": .., "most": ..}`
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut told = serializer.serialize_struct("Times", 4)?;
        told.serialize_field("count", &self.count)?;
        told.serialize_field("p50", &self.p50())?;
        told.serialize_field("p90", &self.p90())?;
        told.serialize_field("most", &self.most)?;
        told.end()
    }
}

/// The step that a time belongs to.
fn step(ms: u64) -> u16 {
    let step = match ms {
        ..EXACT => ms,
        _ => {
            let power = u64::from(ms.ilog2());
            let shift = power - u64::from(STEPS.ilog2());
            EXACT + (power - u64::from(EXACT.ilog2())) * STEPS + ((ms >> shift) - STEPS)
        }
    };
    u16::try_from(step).unwrap_or(u16::MAX)
}

/// The longest time of a step.
fn highest(step: u16) -> u64 {
    let step = u64::from(step);
    let Some(beyond) = step.checked_sub(EXACT) else { return step };
    let shift = beyond / STEPS + u64::from(EXACT.ilog2()) - u64::from(STEPS.ilog2());
    let mantissa = beyond % STEPS + STEPS;
    (mantissa << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was measured, sorted, gives the quantile by its rank.
    fn exact(times: &[u64], percent: usize) -> u64 {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
    }

    #[test]
    fn quantiles_are_close_to_times_that_were_measured() {
        let mut seed = 7_u64;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> (24 + (seed >> 60) * 2)
        };
        for length in [1, 2, 3, 10, 99, 100, 101, 5000] {
            let times: Vec<u64> = (0..length).map(|_| random()).collect();
            let mut kept = Times::default();
            times.iter().for_each(|ms| kept.add(*ms));
            assert_eq!((kept.count(), kept.most()), (length, *times.iter().max().unwrap()));
            for (told, percent) in [(kept.p50(), 50), (kept.p90(), 90)] {
                let exact = exact(&times, percent);
                assert!(told >= exact && told - exact <= exact / 32, "{length}: {told} for {exact}");
            }
        }
        assert_eq!([Times::default().p50(), Times::default().p90(), Times::default().most()], [0; 3]);
    }

    #[test]
    fn memory_is_bounded_whatever_the_times_are() {
        let mut times = Times::default();
        for power in 0..64 {
            for part in 0..64 {
                let widest = u64::MAX >> (63 - power);
                times.add((1 << power) | (widest / 64 * part));
            }
        }
        times.add(u64::MAX);
        assert!(times.steps.len() <= 1920 && times.steps.keys().all(|step| *step < 1920), "{}", times.steps.len());
        assert_eq!(times.most(), u64::MAX);
    }

    #[test]
    fn every_time_is_in_its_step() {
        for ms in (0..5000).chain([u64::MAX / 2, u64::MAX - 1, u64::MAX]) {
            let here = step(ms);
            assert!(ms <= highest(here) && (here == 0 || ms > highest(here - 1)), "{ms}");
        }
    }

    #[test]
    fn two_halves_are_the_whole() {
        let (mut first, mut second, mut all) = (Times::default(), Times::default(), Times::default());
        for ms in [3, 70, 900, 12, 4000] {
            first.add(ms);
            second.add(ms * 3);
            all.add(ms);
            all.add(ms * 3);
        }
        first.add_all(&second);
        assert_eq!(first, all);
        assert_eq!(first.sum(), 4 * 4985);
        assert_eq!(serde_json::to_string(&first).unwrap(), r#"{"count":10,"p50":71,"p90":4031,"most":12000}"#);
    }
}
