//! Finds personas by name: those of the user, the built-in ones, and those of the project.
//!
//! The user's personas come first, so that users can replace `coder`; the project's come last and therefore never
//! replace one that the user knows. A persona in a language other than English is `NAME.LANG.md` next to `NAME.md`.

use crate::config::places::{self, Places, has_link};
use crate::failure::Failure;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Language, Text, text};
use toolfence_session::persona::Persona;

/// A built-in persona: its name, and its text in English and Portuguese.
struct BuiltIn {
    name: &'static str,
    english: &'static str,
    portuguese: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            english: include_str!(concat!("../../../personas/", $name, ".md")),
            portuguese: include_str!(concat!("../../../personas/", $name, ".pt.md")),
        }
    };
}

const BUILT_IN: &[BuiltIn] = &[built_in!("coder"), built_in!("explainer"), built_in!("reviewer"), built_in!("small")];

/// The file name extension of a persona.
const ENDING: &str = ".md";

/// The languages that can appear in a file name.
const LANGUAGES: &[(Language, &str)] = &[(Language::English, "en"), (Language::Portuguese, "pt")];

/// The origin of a persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    BuiltIn,
    Own,
    Project,
    /// A file that the user named.
    File,
}

impl Origin {
    /// Returns the origin as a word for JSON output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Origin::BuiltIn => "built_in",
            Origin::Own => "own",
            Origin::Project => "project",
            Origin::File => "file",
        }
    }

    /// Describes the origin to the user.
    pub(crate) fn label(self) -> Text {
        match self {
            Origin::BuiltIn => text!("built in"),
            Origin::Own => text!("yours"),
            Origin::Project => text!("the project's"),
            Origin::File => text!("a file"),
        }
    }
}

/// A persona that was found.
#[derive(Debug)]
pub(crate) struct FoundPersona {
    pub(crate) persona: Persona,
    pub(crate) place: Origin,
    /// The file; `None` for a built-in persona.
    pub(crate) file: Option<PathBuf>,
    /// The unparsed text of the persona.
    pub(crate) source: String,
}

/// The folders that are searched for personas.
#[derive(Debug)]
pub(crate) struct Folders {
    own: Option<PathBuf>,
    project: PathBuf,
    /// The root of the project. Links on the way from it to its personas are refused.
    root: PathBuf,
}

impl Folders {
    pub(crate) fn new(places: &Places) -> Folders {
        let own = places.user.as_deref().and_then(Path::parent).map(|folder| folder.join("personas"));
        let root = places.root().to_owned();
        Folders { own, project: root.join(".toolfence/personas"), root }
    }

    /// Returns the folder of the user's personas; `None` without a home folder.
    pub(crate) fn user_folder(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Returns the folder of the project's personas.
    ///
    /// # Errors
    /// A symbolic link on the path to it could lead outside of the project.
    pub(crate) fn project(&self) -> Result<&Path, Failure> {
        if has_link(&self.root, &self.project) {
            return Err(places::cannot_read(&self.project, text!("it is a link; put the file itself there")));
        }
        Ok(&self.project)
    }

    /// Returns the persona of this name in this language, or otherwise in English or any other; `None` without one.
    pub(crate) fn find(&self, name: &str, language: Language) -> Result<Option<FoundPersona>, Failure> {
        if !is_name(name) {
            return Ok(None);
        }
        if let Some(folder) = &self.own
            && let Some(found) = in_folder(folder, name, language, Origin::Own)?
        {
            return Ok(Some(found));
        }
        if let Some(built_in) = BUILT_IN.iter().find(|built_in| built_in.name == name) {
            return built_in.load(language).map(Some);
        }
        match self.project() {
            Ok(folder) => in_folder(folder, name, language, Origin::Project),
            Err(_) => Ok(None),
        }
    }

    /// Returns the names of all personas in alphabetical order.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = BUILT_IN.iter().map(|built_in| built_in.name.to_owned()).collect();
        for folder in self.user_folder().into_iter().chain(self.project().ok()) {
            // A folder that does not exist has no personas.
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_FILES);
            let files = entries.filter_map(|entry| entry.file_name().into_string().ok());
            names.extend(files.filter_map(|file| Some(stem(&file)?.0.to_owned())));
        }
        names
    }

    /// Returns the languages in which this place has the persona.
    pub(crate) fn languages(&self, name: &str, place: Origin) -> Vec<&'static str> {
        let folder = match place {
            Origin::BuiltIn => return LANGUAGES.iter().map(|(_, ending)| *ending).collect(),
            Origin::Own => self.own.as_deref(),
            Origin::Project => Some(self.project.as_path()),
            Origin::File => None,
        };
        let Some(folder) = folder else { return Vec::new() };
        let is_there = |(_, ending): &&(Language, &str)| folder.join(format!("{name}.{ending}{ENDING}")).is_file();
        let mut languages: Vec<&str> = LANGUAGES.iter().filter(is_there).map(|(_, ending)| *ending).collect();
        if !languages.contains(&"en") && folder.join(format!("{name}{ENDING}")).is_file() {
            languages.insert(0, "en");
        }
        languages
    }
}

