//! The questions, and what follows from the answers.

use super::ask::{Asked, Trouble};
use super::echo::{self, BEGIN, END};
use super::{Mangling, Probe, Question, Style, Subject, Verdict, messages};
use crate::backend::Backend;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::{Catalog, Dialect, Dialects, FinishReason, Param, ParamKind, Text, ToolSpec, prompt};

/// What the model is told by the system message alone, and nobody guesses.
const CODE_WORD: &str = "HERON-42";

/// The words at both ends of a long message.
const FIRST_WORD: &str = "MAGPIE";
const LAST_WORD: &str = "WALNUT";

/// What fills a long message: plain words, a token each.
const FILLER: &str = "The river goes by the old mill and the road goes over the hill to the town. ";

/// Of this a server that obeys makes an answer that no model gives by itself.
const SMALL_GRAMMAR: &str = "root ::= \"heron-\" [0-9] [0-9] [0-9] [0-9] \"-stop\"\n";

/// Bytes that are read of what a large grammar makes of a model's words.
const ENOUGH: usize = 400;

/// The least length of a text that stands before or behind every reply, without blanks.
const LEAST_AFFIX: usize = 4;

/// How a model called.
enum Called {
    Block,
    Dialect(Dialect),
    Native,
    Doubtful,
    Not,
}

