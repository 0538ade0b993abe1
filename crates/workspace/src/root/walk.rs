//! Walks the tree below a folder in an order that is the same for the same tree and any number of threads.
//!
//! A walk consists of jobs: to read a folder, or to visit a few entries of one. Every thread takes the first open job
//! in the order, and only the thread that began the walk takes outcomes, in the order. It does a job itself if no other
//! thread has begun it, so a single thread does everything in the order. The size of pending outcomes limits how far
//! the other threads work ahead. In breadth-first order, all entries of a folder precede those below them, so the job
//! that reads the folder also visits them while the folder is open.
//!
//! Links are listed and never followed. A folder or file is opened by its single name in the descriptor of the folder
//! where it was listed, and the kernel refuses a link, so no entry that is swapped in during the walk leads out of the
//! root. Such a descriptor stays valid if another process moves the folder out of the root or to a blocked name. Its
//! entries were in the root when the walk listed them, and the content of a file is only reported after the kernel has
//! named the open file as one in the root that is not blocked ([`Root::name_of`]).

use crate::names;
use crate::root::folder::{self, Item};
use crate::root::hops::{FolderFd, Hop};
use crate::root::ignores::Ignores;
use crate::root::opened::OpenEntry;
use crate::root::{Root, failure};
use crate::stop::Stop;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use toolfence_protocol::ToolFailure;

/// The maximum number of entries that are visited in one job, so that several threads share a large folder.
const MOST_IN_RUN: usize = 32;

/// The size in bytes of pending outcomes from which no thread works ahead.
const MOST_AHEAD: usize = 8 << 20;

/// The approximate size of an entry in bytes.
const NODE_SIZE: usize = 256;

/// The maximum number of threads of a walk. More would wait for the kernel's locks.
const MOST_THREADS: usize = 8;

/// What follows a folder in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The entries of the folder, so that the files of one folder are consecutive.
    Depth,
    /// The neighbours of the folder, so that the topmost entries are first.
    Breadth,
}

/// One entry of the tree.
#[derive(Debug)]
pub(crate) struct Node {
    /// The path relative to the root, without links.
    pub(crate) name: PathBuf,
    pub(crate) kind: FileType,
    /// The rule that blocks the entry.
    pub(crate) blocked: Option<String>,
    /// Whether a rule may match its name, which can depend on the file's content.
    pub(crate) has_rule: bool,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalkReport {
    /// Whether the walk reached its end: it was not stopped, and met no limit.
    pub(crate) complete: bool,
    /// Folders below the first one that could not be read.
    pub(crate) unreadable: u64,
    /// The reason why the first folder could not be read.
    not_begun: Option<Errno>,
}

impl WalkReport {
    /// Returns the report of a walk that began.
    ///
    /// # Errors
    /// The folder where the walk began could not be read; `path` is its name in the message.
    pub(crate) fn check_start(self, path: &str) -> Result<WalkReport, ToolFailure> {
        match self.not_begun {
            Some(errno) => Err(failure::walk_start_failure(errno, path)),
            None => Ok(self),
        }
    }
}

/// Visits the entries of a walk on several threads.
pub(crate) trait Visitor: Sync {
    /// The data that one thread keeps between its visits.
    type State;
    /// The result of a visit.
    type Output: Send;

    fn state(&self) -> Self::State;

    fn visit(&self, state: &mut Self::State, run: EntryRun<'_>) -> Self::Output;

    /// Returns the approximate size of a result in bytes.
    fn size(found: &Self::Output) -> usize;
}

/// Consecutive entries of one folder.
pub(crate) struct EntryRun<'r> {
    pub(crate) nodes: Vec<Node>,
    folder: PathBuf,
    hop: Hop,
    root: &'r Root,
    stop: &'r Stop,
    is_over: &'r AtomicBool,
}

impl EntryRun<'_> {
    /// Returns the folder of the entries. Only names of its entries may be opened from it, and no link.
    pub(crate) fn folder(&self) -> Result<FolderFd<'_>, Errno> {
        self.hop.enter(self.root.fd(), &self.folder)
    }

    /// Returns `true` if the visit should end because its result is not needed.
    pub(crate) fn is_over(&self) -> bool {
        self.stop.is_stopped() || self.is_over.load(Ordering::Relaxed)
    }
}