/// Maximum number of directory entries that are examined.
const MOST_FILES: usize = 1000;

/// Returns `true` if a text can be the name of a persona. Any other text is the path of a file.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
}

/// Parses the file name of a persona into its name and language.
pub(crate) fn stem(file: &str) -> Option<(&str, Option<Language>)> {
    let stem = file.strip_suffix(ENDING)?;
    let (name, language) = match stem.rsplit_once('.') {
        None => (stem, None),
        Some((name, ending)) => (name, Some(LANGUAGES.iter().find(|(_, known)| *known == ending)?.0)),
    };
    is_name(name).then_some((name, language))
}

impl BuiltIn {
    fn load(&self, language: Language) -> Result<FoundPersona, Failure> {
        let source = if language == Language::Portuguese { self.portuguese } else { self.english };
        let persona = Persona::parse(source).map_err(Failure::broken)?;
        Ok(FoundPersona { persona, place: Origin::BuiltIn, file: None, source: source.to_owned() })
    }
}

/// Returns the default persona, which needs no file and is used in the demo.
pub(crate) fn default(language: Language) -> Result<Persona, Failure> {
    let coder = BUILT_IN.iter().find(|built_in| built_in.name == "coder");
    let found = coder.ok_or_else(|| Failure::broken(text!("no persona")))?.load(language)?;
    Ok(found.persona)
}

fn in_folder(folder: &Path, name: &str, language: Language, place: Origin) -> Result<Option<FoundPersona>, Failure> {
    let ending = LANGUAGES.iter().find(|(known, _)| *known == language).map_or("en", |(_, ending)| *ending);
    // A persona in another language is better than none.
    let others = LANGUAGES.iter().map(|(_, ending)| format!("{name}.{ending}{ENDING}"));
    for file in [format!("{name}.{ending}{ENDING}"), format!("{name}{ENDING}")].into_iter().chain(others) {
        let file = folder.join(file);
        if let Some(found) = read(&file, place)? {
            if found.persona.name != name {
                let file = file.display().to_string();
                return Err(Failure::wrong_use(text!(
                    "{file} contains the persona {name}: rename the file, or change the name in its head",
                    file,
                    name = &found.persona.name
                )));
            }
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Reads a persona from a file; `None` if the file does not exist.
pub(crate) fn read(file: &Path, place: Origin) -> Result<Option<FoundPersona>, Failure> {
    let source = match place {
        Origin::Project => places::read_of_project(file)?,
        _ => places::read_own(file)?,
    };
    let Some(source) = source else { return Ok(None) };
    let wrong =
        |error: Text| Failure::wrong_use(text!("{place}: {what}", place = file.display().to_string(), what = error));
    let persona = Persona::parse(&source).map_err(|error| wrong(error.text()))?;
    Ok(Some(FoundPersona { persona, place, file: Some(file.to_owned()), source }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::toolset::builtin;

    #[test]
    fn the_personas_are_whole() {
        for built_in in BUILT_IN {
            let [english, portuguese] = [Language::English, Language::Portuguese].map(|language| {
                let found = built_in.load(language).unwrap_or_else(|_| panic!("{} cannot be read", built_in.name));
                assert_eq!(found.persona.name, built_in.name);
                found.persona
            });
            assert_eq!((&english.tools, &english.policy), (&portuguese.tools, &portuguese.policy), "{}", built_in.name);
            assert_ne!(english.text, portuguese.text);
            let tools = english.tools;
            assert!(tools.iter().flatten().all(|tool| builtin(tool).is_some()), "{tools:?}");
        }
    }

    #[test]
    fn a_file_says_the_name_and_the_language() {
        for (file, want) in [
            ("tester.md", Some(("tester", None))),
            ("tester.pt.md", Some(("tester", Some(Language::Portuguese)))),
            ("a-b_1.en.md", Some(("a-b_1", Some(Language::English)))),
            ("tester.fr.md", None),
            ("tester.txt", None),
            (".md", None),
            (".pt.md", None),
            ("a b.md", None),
        ] {
            assert_eq!(stem(file), want, "{file}");
        }
    }
}
