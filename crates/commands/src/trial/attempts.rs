//! What is tried, as one table. A script that ends with status 0 got through; the variables it finds are set by
//! [`Ground`](super::ground::Ground).

use super::ground::{Ground, Ran};
use crate::trial::messages;
use toolfence_protocol::Text;
use toolfence_sandbox::isolation::{Mode, Settings};

/// One attempt at a barrier.
pub(super) struct Attempt {
    pub(super) barrier: fn() -> Text,
    /// What a person reads: a verb first.
    pub(super) what: fn() -> Text,
    pub(super) script: &'static str,
    pub(super) needs: Needs,
    /// Whether it got through.
    pub(super) is_through: fn(&Ground, &Ran) -> bool,
    pub(super) advice: Option<fn() -> Text>,
}

/// When an attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// The network is off.
    Network,
    /// The project is read-only.
    ReadOnly,
}

impl Attempt {
    /// Whether what it tries is forbidden by these settings, or may be open.
    pub(super) fn is_for(&self, settings: &Settings) -> bool {
        self.needs != Needs::ReadOnly || settings.mode == Mode::ReadOnly
    }

    const fn new(barrier: fn() -> Text, what: fn() -> Text, script: &'static str) -> Attempt {
        Attempt { barrier, what, script, needs: Needs::Nothing, is_through: by_status, advice: None }
    }

    const fn needs(self, needs: Needs) -> Attempt {
        Attempt { needs, ..self }
    }

    const fn seen_by(self, is_through: fn(&Ground, &Ran) -> bool) -> Attempt {
        Attempt { is_through, ..self }
    }

    const fn advice(self, advice: fn() -> Text) -> Attempt {
        Attempt { advice: Some(advice), ..self }
    }
}

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(messages::files, messages::read_beside, "cat \"$BESIDE/secret\""),
    Attempt::new(messages::files, messages::write_beside, "echo x > \"$BESIDE/new\""),
    Attempt::new(messages::files, messages::look_at_home, "[ -n \"$HOME_IS\" ] && [ \"$(stat -c %d:%i ~)\" = \"$HOME_IS\" ]"),
    Attempt::new(messages::files, messages::change_system, "touch /usr/.toolfence && rm /usr/.toolfence"),
    Attempt::new(messages::files, messages::read_passwords, "cat /etc/shadow"),
    Attempt::new(messages::files, messages::look_at_devices, "ls /dev/mem /dev/kmsg /dev/[sv]da /dev/nvme0n1 2>/dev/null | grep ."),
    Attempt::new(messages::files, messages::write_project, "echo x > plain").needs(Needs::ReadOnly),
    Attempt::new(messages::blocked_files, messages::read_env, "cat .env"),
    Attempt::new(messages::blocked_files, messages::read_deep, "cat a/b/c/d/.env"),
    Attempt::new(messages::blocked_files, messages::read_by_another_name, "cat other-name"),
    Attempt::new(messages::blocked_files, messages::move_and_read, "mv .env free; cat free"),
    Attempt::new(messages::blocked_files, messages::move_folder_and_read, "mv a free; cat free/b/c/d/.env"),
    Attempt::new(messages::blocked_files, messages::replace_it, "rm -f .env; echo x > .env"),
    Attempt::new(messages::git, messages::write_hook, "echo x > .git/hooks/pre-commit"),
    Attempt::new(messages::git, messages::change_git_settings, "echo x >> .git/config"),
    Attempt::new(messages::git, messages::move_repository, "mv .git gone"),
    Attempt::new(messages::processes, messages::signal_host, "kill -0 \"$HOST\""),
    Attempt::new(messages::processes, messages::read_host_memory, "cat /proc/\"$HOST\"/environ | grep -q ."),
    Attempt::new(messages::processes, messages::see_host_processes, "set -- /proc/[0-9]*; [ $# -gt 8 ]"),
    Attempt::new(
        messages::processes,
        messages::leave_running,
        "(set -m; trap '' TERM HUP; sleep \"$MARK\" </dev/null >/dev/null 2>&1 & disown); false",
    )
    .seen_by(is_left),
    Attempt::new(
        messages::processes,
        messages::start_many,
        "most=$(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null | grep -m1 '^[0-9]' || cat /proc/sys/kernel/pid_max || echo 4194304); [ \"$most\" -gt \"$MOST\" ] && { [ $EUID = 0 ] || [ \"$(ulimit -u)\" = unlimited ]; }",
    )
    .advice(messages::newer_linux),
    Attempt::new(messages::network, messages::connect_here, "exec 3<>\"/dev/tcp/127.0.0.1/$PORT\"")
        .needs(Needs::Network),
    Attempt::new(messages::network, messages::see_interfaces, "[ \"$(grep -c : /proc/net/dev)\" -gt 1 ]").needs(Needs::Network),
];

fn by_status(_: &Ground, ran: &Ran) -> bool {
    ran.status == Some(0)
}

fn is_left(ground: &Ground, _: &Ran) -> bool {
    ground.is_left()
}