/// A walk over a tree that has not begun.
pub(crate) struct Walk<'w> {
    root: &'w Root,
    stop: &'w Stop,
    order: Order,
    start: WalkFolder,
    hidden: bool,
    git: bool,
    blocked: bool,
    max_depth: usize,
    most: usize,
    threads: usize,
}

impl<'w> Walk<'w> {
    /// Returns a walk from the root on one thread, without hidden and blocked folders.
    pub(crate) fn new(root: &'w Root, order: Order, stop: &'w Stop) -> Walk<'w> {
        Walk {
            root,
            stop,
            order,
            start: WalkFolder { name: PathBuf::new(), depth: 0, ignores: None, hop: Hop::default() },
            hidden: false,
            git: false,
            blocked: false,
            max_depth: usize::MAX,
            most: 1_000_000,
            threads: 1,
        }
    }

    /// Starts the walk at this folder.
    pub(crate) fn from(mut self, folder: &OpenEntry) -> Walk<'w> {
        self.git = folder.name.components().any(|name| name.as_os_str() == ".git");
        self.start.name.clone_from(&folder.name);
        self
    }

    /// Leaves out entries that git would ignore, whether there is a repository or not.
    pub(crate) fn ignoring(mut self, yes: bool) -> Walk<'w> {
        self.start.ignores = yes.then(|| Ignores::above(self.root, &self.start.name));
        self
    }

    /// Includes names that begin with a dot, but not the entries of `.git`.
    pub(crate) fn hidden(mut self, yes: bool) -> Walk<'w> {
        self.hidden = yes;
        self
    }

    /// Includes hidden, ignored and blocked entries.
    pub(crate) fn everything(mut self) -> Walk<'w> {
        (self.hidden, self.git, self.blocked) = (true, true, true);
        self
    }

    /// Limits the depth; 1 is only the folder itself.
    pub(crate) fn max_depth(mut self, depth: usize) -> Walk<'w> {
        self.max_depth = depth;
        self
    }

    /// Stops after `entries` entries.
    pub(crate) fn most(mut self, entries: usize) -> Walk<'w> {
        self.most = entries;
        self
    }

    /// Sets the number of threads; `None` means one for each core.
    pub(crate) fn threads(mut self, threads: Option<usize>) -> Walk<'w> {
        let cores = || thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        self.threads = threads.unwrap_or_else(cores);
        self
    }

    /// Calls `take` with the entries in the order, until it breaks.
    pub(crate) fn each(self, mut take: impl FnMut(Node) -> ControlFlow<()>) -> WalkReport {
        self.visit(&ListOnly, |nodes| nodes.into_iter().try_for_each(&mut take))
    }

    /// Calls `take` with the results of `visitor` in the order of the entries, until it breaks.
    pub(crate) fn visit<V: Visitor>(self, visitor: &V, take: impl FnMut(V::Output) -> ControlFlow<()>) -> WalkReport {
        let shared = SharedWalk {
            walk: &self,
            visitor,
            queue: Mutex::new(TaskQueue { open: BTreeMap::new(), done: BTreeMap::new(), ahead: 0, waiting: 0 }),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            // This thread is one of them: it takes the outcomes and does jobs, too.
            for _ in 1..self.threads {
                // If a thread cannot be started, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, || shared.work_ahead());
            }
            shared.emit(take)
        })
    }

    /// Returns `true` if the entries of a folder are part of the walk.
    fn descends(&self, node: &Node, depth: usize) -> bool {
        node.kind == FileType::Directory
            && depth < self.max_depth
            && (self.blocked || node.blocked.is_none())
            && (self.git || node.name.file_name().is_none_or(|name| name != ".git"))
    }

    fn expand(&self, folder: &WalkFolder) -> Result<Expansion, Errno> {
        let open = folder.hop.open(self.root.fd(), &folder.name)?;
        // Reading consumes the descriptor, so a copy is kept to open the entries.
        let kept = open.try_clone().ok();
        let (items, complete) = folder::items_until(open, self.most, self.stop)?;
        let seen = items.len();
        let ignores = folder.ignores.as_ref().map(|above| Ignores::below(above, self.root, &folder.name, &items));
        let mut nodes = items.into_iter().filter_map(|item| self.child(folder, item, ignores.as_ref())).peekable();
        let mut work = Vec::new();
        if nodes.peek().is_some() {
            let (here, hop) = folder.hop.keep(kept, &folder.name);
            // In breadth-first order, the entries are visited while their folder is open.
            let run_hop = if self.order == Order::Breadth { here } else { hop.clone() };
            let depth = folder.depth + 1;
            let mut run = Vec::new();
            while let Some(node) = nodes.next() {
                let inner = self.descends(&node, depth).then(|| node.name.clone());
                run.push(node);
                // In depth-first order, the entries of a folder follow it directly, so a folder ends the run.
                if inner.is_some() || run.len() == MOST_IN_RUN || nodes.peek().is_none() {
                    work.push(Task::Run { nodes: mem::take(&mut run), depth, hop: run_hop.clone() });
                }
                if let Some(name) = inner {
                    work.push(Task::Folder(WalkFolder { name, depth, ignores: ignores.clone(), hop: hop.clone() }));
                }
            }
        }
        Ok(Expansion { work, seen, complete })
    }

    fn child(&self, parent: &WalkFolder, item: Item, ignores: Option<&Arc<Ignores>>) -> Option<Node> {
        if !self.hidden && item.name.as_encoded_bytes().first() == Some(&b'.') {
            return None;
        }
        let name = names::join(&parent.name, &item.name);
        if ignores.is_some_and(|ignores| ignores.matches(&name, item.kind == FileType::Directory)) {
            return None;
        }
        let text = name.to_string_lossy();
        let has_rule = self.root.has_rule(&text);
        let blocked = if has_rule { self.root.blocks(&text) } else { None };
        // An entry that a list of permitted paths leaves out is not even listed as blocked.
        if blocked.is_some() && !self.blocked && self.root.rules().leaves_out(&text) {
            return None;
        }
        Some(Node { name, kind: item.kind, blocked, has_rule })
    }
}

