//! Folders outside of the project that one program may read and write, because the user has named them.

use super::beside::{FolderWalk, HideError};
use super::plan::{Name, Plan, Step};
use crate::project::{Identity, Project, identity_at};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, clip, text};

/// The most bytes of a folder's path in a message.
const SHOWN: usize = 500;

/// Files and folders outside of the project, each at its own path, that a program in the sandbox may change. Blocked
/// names and git repositories in them stay hidden.
#[derive(Debug, Clone, Default)]
pub struct SharedPaths {
    links: Vec<Step>,
    places: Vec<Name>,
    masks: Vec<Name>,
    /// The masked files and folders with their identities.
    hidden: HashMap<PathBuf, Option<Identity>>,
}

impl SharedPaths {
    /// Returns the files and folders at these absolute paths. Follows links.
    ///
    /// # Errors
    /// A path does not exist, contains the home folder or the project, or is in the project, in which its masks would
    /// remain. Or the blocked files in it cannot all be hidden.
    pub fn open(paths: &[PathBuf], project: &dyn Project) -> Result<SharedPaths, Text> {
        let hides = |shown: &Path, below: &Path, is_folder: bool| project.hides_outside(shown, below, is_folder);
        let home = std::env::var_os("HOME").and_then(|home| Path::new(&home).canonicalize().ok());
        let mut walk = FolderWalk::begin();
        let mut shared = SharedPaths::default();
        for path in paths {
            let named = path.display().to_string();
            let real = path
                .canonicalize()
                .map_err(|error| text!("{path} cannot be shared: {why}", path = &named, why = Text::from(&error)))?;
            let reveals = |inner: &Path| inner.starts_with(&real);
            // The model can change a link in the project, which would lead to another target the next time.
            let is_inside = real.starts_with(project.path()) || path.starts_with(project.path());
            if reveals(project.path()) || is_inside || home.as_deref().is_some_and(reveals) {
                return Err(text!(
                    "{path} cannot be shared: {why}",
                    path = &named,
                    why = text!("it is in the project, or contains the project or the home folder")
                ));
            }
            if real != *path {
                shared.links.push(Step::Link { at: path.as_path().into(), to: real.as_path().into() });
            }
            walk.walk_shared(&real, &hides).map_err(|why| match why {
                HideError::TooLarge => text!(
                    "{path} cannot be shared: {why}",
                    path = &named,
                    why = text!(
                        "it contains too many files or blocked files, so these cannot be hidden; name folders in it"
                    )
                ),
                HideError::Closed(folder, error) => {
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
        shared.masks = walk.masks;
        let identity = |path: &Path| identity_at(rustix::fs::CWD, path).ok();
        shared.hidden = shared.masks.iter().map(|at| (at.path().to_owned(), identity(at.path()))).collect();
        Ok(shared)
    }

    /// Returns `true` if a program that was started with these paths can now see a blocked file. `now` has the same
    /// paths, walked again. A file that replaced a masked one has no mask.
    pub fn reveals(&self, now: &SharedPaths) -> bool {
        now.hidden.iter().any(|(path, identity)| match self.hidden.get(path) {
            Some(before) => before != identity,
            None => !path.ancestors().any(|above| self.hidden.contains_key(above)),
        })
    }

    /// Returns `true` if this real path is one of them, or is in one.
    pub(super) fn contains(&self, real: &Path) -> bool {
        self.places.iter().any(|at| real.starts_with(at.path()))
    }

    /// Returns `true` if there are no shared paths.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds the paths to a plan. Their steps follow the others, because a later mount covers an earlier one.
    pub(super) fn put_into(&self, plan: &mut Plan) {
        plan.steps.extend(self.places.iter().map(|at| Step::Share { at: at.clone() }));
        plan.steps.extend(self.links.iter().cloned());
        plan.masks.extend(self.masks.iter().cloned());
        plan.scratch.extend(self.places.iter().cloned());
    }
}