impl Probe<'_> {
    fn words(&self, text: Text) -> String {
        text.into_string(self.options.language)
    }

    /// Whether anything comes, in pieces, and how fast. False where nothing does, so that nothing more is asked.
    pub(super) async fn count(&mut self) -> bool {
        let question = self.words(messages::count_question());
        let asked = match self.asker.ask(messages::about_stream(), None, &question).await {
            Ok(asked) => asked,
            Err(trouble) => {
                self.tell(Subject::Answer, Verdict::Bad, messages::no_answer(trouble.text()), None);
                return false;
            }
        };
        if asked.text.trim().is_empty() && asked.reasoning.is_empty() {
            let advice = Some(messages::look_at_the_server());
            self.tell(Subject::Answer, Verdict::Bad, messages::empty_answer(), advice);
            return false;
        }
        let (first, rest) = (asked.first.as_millis() as u64, asked.rest.as_millis() as u64);
        self.tell(Subject::Answer, Verdict::Good, messages::answers_after(first), None);
        let bytes = asked.text.len();
        if asked.pieces >= 3 {
            let said = match (bytes as u64 * 1000).checked_div(rest) {
                Some(speed) => messages::streams_at(asked.pieces, speed),
                None => messages::streams(asked.pieces),
            };
            self.tell(Subject::Stream, Verdict::Good, said, None);
        } else if bytes >= 30 {
            let advice = Some(messages::nothing_to_see_meanwhile());
            self.tell(Subject::Stream, Verdict::Neutral, messages::comes_at_once(asked.pieces), advice);
        } else {
            self.tell(Subject::Stream, Verdict::Unknown, messages::too_short_to_say(), None);
        }
        self.seen.push((Question::Count, asked));
        true
    }

    /// Whether a system message reaches the model.
    pub(super) async fn system(&mut self) {
        let told = self.words(messages::code_word_told(CODE_WORD));
        let question = self.words(messages::code_word_question());
        let first = self.asker.ask(messages::about_system(), Some(told.clone()), &question).await;
        let refused = match first {
            Ok(asked) => {
                let knows = asked.text.contains(CODE_WORD);
                self.seen.push((Question::System, asked));
                if knows {
                    self.facts.system = Some(true);
                    return self.tell(Subject::System, Verdict::Good, messages::system_reaches(), None);
                }
                None
            }
            Err(trouble) if trouble.is_refusal() => Some(trouble.text()),
            Err(trouble) => return self.unknown(Subject::System, &trouble),
        };
        // The same without a system message: a model that does not answer that either shows nothing.
        match self.asker.ask(messages::about_system(), None, &format!("{told}\n\n{question}")).await {
            Ok(asked) if asked.text.contains(CODE_WORD) => {
                self.seen.push((Question::System, asked));
                self.facts.system = Some(false);
                let said = match refused {
                    Some(why) => messages::system_refused(why),
                    None => messages::system_lost(),
                };
                self.tell(
                    Subject::System,
                    Verdict::Neutral,
                    said,
                    Some(messages::system_goes_with_the_first_message()),
                );
            }
            Ok(_) => self.tell(Subject::System, Verdict::Unknown, messages::model_did_not_answer(), None),
            Err(trouble) => self.unknown(Subject::System, &trouble),
        }
    }

    fn unknown(&mut self, subject: Subject, trouble: &Trouble) {
        self.tell(subject, Verdict::Unknown, trouble.text(), None);
    }

    /// How the model calls a tool that the instructions teach.
    pub(super) async fn calls(&mut self) {
        let tool = ToolSpec::new("list_files", "List the files of a folder.");
        let path = Param::new("path", ParamKind::Text { content: false }, "the folder").required();
        let catalog: Catalog = [tool.param(path)].into_iter().collect();
        let taught = prompt::instructions(&catalog, self.options.language);
        let question = self.words(messages::call_question());
        let catalog = Arc::new(catalog);
        let mut before: Option<Option<Dialect>> = None;
        loop {
            let (system, user) = match self.facts.system {
                Some(false) => (None, format!("{taught}\n\n{question}")),
                _ => (Some(taught.clone()), question.clone()),
            };
            let asked = match self.asker.ask(messages::about_calls(), system, &user).await {
                Ok(asked) => asked,
                Err(trouble) => return self.unknown(Subject::Calls, &trouble),
            };
            let called = called(&asked, &catalog);
            self.seen.push((Question::Call, asked));
            let dialect = match called {
                Called::Dialect(dialect) => Some(dialect),
                _ => None,
            };
            match (called, before.replace(dialect)) {
                (Called::Block, _) => {
                    return self.tell(Subject::Calls, Verdict::Good, messages::calls_as_taught(), None);
                }
                // Anything else may have been a slip.
                (_, None) => {}
                (Called::Dialect(dialect), Some(earlier)) if earlier == Some(dialect) => {
                    self.facts.dialect = Some(dialect);
                    let advice = Some(messages::dialect_is_read());
                    return self.tell(Subject::Calls, Verdict::Neutral, messages::calls_in(dialect.name()), advice);
                }
                (Called::Native, _) => {
                    let advice = Some(messages::own_tools_off());
                    return self.tell(Subject::Calls, Verdict::Neutral, messages::calls_natively(), advice);
                }
                (Called::Doubtful | Called::Dialect(_), _) => {
                    let advice = Some(messages::see_what_it_wrote());
                    return self.tell(Subject::Calls, Verdict::Bad, messages::calls_unreadably(), advice);
                }
                (Called::Not, _) => {
                    let advice = Some(messages::see_what_it_wrote());
                    return self.tell(Subject::Calls, Verdict::Unknown, messages::does_not_call(), advice);
                }
            }
        }
    }

    /// What happens to texts on their way.
    pub(super) async fn texts(&mut self) {
        let characters = self.echo(Question::Characters, echo::CHARACTERS, echo::of_characters).await;
        let structure = self.echo(Question::Structure, echo::STRUCTURE, echo::of_structure).await;
        let known = characters.is_some() && structure.is_some();
        let mut found: Vec<Mangling> = characters.into_iter().chain(structure).flatten().collect();
        found.extend(self.around());
        found.sort_unstable();
        let clean = found.is_empty();
        found.into_iter().for_each(|mangling| self.name(mangling));
        if !known {
            self.tell(Subject::Text, Verdict::Unknown, messages::text_did_not_come_back(), None);
        } else if clean {
            self.tell(Subject::Text, Verdict::Good, messages::texts_come_back(), None);
        }
    }

    /// Lets the model repeat a text, twice where it differs: what happens on the way happens both times. `None` where it did not
    /// repeat it.
    async fn echo(
        &mut self,
        kind: Question,
        text: &str,
        read: impl Fn(&str) -> Option<Vec<Mangling>>,
    ) -> Option<Vec<Mangling>> {
        let asking = self.words(messages::echo_question(BEGIN, END));
        let question = format!("{asking}\n\n{BEGIN}\n{text}{END}");
        let mut before: Option<Vec<Mangling>> = None;
        for _ in 0..2 {
            let Ok(asked) = self.asker.ask(messages::about_texts(), None, &question).await else { continue };
            let found = read(echo::between(&echo::plain(&asked.text)).0);
            self.seen.push((kind, asked));
            match (found, before.take()) {
                (Some(found), _) if found.is_empty() => return Some(found),
                (Some(found), Some(before)) => {
                    return Some(found.into_iter().filter(|mangling| before.contains(mangling)).collect());
                }
                (found, earlier) => before = found.or(earlier),
            }
        }
        // Once is not enough: it may have been the model.
        None
    }

    /// What stands around the replies.
    fn around(&self) -> Vec<Mangling> {
        let mut found = Vec::new();
        if self.seen.iter().any(|(_, asked)| asked.text.contains("\u{1b}[")) {
            found.push(Mangling::ControlSequences);
        }
        let of = |kind| self.seen.iter().filter(move |(seen, _)| *seen == kind).map(|(_, asked)| asked);
        let echoes = || of(Question::Characters).chain(of(Question::Structure));
        let asking = self.words(messages::echo_question(BEGIN, END));
        let begins = asking.split(',').next().unwrap_or(&asking);
        let repeated = |asked: &Asked| asked.text.contains(begins);
        if echoes().next().is_some() && echoes().all(repeated) {
            found.push(Mangling::QuestionRepeated);
        }
        // Nobody offered a tool where the question was another one.
        if self.seen.iter().any(|(kind, asked)| *kind != Question::Call && !asked.native.is_empty()) {
            found.push(Mangling::NativeCalls);
        }
        let kinds = [Question::Count, Question::System, Question::Call, Question::Characters, Question::Structure];
        if kinds.iter().filter(|kind| of(**kind).any(|asked| !asked.text.is_empty())).count() < 3 {
            return found;
        }
        // A number may count up, or be the time.
        let masked = |text: String| text.replace(|c: char| c.is_ascii_digit(), "0");
        let texts = self.seen.iter().map(|(_, asked)| echo::plain(answer(asked)));
        let masked: Vec<String> = texts.filter(|text| !text.trim().is_empty()).map(masked).collect();
        let is_affix = |common: &[char]| common.iter().filter(|c| !c.is_whitespace()).count() >= LEAST_AFFIX;
        let forward: Vec<Vec<char>> = masked.iter().map(|text| text.trim_start().chars().collect()).collect();
        let backward: Vec<Vec<char>> = masked.iter().map(|text| text.trim_end().chars().rev().collect()).collect();
        if is_affix(common(&forward)) && !found.contains(&Mangling::QuestionRepeated) {
            found.push(Mangling::PrefixAdded);
        }
        let cited = |asked: &Asked| echo::has_citations(echo::between(&echo::plain(&asked.text)).1);
        if echoes().next().is_some() && echoes().all(cited) {
            found.push(Mangling::CitationsAdded);
        } else if is_affix(common(&backward)) {
            found.push(Mangling::SuffixAdded);
        }
        found
    }

    /// How reasoning came in all replies so far.
    pub(super) fn reasoning(&mut self) {
        let mut styles = Vec::new();
        for (_, asked) in &self.seen {
            let mut summary = toolfence_protocol::reply::Summary::default();
            let mut tagged = false;
            parse::for_each(&asked.text, parse::Options::default(), FinishReason::Stop, |event| {
                tagged |= matches!(event, Event::Reasoning { .. });
                summary.note(&event);
            });
            styles.push(match () {
                () if !asked.reasoning.is_empty() => Style::Field,
                () if summary.opened.is_some() => Style::Opened,
                () if tagged => Style::Tags,
                () => Style::None,
            });
        }
        // One reply with the closing tag alone is what counts: calls in what was only thought must not run.
        let style = [Style::Opened, Style::Tags, Style::Field].into_iter().find(|style| styles.contains(style));
        let style = style.unwrap_or(Style::None);
        if style == Style::None && styles.len() < 3 {
            return self.tell(Subject::Reasoning, Verdict::Unknown, messages::too_few_replies(), None);
        }
        self.facts.reasoning = Some(style);
        let said = match style {
            Style::None => messages::reasoning_none(),
            Style::Tags => messages::reasoning_in_tags(),
            Style::Opened => messages::reasoning_opened(),
            Style::Field => messages::reasoning_in_a_field(),
        };
        self.tell(Subject::Reasoning, Verdict::Good, said, None);
    }

    /// How long a message can be: the window as the server tells it, then longer and longer ones.
    pub(super) async fn sizes(&mut self, backend: &dyn Backend) {
        self.facts.window = backend.window().await;
        if let Some(window) = self.facts.window {
            self.tell(Subject::Size, Verdict::Good, messages::window_is(window), None);
        }
        let mut whole = None;
        for &size in &self.options.sizes {
            // Three bytes a token: what is longer is refused for certain, and has to be.
            if self.facts.window.is_some_and(|window| size as u64 > window.saturating_mul(3)) {
                break;
            }
            let question = self.long_message(size);
            let asked = match self.asker.ask(messages::about_size(size), None, &question).await {
                Ok(asked) => asked,
                Err(trouble) if trouble.is_refusal() && whole.is_some() => {
                    self.facts.message_limit = whole;
                    return self.name(Mangling::LongMessagesRefused);
                }
                Err(trouble) => return self.unknown(Subject::Size, &trouble),
            };
            match (asked.text.contains(FIRST_WORD), asked.text.contains(LAST_WORD)) {
                (true, true) => whole = Some(size),
                (false, false) => break,
                // A model that has found both in a shorter message is a good witness.
                _ if whole.is_some() => {
                    self.facts.message_limit = whole;
                    return self.name(Mangling::LongMessagesCut);
                }
                _ => break,
            }
        }
        match whole {
            Some(size) => self.tell(Subject::Size, Verdict::Good, messages::read_whole(size), None),
            None => self.tell(Subject::Size, Verdict::Unknown, messages::size_not_known(), None),
        }
    }

    fn long_message(&self, size: usize) -> String {
        let mut text = self.words(messages::size_question(FIRST_WORD));
        text.push_str("\n\n");
        while text.len() < size {
            text.push_str(FILLER);
        }
        text.push_str("\n\n");
        text.push_str(&self.words(messages::size_question_end(LAST_WORD)));
        text
    }

    /// Whether the server holds the model to a grammar, and to a schema.
    pub(super) async fn grammar(&mut self, backend: &dyn Backend) {
        let hello = self.words(messages::hello_question());
        for &form in Form::ALL {
            let (member, value) = form.member(SMALL_GRAMMAR);
            let Some(held) = held_to(backend, member, value) else {
                return self.tell(Subject::Grammar, Verdict::Unknown, messages::no_grammar_can_be_sent(), None);
            };
            let about = messages::about_grammar(member);
            match self.asker.ask_of(&*held, about, None, &hello, ENOUGH).await {
                Ok(asked) if is_of_small_grammar(&asked.text) => {
                    self.facts.grammar = Some(Some(form));
                    self.facts.reasons_beside_grammar = !asked.reasoning.is_empty();
                    break;
                }
                Ok(_) => {}
                Err(trouble) if trouble.is_refusal() => {}
                // Whoever does not answer now may do so tomorrow.
                Err(trouble) => return self.unknown(Subject::Grammar, &trouble),
            }
        }
        if let (Some(Some(form)), Some(large)) = (self.facts.grammar, &self.options.grammar) {
            let (member, value) = form.member(large);
            let about = messages::about_grammar_of_tools(member);
            if let Some(held) = held_to(backend, member, value)
                && let Err(trouble) = self.asker.ask_of(&*held, about, None, &hello, ENOUGH).await
            {
                self.facts.grammar = trouble.is_refusal().then_some(None);
                let said = messages::large_grammar_fails(member, trouble.text());
                return self.tell(Subject::Grammar, Verdict::Neutral, said, Some(messages::grammar_is_not_sent()));
            }
        }
        let schema = self.schema(backend, &hello).await;
        match self.facts.grammar {
            Some(Some(form)) => {
                let said = messages::obeys_grammar(form.name());
                let free = match self.facts.reasoning {
                    Some(Style::None) => true,
                    Some(Style::Field) => self.facts.reasons_beside_grammar,
                    _ => false,
                };
                let advice = if free { messages::grammar_is_sent() } else { messages::grammar_would_take_reasoning() };
                self.tell(Subject::Grammar, Verdict::Good, said, Some(advice));
            }
            _ => {
                self.facts.grammar = Some(None);
                self.tell(Subject::Grammar, Verdict::Neutral, messages::obeys_no_grammar(), None);
            }
        }
        if schema {
            self.tell(Subject::Grammar, Verdict::Neutral, messages::obeys_schema(), None);
        }
    }

    async fn schema(&mut self, backend: &dyn Backend, hello: &str) -> bool {
        let schema = json!({
            "type": "object", "properties": {"heron": {"enum": ["heron-7"]}}, "required": ["heron"],
            "additionalProperties": false,
        });
        let format = json!({"type": "json_schema", "json_schema": {"name": "heron", "strict": true, "schema": schema}});
        let Some(held) = held_to(backend, "response_format", format) else { return false };
        let about = messages::about_grammar("response_format");
        let Ok(asked) = self.asker.ask_of(&*held, about, None, hello, ENOUGH).await else { return false };
        serde_json::from_str::<Value>(asked.text.trim()).is_ok_and(|said| said == json!({"heron": "heron-7"}))
    }
}

