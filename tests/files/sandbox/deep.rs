//! Tests trees that are deeper than a path can be long. No command, walk or undo may fail or slow down because of one.

use super::{Place, bash, block_on, has_sandbox, runner};
use rustix::fs::{Mode as Bits, OFlags};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_policy::toolbox::NoProgress;
use toolfence_policy::{AskMode, Policy, Verdict};
use toolfence_protocol::ToolCall;
use toolfence_sandbox::isolation::Settings;
use toolfence_tools as tools;

/// Creates nested folders with a file in the innermost one.
fn deep(root: &Path, levels: usize, length: usize) {
    let mut here = rustix::fs::open(root, OFlags::RDONLY | OFlags::DIRECTORY, Bits::empty()).expect("it is there");
    let name = "d".repeat(length);
    for _ in 0..levels {
        rustix::fs::mkdirat(&here, &*name, Bits::from(0o755)).expect("a folder can be made");
        here =
            rustix::fs::openat(&here, &*name, OFlags::RDONLY | OFlags::DIRECTORY, Bits::empty()).expect("it is there");
    }
    for file in [".env", "plain"] {
        rustix::fs::openat(&here, file, OFlags::CREATE | OFlags::WRONLY, Bits::from(0o644))
            .expect("a file can be made");
    }
}

/// Removes the tree. The standard library would need a descriptor for every level, which exceeds the limit.
struct Removed<'p>(&'p Place);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("rm")
            .arg("-rf")
            .arg(self.0.at("d".repeat(200).as_str()))
            .arg(self.0.at("d"))
            .status();
    }
}

#[test]
fn commands_and_walks_work_next_to_a_tree_too_deep_for_paths() {
    for (levels, length) in [(25, 200), (10_000, 1)] {
        let place = Place::new();
        place.file("beside/.env", "SECRET\n");
        place.file("beside/plain", "here\n");
        deep(&place.root, levels, length);
        let _removed = Removed(&place);
        let runner = Arc::new(runner(&place.root, Settings::new()));
        if !has_sandbox(&runner) {
            return;
        }
        let started = Instant::now();
        for _ in 0..2 {
            place.file("attempt.sh", "cat beside/plain; cat beside/.env; cd d*; cd d*; pwd | head -c 20");
            let result = bash(&runner, json!({"command": ". ./attempt.sh"}));
            assert!(result.output.starts_with("here\n") && !result.output.contains("SECRET"), "{result:?}");
            assert!(result.success, "{result:?}");
        }
        let toolbox = tools::standard(Arc::clone(&runner));
        for (tool, args) in [("list_files", json!({"path": "."})), ("search", json!({"pattern": "here"}))] {
            let args = args.as_object().expect("an object").clone().into_iter().collect();
            let verdict = Policy::default().ask(AskMode::Never).review(
                ToolCall::new("1", tool, args),
                &toolbox.catalog(),
                runner.as_ref(),
            );
            let Verdict::Cleared(cleared) = verdict else { panic!("{tool} is not cleared") };
            let result = block_on(toolbox.run(cleared, &NoProgress)).expect("the model can do something about it");
            assert!(result.success && result.output.contains("beside"), "{tool}: {result:?}");
        }
        // A correct walk takes seconds in a debug build on a busy machine. A walk that starts again at the root for
        // every folder takes minutes.
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    }
}
