//! Folders beside the project that one program may read and write, because the person has named them.

use super::beside::{Looking, Unhidden};
use super::plan::{Name, Plan, Step};
use crate::project::{Identity, Project, identity_at};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, clip, text};

/// Bytes of the path of a folder that are told.
const SHOWN: usize = 500;

/// Files and folders beside the project, each at its own place, that a program in the sandbox may change. Blocked names in them, and
/// repositories of git, stay hidden.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    links: Vec<Step>,
    places: Vec<Name>,
    masks: Vec<Name>,
    /// The files and folders that are masked, and which file each of them is.
    hidden: HashMap<PathBuf, Option<Identity>>,
}

impl Shared {
    /// Those at these absolute paths, through links.
    ///
    /// # Errors
    /// One of them is not there, holds the home folder or the project, or is in the project: its masks would be left behind. Or what is
    /// blocked in it cannot all be hidden.
    pub fn of(paths: &[PathBuf], project: &dyn Project) -> Result<Shared, Text> {
        let hides = |shown: &Path, below: &Path, is_folder: bool| project.hides_beside(shown, below, is_folder);
        let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        let mut looking = Looking::begin();
        let mut shared = Shared::default();
        for path in paths {
            let named = path.display().to_string();
            let real = path
                .canonicalize()
                .map_err(|error| text!("{path} cannot be shared: {why}", path = &named, why = Text::from(&error)))?;
            let reveals = |inner: &Path| inner.starts_with(&real);
            // A link in the project could lead elsewhere the next time.
            let is_inside = real.starts_with(project.path()) || path.starts_with(project.path());
            if reveals(project.path()) || is_inside || home.as_deref().is_some_and(reveals) {
                return Err(text!(
                    "{path} cannot be shared: {why}",
                    path = &named,
                    why = text!("it is in the project, or holds the project or the home folder")
                ));
            }
            if real != *path {
                shared.links.push(Step::Link { at: path.as_path().into(), to: real.as_path().into() });
            }
            looking.over_shared(&real, &hides).map_err(|why| match why {
                Unhidden::TooLarge => text!(
                    "{path} cannot be shared: {why}",
                    path = &named,
                    why = text!(
                        "it holds too many files, or too many that are blocked, to hide these; name folders in it"
                    )
                ),
                Unhidden::Closed(folder, error) => {
                    let folder = clip::middle(&folder.display().to_string(), SHOWN).into_owned();
                    text!(
                        "{path} cannot be shared: {why}",
                        path = &named,
                        why = text!(
                            "blocked files in {folder} cannot be hidden: {why}",
                            folder,
                            why = Text::from(&error)
                        )
                    )
                }
            })?;
            shared.places.push(Name::from(real));
        }
        shared.masks = looking.masks;
        let is = |path: &Path| identity_at(rustix::fs::CWD, path).ok();
        shared.hidden = shared.masks.iter().map(|at| (at.path().to_owned(), is(at.path()))).collect();
        Ok(shared)
    }

    /// Whether a program that was started with these can see something that is blocked by now: `now` are the same paths, looked at
    /// again. A file that took the place of another is not masked.
    pub fn reveals(&self, now: &Shared) -> bool {
        now.hidden.iter().any(|(path, is)| match self.hidden.get(path) {
            Some(before) => before != is,
            None => !path.ancestors().any(|above| self.hidden.contains_key(above)),
        })
    }

    /// Whether this real path is one of them, or in one.
    pub(super) fn holds(&self, real: &Path) -> bool {
        self.places.iter().any(|at| real.starts_with(at.path()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Puts them into a plan, behind everything that is there already.
    pub(super) fn put_into(&self, plan: &mut Plan) {
        plan.steps.extend(self.places.iter().map(|at| Step::Share { at: at.clone() }));
        plan.steps.extend(self.links.iter().cloned());
        plan.masks.extend(self.masks.iter().cloned());
        plan.scratch.extend(self.places.iter().cloned());
    }
}
