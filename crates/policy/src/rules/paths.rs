//! Decides which names must never be read and which must never be written.
//!
//! This module looks only at text: it resolves no links and opens no files. Code that opens a file must check its real
//! name and every other spelling of it.

use super::{copies, credentials};
use crate::rules::globs::{UserGlob, matches_name, may_meet};
use toolfence_protocol::Result;

/// Names of secrets, matched at any depth and ignoring case. A name also blocks everything below it.
const BLOCKED: &[&str] = &[
    // Environment files, with the family of suffixes and editors' copies.
    ".env",
    ".env.*",
    ".env-*",
    ".env_*",
    ".env~",
    ".envrc",
    // Private keys and the stores that hold them.
    ".ssh",
    ".gnupg",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    // Files that contain only credentials.
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    ".vault_pass",
    ".vault_password",
    "rclone.conf",
    // Tokens of clouds.
    ".aws",
    ".azure",
    ".boto",
    ".config/gcloud",
    ".config/doctl",
    ".config/gh/hosts.yml",
    ".config/hub",
    ".kube/config",
    ".oci/config",
    ".s3cfg",
    // Tokens of registries and package managers.
    ".docker/config.json",
    ".dockercfg",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".composer/auth.json",
    ".nuget/nuget.config",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    "terraform.rc",
];

/// Keys and credentials, recognised by the form of their names. Installed packages contain such files for their own
/// tests, and public certificates: there they are not blocked.
const BLOCKED_OUTSIDE_PACKAGES: &[&str] = &[
    "*.pem",
    "*.key",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdb",
    "*.kdbx",
    "credentials.json",
    "client_secret*.json",
    "*service-account*.json",
    "*service_account*.json",
    "*serviceaccount*.json",
    "*firebase-adminsdk*.json",
    "gcp-key*.json",
    "gcp_key*.json",
    "google-cloud-key*.json",
    "application_default_credentials.json",
];

/// Names of secrets with common endings, which globs in commands often match by accident: see
/// [`PathRules::could_block`].
const BLOCKED_DATA: &[&str] = &[
    "*.env",
    "rootkey*.csv",
    "accesskeys*.csv",
    "*.tfvars",
    "*.tfvars.json",
    "terraform.tfstate*",
    // `htpasswd` is also a program, so the word alone may be no file.
    "htpasswd",
    "*.htpasswd",
];

/// Members of a blocked family that are meant to be shared.
const SHARED: &[&str] = &[".env*.example", ".env*.sample", ".env*.template", ".env*.dist"];

/// Names among [`BLOCKED_OUTSIDE_PACKAGES`] that are meant to be shared, and the certificates of authorities, which
/// every program reads.
const SHARED_OUTSIDE_PACKAGES: &[&str] = &[
    "cacert.pem",
    "ca-bundle*.pem",
    "ca-certificates*.pem",
    "*example*.json",
    "*sample*.json",
    "*template*.json",
    "*.schema.json",
];

/// Names among [`BLOCKED_DATA`] that are meant to be shared, and `go.env`, the defaults of a Go toolchain.
const SHARED_DATA: &[&str] = &[
    ".env*",
    "*example.env",
    "*sample.env",
    "*template.env",
    "*.dist.env",
    "go.env",
    "*example.tfvars",
    "*sample.tfvars",
];

/// Folders of installed packages, as nested names: the files of a package there come from a registry.
const PACKAGES: &[&[&str]] = &[
    &["site-packages"],
    &["dist-packages"],
    &["node_modules"],
    &["vendor", "bundle"],
    &["vendor", "gems"],
    &["pkg", "mod"],
    &["registry", "src"],
];

/// Names that tools may read but never write, because these files configure git and this crate itself.
const PROTECTED: &[&str] = &[".git", ".toolfence*", "toolfence.toml"];

/// The rule that blocks files not in the lists of [`PathRules::only`], named after the setting.
const ONLY: &str = "paths.only";

/// The rules about names of files: which are blocked and which are protected from writing.
///
/// Paths are relative to the root, with `/` between names. Denied globs take precedence over allowed globs, and these
/// over the built-in list.
///
/// ```
/// let rules = toolfence_policy::rules::PathRules::default();
/// assert_eq!(rules.blocks("deploy/.ENV.local"), Some(".env.*"));
/// assert_eq!(rules.blocks("deploy/.env.example"), None);
/// assert_eq!(rules.protects(".git/hooks/pre-commit"), Some(".git"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRules {
    blocked: NameTable,
    outside_packages: NameTable,
    data: NameTable,
    protected: NameTable,
    denied: Vec<UserGlob>,
    allowed: Vec<UserGlob>,
    /// Lists of globs. A file must match a glob of each list.
    only: Vec<Vec<UserGlob>>,
    /// Paths from the root that are protected only where they are, in lower case.
    guarded: Vec<String>,
}

