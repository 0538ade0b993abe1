//! What to do instead: a sentence for the model, behind the reason of a question that may be answered with no.

use super::wrappers::has;
use crate::shell::judge::report::Finding;

/// Programs, and what to do instead of them.
const ADVICE: &[(&str, &str)] = &[
    (
        "sudo doas su pkexec runuser",
        "Run it without other rights: commands run as the user, and the system stays as it is.",
    ),
    (
        "vim vi nvim view nano emacs ed ex pico micro code",
        "It waits for a person at a terminal; read with read_file, change with edit_file or replace_text.",
    ),
    ("less more most bat pg", "It waits for a person at a terminal; use read_file, or `head` and `tail`."),
    ("top htop btop watch iotop", "It never ends; use `ps aux`, or run the command once."),
    ("man info help", "It waits for a person at a terminal; use the program's own `--help`."),
    ("tmux screen script expect", "It needs a terminal; run the command itself, or as a background job."),
    ("ssh scp sftp rsync telnet ftp nc ncat socat", "Commands have no network; ask the person to do it."),
    (
        "curl wget http https aria2c",
        "Commands have no network unless the call asks for it; say what is needed and why.",
    ),
    (
        "sed awk perl",
        "Without options that write it is known to only read; change files with edit_file or replace_text.",
    ),
    ("tee", "Write files with write_file."),
    ("rm rmdir unlink shred", "Name exactly what is to go, relative to the root of the project."),
    (
        "python python2 python3 node ruby php lua",
        "Run a file of the project: run_python, or the program with the file's name.",
    ),
    ("eval source . exec", "Write the command itself."),
    (
        "export declare typeset readonly local",
        "Set variables in front of the one command that needs them: `NAME=value command`.",
    ),
    ("nohup disown setsid", "Start it with `background` set, and look after it with the job tool."),
    (
        "npm yarn pnpm bun pip pip3 cargo go gem bundle",
        "Tests, builds and checks run without a question while the walls are up.",
    ),
    ("crontab at batch systemctl service launchctl", "Nothing may outlive the session; run it as a background job."),
    ("kill pkill killall", "End jobs with the job tool."),
    ("git", "Looking (status, log, diff --stat, show REV:FILE) needs no question; `git -c` and `git -p` always do."),
];

/// The finding, with what to do instead of running the program.
pub(crate) fn added(program: &str, mut finding: Finding) -> Finding {
    if finding.rule != "not_known_read_only" {
        return finding;
    }
    if let Some((_, advice)) = ADVICE.iter().find(|(names, _)| has(names, program)) {
        finding.reason.push(' ');
        finding.reason.push_str(advice);
    }
    finding
}
