//! Commands that are known to only read run where they can only read, so that nothing has to be kept for an undo.

use super::{HELPER, Place, bash, stands};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use toolfence::parts::files::Stop;
use toolfence::policy::PathRules;
use toolfence::program::workspace::Recorder;
use toolfence::sandbox::{Kind, Mode, Settings};
use toolfence::tools::CommandRunner;
use toolfence::workspace::Workspace;
use toolfence_workspace::{Change, Digest, Root};

/// How many commands it was told of, and how many of them have ended.
#[derive(Debug, Default)]
struct Counted {
    begun: AtomicU32,
    ended: AtomicU32,
}

impl Counted {
    fn all(&self) -> [u32; 2] {
        [&self.begun, &self.ended].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Recorder for Counted {
    fn is_recording(&self) -> bool {
        false
    }

    fn keep(&self, content: &[u8]) -> Digest {
        Digest::of(content)
    }

    fn changing(&self, _: Vec<Change>) -> u64 {
        0
    }

    fn unchanged(&self, _: u64) {}

    fn command_begins(&self, _: &Root, _: &Stop) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn command_ended(&self, _: &Root, _: &Stop) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    fn command_dropped(&self) {}
}

fn counting(root: &Path, settings: Settings) -> (Arc<CommandRunner>, Arc<Counted>) {
    let counted = Arc::new(Counted::default());
    let workspace = Workspace::open(root, PathRules::default()).expect("the root is there").recorder(counted.clone());
    (Arc::new(CommandRunner::new(Arc::new(workspace), settings.helper(HELPER))), counted)
}

#[test]
fn where_no_command_can_write_none_is_looked_at() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    let (runner, counted) = counting(&place.root, Settings::new().mode(Mode::ReadOnly));
    if !stands(&runner) {
        return;
    }
    let result = bash(&runner, json!({"command": "echo two >> a.txt; rm a.txt; touch b; chmod 700 a.txt; cat a.txt"}));
    assert!(result.output.ends_with("one\n"), "{result:?}");
    assert_eq!((counted.all(), place.at("b").exists()), ([0, 0], false));
}

/// Landlock knows nothing of modes, and without a sandbox nothing holds: then even what only reads is looked at.
#[test]
fn what_does_not_hold_is_looked_at() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    for settings in
        [Settings::new().at_most(Kind::Landlock), Settings::new().mode(Mode::Off), Settings::new().network(true)]
    {
        let (runner, counted) = counting(&place.root, settings);
        assert_eq!(bash(&runner, json!({"command": "cat a.txt"})).output, "one\n");
        assert_eq!(counted.all(), [1, 1]);
    }
}