/// The visitor of a walk that only lists entries.
struct ListOnly;

impl Visitor for ListOnly {
    type State = ();
    type Output = Vec<Node>;

    fn state(&self) {}

    fn visit(&self, (): &mut (), run: EntryRun<'_>) -> Vec<Node> {
        run.nodes
    }

    fn size(found: &Vec<Node>) -> usize {
        found.len() * NODE_SIZE
    }
}

/// A folder that is part of the walk.
#[derive(Clone)]
struct WalkFolder {
    name: PathBuf,
    /// The depth; 0 for the first folder.
    depth: usize,
    /// The ignore rules without those in its own file.
    ignores: Option<Arc<Ignores>>,
    hop: Hop,
}

enum Task {
    /// To read a folder.
    Folder(WalkFolder),
    /// To visit entries of a folder.
    Run { nodes: Vec<Node>, depth: usize, hop: Hop },
}

/// A folder that was read.
struct Expansion {
    /// The jobs in the folder, in the order of names.
    work: Vec<Task>,
    /// The number of its entries, including hidden and ignored ones.
    seen: usize,
    complete: bool,
}

enum TaskOutcome<F> {
    Folder { expanded: Result<(Vec<NextTask<F>>, usize, bool), Errno>, is_start: bool },
    Run(F),
}

/// The next step of the walk in its order.
enum NextTask<F> {
    /// A job that any thread may do.
    Shared(Arc<TaskPlace>),
    /// A job of a walk on one thread.
    Own(Task),
    /// Entries that were visited when their folder was read.
    Visited(F),
}

/// A place in the order of the walk.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TaskPlace {
    /// The depth, if it precedes the name in the order.
    level: usize,
    /// The sort key of the folder, or of the first entry that is visited.
    key: Vec<u8>,
    /// Whether the job reads a folder. A folder is visited before it is read.
    is_folder: bool,
}

/// The state that the threads of a walk share.
struct SharedWalk<'w, V: Visitor> {
    walk: &'w Walk<'w>,
    visitor: &'w V,
    queue: Mutex<TaskQueue<V::Output>>,
    changed: Condvar,
    /// Whether no more outcomes are needed.
    is_over: AtomicBool,
}

struct TaskQueue<F> {
    /// The jobs that no thread has begun.
    open: BTreeMap<Arc<TaskPlace>, Task>,
    /// Outcomes that wait for their turn, with their sizes.
    done: BTreeMap<Arc<TaskPlace>, (TaskOutcome<F>, usize)>,
    /// The sum of these sizes.
    ahead: usize,
    /// Threads that wait for a change.
    waiting: usize,
}

