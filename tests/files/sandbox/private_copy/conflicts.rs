//! Tests files that the user saves while a command runs: no change of the user is lost, and a command that changed the
//! same file keeps nothing.

use super::{Copied, Say};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_kit::{Picture, Random, picture};
use toolfence_policy::AskMode;

/// The folder in which the command and the user wait for each other. Comparisons exclude it.
const MARKS: &str = "marks";

/// How the user saves a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    InPlace,
    ByRename,
    NewFile,
}

const WAYS: [Way; 3] = [Way::InPlace, Way::ByRename, Way::NewFile];

/// A file that the user saves.
#[derive(Debug, Clone)]
struct Save {
    way: Way,
    path: String,
    text: String,
}

impl Save {
    fn make(&self, root: &Path) {
        let path = root.join(&self.path);
        match self.way {
            Way::InPlace | Way::NewFile => fs::write(path, &self.text).expect("it can be written"),
            Way::ByRename => {
                let temporary = path.with_file_name(".saved");
                fs::write(&temporary, &self.text).expect("it can be written");
                fs::rename(temporary, path).expect("it can be renamed");
            }
        }
    }
}

/// Returns a command that waits for the user before its first step, between steps, and after the last one.
fn waiting(steps: &[String]) -> String {
    // The whole folder is listed each time, because the kernel may keep reporting that a new file does not exist.
    let wait = |step: usize| {
        format!(
            "touch {MARKS}/{step}; until read -r gate < {MARKS}/gate && [ \"$gate\" = {step} ]; do sleep 0.003; done\n"
        )
    };
    let mut script = String::new();
    for (at, step) in steps.iter().enumerate() {
        script += &format!("{}{step}\n", wait(at));
    }
    script + &wait(steps.len()) + &format!("rm {MARKS}/[0-9]*\n")
}

/// Waits until the command on its layer has reached a step; `false` if it ended before.
fn reaches(layers: &Path, step: usize, has_ended: &AtomicBool) -> bool {
    while !has_ended.load(Ordering::SeqCst) {
        let layers: Vec<PathBuf> =
            fs::read_dir(layers).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        if layers.iter().any(|layer| layer.join(format!("upper/{MARKS}/{step}")).exists()) {
            return true;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    false
}

/// Runs a command of these steps and returns its output. `saves` has the files that the user saves at each moment:
/// before the first step, after each step, and while the question is open.
fn run(copied: &mut Copied, steps: &[String], saves: &[Vec<Save>]) -> String {
    let root = copied.place.root.clone();
    run_while(copied, steps, &|moment| saves[moment].iter().for_each(|save| save.make(&root)))
}

/// Runs a command of these steps, and calls `act` with the number of each moment.
fn run_while(copied: &mut Copied, steps: &[String], act: &(dyn Fn(usize) + Sync)) -> String {
    let (root, layers) = (copied.place.root.clone(), copied.layers());
    copied.place.file("marks/gate", "-");
    copied.place.file("attempt.sh", waiting(steps));
    let has_ended = AtomicBool::new(false);
    let mut when_asked = || act(steps.len() + 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for moment in 0..=steps.len() {
                if !reaches(&layers, moment, &has_ended) {
                    return;
                }
                act(moment);
                fs::write(root.join("marks/gate"), format!("{moment}\n")).expect("it can be written");
            }
        });
        let call = json!({"command": ". ./attempt.sh", "timeout": 60});
        let turn = copied.turn_while(&[("bash", call)], &[Say::Yes], &mut when_asked);
        has_ended.store(true, Ordering::SeqCst);
        turn.results[0].output.clone()
    })
}

/// Takes a snapshot of the project without the folder `marks` and the command's script.
fn tree(root: &Path) -> Picture {
    let mut tree = picture(root);
    tree.retain(|path, _| !path.starts_with(MARKS) && path != Path::new("attempt.sh"));
    tree
}

fn save(way: Way, path: &str) -> Save {
    Save { way, path: path.into(), text: format!("user's {path}\n") }
}