impl Default for PathRules {
    fn default() -> PathRules {
        PathRules {
            blocked: NameTable::new(BLOCKED, SHARED),
            outside_packages: NameTable::new(BLOCKED_OUTSIDE_PACKAGES, SHARED_OUTSIDE_PACKAGES),
            data: NameTable::new(BLOCKED_DATA, SHARED_DATA),
            protected: NameTable::new(PROTECTED, &[]),
            denied: Vec::new(),
            allowed: Vec::new(),
            only: Vec::new(),
            guarded: Vec::new(),
        }
    }
}

impl PathRules {
    /// Combines the built-in list with the user's globs: `deny` blocks more, `allow` makes exceptions from the built-in
    /// list. A glob matches at any depth, ignores case, and includes everything below its matches.
    ///
    /// # Errors
    /// Fails if a glob is invalid, with the position of the mistake.
    pub fn new(allow: &[String], deny: &[String]) -> Result<PathRules> {
        let compile = |globs: &[String]| globs.iter().map(|glob| UserGlob::new(glob)).collect::<Result<Vec<_>>>();
        Ok(PathRules { denied: compile(deny)?, allowed: compile(allow)?, ..PathRules::default() })
    }

    /// Blocks every file that none of these globs matches; each further list narrows the set. The built-in list still
    /// applies, and folders are not blocked.
    ///
    /// ```
    /// let rules = toolfence_policy::rules::PathRules::default().only(&["src/**".into(), "*.toml".into()])?;
    /// assert_eq!((rules.blocks("src/a.rs"), rules.blocks("x/Cargo.toml")), (None, None));
    /// assert_eq!(rules.blocks("README.md"), Some("paths.only"));
    /// assert_eq!(rules.blocks("src/.env"), Some(".env"));
    /// # Ok::<(), toolfence_protocol::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a glob is invalid, with the position of the mistake.
    pub fn only(mut self, globs: &[String]) -> Result<PathRules> {
        self.only.push(globs.iter().map(|glob| UserGlob::new(glob)).collect::<Result<_>>()?);
        Ok(self)
    }

    /// Returns the rules for files outside the root, to which the lists of [`only`](PathRules::only) do not apply.
    #[must_use]
    pub fn outside_root(&self) -> PathRules {
        PathRules { only: Vec::new(), ..self.clone() }
    }

    /// Returns whether a list of [`only`](PathRules::only) has no glob that matches the path.
    pub fn leaves_out(&self, path: &str) -> bool {
        let is_root = matches!(path, "" | "." | "./");
        !is_root && self.only.iter().any(|list| !list.iter().any(|glob| glob.covers(path)))
    }

    /// Returns whether the user has no globs that block files.
    pub fn is_built_in(&self) -> bool {
        self.denied.is_empty()
    }

    /// Protects `path` and everything below it from writing, because it controls the host itself.
    pub fn guard(&mut self, path: &str) {
        self.guarded.push(path.trim_matches('/').to_lowercase());
    }

    /// Returns the pattern of the rule that blocks `path` from being read, written, listed or searched. Only the name
    /// is judged: a file `x.pem` may turn out to contain only certificates, and `token` may be a folder.
    ///
    /// It is cheap enough for every file of a walk: it allocates nothing if no user glob is set, the name is ASCII, and
    /// it contains no word for credentials.
    pub fn blocks(&self, path: &str) -> Option<&str> {
        self.judge(path).filter(|blocked| blocked.unless != Some(Harmless::Package)).map(|blocked| blocked.rule)
    }