impl<F> TaskQueue<F> {
    /// Adds an open job, if other threads could do it.
    fn add(&mut self, work: Task, walk: &Walk<'_>) -> NextTask<F> {
        if walk.threads == 1 {
            return NextTask::Own(work);
        }
        let (name, depth, is_folder) = match &work {
            Task::Folder(folder) => (&folder.name, folder.depth, true),
            Task::Run { nodes, depth, .. } => (&nodes[0].name, *depth, false),
        };
        let level = if walk.order == Order::Breadth { depth } else { 0 };
        let job = Arc::new(TaskPlace { level, key: names::order_key(name.clone()), is_folder });
        self.open.insert(Arc::clone(&job), work);
        NextTask::Shared(job)
    }

    /// Takes the first open job, unless pending outcomes use too much memory.
    fn next(&mut self) -> Option<(Arc<TaskPlace>, Task)> {
        if self.ahead >= MOST_AHEAD { None } else { self.open.pop_first() }
    }
}

/// Ends the walk on all threads when it is dropped, including by a panic.
struct EndOfWalk<'s, 'w, V: Visitor>(&'s SharedWalk<'w, V>);

impl<V: Visitor> Drop for EndOfWalk<'_, '_, V> {
    fn drop(&mut self) {
        // With the lock held, no thread can check the flag before the store and then wait without being notified.
        let _queue = self.0.lock();
        self.0.is_over.store(true, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

impl<V: Visitor> SharedWalk<'_, V> {
    fn lock(&self) -> MutexGuard<'_, TaskQueue<V::Output>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn wait<'q>(&self, mut queue: MutexGuard<'q, TaskQueue<V::Output>>) -> MutexGuard<'q, TaskQueue<V::Output>> {
        queue.waiting += 1;
        let mut queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        queue.waiting -= 1;
        queue
    }

    /// Does open jobs until the walk is over.
    fn work_ahead(&self) {
        // After a panic in a visit its outcome never arrives, and the walk must not wait for it.
        let _end = EndOfWalk(self);
        let mut state = self.visitor.state();
        let mut queue = self.lock();
        while !self.is_over() {
            queue = match queue.next() {
                Some((job, work)) => self.finish(queue, job, work, &mut state),
                None => self.wait(queue),
            };
        }
    }

    /// Takes the outcomes in the order.
    fn emit(&self, mut take: impl FnMut(V::Output) -> ControlFlow<()>) -> WalkReport {
        let _end = EndOfWalk(self);
        let walk = self.walk;
        let mut report = WalkReport { complete: true, unreadable: 0, not_begun: None };
        let mut state = self.visitor.state();
        let mut seen = 0;
        let mut pending = VecDeque::from([self.lock().add(Task::Folder(walk.start.clone()), walk)]);
        loop {
            if walk.stop.is_stopped() {
                report.complete = false;
                return report;
            }
            let next = match walk.order {
                Order::Depth => pending.pop_back(),
                Order::Breadth => pending.pop_front(),
            };
            let Some(outcome) = next.and_then(|turn| self.outcome(turn, &mut state)) else { return report };
            match outcome {
                TaskOutcome::Run(found) => {
                    if take(found).is_break() {
                        return report;
                    }
                }
                // A folder over the limit is left out as a whole, because the file system would choose which of its
                // entries are seen.
                TaskOutcome::Folder { expanded: Ok((_, entries, _)), .. } if entries > walk.most - seen => {
                    (seen, report.complete) = (walk.most, false);
                }
                TaskOutcome::Folder { expanded: Ok((turns, entries, complete)), .. } => {
                    seen += entries;
                    walk.stop.saw(entries);
                    report.complete &= complete;
                    if walk.order == Order::Depth {
                        // The stack is popped at its end, so the first turn is pushed last.
                        pending.extend(turns.into_iter().rev());
                        continue;
                    }
                    // In breadth-first order, all entries of the folder are taken before one of its subfolders is read.
                    for turn in turns {
                        match turn {
                            NextTask::Visited(found) => {
                                if take(found).is_break() {
                                    return report;
                                }
                            }
                            later => pending.push_back(later),
                        }
                    }
                }
                TaskOutcome::Folder { expanded: Err(errno), is_start: true } => report.not_begun = Some(errno),
                TaskOutcome::Folder { expanded: Err(_), .. } => report.unreadable += 1,
            }
        }
    }

    /// Returns the outcome of the next job in the order. Returns `None` if a panic in another thread ended the walk.
    fn outcome(&self, turn: NextTask<V::Output>, state: &mut V::State) -> Option<TaskOutcome<V::Output>> {
        let job = match turn {
            NextTask::Shared(job) => job,
            NextTask::Own(work) => return Some(self.run(work, state).0),
            NextTask::Visited(found) => return Some(TaskOutcome::Run(found)),
        };
        let mut queue = self.lock();
        loop {
            if let Some((outcome, size)) = queue.done.remove(&job) {
                // Threads that work ahead wait while the pending outcomes are too large.
                let was_full = queue.ahead >= MOST_AHEAD;
                queue.ahead -= size;
                if was_full && queue.waiting > 0 {
                    self.changed.notify_all();
                }
                return Some(outcome);
            }
            if self.is_over() {
                return None;
            }
            // While another thread does this job, this one does a later job.
            let own = queue.open.remove_entry(&job);
            queue = match own.or_else(|| queue.next()) {
                Some((job, work)) => self.finish(queue, job, work, state),
                None => self.wait(queue),
            };
        }
    }

    /// Does a job, without the lock, and stores its outcome.
    fn finish<'q>(
        &'q self,
        queue: MutexGuard<'q, TaskQueue<V::Output>>,
        job: Arc<TaskPlace>,
        work: Task,
        state: &mut V::State,
    ) -> MutexGuard<'q, TaskQueue<V::Output>> {
        drop(queue);
        let (outcome, size) = self.run(work, state);
        let mut queue = self.lock();
        queue.ahead += size;
        queue.done.insert(job, (outcome, size));
        if queue.waiting > 0 {
            self.changed.notify_all();
        }
        queue
    }

    /// Does the work. Also returns the size of the outcome.
    fn run(&self, work: Task, state: &mut V::State) -> (TaskOutcome<V::Output>, usize) {
        let walk = self.walk;
        match work {
            Task::Run { nodes, hop, .. } => {
                let found = self.visit(nodes, hop, state);
                let size = V::size(&found);
                (TaskOutcome::Run(found), size)
            }
            Task::Folder(folder) => {
                let is_start = folder.depth == 0;
                let Expansion { work, seen, complete } = match walk.expand(&folder) {
                    Ok(expansion) => expansion,
                    Err(errno) => return (TaskOutcome::Folder { expanded: Err(errno), is_start }, 0),
                };
                let mut size = seen * NODE_SIZE;
                let mut turns = Vec::with_capacity(work.len());
                for work in work {
                    turns.push(match work {
                        Task::Run { nodes, hop, .. } if walk.order == Order::Breadth => {
                            let found = self.visit(nodes, hop, state);
                            size += V::size(&found);
                            NextTask::Visited(found)
                        }
                        // `finish` notifies the threads that wait for a job.
                        work => self.lock().add(work, walk),
                    });
                }
                (TaskOutcome::Folder { expanded: Ok((turns, seen, complete)), is_start }, size)
            }
        }
    }

    fn visit(&self, nodes: Vec<Node>, hop: Hop, state: &mut V::State) -> V::Output {
        let walk = self.walk;
        let folder = nodes[0].name.parent().unwrap_or(Path::new("")).to_owned();
        let run = EntryRun { nodes, folder, hop, root: walk.root, stop: walk.stop, is_over: &self.is_over };
        self.visitor.visit(state, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use toolfence_kit::Random;

    #[test]
    fn a_missing_first_folder_is_an_error_and_a_missing_subfolder_is_counted() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir_all(home.path().join("a/b")).expect("a folder can be made");
        let root = Root::open(home.path(), Default::default(), None).expect("it is there");
        let start = root.open_folder("a").expect("it is there");
        let stop = Stop::default();
        let mut names = Vec::new();
        let report = Walk::new(&root, Order::Breadth, &stop).from(&start).each(|node| {
            names.push(node.name);
            fs::remove_dir_all(home.path().join("a/b")).expect("it can be removed");
            ControlFlow::Continue(())
        });
        assert_eq!(names, [Path::new("a/b")]);
        assert_eq!(report.check_start("a").map(|report| (report.complete, report.unreadable)), Ok((true, 1)));
        fs::remove_dir_all(home.path().join("a")).expect("it can be removed");
        let gone = Walk::new(&root, Order::Breadth, &stop).from(&start).each(|_| panic!("nothing is there"));
        let failure = gone.check_start("a").expect_err("it is gone");
        assert_eq!(failure.code, toolfence_protocol::ErrorCode::NotFound, "{}", failure.message);
    }

    /// Returns the visited names.
    struct Names;

    impl Visitor for Names {
        type State = usize;
        type Output = Vec<PathBuf>;

        fn state(&self) -> usize {
            0
        }

        fn visit(&self, visits: &mut usize, run: EntryRun<'_>) -> Vec<PathBuf> {
            *visits += 1;
            assert!(run.folder().is_ok());
            run.nodes.into_iter().map(|node| node.name).collect()
        }

        // Some outcomes are large, so that the threads must wait for one another.
        fn size(found: &Vec<PathBuf>) -> usize {
            if found.len().is_multiple_of(3) { MOST_AHEAD / 2 } else { 1 }
        }
    }

    /// Creates a random tree with deep, wide and empty folders, and links.
    fn make_tree(random: &mut Random, at: &Path, levels: usize) {
        for number in 0..random.below(if levels == 0 { 3 } else { 9 }) {
            let name = at.join(format!("{}{number}", ["a", "b-", "B", "é", "."][random.below(5)]));
            match random.below(6) {
                0 => symlink("..", &name).expect("a link can be made"),
                1 | 2 if levels > 0 => {
                    fs::create_dir(&name).expect("a folder can be made");
                    make_tree(random, &name, levels - 1);
                }
                3 if levels > 0 => {
                    let deep = name.join("d/".repeat(random.below(70)));
                    fs::create_dir_all(&deep).expect("a folder can be made");
                    fs::write(deep.join("end"), "").expect("a file can be written");
                }
                4 if levels > 0 => {
                    fs::create_dir(&name).expect("a folder can be made");
                    (0..random.below(200)).for_each(|n| fs::write(name.join(n.to_string()), "").expect("a file"));
                }
                _ => fs::write(&name, "").expect("a file can be written"),
            }
        }
    }

    #[test]
    fn any_number_of_threads_gives_the_same_order() {
        for seed in 0..6 {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            let mut random = Random::new(seed);
            make_tree(&mut random, home.path(), 3);
            let root = Root::open(home.path(), Default::default(), None).expect("it is there");
            let stop = Stop::default();
            for order in [Order::Depth, Order::Breadth] {
                let walk = |threads| Walk::new(&root, order, &stop).hidden(true).ignoring(true).threads(Some(threads));
                let mut alone = Vec::new();
                let report = walk(1).each(|node| {
                    alone.push(node.name);
                    ControlFlow::Continue(())
                });
                let mut sorted = alone.clone();
                match order {
                    Order::Depth => sorted.sort(),
                    Order::Breadth => sorted.sort_by_key(|name| (name.components().count(), name.clone())),
                }
                assert_eq!(alone, sorted, "{seed} {order:?}");
                for threads in [1, 2, 3, 7] {
                    let mut names = Vec::new();
                    let all = walk(threads).visit(&Names, |found| {
                        names.extend(found);
                        ControlFlow::Continue(())
                    });
                    assert_eq!((&names, all), (&alone, report), "{seed} {order:?} {threads}");
                    let enough = random.below(alone.len() + 1);
                    names.clear();
                    walk(threads).visit(&Names, |found| {
                        names.extend(found);
                        if names.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    });
                    assert!(names.len() >= enough && alone.starts_with(&names), "{seed} {order:?} {threads}");
                }
            }
        }
    }

    #[test]
    fn a_panic_in_a_visit_ends_the_walk() {
        struct Panics;
        impl Visitor for Panics {
            type State = ();
            type Output = ();
            fn state(&self) {}
            fn visit(&self, (): &mut (), run: EntryRun<'_>) {
                assert!(!run.nodes.iter().any(|node| node.name.ends_with("7")), "this entry is not visited");
            }
            fn size((): &()) -> usize {
                1
            }
        }
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        (0..40).for_each(|n| fs::create_dir(home.path().join(n.to_string())).expect("a folder can be made"));
        let root = Root::open(home.path(), Default::default(), None).expect("it is there");
        for threads in [1, 2, 5] {
            let stop = Stop::default();
            let walk = Walk::new(&root, Order::Depth, &stop).threads(Some(threads));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                walk.visit(&Panics, |()| ControlFlow::Continue(()))
            }));
            assert!(ended.is_err(), "{threads}");
        }
    }
}
