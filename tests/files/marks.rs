//! Markers that identify the commands of one test run among all processes of the machine, because two runs at the same
//! time must not find each other's commands.

/// The variable with the number of the run, for tests that start this program again.
pub(crate) const RUN: &str = "TOOLFENCE_TEST_RUN";

/// Returns the number of this run.
pub(crate) fn run() -> String {
    std::env::var(RUN).unwrap_or_else(|_| std::process::id().to_string())
}

/// Adds a fraction that identifies this run to every `sleep 7....` and `yes 7....` with five digits in the text.
pub(crate) fn own(text: &str) -> String {
    const DIGITS: usize = 5;
    let run = run();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["sleep 7", "yes 7"].iter().filter_map(|word| Some(rest.find(word)? + word.len())).min() {
        let end = (at - 1 + DIGITS).min(rest.len());
        out.push_str(&rest[..end]);
        if rest[at - 1..end].bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&format!(".{run}"));
        }
        rest = &rest[end..];
    }
    out + rest
}

#[test]
fn markers_of_two_runs_differ() {
    let run = run();
    assert_eq!(own("sleep 71234 & yes 71235; sleep 1"), format!("sleep 71234.{run} & yes 71235.{run}; sleep 1"));
}
