//! Measures the pieces of work of one table in turn, and takes the best time of each. Other load of the machine then
//! affects all of them, so ratios are reliable even if absolute times drift.

use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 9;

/// Minimum seconds per measurement, so that the resolution of the clock does not matter.
const TURN: f64 = 0.01;

/// Seconds after which one measurement is enough.
const LONG: f64 = 2.0;

/// Returns the seconds of one run of each piece of work.
pub fn best<const N: usize>(works: [&dyn Fn() -> usize; N]) -> [f64; N] {
    let mut bests = works.map(|work| turn(work, 1));
    for _ in 1..ROUNDS {
        for (work, best) in works.iter().zip(&mut bests).filter(|(_, best)| **best < LONG) {
            let runs = (TURN / *best).ceil().max(1.0);
            *best = best.min(turn(work, runs as usize));
        }
    }
    bests
}

/// Returns the seconds per run, over `runs` runs in a row.
fn turn(work: &dyn Fn() -> usize, runs: usize) -> f64 {
    let started = Instant::now();
    for _ in 0..runs {
        black_box(work());
    }
    started.elapsed().as_secs_f64() / runs as f64
}