    /// Returns the rule that blocks a name, and the condition that could still lift it. All other checks of blocked
    /// names call this one.
    #[doc(hidden)]
    pub fn judge(&self, path: &str) -> Option<Blocked<'_>> {
        match self.judge_outside_root(path) {
            Some(blocked) if blocked.unless.is_none() => Some(blocked),
            // Folders may contain a file of the list.
            _ if self.leaves_out(path) => Some(Blocked { rule: ONLY, unless: Some(Harmless::NoFile) }),
            blocked => blocked,
        }
    }

    /// Returns the judgement about a name outside the root.
    #[doc(hidden)]
    pub fn judge_outside_root(&self, path: &str) -> Option<Blocked<'_>> {
        if let Some(glob) = self.denied.iter().find(|glob| glob.covers(path)) {
            return Some(Blocked { rule: &glob.shown, unless: None });
        }
        if self.allowed.iter().any(|glob| glob.covers(path)) {
            return None;
        }
        // A copy has the contents of its original.
        self.built_in(path).or_else(|| copies::originals(path).iter().find_map(|original| self.built_in(original)))
    }

    fn built_in(&self, path: &str) -> Option<Blocked<'static>> {
        // These names are secrets in packages too, so this list is checked before the packages.
        if let Some(rule) = self.blocked.find(path) {
            return Some(Blocked { rule, unless: None });
        }
        let by_form = self.outside_packages.find(path).map(|rule| {
            // Only a file can be read as PEM. Below a folder `x.pem/`, no content shows that a file is harmless.
            let file = path.rsplit('/').next().is_some_and(|name| matches_name(b"*.pem", name.as_bytes()));
            Blocked { rule, unless: (rule == "*.pem" && file).then_some(Harmless::Certificates) }
        });
        // In many commands, `process.env` and `token` are words and not files.
        let last = last_name(path);
        let of_data = || self.data.find(last).or_else(|| credentials::find(path));
        let by_data = || Some(Blocked { rule: of_data()?, unless: Some(Harmless::NoFile) });
        let blocked = by_form.or_else(by_data)?;
        if is_in_package(path) {
            return Some(Blocked { unless: Some(Harmless::Package), ..blocked });
        }
        Some(blocked)
    }

    /// Returns the pattern of the rule that lets `path` be read but never written by a tool.
    pub fn protects(&self, path: &str) -> Option<&str> {
        self.protected.find(path).or_else(|| self.guards(path))
    }

    fn guards(&self, path: &str) -> Option<&str> {
        if self.guarded.is_empty() {
            return None;
        }
        // A file system may ignore case, so that another spelling is the same file.
        let path = path.to_lowercase();
        let below = |guarded: &&String| {
            path.strip_prefix(guarded.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.guarded.iter().find(below).map(String::as_str)
    }

    /// Returns every rule that could apply to a name matched by the shell pattern `component`, with the name in the
    /// rule that it could match: the built-in rules, and the settings' globs for hidden names. The pattern is one name
    /// of a path, in which `*` and `?` are active, even if quoted. There may be false matches.
    ///
    /// Names of data are not included, because then `*.csv` would always ask. Where blocked files are not masked, the
    /// user is asked anyway about a program that reads files not named by any word, whatever its glob is.
    pub fn could_block<'r>(&'r self, component: &str) -> impl Iterator<Item = (&'r str, &'r str)> {
        let built_in = self.blocked.could_match(component).chain(self.outside_packages.could_match(component));
        // Of the settings only globs for hidden names. The others could meet nearly every pattern: see `first_denied`.
        let hidden = |glob: &'r UserGlob| {
            let mut names = glob.shown.split('/').filter(|name| name.starts_with('.') && !matches!(*name, "." | ".."));
            names.next_back().map(|name| (glob.shown.as_str(), name))
        };
        let of_settings = self.denied.iter().filter_map(hidden);
        built_in.chain(of_settings.filter(move |(_, name)| could_expand_to(component, name)))
    }

    /// Returns the first rule of the settings that blocks. A shell pattern that matches no rule of
    /// [`PathRules::could_block`] could still match a name that this rule covers.
    pub fn first_denied(&self) -> Option<&str> {
        let listed = (!self.only.is_empty()).then_some(ONLY);
        self.denied.first().map(|glob| glob.shown.as_str()).or(listed)
    }
}

/// A name that the rules block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked<'a> {
    /// The rule that blocks it.
    pub rule: &'a str,
    /// The condition under which it is harmless after all. Code that can open files must check it; without a check the
    /// name stays blocked.
    pub unless: Option<Harmless>,
}

/// Why a file with the name of a secret contains none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harmless {
    /// It is PEM without a private key.
    Certificates,
    /// It is a folder; in a command, where any word could be meant as a name, it may also be missing.
    NoFile,
    /// It is in an installed package, and was never seen elsewhere.
    Package,
}

