//! Helpers of several tests.

/// Returns whether this process was started with a signal ignored, as nohup(1) does with HUP and a shell's `&` with
/// INT. Its children inherit that. If so, this prints that the test is skipped.
pub(crate) fn is_ignored(signal: &str) -> bool {
    let number = match signal {
        "HUP" => 1,
        "INT" => 2,
        other => panic!("{other} is not known"),
    };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap() >> (number - 1) & 1 == 1;
    if ignored {
        println!("skipped: SIG{signal} is ignored here, and so it is by what is started from here");
    }
    ignored
}
