//! Layers put together: what counts, and where each value comes from.

use super::super::AskMode;
use super::{
    CommandRule, CommandSettings, Entry, InProject, Key, Layer, Origin, PathSettings, Settings, Takes, Value, messages,
};
use toolfence_protocol::Text;

/// What counts of all layers.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    entries: Vec<Entry>,
    notes: Vec<Text>,
}

impl Merged {
    /// The layers, from the weakest to the strongest. A project or a persona never loosens: what would has no effect, and
    /// [`notes`](Merged::notes) says so.
    pub fn of(layers: impl IntoIterator<Item = Vec<Entry>>) -> Merged {
        let mut merged = Merged::default();
        layers.into_iter().flatten().for_each(|entry| merged.add(entry));
        merged
    }

    /// What is set for a key: one entry, or for a list every item in order. Empty where the default counts.
    pub fn entries(&self, key: &str) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.key.name == key)
    }

    /// What is set for a key that takes a word or a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.texts(key).next()
    }

    /// What is set for a key that takes a list of texts.
    pub fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        self.entries(key).filter_map(|entry| match &entry.value {
            Value::Text(text) | Value::Glob(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Where the value of a key comes from; of a list, its first item.
    pub fn origin(&self, key: &str) -> Origin {
        self.entries(key).next().map_or_else(|| Origin::new(Layer::Default, "default"), |entry| entry.origin.clone())
    }

    /// What was written and has no effect, in sentences for the person.
    pub fn notes(&self) -> &[Text] {
        &self.notes
    }

    /// The settings of the policy.
    pub fn settings(&self) -> Settings {
        let rules = |key: &str| self.entries(key).filter_map(command).cloned().collect();
        let globs = |key: &str| self.entries(key).filter_map(glob).cloned().collect();
        Settings {
            ask: self.text("ask").and_then(ask_mode).unwrap_or_default(),
            outside: self.text("outside") == Some("true"),
            commands: CommandSettings {
                allow: rules("commands.allow"),
                deny: rules("commands.deny"),
                only: self.only(),
            },
            paths: PathSettings {
                allow: globs("paths.allow"),
                deny: globs("paths.deny"),
                only: self
                    .layers("paths.only")
                    .map(|entries| entries.into_iter().filter_map(glob).cloned().collect())
                    .collect(),
            },
        }
    }

    /// What every layer that restricts commands still allows. Empty only where none does.
    pub fn only(&self) -> Vec<CommandRule> {
        let layers = self.layers("commands.only");
        let lists = layers.map(|entries| entries.into_iter().filter_map(command).cloned().collect());
        lists.reduce(common).unwrap_or_default()
    }

    /// The items that each layer has for a key that narrows.
    fn layers(&self, key: &str) -> impl Iterator<Item = Vec<&Entry>> {
        let mut entries: Vec<&Entry> = self.entries(key).collect();
        entries.sort_by_key(|entry| entry.origin.layer);
        let layers: Vec<Vec<&Entry>> =
            entries.chunk_by(|a, b| a.origin.layer == b.origin.layer).map(<[&Entry]>::to_vec).collect();
        layers.into_iter()
    }

    fn add(&mut self, entry: Entry) {
        if entry.key.takes.is_list() {
            return self.entries.push(entry);
        }
        let tightens = entry.origin.layer.only_tightens() && entry.key.project == InProject::Stricter;
        if tightens && !self.is_stricter(&entry) {
            return;
        }
        self.entries.retain(|old| old.key.name != entry.key.name);
        self.entries.push(entry);
    }

    /// Whether the entry is stricter than what counts so far. One that is looser is told.
    fn is_stricter(&mut self, entry: &Entry) -> bool {
        let Entry { key, value, origin } = entry;
        let now = self.text(key.name).unwrap_or(key.default.trim_matches('"'));
        let (now_rank, rank) = (rank(key, now), rank(key, &value.to_string()));
        if rank < now_rank {
            let (origin, value) = (origin.to_string(), value.to_string());
            let note = match key.takes {
                Takes::Whole(..) => messages::higher_than(origin, key.name, value, now),
                _ => messages::looser_than(origin, key.name, value, now),
            };
            self.notes.push(note);
        }
        rank > now_rank
    }
}

/// How strict a word is by its place among those that there are. A number may only be lowered, whatever it bounds.
fn rank(key: &Key, word: &str) -> Option<u64> {
    match key.takes {
        Takes::Choice(words) => words.iter().position(|known| *known == word).and_then(|at| u64::try_from(at).ok()),
        Takes::Whole(_, most) => word.parse().ok().map(|number: u64| most.saturating_sub(number)),
        _ => None,
    }
}

fn ask_mode(word: &str) -> Option<AskMode> {
    match word {
        "risky" => Some(AskMode::Risky),
        "always" => Some(AskMode::Always),
        "sandboxed" => Some(AskMode::Sandboxed),
        "never" => Some(AskMode::Never),
        _ => None,
    }
}

fn command(entry: &Entry) -> Option<&CommandRule> {
    match &entry.value {
        Value::Command(rule) => Some(rule),
        _ => None,
    }
}

fn glob(entry: &Entry) -> Option<&String> {
    match &entry.value {
        Value::Glob(glob) => Some(glob),
        _ => None,
    }
}

/// What both lists match. Where that is nothing, a rule that matches nothing: an empty list would allow all.
fn common(a: Vec<CommandRule>, b: Vec<CommandRule>) -> Vec<CommandRule> {
    let mut both: Vec<CommandRule> = Vec::new();
    for rule in a.iter().flat_map(|rule| b.iter().filter_map(|other| rule.and(other))) {
        if !both.contains(&rule) {
            both.push(rule);
        }
    }
    if both.is_empty() { vec![CommandRule::NOTHING] } else { both }
}

#[cfg(test)]
mod tests {
    use super::super::{KEYS, read};
    use super::*;

    fn merged(user: &str, project: &str) -> Merged {
        let keys: Vec<&Key> = KEYS.iter().collect();
        let project = read(project, "p", Layer::Project { trusted: false }, &keys).unwrap();
        Merged::of([read(user, "u", Layer::User, &keys).unwrap(), project])
    }

    #[test]
    fn the_modes_are_words_of_the_table() {
        let Takes::Choice(words) = KEYS[0].takes else { panic!("ask takes words") };
        for word in words {
            assert_eq!(serde_json::to_value(ask_mode(word).unwrap()).unwrap(), *word);
        }
        assert_eq!(serde_json::to_value(AskMode::default()).unwrap(), KEYS[0].default.trim_matches('"'));
    }

    #[test]
    fn lists_that_have_nothing_in_common_allow_nothing() {
        let only = |user: &str, project: &str| {
            let list = |text: &str| format!("[commands]\nonly = [{text}]\n");
            let merged = merged(&list(user), &list(project));
            merged.only().iter().map(|rule| rule.words().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(only("\"git\", \"ls\"", "\"git log\", \"cat\""), ["git log"]);
        assert_eq!(only("\"git\"", ""), ["git"]);
        assert_eq!(only("", "\"ls\""), ["ls"]);
        assert_eq!(only("\"git\"", "\"ls\""), [""]);
        assert!(only("", "").is_empty());
    }
}
