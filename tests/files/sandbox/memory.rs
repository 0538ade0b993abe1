//! The memory limit of a command, with and without the sandbox.

use super::{Place, running};
use serde_json::json;
use toolfence_protocol::{ErrorCode, ToolResult};
use toolfence_sandbox::isolation::{Kind, Mode, Settings};

/// Returns settings with 100 MiB for the available backends.
fn all() -> [Settings; 3] {
    let small = Settings::new().memory(100 << 20);
    [small.clone(), small.clone().at_most(Kind::Landlock), small.mode(Mode::Off)]
}

fn is_killed_for_memory(result: &ToolResult) -> bool {
    let is_memory_failure = |failure: &toolfence_protocol::ToolFailure| {
        failure.code == ErrorCode::ExitStatus
            && failure.message.to_string().contains("used more than 100 MiB of memory")
            && failure.message.to_string().contains("sandbox.memory")
    };
    result.exit_code == Some(137) && result.error.as_ref().is_some_and(is_memory_failure)
}

#[test]
fn excessive_memory_use_is_ended_and_reported() {
    let place = Place::new();
    for settings in all() {
        // First bash allocates a string, then a child outside its process group does, then many processes allocate a
        // little each. The last command is the builtin `:`, because a subshell would replace itself with an external
        // command and release the string.
        for command in [
            "echo begun; printf -v x '%*s' 150000000 ''; sleep 72401; echo ${#x}",
            "echo begun; (set -m; (printf -v x '%*s' 150000000 ''; sleep 72401; :) &) ; sleep 72401",
            "echo begun; for i in 1 2 3 4 5 6; do (printf -v x '%*s' 30000000 ''; sleep 72401; :) & done; wait",
        ] {
            let result = place.run_regardless(settings.clone(), json!({"command": command, "timeout": 30}));
            assert!(is_killed_for_memory(&result), "{settings:?}, {command}: {result:?}");
            assert_eq!((result.output.as_str(), running("sleep 72401")), ("begun\n", 0), "{settings:?}, {command}");
        }
    }
}

#[test]
fn memory_that_forks_share_counts_once() {
    let place = Place::new();
    let command = "printf -v x '%*s' 30000000 ''; for i in 1 2 3 4 5 6; do (sleep 1; echo ${#x}) & done; wait";
    for settings in all() {
        let result = place.run_regardless(settings.clone(), json!({"command": command}));
        assert_eq!(result.output, "30000000\n".repeat(6), "{settings:?}: {result:?}");
    }
}

#[test]
fn private_folders_have_a_size_limit() {
    let place = Place::new();
    let settings = Settings::new().memory(100 << 20);
    for folder in ["/tmp", "/dev/shm", "$HOME"] {
        let command = format!("head -c 200000000 /dev/zero > {folder}/x || stat -c %s {folder}/x");
        let Some(result) = place.run_with(settings.clone(), json!({"command": command})) else { return };
        assert!(result.output.contains("No space left") && result.output.contains("\n67108864\n"), "{result:?}");
    }
}

/// When memory runs out, the kernel kills a command before the host.
#[test]
fn the_kernel_kills_a_command_before_the_host() {
    let place = Place::new();
    for settings in all() {
        let result = place.run_regardless(settings.clone(), json!({"command": "cat /proc/self/oom_score_adj"}));
        // With Landlock, the command may not be able to read this file of /proc.
        if !result.output.contains("Permission denied") {
            assert_eq!(result.output, "1000\n", "{settings:?}");
        }
    }
}