/// Returns whether a path is in an installed package. Files next to the packages come from no registry.
fn is_in_package(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
    let is_here = |at: usize, store: &[&str]| {
        let here = names.get(at..at + store.len()).unwrap_or(&[]);
        let same = here.len() == store.len() && here.iter().zip(store).all(|(a, b)| a.eq_ignore_ascii_case(b));
        // One name is the package, and one more is in it: `node_modules/server.key` comes from no registry.
        same && names.len() > at + store.len() + 1
    };
    // `node_modules/x/../../server.key` is outside of the package.
    !names.contains(&"..") && (0..names.len()).any(|at| PACKAGES.iter().any(|store| is_here(at, store)))
}

/// Built-in patterns, found by the first two bytes of a name, or by the last two if they begin with `*`.
///
/// If several patterns match a name, those without a leading `*` are reported first, and among them the first of the
/// list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NameTable {
    /// The patterns in the order in which they are reported.
    all: Vec<&'static str>,
    by_head: IndexedPatterns,
    by_tail: IndexedPatterns,
    except: &'static [&'static str],
}

/// Two bytes in lower case as a number, which is compared without a function call.
type Ends = u16;

/// Patterns by two of their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexedPatterns {
    /// The patterns sorted by key; those with the same key stay in the order of the list.
    patterns: Vec<(Ends, &'static str)>,
    /// A hashed bit for each key. Nearly all names have none of the keys, and this rules most of them out at once.
    filter: [u64; 16],
}

impl IndexedPatterns {
    fn new(patterns: &[&'static str], ends: fn(&str) -> Option<Ends>) -> IndexedPatterns {
        let mut keyed = IndexedPatterns { patterns: Vec::new(), filter: [0; 16] };
        keyed.patterns.extend(patterns.iter().filter_map(|&pattern| Some((ends(pattern)?, pattern))));
        keyed.patterns.sort_by_key(|&(key, _)| key);
        for (key, _) in &keyed.patterns {
            let (word, bit) = filter_place(*key);
            keyed.filter[word] |= bit;
        }
        keyed
    }

    /// Returns the patterns of this key.
    fn patterns(&self, key: Ends) -> impl Iterator<Item = &'static str> {
        let (word, bit) = filter_place(key);
        let from = match self.filter[word] & bit {
            0 => self.patterns.len(),
            _ => self.patterns.partition_point(|&(other, _)| other < key),
        };
        let same = self.patterns[from..].iter().take_while(move |&&(other, _)| other == key);
        same.map(|&(_, pattern)| pattern)
    }
}

/// Returns the word and the bit of the filter for a key.
fn filter_place(key: Ends) -> (usize, u64) {
    let hash = key.wrapping_mul(0x9e37) >> 6;
    (usize::from(hash >> 6), 1 << (hash & 63))
}

impl NameTable {
    fn new(patterns: &'static [&'static str], except: &'static [&'static str]) -> NameTable {
        let (of_tails, of_heads): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| pattern.starts_with('*'));
        let (by_head, by_tail) = (IndexedPatterns::new(&of_heads, head), IndexedPatterns::new(&of_tails, tail));
        NameTable { all: [of_heads, of_tails].concat(), by_head, by_tail, except }
    }

    fn find(&self, path: &str) -> Option<&'static str> {
        if path.is_ascii() {
            return self.find_folded(path);
        }
        // Upper case first: `ſ` and the Kelvin sign then become the ASCII letters to which a file system may fold them.
        self.find_folded(&path.to_uppercase().to_lowercase())
    }

    fn find_folded(&self, path: &str) -> Option<&'static str> {
        let mut rest = path;
        while !rest.is_empty() {
            let end = rest.bytes().position(|byte| byte == b'/').unwrap_or(rest.len());
            let name = &rest[..end];
            // `.` is no name. The names after it are checked in their own rounds of the loop.
            if name != "."
                && let Some(pattern) = self.at(name, rest)
            {
                return Some(pattern);
            }
            rest = rest.get(name.len() + 1..).unwrap_or("");
        }
        None
    }

    /// Returns the pattern that matches at the beginning of `rest`, whose first name is `name`.
    fn at(&self, name: &str, rest: &str) -> Option<&'static str> {
        let of =
            |patterns: &IndexedPatterns, key: Ends| patterns.patterns(key).find(|pattern| matches_start(pattern, rest));
        let found = of(&self.by_head, head(name)?).or_else(|| of(&self.by_tail, tail(name)?))?;
        let shared = self.except.iter().any(|pattern| matches_name(pattern.as_bytes(), name.as_bytes()));
        (!shared).then_some(found)
    }

    fn could_match<'r>(&'r self, component: &str) -> impl Iterator<Item = (&'r str, &'r str)> {
        let rules = self.all.iter().map(|&rule| (rule, last_name(rule)));
        rules.filter(move |(_, name)| could_expand_to(component, name))
    }
}

