//! Lists the harmless keys of git's configuration: git runs no program for them, reads no further configuration, and
//! connects to no unusual address.
//!
//! [`is_harmless`] and [`is_as_cloned`] look up the key in a list and check the value. A key that is not listed does
//! not count as harmless, whatever it does. Keys have the form that `git config --list -z` prints: section and name in
//! lower case, the subsection between them unchanged. A value of `None` is a key without `=`, which git treats as
//! `true`.

use toolfence_protocol::{Text, text};

/// The allowed values of a listed key.
#[derive(Clone, Copy)]
enum ValueRule {
    /// One line of text, which git only stores or displays.
    Text,
    /// `true`, `false` and their other spellings.
    Bool,
    /// A plain word: letters, digits and `-_.,=:+%`, as in sizes, dates and the names of styles.
    Plain,
    /// One of these words.
    OneOf(&'static str),
    /// The name of a remote, or `.`, but not a text that git would treat as an address or a path.
    Remote,
    /// A ref or a refspec.
    Refspec,
    /// An address that git reaches by http, https, ssh or its own protocol.
    Url,
    /// The address of a submodule, which may also be relative to that of the repository.
    SubmoduleUrl,
    /// An address as `git clone` stores it, which may also be a folder of this machine.
    ClonedUrl,
    /// A path upwards, as `git submodule` writes it: from the submodule's git directory to its files.
    WayUp,
}

/// A key with `*` for any subsection, or `section.*` for every key of a section without subsections.
type Row = (&'static str, ValueRule);

/// Keys that `git config` may set as an ordinary write of the repository.
const HARMLESS: &[Row] = &[
    ("user.name", ValueRule::Text),
    ("user.email", ValueRule::Text),
    ("user.signingkey", ValueRule::Plain),
    ("user.useconfigonly", ValueRule::Bool),
    ("author.name", ValueRule::Text),
    ("author.email", ValueRule::Text),
    ("committer.name", ValueRule::Text),
    ("committer.email", ValueRule::Text),
    ("init.defaultbranch", ValueRule::Refspec),
    ("pull.rebase", ValueRule::OneOf("true false merges")),
    ("pull.ff", ValueRule::OneOf("true false only")),
    ("push.default", ValueRule::OneOf("nothing current upstream tracking simple matching")),
    ("push.autosetupremote", ValueRule::Bool),
    ("push.followtags", ValueRule::Bool),
    ("fetch.prune", ValueRule::Bool),
    ("fetch.prunetags", ValueRule::Bool),
    ("fetch.parallel", ValueRule::Plain),
    ("fetch.writecommitgraph", ValueRule::Bool),
    ("merge.conflictstyle", ValueRule::OneOf("merge diff3 zdiff3")),
    ("merge.ff", ValueRule::OneOf("true false only")),
    ("merge.renames", ValueRule::Plain),
    ("merge.log", ValueRule::Plain),
    ("merge.stat", ValueRule::Plain),
    ("merge.autostash", ValueRule::Bool),
    ("diff.algorithm", ValueRule::OneOf("default myers minimal patience histogram")),
    ("diff.renames", ValueRule::Plain),
    ("diff.renamelimit", ValueRule::Plain),
    ("diff.mnemonicprefix", ValueRule::Bool),
    ("diff.noprefix", ValueRule::Bool),
    ("diff.colormoved", ValueRule::Plain),
    ("diff.context", ValueRule::Plain),
    ("diff.interhunkcontext", ValueRule::Plain),
    ("diff.submodule", ValueRule::OneOf("short log diff")),
    ("rebase.autostash", ValueRule::Bool),
    ("rebase.autosquash", ValueRule::Bool),
    ("rebase.updaterefs", ValueRule::Bool),
    ("rebase.stat", ValueRule::Bool),
    ("rerere.enabled", ValueRule::Bool),
    ("rerere.autoupdate", ValueRule::Bool),
    ("commit.verbose", ValueRule::Plain),
    ("commit.status", ValueRule::Bool),
    ("commit.cleanup", ValueRule::OneOf("strip whitespace verbatim scissors default")),
    ("color.*", ValueRule::Text),
    ("color.*.*", ValueRule::Text),
    ("column.*", ValueRule::Text),
    ("advice.*", ValueRule::Bool),
    ("status.short", ValueRule::Bool),
    ("status.branch", ValueRule::Bool),
    ("status.showuntrackedfiles", ValueRule::OneOf("no normal all true false")),
    ("log.date", ValueRule::Text),
    ("log.decorate", ValueRule::Plain),
    ("log.abbrevcommit", ValueRule::Bool),
    ("log.follow", ValueRule::Bool),
    ("grep.linenumber", ValueRule::Bool),
    ("grep.patterntype", ValueRule::Plain),
    ("i18n.commitencoding", ValueRule::Plain),
    ("i18n.logoutputencoding", ValueRule::Plain),
    ("apply.whitespace", ValueRule::Plain),
    ("tag.sort", ValueRule::Plain),
    ("branch.sort", ValueRule::Plain),
    ("branch.autosetupmerge", ValueRule::OneOf("true false always inherit simple")),
    ("branch.autosetuprebase", ValueRule::OneOf("never local remote always")),
    ("gc.auto", ValueRule::Plain),
    ("gc.autodetach", ValueRule::Bool),
    ("index.version", ValueRule::Plain),
    ("index.sparse", ValueRule::Bool),
    ("core.autocrlf", ValueRule::OneOf("true false input")),
    ("core.eol", ValueRule::OneOf("lf crlf native")),
    ("core.safecrlf", ValueRule::OneOf("true false warn")),
    ("core.quotepath", ValueRule::Bool),
    ("core.abbrev", ValueRule::Plain),
    ("core.whitespace", ValueRule::Text),
    ("core.compression", ValueRule::Plain),
    ("core.bigfilethreshold", ValueRule::Plain),
    ("core.preloadindex", ValueRule::Bool),
    ("core.untrackedcache", ValueRule::OneOf("true false keep")),
    ("core.trustctime", ValueRule::Bool),
    ("core.checkstat", ValueRule::OneOf("default minimal")),
    ("core.sparsecheckout", ValueRule::Bool),
    ("core.sparsecheckoutcone", ValueRule::Bool),
    // `git sparse-checkout` sets it. The file that git then reads is in the repository and is checked by the same list.
    ("extensions.worktreeconfig", ValueRule::Bool),
    ("branch.*.rebase", ValueRule::OneOf("true false merges")),
    ("branch.*.pushremote", ValueRule::Remote),
    ("branch.*.description", ValueRule::Text),
    ("remote.pushdefault", ValueRule::Remote),
    ("checkout.defaultremote", ValueRule::Remote),
    ("remote.*.pushurl", ValueRule::Url),
    ("remote.*.push", ValueRule::Refspec),
    ("remote.*.prune", ValueRule::Bool),
    ("remote.*.prunetags", ValueRule::Bool),
    ("remote.*.mirror", ValueRule::Bool),
    ("submodule.recurse", ValueRule::Bool),
    ("submodule.*.path", ValueRule::Text),
    ("submodule.*.branch", ValueRule::Refspec),
    ("submodule.*.shallow", ValueRule::Bool),
    ("submodule.*.ignore", ValueRule::OneOf("all dirty untracked none")),
    ("submodule.*.fetchrecursesubmodules", ValueRule::OneOf("true false on-demand")),
    // The value `!command` is not among these, because git would run it.
    ("submodule.*.update", ValueRule::OneOf("checkout rebase merge none")),
];

/// Keys that git writes into the configuration of a repository that it creates or changes, and that `git config` may
/// set too.
const BOTH: &[Row] = &[
    ("core.filemode", ValueRule::Bool),
    ("core.ignorecase", ValueRule::Bool),
    ("core.precomposeunicode", ValueRule::Bool),
    ("core.symlinks", ValueRule::Bool),
    ("core.logallrefupdates", ValueRule::OneOf("true false always")),
    ("remote.*.fetch", ValueRule::Refspec),
    ("remote.*.tagopt", ValueRule::OneOf("--tags --no-tags")),
    ("branch.*.remote", ValueRule::Remote),
    ("branch.*.merge", ValueRule::Refspec),
    ("submodule.active", ValueRule::Text),
    ("submodule.*.active", ValueRule::Bool),
];

/// Further keys that `git init`, `git clone`, `git worktree add` and `git submodule add` write.
const AS_CLONED: &[Row] = &[
    ("core.repositoryformatversion", ValueRule::OneOf("0 1")),
    ("core.bare", ValueRule::Bool),
    ("core.worktree", ValueRule::WayUp),
    ("core.sparsecheckout", ValueRule::Bool),
    ("core.sparsecheckoutcone", ValueRule::Bool),
    ("index.sparse", ValueRule::Bool),
    ("extensions.objectformat", ValueRule::OneOf("sha1 sha256")),
    ("extensions.refstorage", ValueRule::OneOf("files reftable")),
    ("extensions.worktreeconfig", ValueRule::Bool),
    ("extensions.relativeworktrees", ValueRule::Bool),
    ("extensions.partialclone", ValueRule::Remote),
    ("remote.*.url", ValueRule::ClonedUrl),
    ("remote.*.promisor", ValueRule::Bool),
    ("remote.*.partialclonefilter", ValueRule::Plain),
    ("remote.*.mirror", ValueRule::Bool),
    ("branch.*.rebase", ValueRule::OneOf("true false")),
    ("submodule.*.url", ValueRule::ClonedUrl),
    ("submodule.*.update", ValueRule::OneOf("checkout rebase merge none")),
    ("submodule.recurse", ValueRule::Bool),
];

/// Keys that `git config` may set as an ordinary write, and for which [`AS_CLONED`] allows more values.
const REMOTE: &[Row] = &[("remote.*.url", ValueRule::Url), ("submodule.*.url", ValueRule::SubmoduleUrl)];

/// Returns whether `git config` may set this key to this value without a further warning, once the user has allowed git
/// to write to the repository. With such a value, git runs no program, reads no other configuration, and connects to
/// servers only by http, https, ssh or its own protocol.
///
/// [`is_as_cloned`] is the check for keys that git writes into new repositories by itself.
pub fn is_harmless(key: &str, value: Option<&str>) -> bool {
    [HARMLESS, BOTH, REMOTE].iter().any(|rows| is_allowed(rows, key, value))
}

/// Returns whether this value of the key is one that `git init`, `git clone`, `git worktree add` or `git submodule add`
/// writes.
pub fn is_as_cloned(key: &str, value: Option<&str>) -> bool {
    [BOTH, AS_CLONED].iter().any(|rows| is_allowed(rows, key, value))
}

/// Returns whether removing the key from the configuration is an ordinary write, because it is harmless with some
/// value.
pub fn is_listed(key: &str) -> bool {
    [HARMLESS, BOTH, REMOTE].into_iter().flatten().any(|(pattern, _)| matches_key(pattern, key))
}

/// Returns the key as `git config --list -z` prints it; `None` if git would not accept it as a key.
pub fn normal(key: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (subsection, name) = rest.rsplit_once('.').map_or((None, rest), |(subsection, name)| (Some(subsection), name));
    // Section and name are case-insensitive, the subsection is not: git-config(1), "Syntax".
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !text.is_empty();
    if !plain(section) || !plain(name) || subsection.is_some_and(|text| text.contains(char::is_control)) {
        return None;
    }
    let (section, name) = (section.to_ascii_lowercase(), name.to_ascii_lowercase());
    Some(subsection.map_or_else(|| format!("{section}.{name}"), |subsection| format!("{section}.{subsection}.{name}")))
}

/// Describes the effect of a key that is not harmless, as the end of a sentence that begins with the key.
pub fn danger(key: &str) -> Text {
    type Danger = (&'static str, fn() -> Text);
    const DANGERS: &[Danger] = &[
        ("core.fsmonitor", || text!("makes git run a program at every `git status`")),
        ("core.hookspath", || text!("makes git run the programs of a folder at commits, checkouts, merges and pushes")),
        ("core.editor", || text!("makes git run a program wherever a message is written")),
        ("sequence.editor", || text!("makes git run a program at every interactive rebase")),
        ("core.pager", || text!("makes git run a program for its output")),
        ("pager.*", || text!("makes git run a program for the output of a command")),
        ("core.sshcommand", || text!("makes git run a program at every fetch and push")),
        ("core.gitproxy", || text!("makes git run a program at every fetch")),
        ("core.askpass", || text!("makes git run a program that is given passwords")),
        ("core.alternaterefscommand", || text!("makes git run a program at fetches")),
        ("credential.*", || text!("makes git run a program that is given passwords, or changes who gets them")),
        ("alias.*", || text!("makes a git command of its own, which may run any program")),
        ("filter.*", || text!("makes git run a program on files at every add and checkout")),
        ("diff.external", || text!("makes git run a program at every `git diff`")),
        ("diff.*.command", || text!("makes git run a program at every `git diff`")),
        ("diff.*.textconv", || text!("makes git run a program at every `git diff`, `git show` and `git log -p`")),
        ("difftool.*", || text!("makes git run a program")),
        ("mergetool.*", || text!("makes git run a program")),
        ("merge.*.driver", || text!("makes git run a program at every merge")),
        ("gpg.*", || text!("makes git run a program where signatures are made or verified")),
        ("commit.gpgsign", || text!("makes git run a program at every commit")),
        ("tag.gpgsign", || text!("makes git run a program at every tag")),
        ("push.gpgsign", || text!("makes git run a program at every push")),
        ("log.showsignature", || text!("makes git run a program at every `git log`")),
        ("include.*", || text!("makes git read further configuration from another file")),
        ("includeif.*", || text!("makes git read further configuration from another file")),
        ("url.*", || text!("sends git to another address than the one a remote names")),
        ("http.*", || text!("changes how git reaches servers and what it sends them")),
        ("remote.*.uploadpack", || text!("makes git run a program at every fetch")),
        ("remote.*.receivepack", || text!("makes git run a program at every push")),
        ("remote.*.vcs", || text!("makes git run a program at every fetch and push")),
        ("remote.*.proxy", || text!("sends git through another server")),
        ("remote.*.url", odd_address_reads),
        ("remote.*.pushurl", || {
            text!("can make git run a program or write another folder, as this is no http, https, ssh or git address")
        }),
        ("submodule.*.url", odd_address_reads),
        ("submodule.*.update", || text!("can make `git submodule update` run a program")),
        ("branch.*.remote", || text!("can make git run a program at `git pull`, as this is no plain name of a remote")),
        ("branch.*.pushremote", || {
            text!("can make git run a program at `git push`, as this is no plain name of a remote")
        }),
        ("core.worktree", || text!("makes git take another folder for the files of the repository")),
        ("core.bare", || text!("changes which folder git takes for the files of the repository")),
        ("core.attributesfile", || text!("makes git read its rules for files from another file")),
        ("init.templatedir", || text!("makes git copy files, hooks among them, into new repositories")),
        ("safe.*", || text!("lets git use repositories of other users")),
        ("protocol.*", || text!("lets git use other transports, which may run programs")),
        ("uploadpack.*", || text!("can make git run a program when another repository fetches")),
        ("sendemail.*", || text!("can make git run a program")),
        ("trailer.*", || text!("can make git run a program at commits")),
        ("interactive.difffilter", || text!("makes git run a program at `git add -p`")),
        ("extensions.*", || text!("changes how git reads the repository")),
    ];
    let section = key.split('.').next().unwrap_or(key);
    // A row `section.*` describes keys with a subsection too: `gpg.*` covers `gpg.ssh.program`.
    let known = DANGERS.iter().find(|(pattern, _)| {
        matches_key(pattern, key)
            || pattern.strip_suffix(".*").is_some_and(|known| !known.contains('.') && known == section)
    });
    known.map_or_else(|| text!("is not one of the keys that are known to make git run nothing"), |(_, danger)| danger())
}

/// Returns whether git reaches the address by http, https, ssh or its own protocol, and nothing in it could be an
/// option of the program that does so.
pub fn is_network_url(url: &str) -> bool {
    const SCHEMES: &[&str] = &["http", "https", "ssh", "git", "git+ssh", "ssh+git"];
    if !url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'\\`".contains(&byte)) {
        return false;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let authority = rest.split('/').next().unwrap_or_default();
        // The host must not begin with `-`: ssh would read it as an option.
        return SCHEMES.contains(&scheme) && authority.split('@').all(is_host);
    }
    // `user@host:path`; `transport::address` would start the program of that transport.
    let Some((host, path)) = url.split_once(':') else { return false };
    // With a slash before the colon, git reads the text as a local path: git-clone(1), "Git URLs".
    !path.is_empty() && !path.starts_with([':', '-']) && !host.contains('/') && host.split('@').all(is_host)
}

/// Matches a user with or without a password, or a host with or without a port.
fn is_host(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:[]%+~".contains(&byte);
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') && text.bytes().all(plain)
}

/// Returns whether git accepts the word as the name of a remote, and does not treat it as an address or a path.
pub fn is_remote_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    text == "." || !text.is_empty() && !text.starts_with(['.', '-']) && text.bytes().all(plain)
}

/// Returns whether the text can be a ref or a refspec, and no option.
fn is_refspec(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "+:/*._-@^~#=,{}".contains(c);
    !text.is_empty() && !text.starts_with('-') && !text.contains("..") && text.chars().all(plain)
}

fn is_allowed(rows: &[Row], key: &str, value: Option<&str>) -> bool {
    rows.iter().any(|(pattern, rule)| matches_key(pattern, key) && rule.allows(value))
}

/// Returns whether the pattern of a row matches the key.
fn matches_key(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix(".*") {
        Some(section) if !section.contains('*') => {
            key.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')).is_some_and(|name| !name.contains('.'))
        }
        Some(section) => {
            let section = section.trim_end_matches(".*");
            key.strip_prefix(section).and_then(|rest| rest.strip_prefix('.')).is_some_and(|rest| rest.contains('.'))
        }
        None => match pattern.split_once(".*.") {
            Some((section, name)) => {
                let rest = key.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'));
                rest.and_then(|rest| rest.rsplit_once('.')).is_some_and(|(_, last)| last == name)
            }
            None => pattern == key,
        },
    }
}

impl ValueRule {
    fn allows(self, value: Option<&str>) -> bool {
        let Some(value) = value else { return matches!(self, ValueRule::Bool) };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,=:+%".contains(&byte);
        match self {
            ValueRule::Text => !value.contains(char::is_control),
            ValueRule::Bool => {
                matches!(
                    value.to_ascii_lowercase().as_str(),
                    "true" | "false" | "yes" | "no" | "on" | "off" | "1" | "0" | ""
                )
            }
            ValueRule::Plain => value.bytes().all(plain),
            ValueRule::OneOf(words) => words.split(' ').any(|word| word == value),
            ValueRule::Remote => is_remote_name(value),
            ValueRule::Refspec => is_refspec(value),
            ValueRule::Url => is_network_url(value),
            ValueRule::SubmoduleUrl => is_network_url(value) || is_relative(value),
            ValueRule::ClonedUrl => is_network_url(value) || is_relative(value) || is_local(value),
            ValueRule::WayUp => value.starts_with("../") && !value.contains(char::is_control),
        }
    }
}

/// Returns whether a URL is relative to the address of the repository: `../other.git`.
pub fn is_relative(url: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/+".contains(c);
    (url.starts_with("./") || url.starts_with("../")) && url.chars().all(plain)
}

/// Returns whether a URL is the absolute path of a folder on this machine.
fn is_local(url: &str) -> bool {
    let path = url.strip_prefix("file://").unwrap_or(url);
    path.starts_with('/') && !path.contains(char::is_control)
}

fn odd_address_reads() -> Text {
    text!("can make git run a program or read another folder, as this is no http, https, ssh or git address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_keys_with_harmless_values() {
        let harmless = [
            ("user.name", "A B"),
            ("user.email", "a@example.org"),
            ("pull.rebase", "true"),
            ("core.autocrlf", "input"),
            ("color.ui", "auto"),
            ("color.diff.meta", "yellow bold"),
            ("remote.origin.url", "https://example.org/a/b.git"),
            ("remote.origin.url", "git@example.org:a/b.git"),
            ("remote.origin.url", "ssh://git@example.org:2222/a"),
            ("remote.a.b.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.feature/x.y.remote", "origin"),
            ("branch.main.merge", "refs/heads/main"),
            ("branch.main.remote", "."),
            ("submodule.a/b.url", "../b.git"),
        ];
        for (key, value) in harmless {
            assert!(is_harmless(key, Some(value)), "{key} = {value}");
        }
        assert!(is_harmless("core.filemode", None));
        assert!(!is_harmless("user.name", None), "a text without a value is an error for git");
    }

    #[test]
    fn keys_that_run_programs_or_reach_elsewhere_are_not_harmless() {
        let dangerous = [
            ("core.fsmonitor", "true"),
            ("core.hookspath", "hooks"),
            ("core.editor", "x"),
            ("core.pager", "x"),
            ("core.sshcommand", "x"),
            ("core.worktree", "../x"),
            ("core.attributesfile", "x"),
            ("alias.st", "status"),
            ("alias.x", "!evil"),
            ("include.path", "x"),
            ("includeif.gitdir:/.path", "x"),
            ("filter.lfs.clean", "x"),
            ("diff.external", "x"),
            ("diff.x.textconv", "x"),
            ("diff.x.command", "x"),
            ("merge.x.driver", "x"),
            ("credential.helper", "x"),
            ("credential.https://x.helper", "x"),
            ("gpg.program", "x"),
            ("gpg.ssh.program", "x"),
            ("commit.gpgsign", "true"),
            ("http.proxy", "x"),
            ("url.ext::x.insteadof", "https://"),
            ("protocol.ext.allow", "always"),
            ("safe.directory", "*"),
            ("init.templatedir", "x"),
            ("sequence.editor", "x"),
            ("pager.log", "x"),
            ("remote.origin.uploadpack", "x"),
            ("remote.origin.receivepack", "x"),
            ("remote.origin.vcs", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.url", "ext::sh"),
            ("remote.origin.url", "/tmp/evil"),
            ("remote.origin.url", "./evil"),
            ("remote.origin.url", "evil"),
            ("remote.origin.url", "file:///tmp/evil"),
            ("remote.origin.url", "-oProxyCommand=x:y"),
            ("remote.origin.url", "ssh://-oProxyCommand=x/y"),
            ("remote.origin.url", "ssh://a@-oProxyCommand=x/y"),
            ("remote.origin.url", "a@-oProxyCommand=x:y"),
            ("remote.origin.url", "fd::17"),
            ("remote.origin.url", "https::https://x"),
            ("remote.origin.pushurl", "/tmp/evil"),
            ("branch.main.remote", "ext::sh -c x"),
            ("branch.main.remote", "./evil"),
            ("branch.main.remote", "/evil"),
            ("branch.main.rebase", "interactive"),
            ("pull.rebase", "interactive"),
            ("submodule.x.update", "!evil"),
            ("submodule.x.url", "ext::sh"),
            ("log.showsignature", "true"),
            ("trailer.x.command", "x"),
            ("interactive.difffilter", "x"),
            ("user.x.name", "x"),
            ("color", "x"),
            ("", ""),
            ("nosuch.key", "x"),
        ];
        for (key, value) in dangerous {
            assert!(!is_harmless(key, Some(value)), "{key} = {value}");
            assert!(danger(key).key().is_some(), "{key}");
        }
    }

    #[test]
    fn values_that_git_writes_are_as_cloned() {
        let written = [
            ("core.repositoryformatversion", "0"),
            ("core.filemode", "true"),
            ("core.bare", "false"),
            ("core.logallrefupdates", "true"),
            ("core.ignorecase", "true"),
            ("core.worktree", "../../../sub"),
            ("extensions.objectformat", "sha256"),
            ("extensions.partialclone", "origin"),
            ("remote.origin.url", "/srv/repo.git"),
            ("remote.origin.url", "file:///srv/repo.git"),
            ("remote.origin.url", "https://example.org/x"),
            ("remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main"),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", "blob:none"),
            ("branch.main.remote", "origin"),
            ("branch.main.merge", "refs/heads/main"),
            ("submodule.x.active", "true"),
            ("submodule.x.url", "https://example.org/x"),
        ];
        for (key, value) in written {
            assert!(is_as_cloned(key, Some(value)), "{key} = {value}");
        }
        for (key, value) in [
            ("core.fsmonitor", "false"),
            ("core.hookspath", ""),
            ("core.repositoryformatversion", "2"),
            ("core.worktree", "/home/me"),
            ("user.name", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.uploadpack", "x"),
            ("alias.x", "!evil"),
            ("include.path", "x"),
            ("submodule.x.update", "!evil"),
        ] {
            assert!(!is_as_cloned(key, Some(value)), "{key} = {value}");
        }
    }

    #[test]
    fn keys_are_brought_into_the_form_that_git_prints() {
        assert_eq!(normal("Core.FSMonitor").as_deref(), Some("core.fsmonitor"));
        assert_eq!(normal("Branch.Feature.X.Remote").as_deref(), Some("branch.Feature.X.remote"));
        for text in ["core", ".x", "a.", "a b.c", "a.b\n.c", "core.fs monitor", ""] {
            assert_eq!(normal(text), None, "{text:?}");
        }
    }

    #[test]
    fn every_row_names_a_key_and_no_danger_is_harmless_with_any_value() {
        for (pattern, _) in [HARMLESS, BOTH, REMOTE, AS_CLONED].into_iter().flatten() {
            let key = pattern.replace('*', "x");
            assert!(matches_key(pattern, &key) && normal(&key).as_deref() == Some(key.as_str()), "{pattern}");
        }
        assert!(danger("core.fsmonitor").to_string().contains("git status"));
        assert!(danger("filter.lfs.clean").to_string().contains("add and checkout"));
    }
}
