//! Builds the engine's command line for one command. This module looks nothing up.

use super::super::Engine;
use super::super::plan::{Guard, Plan, Task};
use crate::environment;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The values that determine the command line.
pub(super) struct Line<'a> {
    pub(super) engine: Engine,
    pub(super) image: &'a str,
    pub(super) name: &'a str,
    pub(super) user: (u32, u32),
    pub(super) plan: &'a Plan,
    pub(super) masks: &'a [MaskedPath<'a>],
    pub(super) guards: &'a [Guard],
    /// A file without any permission.
    pub(super) blank: &'a Path,
    pub(super) task: &'a Task,
    /// The names of the command's variables.
    pub(super) variables: &'a [&'a OsStr],
}

/// A hidden path.
pub(super) struct MaskedPath<'a> {
    pub(super) at: &'a Path,
    pub(super) is_folder: bool,
}

/// The options that are equal for every command: it is removed at its end, has no rights, downloads nothing, logs
/// nothing, and has no writable file system of its own. SELinux would require relabelling the project, which this
/// program must not do.
const ALWAYS: &[&str] = &[
    "run",
    "--rm",
    "--init",
    "--interactive",
    "--pull=never",
    "--log-driver=none",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--security-opt=label=disable",
    "--read-only",
];

impl Line<'_> {
    /// Returns the arguments of the engine's client.
    pub(super) fn run(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> = ALWAYS.iter().map(OsString::from).collect();
        line.push(format!("--name={}", self.name).into());
        line.push(format!("--pids-limit={}", self.plan.processes).into());
        line.push(format!("--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,size={}", self.plan.temporary).into());
        if self.plan.memory > 0 {
            // The option is the sum of memory and swap: the default would allow as much swap in addition.
            line.push(format!("--memory={}", self.plan.memory).into());
            line.push(format!("--memory-swap={}", self.plan.memory).into());
        }
        line.push(format!("--user={}:{}", self.user.0, self.user.1).into());
        if self.engine == Engine::Podman && self.user.0 != 0 {
            // Without this option, the project's files would belong to another user inside of the container.
            line.push("--userns=keep-id".into());
        }
        if !self.plan.network {
            line.push("--network=none".into());
        }
        line.extend(environment::of_container(self.plan.network).map(|variable| format!("--env={variable}").into()));
        // A call may set variables that are not in the table, such as those of git.
        let more = self.variables.iter().filter(|name| !environment::is_in_table(name));
        line.extend(more.map(|name| option("--env=", name)));
        line.extend(self.mounts());
        let folder = self.plan.root.path().join(self.task.folder.path());
        line.push(option("--workdir=", folder.as_os_str()));
        let (program, arguments) =
            self.task.command.split_first().map_or((OsStr::new(""), &[][..]), |(program, rest)| (program.os(), rest));
        // The image may have an entry point of its own, which would start instead of the program.
        line.push(option("--entrypoint=", program));
        line.push(self.image.into());
        line.extend(arguments.iter().map(|word| word.os().to_owned()));
        line
    }

    /// Returns the arguments that remove the container and kill what runs in it.
    pub(super) fn remove(&self) -> Vec<OsString> {
        // Without this option, Podman first gives the command time to end (podman-rm(1)).
        let at_once: &[&str] = if self.engine == Engine::Podman { &["--time=0"] } else { &[] };
        [&["rm", "--force"], at_once, &[self.name]].concat().into_iter().map(OsString::from).collect()
    }

    /// Returns the project's mount, followed by those over parts of it.
    fn mounts(&self) -> Vec<OsString> {
        let root = self.plan.root.path();
        // A later mount covers an earlier one, so masks follow the guards of folders that contain them.
        let mut all = vec![bind(root, root, self.plan.writable)];
        all.extend(self.plan.writable_folders.iter().map(|at| bind(at.path(), at.path(), true)));
        all.extend(
            self.guards.iter().map(|guard| bind(guard.at.path(), guard.at.path(), self.plan.writable && !guard.frozen)),
        );
        all.extend(self.masks.iter().map(|mask| match mask.is_folder {
            true => mount(&[b"type=tmpfs", &field("dst=", mask.at), b"tmpfs-mode=0000", b"tmpfs-size=4096"]),
            false => bind(self.blank, mask.at, false),
        }));
        all
    }
}

fn bind(from: &Path, to: &Path, writable: bool) -> OsString {
    let (source, target) = (field("src=", from), field("dst=", to));
    let mut fields: Vec<&[u8]> = vec![b"type=bind", &source, &target];
    if !writable {
        fields.push(b"readonly");
    }
    mount(&fields)
}

fn mount(fields: &[&[u8]]) -> OsString {
    let mut value = b"--mount=".to_vec();
    value.extend(fields.join(&b','));
    OsString::from_vec(value)
}

/// Returns a field of a CSV line, the format that both engines parse.
fn field(key: &str, path: &Path) -> Vec<u8> {
    let path = path.as_os_str().as_bytes();
    if !path.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return [key.as_bytes(), path].concat();
    }
    let doubled: Vec<u8> =
        path.iter().flat_map(|&byte| if byte == b'"' { vec![b'"', b'"'] } else { vec![byte] }).collect();
    [b"\"", key.as_bytes(), &doubled, b"\""].concat()
}

