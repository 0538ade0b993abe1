//! jq: a filter reads its input, but for modules and the environment.

/// What reads something else than the input.
const MORE: &[&str] =
    &["env", "ENV", "import", "include", "modulemeta", "get_search_list", "input_filename", "halt_error"];

/// Whether the filter only reads its input. Words inside of strings count too.
pub(in crate::policy::shell::profiles) fn only_reads(filter: &str) -> bool {
    super::words(filter).all(|word| !MORE.contains(&word))
}
