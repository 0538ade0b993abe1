//! Images that a person shows the model.

use crate::failure::Failure;
use crate::project::Project;
use crate::rules::Rules;
use std::path::{Path, PathBuf};
use toolfence_agent::agent::Agent;
use toolfence_protocol::{Image, Text, text};
use toolfence_workspace::Root;

/// The next message of the user shows the model these images, or none of them. A path is meant from the current folder.
///
/// # Errors
/// A file cannot be opened, its name is blocked, it is no image that can be sent, there are too many, or the backend takes none.
pub(crate) fn attach(project: &Project, rules: &Rules, agent: &mut Agent, paths: &[PathBuf]) -> Result<(), Failure> {
    // All are read before one counts.
    let images: Vec<Image> = paths.iter().map(|path| read(project, rules, path)).collect::<Result<_, _>>()?;
    agent.attach_images(images).map_err(Failure::wrong_use)
}

/// The image of a file. One in the project is opened as every file of it is. Beside it, where screenshots are, the person may name
/// any; names that are blocked in a project are blocked there too.
fn read(project: &Project, rules: &Rules, path: &Path) -> Result<Image, Failure> {
    let wrong = |why: Text| {
        Failure::wrong_use(text!("cannot read {path}: {error}", path = path.display().to_string(), error = why))
    };
    let absolute = std::path::absolute(path).map_err(|error| wrong(Text::from(&error)))?;
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(wrong(text!("there is no such file")));
    };
    let name = name.to_string_lossy();
    let root = project.workspace.root();
    let real = folder.canonicalize().map_err(|error| wrong(Text::from(&error)))?;
    let bytes = match real.strip_prefix(root.path()) {
        Ok(inside) => root.bytes(&inside.join(&*name).to_string_lossy(), Image::MOST_BYTES),
        Err(_) => {
            // Its root is its own folder, for a walk of more has no end; so the names above it are judged here.
            let rules = rules.policy.paths().outside_root();
            if let Some(rule) = rules.blocks(&real.join(&*name).to_string_lossy()) {
                return Err(wrong(text!(
                    "names like {rule} are blocked; `paths.allow` in the settings can lift that",
                    rule
                )));
            }
            let beside = Root::open(&real, rules, None).map_err(|error| wrong(error.text()))?;
            beside.bytes(&name, Image::MOST_BYTES)
        }
    };
    let bytes = bytes.map_err(|failure| wrong(failure.message))?;
    Image::new(&*name, &bytes).map_err(Failure::wrong_use)
}