fn option(name: &str, value: &OsStr) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Identity;

    fn plan(writable: bool, network: bool) -> Plan {
        Plan {
            named_sockets: true,
            session: 0,
            version: "0".into(),
            namespaces: false,
            tree: true,
            network,
            writable,
            writable_folders: Vec::new(),
            removable: false,
            processes: 77,
            memory: 7 << 30,
            temporary: 5 << 20,
            root: "/home/u/a,b".into(),
            root_is: Identity(1, 2, None),
            layer: None,
            steps: Vec::new(),
            masks: Vec::new(),
            scratch: Vec::new(),
        }
    }

    fn line(engine: Engine, user: (u32, u32), plan: &Plan) -> Vec<String> {
        let guard = |at: &str, frozen| Guard { at: at.into(), identity: Identity(1, 3, None), frozen };
        let task =
            Task { folder: "sub".into(), command: ["/bin/bash", "-c", "echo --privileged"].map(Into::into).to_vec() };
        let masks = [
            MaskedPath { at: Path::new("/home/u/a,b/.env"), is_folder: false },
            MaskedPath { at: Path::new("/home/u/a,b/.ssh"), is_folder: true },
        ];
        let guards = [guard("/home/u/a,b/.git", false), guard("/home/u/a,b/.git/hooks", true)];
        let line = Line {
            engine,
            image: "img:1",
            name: "n",
            user,
            plan,
            masks: &masks,
            guards: &guards,
            blank: Path::new("/tmp/blank"),
            task: &task,
            variables: &["GIT_EDITOR", "HOME", "LANG"].map(OsStr::new),
        };
        let remove = line.remove();
        assert_eq!((&remove[..2], &remove[remove.len() - 1]), (&["rm".into(), "--force".into()][..], &"n".into()));
        line.run().into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_build_folder_of_a_read_only_project_is_writable() {
        let plan = Plan { writable_folders: vec!["/home/u/a,b/target".into()], ..plan(false, false) };
        let mounts = line(Engine::Podman, (1000, 100), &plan);
        let mounts: Vec<&String> = mounts.iter().filter(|word| word.starts_with("--mount=type=bind")).collect();
        assert!(mounts[0].ends_with(",readonly"), "{mounts:?}");
        assert_eq!(mounts[1], "--mount=type=bind,\"src=/home/u/a,b/target\",\"dst=/home/u/a,b/target\"");
    }

    /// Each case has the reason for an option, and when it is required.
    #[test]
    fn every_required_option_is_present() {
        let usual = line(Engine::Docker, (1000, 100), &plan(true, false));
        for (option, _why) in [
            ("--rm", "the container is removed at its end"),
            ("--init", "a first process reaps children and passes signals on"),
            ("--interactive", "a job has a stdin"),
            ("--pull=never", "no image is downloaded"),
            ("--log-driver=none", "much output fills no disk"),
            ("--cap-drop=all", "no rights"),
            ("--security-opt=no-new-privileges", "no rights can be gained"),
            ("--security-opt=label=disable", "the project is not relabelled"),
            ("--read-only", "only the project and /tmp can be written"),
            ("--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777,size=5242880", "a private /tmp with a size limit"),
            ("--memory=7516192768", "memory is limited"),
            ("--memory-swap=7516192768", "swap does not raise the limit"),
            ("--env=HOME=/tmp", "a home that can be written"),
            ("--env=TMPDIR=/tmp", "not the host's"),
            ("--env=GIT_PAGER", "no pager"),
            ("--name=n", "it can be removed by its name"),
            ("--pids-limit=77", "processes are limited"),
            ("--user=1000:100", "its files belong to the user"),
            ("--network=none", "no network"),
            ("--workdir=/home/u/a,b/sub", "the requested folder"),
            ("--entrypoint=/bin/bash", "the image's own is not started"),
            ("--mount=type=bind,\"src=/home/u/a,b\",\"dst=/home/u/a,b\"", "the project, at its place"),
            ("--mount=type=bind,\"src=/home/u/a,b/.git\",\"dst=/home/u/a,b/.git\"", "a mount cannot be moved"),
            ("--mount=type=bind,\"src=/home/u/a,b/.git/hooks\",\"dst=/home/u/a,b/.git/hooks\",readonly", "hooks stay"),
            ("--mount=type=bind,src=/tmp/blank,\"dst=/home/u/a,b/.env\",readonly", "a blocked file is hidden"),
            ("--mount=type=tmpfs,\"dst=/home/u/a,b/.ssh\",tmpfs-mode=0000,tmpfs-size=4096", "and so is a folder"),
        ] {
            assert_eq!(usual.iter().filter(|word| *word == option).count(), 1, "{option}: {usual:#?}");
        }
        assert_eq!(usual[usual.len() - 3..], ["img:1", "-c", "echo --privileged"], "no option follows the image");
        assert!(usual[..usual.len() - 3].iter().skip(1).all(|word| word.starts_with("--")), "{usual:#?}");
        let open = line(Engine::Docker, (0, 0), &plan(true, true));
        assert!(!open.iter().any(|word| word.starts_with("--network")) && open.contains(&"--user=0:0".into()));
        let shut = line(Engine::Docker, (0, 0), &plan(false, false));
        assert!(
            shut.iter().filter(|word| word.contains("type=bind")).all(|word| word.ends_with(",readonly")),
            "{shut:#?}"
        );
        let keeps = |engine, user| line(engine, user, &plan(true, false)).contains(&"--userns=keep-id".into());
        assert!(
            keeps(Engine::Podman, (1000, 100)) && !keeps(Engine::Podman, (0, 0)) && !keeps(Engine::Docker, (1000, 100))
        );
    }

    #[test]
    fn a_path_cannot_end_its_field() {
        for (path, want) in
            [("/a b", "src=/a b"), ("/a,readonly=0", "\"src=/a,readonly=0\""), ("/a\"b", "\"src=/a\"\"b\"")]
        {
            assert_eq!(field("src=", Path::new(path)), want.as_bytes(), "{path}");
        }
    }
}
