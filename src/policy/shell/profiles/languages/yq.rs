//! yq: like jq, with operators of its own that read files and the environment.

/// What reads something else than the input, or runs something.
const MORE: &[&str] = &[
    "env",
    "strenv",
    "envsubst",
    "ENV",
    "load",
    "load_str",
    "load_base64",
    "load_props",
    "load_xml",
    "import",
    "include",
    "eval",
    "system",
    "exec",
    "filename",
    "input_filename",
];

/// Whether the expression only reads its input. `yq eval EXPRESSION` has a name before it, which is a question of its own.
pub(in crate::policy::shell::profiles) fn only_reads(expression: &str) -> bool {
    super::words(expression).all(|word| !MORE.contains(&word))
}