/// The backend with one more member in its requests.
fn held_to(backend: &dyn Backend, member: &str, value: Value) -> Option<Arc<dyn Backend>> {
    let members: Map<String, Value> = [(member.to_owned(), value)].into_iter().collect();
    backend.with_members(&members)
}

/// A reply without the reasoning before it, which always begins alike.
fn answer(asked: &Asked) -> &str {
    let mut end = 0;
    parse::for_each(&asked.text, parse::Options::default(), FinishReason::Stop, |event| {
        if let Event::Reasoning { span, .. } = event {
            end = span.end;
        }
    });
    &asked.text[end..]
}

/// Whether a reply is one of [`SMALL_GRAMMAR`].
fn is_of_small_grammar(reply: &str) -> bool {
    let digits = reply.trim().strip_prefix("heron-").and_then(|rest| rest.strip_suffix("-stop"));
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn called(asked: &Asked, catalog: &Arc<Catalog>) -> Called {
    if !asked.native.is_empty() {
        return Called::Native;
    }
    let mut options = parse::Options::default();
    options.dialects = Dialects::ALL;
    options.catalog = Some(catalog.clone());
    let mut called = Called::Not;
    parse::for_each(&asked.text, options, FinishReason::Stop, |event| match event {
        Event::Call { call, .. } if call.name == "list_files" && !call.is_lossy() => {
            called = match call.dialect {
                None => Called::Block,
                Some(dialect) => Called::Dialect(dialect),
            };
        }
        Event::Call { .. } | Event::Malformed { .. } | Event::Incomplete { .. } | Event::Ignored { .. }
            if matches!(called, Called::Not) =>
        {
            called = Called::Doubtful;
        }
        _ => {}
    });
    called
}

/// What all begin with. Nothing where one has no more than that: then it is what the model says to everything.
fn common(texts: &[Vec<char>]) -> &[char] {
    let Some(first) = texts.first() else { return &[] };
    let mut length = first.len();
    for text in &texts[1..] {
        length = first.iter().zip(text).take(length).take_while(|(one, other)| one == other).count();
    }
    if texts.iter().any(|text| text.len() == length) { &[] } else { &first[..length] }
}
