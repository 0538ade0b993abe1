//! Recognises names of files that contain only credentials: `credentials`, `token.txt`, `aws-credentials.json`,
//! `prod_db_password`.
//!
//! This module looks only at text. A name is split into words at everything that is no letter or digit and where small
//! letters change to capitals. It matches if it *is* one of [`CREDENTIALS`], or ends in one after a word of [`OWNERS`].
//! Only the names of [`DATA`] files match: `credentials.rs` is source, `secrets.md` is documentation. Many files of
//! software are named after secrets and contain none (`tokenizer.json`, `design-tokens.json`, `reset-password.json`),
//! which is why the last word alone is not enough.

use super::copies;

/// The words with which names of credentials end, each with the rule as displayed.
const CREDENTIALS: &[(&str, &str)] = &[
    ("credential", "*credential (data)"),
    ("credentials", "*credentials (data)"),
    ("secret", "*secret (data)"),
    ("secrets", "*secrets (data)"),
    ("token", "*token (data)"),
    ("password", "*password (data)"),
    ("passwords", "*passwords (data)"),
    ("passwd", "*passwd (data)"),
];

/// Words that may precede one of [`CREDENTIALS`]: vendors, kinds of accounts, environments.
const OWNERS: &[&str] = &[
    // Clouds, code hosts, registries, services.
    "amazon",
    "anthropic",
    "atlassian",
    "auth0",
    "aws",
    "azure",
    "bitbucket",
    "cloudflare",
    "consul",
    "datadog",
    "digitalocean",
    "discord",
    "docker",
    "dockerhub",
    "dropbox",
    "facebook",
    "firebase",
    "gcloud",
    "gcp",
    "ghcr",
    "gh",
    "gitea",
    "github",
    "gitlab",
    "gmail",
    "google",
    "grafana",
    "hetzner",
    "heroku",
    "hf",
    "huggingface",
    "jenkins",
    "jira",
    "k8s",
    "kaggle",
    "kube",
    "kubernetes",
    "linode",
    "mailgun",
    "netlify",
    "npm",
    "okta",
    "openai",
    "paypal",
    "pypi",
    "quay",
    "s3",
    "sendgrid",
    "sentry",
    "slack",
    "spotify",
    "stripe",
    "telegram",
    "terraform",
    "twilio",
    "twitter",
    "vault",
    "vercel",
    "wandb",
    // Databases and servers.
    "database",
    "db",
    "elastic",
    "elasticsearch",
    "ftp",
    "imap",
    "kafka",
    "ldap",
    "mail",
    "mariadb",
    "mongo",
    "mongodb",
    "mysql",
    "pg",
    "postgres",
    "postgresql",
    "rabbitmq",
    "redis",
    "registry",
    "sftp",
    "smtp",
    "ssh",
    "vpn",
    "wifi",
    // Environments.
    "ci",
    "default",
    "dev",
    "development",
    "live",
    "local",
    "preprod",
    "prod",
    "production",
    "qa",
    "stage",
    "staging",
    "uat",
    // Owners and purposes.
    "access",
    "account",
    "admin",
    "api",
    "app",
    "application",
    "auth",
    "backend",
    "bearer",
    "bot",
    "client",
    "deploy",
    "jwt",
    "master",
    "my",
    "oauth",
    "oauth2",
    "our",
    "private",
    "refresh",
    "root",
    "secret",
    "server",
    "service",
    "session",
    "user",
    "web",
];

/// Words that may follow one of [`CREDENTIALS`] and only describe where it is used: `secrets.prod.yaml`.
const ENVIRONMENTS: &[&str] =
    &["dev", "development", "live", "local", "preprod", "prod", "production", "qa", "stage", "staging", "uat"];

/// Words in the names of tests, schemas and texts about passwords.
const HARMLESS: &[&str] = &[
    "change",
    "demo",
    "dummy",
    "example",
    "examples",
    "expired",
    "fake",
    "fixture",
    "fixtures",
    "forgot",
    "invalid",
    "mock",
    "mocks",
    "no",
    "reset",
    "sample",
    "samples",
    "schema",
    "schemas",
    "spec",
    "specs",
    "stub",
    "template",
    "templates",
    "test",
    "testing",
    "tests",
    "update",
    "validate",
];

/// Folders in which files named after credentials contain none, but are test data, translations, schemas, templates or
/// workflows, such as Helm's `templates/secret.yaml`.
const HARMLESS_FOLDERS: &[&str] = &[
    "__fixtures__",
    "__mocks__",
    "fixture",
    "fixtures",
    "i18n",
    "lang",
    "locale",
    "locales",
    "mocks",
    "schema",
    "schemas",
    "templates",
    "test-data",
    "test_data",
    "testdata",
    "translations",
    "workflows",
];

/// Extensions of data files.
const DATA: &[&str] = &[
    "cfg",
    "conf",
    "csv",
    "db",
    "env",
    "ini",
    "json",
    "properties",
    "sqlite",
    "sqlite3",
    "toml",
    "tsv",
    "txt",
    "xml",
    "yaml",
    "yml",
];

/// Folders in which all data is credentials, and the rule as displayed.
const FOLDERS: &[(&str, &str)] = &[
    ("credentials", "credentials/* (data)"),
    (".credentials", "credentials/* (data)"),
    ("secrets", "secrets/* (data)"),
    (".secrets", "secrets/* (data)"),
];

/// Folders of source, texts and tests. A folder below one of them may be called `secrets` and contain source.
const FOLDERS_OF_SOURCE: &[&str] = &[
    "charts", "doc", "docs", "example", "examples", "internal", "lib", "pkg", "spec", "specs", "src", "test", "tests",
];

