//! Measures the CPU time of this process with all its threads and of its finished child processes, which depends less
//! on other load of the machine.

use std::fs;
use std::hint::black_box;

/// Returns the CPU seconds per run of a piece of work, averaged over runs that take at least `least` seconds in total.
pub(crate) fn turn(least: f64, work: &dyn Fn() -> usize) -> f64 {
    let mut runs = 1.0;
    loop {
        let started = cpu();
        for _ in 0..runs as usize {
            black_box(work());
        }
        let took = cpu() - started;
        if took >= least {
            return took / runs;
        }
        runs = (runs * (1.1 * least / took).clamp(2.0, 16.0)).ceil();
    }
}

/// Returns the sum of the fields `utime`, `stime`, `cutime` and `cstime` of `stat` (proc(5)) in seconds.
fn cpu() -> f64 {
    let all = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = all.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4);
    fields.filter_map(|word| word.parse::<f64>().ok()).sum::<f64>() / 100.0
}
