//! Keys of git's configuration that make git run nothing.

/// Whether a person may set this key without a warning.
pub(crate) fn is_harmless(key: &str, _value: Option<&str>) -> bool {
    key.starts_with("user.") || matches!(key, "init.defaultbranch" | "pull.rebase" | "core.autocrlf")
}

/// Whether `git init` or `git clone` writes this key with such a value.
pub(crate) fn is_as_cloned(key: &str, value: Option<&str>) -> bool {
    let value = value.unwrap_or_default();
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit('.').next().unwrap_or(rest);
    match section {
        "core" => matches!(
            name,
            "repositoryformatversion"
                | "filemode"
                | "bare"
                | "logallrefupdates"
                | "ignorecase"
                | "precomposeunicode"
                | "symlinks"
        ),
        "remote" => match name {
            "url" => !value.contains("::"),
            "fetch" => true,
            _ => false,
        },
        "branch" => matches!(name, "remote" | "merge"),
        "submodule" => matches!(name, "url" | "active"),
        "extensions" => matches!(name, "objectformat" | "refstorage"),
        _ => false,
    }
}