#[test]
fn a_file_that_the_user_saves_during_the_command_is_a_conflict() {
    let cases = [
        ("echo x >> a.txt", save(Way::InPlace, "a.txt")),
        ("echo x >> a.txt", save(Way::ByRename, "a.txt")),
        ("rm a.txt", save(Way::InPlace, "a.txt")),
        ("rm a.txt", save(Way::ByRename, "a.txt")),
        ("echo x > new.txt", save(Way::NewFile, "new.txt")),
        ("rm -rf tree", save(Way::NewFile, "tree/new.txt")),
        ("rm -rf tree", save(Way::NewFile, "tree/deep/new.txt")),
        ("rm -rf tree", save(Way::ByRename, "tree/deep/f.txt")),
        ("rm -rf tree; mkdir tree; echo x > tree/f.txt", save(Way::InPlace, "tree/deep/f.txt")),
        ("mv a.txt b.txt", save(Way::InPlace, "a.txt")),
        ("mv tree moved", save(Way::NewFile, "tree/new.txt")),
        ("rm a.txt; mkdir a.txt", save(Way::InPlace, "a.txt")),
    ];
    for (command, save) in cases {
        // The moments are before the step, after it, and while the question is open.
        for moment in 0..3 {
            let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
            copied.place.file("a.txt", "one\n");
            copied.place.file("other.txt", "one\n");
            copied.place.file("tree/deep/f.txt", "one\n");
            let mut saves = vec![Vec::new(); 3];
            saves[moment].push(save.clone());
            let before = tree(&copied.place.root);
            let steps = [format!("{command}; echo x > other.txt")];
            let output = run(&mut copied, &steps, &saves);
            let what = format!("{command}, {save:?} at {moment}: {output}");
            assert!(output.contains("another process changed ") && output.starts_with("[Not kept: "), "{what}");
            assert_eq!(copied.place.content(&save.path), save.text, "{what}");
            let mut after = tree(&copied.place.root);
            after.remove(Path::new(&save.path));
            let mut before = before.clone();
            before.remove(Path::new(&save.path));
            assert_eq!(after, before, "{what}");
        }
    }
}

#[test]
fn a_file_that_the_user_saved_before_the_command_or_elsewhere_is_no_conflict() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file("tree/a.txt", "one\n");
    copied.place.file("tree/b.txt", "one\n");
    for round in 0..10 {
        // The user saves within the same tick of the clock.
        copied.place.file("tree/a.txt", format!("{round}\n"));
        let saves = [vec![], vec![save(Way::ByRename, "tree/b.txt")], vec![]];
        let output = run(&mut copied, &["echo x >> tree/a.txt".into()], &saves);
        assert!(output.starts_with("[Kept: 1 file]"), "{output}");
        assert_eq!(copied.place.content("tree/a.txt"), format!("{round}\nx\n"));
        assert_eq!(copied.place.content("tree/b.txt"), "user's tree/b.txt\n");
    }
}

const FOLDERS: [&str; 3] = ["a", "b", "b/c"];

/// Returns a random step of a command, and the paths that it touches. A folder includes everything in it.
fn step(random: &mut Random) -> (String, Vec<String>) {
    let folder = *random.pick(&FOLDERS);
    let file = format!("{folder}/{}", random.below(3));
    let new = format!("{folder}/n{}", random.below(2));
    match random.below(6) {
        0 => (format!("echo agent > {file}"), vec![file]),
        1 => (format!("echo agent >> {file}"), vec![file]),
        2 => (format!("rm -f {file}"), vec![file]),
        3 => (format!("echo agent > {new}"), vec![new]),
        4 => (format!("rm -rf {folder}"), vec![folder.into()]),
        _ => (format!("rm -rf {folder}; mkdir -p {folder}; echo agent > {new}"), vec![folder.into()]),
    }
}

