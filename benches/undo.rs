//! What it costs to be able to take a change back, as a table: a change with and without a history, and a look at the project.
//!
//! `cargo bench --no-default-features --features tools --bench undo`. It is wall time, waiting for the disk included, since
//! that is most of it; `TMPDIR` says which disk. The first look reads and keeps every file, the others only ask for times.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence::policy::PathRules;
use toolfence::undo::{History, Limits};
use toolfence::workspace::{Recorder, Stop, Workspace};

const CHANGES: usize = 200;

fn main() {
    println!("| ms | without | with a history |");
    println!("|---|---:|---:|");
    for (name, bytes) in [("a change of 1 KB", 1 << 10), ("a change of 100 KB", 100 << 10)] {
        let [without, with] = [false, true].map(|recorded| milliseconds(change(bytes, recorded)));
        println!("| {name} | {without} | {with} |");
    }
    println!("\n| ms | first look | before a command | after it |");
    println!("|---|---:|---:|---:|");
    for entries in [1_000, 20_000] {
        let [first, before, after] = look(entries).map(milliseconds);
        println!("| {entries} files of 3 KB | {first} | {before} | {after} |");
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}

fn opened(home: &Path, recorded: bool) -> (Arc<History>, Arc<Workspace>) {
    let root = home.join("project");
    fs::create_dir_all(&root).expect("a folder can be made");
    let history = Arc::new(History::open(&home.join("history"), Limits::default()).expect("there is randomness"));
    let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder");
    let workspace = if recorded { workspace.recorder(history.clone()) } else { workspace };
    (history, Arc::new(workspace))
}

/// The time of one change of many.
fn change(bytes: usize, recorded: bool) -> Duration {
    let home = tempfile::tempdir().expect("a folder");
    let (history, workspace) = opened(home.path(), recorded);
    let turn = history.begin(&workspace, "");
    let content = |number: usize| format!("{number:08}").repeat(bytes / 8);
    workspace.write("a", &content(0)).expect("it can be written");
    let started = Instant::now();
    (1..=CHANGES).for_each(|number| drop(workspace.write("a", &content(number)).expect("it can be written")));
    let took = started.elapsed();
    turn.end();
    took / u32::try_from(CHANGES).unwrap_or(1)
}

/// The first look at a project, one at what is known, and the one after a command that changed one file.
fn look(entries: usize) -> [Duration; 3] {
    let home = tempfile::tempdir().expect("a folder");
    let (history, workspace) = opened(home.path(), true);
    for number in 0..entries {
        let folder = workspace.root().join(format!("{:03}", number / 50));
        fs::create_dir_all(&folder).expect("a folder can be made");
        fs::write(folder.join(number.to_string()), format!("{number:08}").repeat(375)).expect("it can be written");
    }
    std::thread::sleep(Duration::from_millis(100));
    let timed = |act: &dyn Fn()| {
        let started = Instant::now();
        act();
        started.elapsed()
    };
    let stop = Stop::default();
    let begins = || history.command_begins(&workspace, &stop);
    let ended = || history.command_ended(&workspace, &stop);
    let turn = history.begin(&workspace, "");
    let first = timed(&begins);
    ended();
    let before = timed(&begins);
    fs::write(workspace.root().join("000/1"), "changed").expect("it can be written");
    let after = timed(&ended);
    turn.end();
    [first, before, after]
}
