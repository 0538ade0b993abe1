//! Determines the language from the environment if no setting names one.

use super::settings::Settings;
use super::value::{Layer, Origin};
use crate::choices::Lang;
use std::ffi::OsString;
use toolfence_protocol::Language;

/// The variables, the strongest first. The first one that is not empty applies, as POSIX defines it for messages.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Returns the language of the environment.
pub(crate) fn language() -> Language {
    match portuguese(|name| std::env::var_os(name)) {
        Some(_) => Language::Portuguese,
        None => Language::English,
    }
}

/// Returns the setting `lang` of the environment. It is unset for a language that the program does not support.
pub(super) fn settings() -> Settings {
    let mut settings = Settings::default();
    if let Some(variable) = portuguese(|name| std::env::var_os(name)) {
        settings.lang.add(Origin::new(Layer::Environment, variable), Some(Lang::Pt));
    }
    settings
}

/// Returns the variable that applies, if it names Portuguese: `pt`, `pt_BR.UTF-8`, `pt_PT@euro`.
fn portuguese(value: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
    let set = |name: &&str| value(name).filter(|value| !value.is_empty()).is_some();
    let name = VARIABLES.into_iter().find(set)?;
    let value = value(name)?.into_string().ok()?;
    let language = value.split(['_', '-', '.', '@']).next()?;
    language.eq_ignore_ascii_case("pt").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_counts() {
        for (set, wanted) in [
            (&[("LANG", "pt_BR.UTF-8")][..], Some("LANG")),
            (&[("LANG", "pt")], Some("LANG")),
            (&[("LANG", "PT-br")], Some("LANG")),
            (&[("LC_MESSAGES", "pt_PT@euro"), ("LANG", "en_US.UTF-8")], Some("LC_MESSAGES")),
            (&[("LC_ALL", ""), ("LANG", "pt_BR")], Some("LANG")),
            (&[("LC_ALL", "C"), ("LANG", "pt_BR")], None),
            (&[("LC_ALL", "en_US.UTF-8"), ("LC_MESSAGES", "pt")], None),
            (&[("LANG", "ptx")], None),
            (&[("LANG", "fr_FR")], None),
            (&[], None),
        ] {
            let value = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            assert_eq!(portuguese(value), wanted, "{set:?}");
        }
    }
}