#[test]
fn no_file_that_the_user_saves_is_lost() {
    const SAVES: usize = 300;
    let mut random = Random::new(20_261_128);
    let (mut made, mut kept, mut conflicts) = (0, 0, 0);
    while made < SAVES {
        let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
        for folder in FOLDERS {
            (0..3).for_each(|file| copied.place.file(&format!("{folder}/{file}"), "one\n"));
        }
        // The command also changes a file that the user leaves alone, so that it always asks.
        copied.place.file("own", "one\n");
        let count = 1 + random.below(3);
        let (mut steps, mut touched): (Vec<String>, Vec<String>) = (vec!["echo agent > own".into()], vec![]);
        for _ in 0..count {
            let (step, paths) = step(&mut random);
            // A step in a folder that an earlier one removed fails and changes nothing.
            steps.push(format!("({step}) 2> /dev/null || true"));
            touched.extend(paths);
        }
        let mut saves = vec![Vec::new(); steps.len() + 2];
        let mut paths = BTreeSet::new();
        for _ in 0..1 + random.below(4) {
            let way = *random.pick(&WAYS);
            let name = if way == Way::NewFile { format!("n{}", random.below(4)) } else { random.below(3).to_string() };
            let path = format!("{}/{name}", random.pick(&FOLDERS));
            if paths.insert(path.clone()) {
                let moment = random.below(saves.len());
                saves[moment].push(Save {
                    way,
                    path,
                    text: format!("user {made} {}\n", "x".repeat(random.below(200) * random.below(50))),
                });
                made += 1;
            }
        }
        let before = tree(&copied.place.root);
        let output = run(&mut copied, &steps, &saves);
        let after = tree(&copied.place.root);
        let what = format!("{steps:#?}\n{saves:#?}\n{output}");
        // Every byte that the user saved exists.
        let all: Vec<&Save> = saves.iter().flatten().collect();
        for save in &all {
            let text =
                fs::read_to_string(copied.place.at(&save.path)).unwrap_or_else(|error| panic!("{error}: {what}"));
            assert_eq!(text, save.text, "{what}");
        }
        let touches = |save: &&&Save| touched.iter().any(|path| Path::new(&save.path).starts_with(path));
        if output.starts_with("[Kept: ") {
            kept += 1;
            assert_eq!(copied.place.content("own"), "agent\n", "{what}");
        } else {
            conflicts += 1;
            assert!(output.starts_with("[Not kept: ") && output.contains("another process changed"), "{what}");
            assert!(all.iter().any(|save| touches(&save)), "no conflict was to be expected: {what}");
            // No change of the command is in the project.
            let is_saved = |path: &PathBuf| all.iter().any(|save| Path::new(&save.path) == path);
            let rest =
                |tree: &Picture| -> Picture { tree.clone().into_iter().filter(|(path, _)| !is_saved(path)).collect() };
            assert_eq!(rest(&after), rest(&before), "{what}");
        }
    }
    println!("{made} saves during {} commands: {kept} kept, {conflicts} with a conflict, 0 lost", kept + conflicts);
    assert!(kept >= 10 && conflicts >= 10, "{kept} {conflicts}");
}

/// The project keeps the state in which the user left it.
#[test]
fn a_file_that_the_user_removes_or_renames_during_the_command_is_a_conflict() {
    for (command, user) in [
        ("echo x >> a.txt", "rm a.txt"),
        ("echo x >> a.txt", "mv a.txt b.txt"),
        ("echo x >> tree/deep/f.txt", "rm -r tree"),
        ("echo x >> tree/deep/f.txt", "mv tree moved"),
        ("echo x > tree/deep/new.txt", "mv tree moved"),
        ("echo x > tree/deep/new.txt", "rm -r tree"),
        ("echo x >> tree/deep/f.txt", "rm -r tree; echo file > tree"),
        ("echo x >> tree/deep/f.txt", "mv tree moved; ln -s moved tree"),
        ("echo x > tree/deep/new.txt", "mv tree moved; ln -s ../home tree; mkdir ../home/deep"),
        ("rm -rf tree", "mv tree/deep elsewhere; mkdir tree/deep; echo user > tree/deep/f.txt"),
        ("chmod +x a.txt", "rm a.txt; echo user > a.txt"),
        ("rm a.txt; ln -s other.txt a.txt", "chmod 600 a.txt"),
    ] {
        // Moment 0 is left out: before the step, the command would see the user's change.
        for moment in 1..3 {
            let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
            for path in ["a.txt", "other.txt", "tree/deep/f.txt"] {
                copied.place.file(path, "one\n");
            }
            let root = copied.place.root.clone();
            let wanted = Mutex::new(Picture::new());
            let act = || {
                let done = Command::new("sh").args(["-ec", user]).current_dir(&root).status().expect("there is sh");
                assert!(done.success(), "{user}");
                *wanted.lock().expect("it is not poisoned") = tree(&root);
            };
            let steps = [format!("{command}; echo x > other.txt")];
            let output = run_while(&mut copied, &steps, &|at| {
                if at == moment {
                    act();
                }
            });
            let what = format!("{command}, {user} at {moment}: {output}");
            assert!(output.contains("another process changed ") && output.starts_with("[Not kept: "), "{what}");
            assert_eq!(tree(&root), *wanted.lock().expect("it is not poisoned"), "{what}");
            assert!(!copied.place.home.join("deep/new.txt").exists());
        }
    }
}
