//! Measures the cost of recording undo, as a table of changes with and without a history.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --features tools --bench undo`. Times are wall time and consist
//! mostly of waiting for the disk, which `TMPDIR` selects.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_policy::rules::PathRules;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits};

const CHANGES: usize = 200;

fn main() {
    println!("| ms | without | with a history |");
    println!("|---|---:|---:|");
    for (name, act, bytes) in [
        ("a new file of 1 KB", Act::Create, 1 << 10),
        ("the first change of a file of 1 KB in a turn", Act::Change, 1 << 10),
        ("another change of it", Act::ChangeAgain, 1 << 10),
        ("another change of one of 100 KB", Act::ChangeAgain, 100 << 10),
    ] {
        let [without, with] = [false, true].map(|recorded| milliseconds(change(act, bytes, recorded)));
        println!("| {name} | {without} | {with} |");
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

fn opened(home: &Path, recorded: bool) -> (Arc<History>, Arc<Workspace>) {
    let root = home.join("project");
    fs::create_dir_all(&root).expect("the folder is created");
    let history = Arc::new(History::open(&home.join("history"), Limits::default()).expect("the history opens"));
    let workspace = Workspace::open(&root, PathRules::default()).expect("the root is a folder");
    let workspace = if recorded { workspace.recorder(history.clone()) } else { workspace };
    (history, Arc::new(workspace))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Create,
    Change,
    ChangeAgain,
}

/// Returns the median time of many changes.
fn change(act: Act, bytes: usize, recorded: bool) -> Duration {
    let home = tempfile::tempdir().expect("a folder");
    let (history, workspace) = opened(home.path(), recorded);
    let content = |number: usize| format!("{number:08}").repeat(bytes / 8);
    let name = |number: usize| if act == Act::ChangeAgain { "a".to_owned() } else { number.to_string() };
    let write =
        |number: usize, text: &str| drop(workspace.changes().write(&name(number), text).expect("the file is writable"));
    if act == Act::Change {
        (1..=CHANGES).for_each(|number| write(number, &content(CHANGES + number)));
    }
    let turn = history.begin(&workspace, "");
    write(0, &content(0));
    let timed = |number: usize| {
        let (text, started) = (content(number), Instant::now());
        write(number, &text);
        started.elapsed()
    };
    let mut times: Vec<Duration> = (1..=CHANGES).map(timed).collect();
    turn.end();
    times.sort_unstable();
    times[CHANGES / 2]
}