/// Returns whether a shell pattern could match a name that `pattern` matches too.
fn could_expand_to(component: &str, pattern: &str) -> bool {
    // A shell pattern matches a leading dot only explicitly.
    let dotless = component.starts_with(['*', '?', '[']);
    !(dotless && pattern.starts_with('.')) && may_meet(component, pattern)
}

fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the first two bytes of a name as a key. `None` for a shorter name, which no pattern without a leading `*`
/// matches.
fn head(name: &str) -> Option<Ends> {
    name.as_bytes().first_chunk().map(ends)
}

/// Returns the last two bytes of a name as a key. `None` for a shorter name, which no pattern with a leading `*`
/// matches.
fn tail(name: &str) -> Option<Ends> {
    name.as_bytes().last_chunk().map(ends)
}

fn ends(bytes: &[u8; 2]) -> Ends {
    u16::from_be_bytes(bytes.map(|byte| byte.to_ascii_lowercase()))
}

/// Returns whether the names of `pattern` match the first names of `path`.
fn matches_start(pattern: &str, path: &str) -> bool {
    let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    pattern.split('/').all(|wanted| names.next().is_some_and(|name| matches_name(wanted.as_bytes(), name.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_names_they_could_expand_to() {
        let rules = PathRules::default();
        for glob in [".e*", ".en?", ".env*", "id_*", "*.pem", "serv*.k[e]y", "*", ".[e]nv", ".ss*"] {
            assert!(rules.could_block(glob).next().is_some(), "{glob}");
        }
        for glob in ["*.rs", "test_*.py", "*.md", "?.txt", "*env"] {
            assert_eq!(rules.could_block(glob).next(), None, "{glob}");
        }
        // Callers see every rule, whatever the order of the lists.
        for (glob, wanted) in [(".*", &[".env", ".env.*", ".ssh", ".netrc"][..]), (".[e]nv*", &[".env", ".env.*"])] {
            let met: Vec<&str> = rules.could_block(glob).map(|(rule, _)| rule).collect();
            assert!(wanted.iter().all(|rule| met.contains(rule)), "{glob}: {met:?}");
        }
    }

    #[test]
    fn every_pattern_of_the_lists_is_found() {
        let rules = PathRules::default();
        for (table, patterns) in [
            (&rules.blocked, BLOCKED),
            (&rules.outside_packages, BLOCKED_OUTSIDE_PACKAGES),
            (&rules.data, BLOCKED_DATA),
            (&rules.protected, PROTECTED),
        ] {
            for pattern in patterns {
                let name = pattern.replace('*', "x");
                assert!(table.find(&name).is_some() && table.find(&name.to_uppercase()).is_some(), "{pattern}");
            }
        }
        assert_eq!(rules.blocked.find(".env.~"), Some(".env.*"));
        assert_eq!(rules.outside_packages.find("gcp-key-service-account.json"), Some("gcp-key*.json"));
        assert_eq!(rules.outside_packages.find("client_secret_service-account.json"), Some("client_secret*.json"));
        assert_eq!(rules.data.find("x.tfvars.json"), Some("*.tfvars.json"));
    }

    #[test]
    fn user_globs_block_more_and_make_exceptions() {
        let rules = PathRules::new(&["fixtures/*.pem".into()], &["secret/**".into(), "*.bak".into()]).unwrap();
        assert_eq!(rules.blocks("tests/fixtures/a.pem"), None);
        assert_eq!(rules.blocks("a.pem"), Some("*.pem"));
        assert_eq!(rules.blocks("x/Secret/deep/file"), Some("secret/**"));
        assert_eq!(rules.blocks("x/a.BAK"), Some("*.bak"));
        assert_eq!(rules.first_denied(), Some("secret/**"));
        let rules =
            PathRules::new(&[], &["*.bak".into(), "./.environs.txt/**".into(), ".cache/.env-x".into()]).unwrap();
        let met: Vec<_> = rules.could_block(".environ*.txt").collect();
        assert_eq!(met, [("./.environs.txt/**", ".environs.txt")]);
        assert!(rules.could_block(".cach*").all(|(rule, _)| !rule.starts_with('.')));
        assert_eq!(rules.could_block("*environ*.txt").next(), None);
        assert!(PathRules::new(&[], &["a[".into()]).unwrap_err().to_string().contains("a["));
    }
}
