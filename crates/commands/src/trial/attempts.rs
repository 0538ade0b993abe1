//! The table of attempts. An attempt got through if its script ends with status 0, unless it has a check of its own.
//! [`Ground`] sets the variables of the scripts.

use super::ground::{AttemptOutcome, Ground};
use toolfence_protocol::{Text, text};
use toolfence_sandbox::isolation::{Mode, Settings};

/// One attempt at a barrier.
pub(super) struct Attempt {
    pub(super) barrier: fn() -> Text,
    /// The description for a user, which begins with a verb.
    pub(super) what: fn() -> Text,
    pub(super) script: &'static str,
    pub(super) needs: Needs,
    /// Returns `true` if the attempt got through.
    pub(super) is_through: fn(&Ground, &AttemptOutcome) -> bool,
    pub(super) advice: Option<fn() -> Text>,
}

/// The settings under which an attempt makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// The network is off.
    Network,
    /// The project is read-only.
    ReadOnly,
}

impl Attempt {
    /// Returns `true` if the attempt makes sense with these settings.
    pub(super) fn is_for(&self, settings: &Settings) -> bool {
        self.needs != Needs::ReadOnly || settings.mode == Mode::ReadOnly
    }

    const fn new(barrier: fn() -> Text, what: fn() -> Text, script: &'static str) -> Attempt {
        Attempt { barrier, what, script, needs: Needs::Nothing, is_through: by_status, advice: None }
    }

    const fn needs(self, needs: Needs) -> Attempt {
        Attempt { needs, ..self }
    }

    const fn seen_by(self, is_through: fn(&Ground, &AttemptOutcome) -> bool) -> Attempt {
        Attempt { is_through, ..self }
    }

    const fn advice(self, advice: fn() -> Text) -> Attempt {
        Attempt { advice: Some(advice), ..self }
    }
}

pub(super) const ATTEMPTS: &[Attempt] = &[
    Attempt::new(|| text!("files"), || text!("read a file outside of the project"), "cat \"$OUTSIDE/secret\""),
    Attempt::new(|| text!("files"), || text!("write a file outside of the project"), "echo x > \"$OUTSIDE/new\""),
    Attempt::new(|| text!("files"), || text!("look into the home folder"), "[ -n \"$HOME_IS\" ] && [ \"$(stat -c %d:%i ~)\" = \"$HOME_IS\" ]"),
    Attempt::new(|| text!("files"), || text!("change the system"), "touch /usr/.toolfence && rm /usr/.toolfence"),
    Attempt::new(|| text!("files"), || text!("read the passwords of the system"), "cat /etc/shadow"),
    Attempt::new(|| text!("files"), || text!("look at the devices"), "ls /dev/mem /dev/kmsg /dev/[sv]da /dev/nvme0n1 2>/dev/null | grep ."),
    Attempt::new(|| text!("files"), || text!("write into the project"), "echo x > plain").needs(Needs::ReadOnly),
    Attempt::new(|| text!("blocked files"), || text!("read .env"), "cat .env"),
    Attempt::new(|| text!("blocked files"), || text!("read one deep in the tree"), "cat a/b/c/d/.env"),
    Attempt::new(|| text!("blocked files"), || text!("read one by another name"), "cat other-name"),
    Attempt::new(|| text!("blocked files"), || text!("move one away and read it"), "mv .env free; cat free"),
    Attempt::new(|| text!("blocked files"), || text!("move its folder away and read it"), "mv a free; cat free/b/c/d/.env"),
    Attempt::new(|| text!("blocked files"), || text!("put another in its place"), "rm -f .env; echo x > .env"),
    Attempt::new(|| text!("git"), || text!("write a hook"), "echo x > .git/hooks/pre-commit"),
    Attempt::new(|| text!("git"), || text!("change its settings"), "echo x >> .git/config"),
    Attempt::new(|| text!("git"), || text!("move the repository away"), "mv .git gone"),
    Attempt::new(|| text!("processes"), || text!("signal a process of the host"), "kill -0 \"$HOST\""),
    Attempt::new(|| text!("processes"), || text!("read the memory of a process of the host"), "cat /proc/\"$HOST\"/environ | grep -q ."),
    Attempt::new(|| text!("processes"), || text!("see processes of the host"), "set -- /proc/[0-9]*; [ $# -gt 8 ]"),
    Attempt::new(
        || text!("processes"),
        || text!("leave one running"),
        "(set -m; trap '' TERM HUP; sleep \"$MARK\" </dev/null >/dev/null 2>&1 & disown); false",
    )
    .seen_by(is_left),
    Attempt::new(
        || text!("processes"),
        || text!("start as many as there is room for"),
        "most=$(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null | grep -m1 '^[0-9]' || cat /proc/sys/kernel/pid_max || echo 4194304); [ \"$most\" -gt \"$MOST\" ] && { [ $EUID = 0 ] || [ \"$(ulimit -u)\" = unlimited ]; }",
    )
    .advice(|| text!("Linux 6.14 or newer bounds them for root too; an older one for ordinary users only.")),
    Attempt::new(|| text!("network"), || text!("connect to a server on this machine"), "exec 3<>\"/dev/tcp/127.0.0.1/$PORT\"")
        .needs(Needs::Network),
    Attempt::new(|| text!("network"), || text!("see the interfaces"), "[ \"$(grep -c : /proc/net/dev)\" -gt 1 ]").needs(Needs::Network),
];

fn by_status(_: &Ground, ran: &AttemptOutcome) -> bool {
    ran.status == Some(0)
}

fn is_left(ground: &Ground, _: &AttemptOutcome) -> bool {
    ground.is_left()
}