/// Names without their extension that are the same in every project, also in a folder of credentials.
const MANIFESTS: &[&str] = &[
    "cargo",
    "chart",
    "composer",
    "config",
    "deno",
    "dockerfile",
    "gemfile",
    "go",
    "index",
    "jenkinsfile",
    "jsconfig",
    "kustomization",
    "license",
    "makefile",
    "package",
    "package-lock",
    "procfile",
    "pyproject",
    "rakefile",
    "readme",
    "tsconfig",
    "values",
];

/// Words for encrypted text.
const ENCRYPTED: &[&str] = &["enc", "encrypted", "sealed", "sops"];

/// A file with this word at the beginning or end of its name contains the keys of clusters.
const KUBECONFIG: &str = "kubeconfig";

/// Returns the rule for a path with names separated by `/`. Only the last name counts: a folder called `token` contains
/// source.
pub(super) fn find(path: &str) -> Option<&'static str> {
    if !speaks_of_credentials(path.as_bytes()) || path.ends_with('/') {
        return None;
    }
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_one_of = |folder: &str, known: &[&str]| known.iter().any(|known| folder.eq_ignore_ascii_case(known));
    // Helm's `templates/secret.yaml` is named like a secret and contains none.
    if folders.split('/').any(|folder| is_one_of(folder, HARMLESS_FOLDERS)) {
        return None;
    }
    let stem = data(name)?;
    let words = words(stem);
    if words.iter().any(|word| HARMLESS.contains(&word.as_str())) {
        return None;
    }
    if let Some(rule) = of_words(&words) {
        return Some(rule);
    }
    // A hidden name without an extension belongs to a tool: `.gitkeep`.
    let of_tool = name.strip_prefix('.').is_some_and(|rest| !rest.contains('.')) || is_one_of(stem, MANIFESTS);
    // Encrypted files have no readable secret, also in a folder of credentials.
    let encrypted = words.iter().any(|word| ENCRYPTED.contains(&word.as_str()));
    if of_tool || encrypted || folders.split('/').any(|folder| is_one_of(folder, FOLDERS_OF_SOURCE)) {
        return None;
    }
    let rule_of = |folder: &str| FOLDERS.iter().find(|(name, _)| folder.eq_ignore_ascii_case(name));
    folders.split('/').find_map(rule_of).map(|(_, rule)| *rule)
}

/// Returns whether one of the words can occur at all. This fast check rules out nearly every path of a tree.
fn speaks_of_credentials(path: &[u8]) -> bool {
    /// Setting these bits makes a capital letter small, and turns no other byte into a letter.
    const SMALL: u32 = 0x2020_2020;
    const STEMS: [u32; 5] = [
        u32::from_be_bytes(*b"cred"),
        u32::from_be_bytes(*b"secr"),
        u32::from_be_bytes(*b"toke"),
        u32::from_be_bytes(*b"pass"),
        u32::from_be_bytes(*b"kube"),
    ];
    let mut four = 0_u32;
    path.iter().any(|&byte| {
        four = four << 8 | u32::from(byte);
        STEMS.contains(&(four | SMALL))
    })
}

/// Returns the name without its extension, if it has none or one of data.
fn data(name: &str) -> Option<&str> {
    let mut name = name.trim_end_matches('~');
    loop {
        let Some((stem, extension)) = name.rsplit_once('.') else { return Some(name) };
        let extension = extension.to_ascii_lowercase();
        // `credentials.json.bak` has the contents of `credentials.json`. Copies of copies have several such extensions.
        if !stem.is_empty() && copies::is_extension(&extension) {
            name = stem;
            continue;
        }
        if !stem.is_empty() && DATA.contains(&extension.as_str()) {
            return Some(stem);
        }
        // `.secrets`, `aws.credentials`
        let is_word = extension == KUBECONFIG || CREDENTIALS.iter().any(|(word, _)| *word == extension);
        return (stem.is_empty() || is_word).then_some(name);
    }
}

/// Splits a name into words, in lower case.
fn words(stem: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let chars: Vec<char> = stem.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        // `dbPassword`, and `APIToken` before the last of the capitals.
        let before = at.checked_sub(1).map(|before| chars[before]);
        let turns = c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_uppercase() && chars.get(at + 1).is_some_and(|next| next.is_lowercase())
            });
        if turns {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn of_words(words: &[String]) -> Option<&'static str> {
    let mut words = words;
    // `kubeconfig-prod`, `prod.kubeconfig`
    let is_kubeconfig = |word: &String| word.trim_end_matches(|c: char| c.is_ascii_digit()) == KUBECONFIG;
    if [words.first(), words.last()].into_iter().flatten().any(is_kubeconfig) {
        return Some("*kubeconfig* (data)");
    }
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    // `01-secrets`, `Copy of credentials`
    while let [first, rest @ ..] = words {
        let copied = first == "copy" && rest.first().is_some_and(|next| next == "of") || first == "of";
        if !(is_number(first) || copied) {
            break;
        }
        words = rest;
    }
    // `credentials (1)`, `credentials - Copy`, `secrets.prod`
    while let [rest @ .., last] = words {
        let mark = copies::is_extension(last) || ENVIRONMENTS.contains(&last.as_str());
        if !mark || rest.is_empty() {
            break;
        }
        words = rest;
    }
    let (last, before) = words.split_last()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let (_, rule) = CREDENTIALS.iter().find(|(word, _)| *word == last)?;
    before.last().is_none_or(|owner| OWNERS.contains(&owner.as_str())).then_some(*rule)
}
