//! Asks the user questions at the terminal. Without a terminal the answer is no.

use crate::edit;
use crate::input::answer::{Answer as Typed, EndKey};
use crate::input::modes::{Keys, LONGEST_PAUSE, SILENCE, has_cursor};
use crate::markdown::{in_rows, line_set_in, rows_of};
use crate::marks;
use crate::not_kept::NotKept;
use crate::preview::{Preview, file_rows, one_line};
use crate::question::{Question, UserAnswer};
use crate::shown::{Words, escaped, language};
use crate::status::to_the_first;
use crate::terminal::{Style, colours, columns_of_the_terminal};
use crate::theme::codes;
use crate::view::Person;
use rustix::process::Signal;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use toolfence_agent::agent::Canceller;
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::text;
use toolfence_protocol::{Language, Text};
use toolfence_session::Answer;

/// Indentation of the continuation rows of the program's own text, in columns.
const CONTINUED: usize = 6;
/// Maximum number of rules that are listed before a question; the others are counted.
const SHOWN_RULES: usize = 4;

/// The user at the terminal.
pub(crate) struct AtTheTerminal {
    /// The ids of the calls that the user allowed while some of their rows were hidden.
    folded: HashSet<String>,
    not_kept: NotKept,
}

impl Person for AtTheTerminal {
    /// Displays the call and waits for an answer.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        Box::pin(async move { self.ask_question(&Question::from(pending)).await.answer(pending) })
    }

    fn has_seen(&self, id: &str) -> bool {
        !self.folded.contains(id)
    }

    fn question_text(&self, pending: &Pending) -> Option<String> {
        let question = Question::from(pending);
        // The text is compared with a later one, so it must not depend on the width of the terminal.
        let preview = Preview::new(&question, colours(true), marks::ROOM);
        Some(format!("{}{}: {}", preview.all_rows(), question.rule, question.reason))
    }

    fn ask_together<'a>(&'a mut self, all: Vec<&'a Pending>) -> BoxFuture<'a, Option<Vec<Answer>>> {
        Box::pin(async move {
            let questions: Vec<Question> = all.iter().map(|pending| Question::from(*pending)).collect();
            let asked: Vec<ShownQuestion<'_>> = questions
                .iter()
                .map(|question| ShownQuestion { question, preview: preview(question).one_of_several() })
                .collect();
            let answers = match asked_together(&asked).await {
                Ok(None) => return None,
                Ok(Some((answers, all_shown))) => {
                    for ShownQuestion { question, preview } in &asked {
                        self.note(&question.call.id, if all_shown { 0 } else { preview.hidden() });
                    }
                    answers
                }
                Err(_) => questions.first().map(|first| vec![self.without_terminal(first)]).unwrap_or_default(),
            };
            Some(answers.into_iter().zip(all).map(|(answer, pending)| answer.answer(pending)).collect())
        })
    }
}

impl AtTheTerminal {
    /// Returns a prompt without recorded answers.
    pub(crate) fn new() -> AtTheTerminal {
        AtTheTerminal { folded: HashSet::new(), not_kept: NotKept::default() }
    }

    /// Displays the question and waits for an answer.
    pub(crate) async fn ask_question(&mut self, question: &Question) -> UserAnswer {
        let asked = ShownQuestion { question, preview: preview(question) };
        let Ok((answer, hidden)) = asked_alone(&asked).await else { return self.without_terminal(question) };
        self.note(&question.call.id, hidden);
        answer
    }

    /// Returns the record of changes that were dropped for lack of a terminal. It shares its state with this value, so
    /// it stays readable after this value is moved into a turn.
    pub(crate) fn not_kept(&self) -> NotKept {
        self.not_kept.clone()
    }

    fn without_terminal(&self, question: &Question) -> UserAnswer {
        self.not_kept.record(question);
        UserAnswer::NoTerminal
    }

    /// Records whether rows of a call stayed hidden. It also removes the id, which another reply may reuse.
    fn note(&mut self, id: &str, hidden: usize) {
        if hidden > 0 {
            self.folded.insert(id.to_owned());
        } else {
            self.folded.remove(id);
        }
    }
}

/// A question and the text that is displayed for it.
struct ShownQuestion<'a> {
    question: &'a Question,
    preview: Preview,
}

fn preview(question: &Question) -> Preview {
    Preview::new(question, colours(true), marks::room(columns_of_the_terminal()))
}

/// Repeats a question until the user answers it. Returns the answer and the number of rows that stayed hidden.
async fn asked_alone(asked: &ShownQuestion<'_>) -> io::Result<(UserAnswer, usize)> {
    let ShownQuestion { question: about, preview } = asked;
    let mut hidden = preview.hidden();
    let mut text = question(about, &preview.first_rows(), None) + &choices(about, hidden);
    let mut asked_to_look = false;
    loop {
        let said = parse_answer(&ask_on_terminal(&text).await?, language());
        let note = match said {
            // A habitual yes must not allow rows that the user has not seen.
            TypedAnswer::Answer(UserAnswer::Yes) | TypedAnswer::Always(_) | TypedAnswer::Project
                if hidden > 0 && !asked_to_look =>
            {
                asked_to_look = true;
                text!(
                    "{count} {count|line|lines} of it {count|was|were} not shown. Type all to see everything, or \
                     repeat your answer to run it without looking.",
                    count = hidden
                )
            }
            TypedAnswer::Answer(answer) => return Ok((answer, hidden)),
            TypedAnswer::All => {
                hidden = 0;
                text = question(about, &preview.all_rows(), None) + &choices(about, hidden);
                continue;
            }
            TypedAnswer::Always(rest) => match always(about, &rest) {
                Ok(answer) => return Ok((answer, hidden)),
                Err(why) => why,
            },
            TypedAnswer::Project if about.offers_all => return Ok((UserAnswer::Project, hidden)),
            TypedAnswer::Project => yes_no_or_why(about),
            TypedAnswer::Edit(_) if about.has_run => yes_no_or_why(about),
            TypedAnswer::Edit(new) => match edit::changed(&about.call, &new).await {
                Ok(args) => return Ok((UserAnswer::Edit(args), hidden)),
                Err(why) => why,
            },
            // Numbers apply only to a question about several calls.
            TypedAnswer::Numbers(_) | TypedAnswer::OneByOne => yes_no_or_why(about),
            TypedAnswer::Unclear(_) if about.changes().is_some() => yes_no_or_why(about),
            TypedAnswer::Unclear(why) => why,
        };
        text = row(&note) + &choices(about, hidden);
    }
}

fn yes_no_or_why(question: &Question) -> Text {
    match question.changes() {
        Some(_) => text!("Type y to keep them, n to drop them, or a reason not to."),
        None => text!("Type y to run it, n to refuse, or a reason not to."),
    }
}

/// Repeats a question about several calls until the user answers it. The flag in the result is `true` if every row was
/// displayed. Returns `None` if the user wants to be asked about one call at a time.
async fn asked_together(all: &[ShownQuestion<'_>]) -> io::Result<Option<(Vec<UserAnswer>, bool)>> {
    let count = all.len();
    let questions = |whole: bool| -> String {
        let one = |(at, asked): (usize, &ShownQuestion<'_>)| {
            let shown = if whole { asked.preview.all_rows() } else { asked.preview.first_rows() };
            question(asked.question, &shown, Some((at + 1, count)))
        };
        all.iter().enumerate().map(one).collect()
    };
    let mut hidden: usize = all.iter().map(|asked| asked.preview.hidden()).sum();
    let choices = |hidden: usize| {
        let all = if hidden > 0 { text!(", all to see everything") } else { Text::default() };
        in_columns(&text!(
            "Run them? [y/N, the numbers of those to run, one to go through them one at a time{all}, or n and a \
             reason] ",
            all
        ))
    };
    let mut text = questions(false) + &choices(hidden);
    let mut asked_to_look = false;
    loop {
        let note = match parse_group_answer(&ask_on_terminal(&text).await?, count, language()) {
            TypedAnswer::Numbers(_) | TypedAnswer::Answer(UserAnswer::Yes) if hidden > 0 && !asked_to_look => {
                asked_to_look = true;
                text!(
                    "{count} {count|line|lines} of it {count|was|were} not shown. Type all to see everything, or \
                     repeat your answer to run it without looking.",
                    count = hidden
                )
            }
            TypedAnswer::Numbers(numbers) => {
                let answer = |at| match numbers.contains(&at) {
                    true => UserAnswer::Yes,
                    false => UserAnswer::Skip,
                };
                return Ok(Some(((1..=count).map(answer).collect(), hidden == 0)));
            }
            TypedAnswer::Answer(UserAnswer::Yes) => return Ok(Some((vec![UserAnswer::Yes; count], hidden == 0))),
            // One answer suffices: after a refusal, no later call that changes something runs.
            TypedAnswer::Answer(answer) => return Ok(Some((vec![answer], hidden == 0))),
            TypedAnswer::OneByOne => return Ok(None),
            TypedAnswer::All => {
                hidden = 0;
                text = questions(true) + &choices(hidden);
                continue;
            }
            TypedAnswer::Always(_) | TypedAnswer::Edit(_) | TypedAnswer::Project => {
                text!("`always` and `edit` apply to a single call. Type one to go through them one at a time.")
            }
            TypedAnswer::Unclear(why) => why,
        };
        text = row(&note) + &choices(hidden);
    }
}

/// Renders the call and the reason for the question. All external text is escaped first.
fn question(question: &Question, shown: &str, place: Option<(usize, usize)>) -> String {
    let call = &question.call;
    let line = |text: &str| escaped(&one_line(text)).into_owned();
    let row = |text: Text| row(&text);
    let said = call
        .reason
        .as_deref()
        .map(|reason| row(text!("the model: {reason}", reason = line(reason))))
        .unwrap_or_default();
    // The reason is never shortened, because its end may be the important part.
    let why = question.reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = row(text!("asked because: {why}", why = escaped(&why).into_owned()));
    let name = line(&call.name);
    let (bold, plain) = if colours(true) { codes(Style::Name) } else { ("", "") };
    match place {
        None => {
            format!("\n? {bold}{name}{plain}\n{said}{why}{shown}{}{}", offered(question), offered_for_project(question))
        }
        Some((at, of)) => {
            let name = text!("{at} of {of}: {name}", at, of, name);
            format!("\n? {bold}{}{plain}\n{said}{why}{shown}", name.words())
        }
    }
}

/// Renders a row of the program's own text in a question. Continuation rows are indented further than any row of the
/// program begins, so that text of a model cannot imitate one. Long words are broken too, because the terminal would
/// continue them in its first column.
fn row(text: &Text) -> String {
    line_set_in("  ", &text.words(), CONTINUED, columns_of_the_terminal().saturating_sub(1)) + "\n"
}

/// Describes what the answer "always" would store, if it is offered.
fn offered(question: &Question) -> String {
    let Ok(rules) = &question.always else { return String::new() };
    let mut shown: Vec<String> = rules.iter().take(SHOWN_RULES).map(|rule| escaped(rule).into()).collect();
    if rules.len() > SHOWN_RULES {
        shown.push(text!("and {count} more", count = rules.len() - SHOWN_RULES).words().into_owned());
    }
    row(&text!("always would allow, in this session: {rules}", rules = shown.join("; ")))
}

/// Describes the effect of the answer "project", if it is offered.
fn offered_for_project(question: &Question) -> String {
    if !question.offers_all {
        return String::new();
    }
    row(&text!("\"project\" keeps all changes in this project for this session; /undo restores the files"))
}

/// Wraps a line of the program's own text to the width of the terminal.
fn in_columns(text: &Text) -> String {
    in_rows(&text.words(), columns_of_the_terminal().saturating_sub(1))
}

fn choices(question: &Question, hidden: usize) -> String {
    let all = if hidden > 0 { text!(", all to see everything") } else { Text::default() };
    let always = if question.always.is_ok() { text!(", always") } else { Text::default() };
    let project = if question.offers_all { text!(", project") } else { Text::default() };
    let choices = match question.changes() {
        Some(_) => text!("Keep them? [y/N{all}{always}{project}, or n and a reason] ", all, always, project),
        None if question.has_run => text!("Run it again? [y/N{all}, or n and a reason] ", all),
        None => text!("Run it? [y/N{all}{always}{project}, edit, or n and a reason] ", all, always, project),
    };
    in_columns(&choices)
}

/// A parsed answer.
#[derive(Debug, PartialEq)]
enum TypedAnswer {
    Answer(UserAnswer),
    All,
    /// Allow the call always. The text is the rest of the line.
    Always(String),
    /// Keep all changes in the project.
    Project,
    /// Edit the call. The text is the rest of the line.
    Edit(String),
    Unclear(Text),
    /// Run the calls with these numbers and no others.
    Numbers(Vec<usize>),
    OneByOne,
}

fn always(question: &Question, rest: &str) -> Result<UserAnswer, Text> {
    if rest.is_empty() {
        return match &question.always {
            Ok(_) => Ok(UserAnswer::Always),
            Err(why) => Err(text!("Always is not available: {why}. Type y to run it this time.", why = why.clone())),
        };
    }
    Err(text!("`always` stores exactly this call. Type it alone, or no and a reason."))
}

/// Prints a question on the terminal and reads the answer there, even if stdin is redirected. The terminal is opened in
/// nonblocking mode, so that a cancelled question leaves no thread that would read the next line.
async fn ask_on_terminal(text: &str) -> io::Result<String> {
    const GLANCE: Duration = Duration::from_millis(30);
    crate::status::end();
    let mut screen = OpenOptions::new().write(true).open("/dev/tty")?;
    let (above, asks) = text.split_at(text.rfind('\n').map_or(0, |at| at + 1));
    screen.write_all(above.as_bytes())?;
    let mut resumed = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
    let mut keys = Keys::begin()?;
    // Input that arrived before the question was complete is not an answer to it.
    let pasting = keys.drain_typed().await?;
    screen.write_all(asks.as_bytes())?;
    let mut screen = OpenRow(screen);
    let mut answer = Typed::new(pasting);
    let mut shown = String::new();
    let mut buffer = [0; 4096];
    let (mut ended, mut since) = (None, Instant::now());
    loop {
        ended = match keys.read(&mut buffer)? {
            Some(0) => Some(EndKey::Nothing),
            Some(count) => answer.press(&buffer[..count]),
            None => {
                // Wait for more input before accepting the line: an unmarked paste continues after its first line.
                if ended == Some(EndKey::Sent) && since.elapsed() >= SILENCE {
                    return Ok(answer.text().to_owned());
                }
                if since.elapsed() >= LONGEST_PAUSE {
                    answer.give_up_paste();
                }
                tokio::select! {
                    () = tokio::time::sleep(GLANCE) => {}
                    Some(()) = resumed.recv() => {
                        // After Ctrl-Z, the shell has printed below the question and has changed the modes of the
                        // terminal.
                        keys.set_again()?;
                        screen.0.write_all(format!("\n{asks}{shown}").as_bytes())?;
                    }
                }
                continue;
            }
        };
        since = Instant::now();
        let now = escaped(answer.text()).into_owned();
        screen.0.write_all(redrawn(asks, &shown, &now).as_bytes())?;
        shown = now;
        if ended == Some(EndKey::Nothing) {
            return Ok(answer.text().to_owned());
        }
    }
}

/// The terminal while the last row of a question is open. Dropping this value ends the row, so that later output begins
/// a new one.
struct OpenRow(File);

impl Drop for OpenRow {
    fn drop(&mut self) {
        let _ = self.0.write_all(b"\n"); // if the terminal is gone, there is no row to end
    }
}

/// Returns the escape sequences and text that replace the displayed answer `before` by `now`.
fn redrawn(asks: &str, before: &str, now: &str) -> String {
    match now.strip_prefix(before) {
        Some(more) => more.to_owned(),
        None => {
            let (row, columns) = (format!("{asks}{before}"), columns_of_the_terminal());
            // If the old rows cannot be erased or counted, print the question again below them.
            match has_cursor() && rows_of(&row, columns).1 {
                true => format!("{}\x1b[J{asks}{now}", to_the_first(&[row], columns)),
                false => format!("\n{asks}{now}"),
            }
        }
    }
}

/// Prints a text without a newline on the terminal and reads a line there.
pub(crate) async fn read_answer(text: &str) -> io::Result<String> {
    ask_on_terminal(text).await
}

/// Asks a question as [`ask_on_terminal`] does. If the turn is cancelled, this returns [`io::ErrorKind::Interrupted`].
pub(crate) async fn put_until(text: &str, canceller: &Canceller) -> io::Result<String> {
    tokio::select! {
        said = ask_on_terminal(text) => said,
        () = canceller.cancelled() => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Builds the question whether to trust these files, with their contents above it. The caller prints both to the
/// terminal as one text, so that the user sees the files even if standard output is redirected.
pub(crate) fn trust_of(files: &[(PathBuf, String)], head: impl Fn(&str) -> Text, allows: &str) -> String {
    let room = marks::room(columns_of_the_terminal());
    let mut asked = String::new();
    for (file, text) in files {
        let file = file.display().to_string();
        let head = escaped(&head(&file).words()).into_owned();
        asked.push_str(&line_set_in("", &head, CONTINUED, columns_of_the_terminal().saturating_sub(1)));
        asked.push('\n');
        asked.push_str(&file_rows(text, room));
    }
    asked + allows + &text!("Trust it? [y/N] ").words()
}

/// Renders the consequences of trust for [`trust_of`].
pub(crate) fn allowing(allows: &[Text]) -> String {
    allows.iter().map(|allows| in_columns(allows) + "\n").collect()
}

/// Returns `true` if the line is a plain yes.
pub(crate) fn is_yes(line: &str, language: Language) -> bool {
    matches!(parse_answer(line, language), TypedAnswer::Answer(UserAnswer::Yes))
}

/// Returns `true` if the line is a plain request to edit.
pub(crate) fn is_edit(line: &str, language: Language) -> bool {
    matches!(parse_answer(line, language), TypedAnswer::Edit(rest) if rest.is_empty())
}

fn parse_answer(line: &str, language: Language) -> TypedAnswer {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let is_set_apart = word.ends_with([',', '.', '!', ';']);
    match to_english(word.trim_end_matches([',', '.', '!', ';']).to_lowercase().as_str(), language) {
        "y" | "yes" if rest.is_empty() => TypedAnswer::Answer(UserAnswer::Yes),
        "all" if rest.is_empty() => TypedAnswer::All,
        "always" => TypedAnswer::Always(rest.to_owned()),
        "project" if rest.is_empty() => TypedAnswer::Project,
        "e" | "edit" => TypedAnswer::Edit(rest.to_owned()),
        // A single letter is ambiguous: it must not allow a call for the whole session if the user meant "all".
        "a" => TypedAnswer::Unclear(text!("Type always to allow it for this session, or all to see everything.")),
        // In "no need for that", the first word is not an answer by itself.
        "no" if !rest.is_empty() && !is_set_apart => because(line),
        "n" | "no" if !rest.is_empty() => because(rest),
        "n" | "no" | "" => TypedAnswer::Answer(UserAnswer::No(None)),
        // A sentence that begins with yes is not a yes, and a single word may be a typing error.
        "y" | "yes" => TypedAnswer::Unclear(text!("Type y to run it, n to refuse, or a reason not to.")),
        _ if rest.is_empty() => TypedAnswer::Unclear(text!("Type y to run it, n to refuse, or a reason not to.")),
        _ => because(line),
    }
}

/// Returns a refusal with the user's reason.
fn because(words: &str) -> TypedAnswer {
    let end = if words.ends_with(['.', '!', '?']) { "" } else { "." };
    TypedAnswer::Answer(UserAnswer::No(Some(format!("{words}{end}"))))
}

/// Parses the answer to a question about several calls.
fn parse_group_answer(line: &str, count: usize, language: Language) -> TypedAnswer {
    let mut words = line.split([' ', '\t', ',', '\n']).filter(|word| !word.is_empty()).peekable();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    if words.peek().is_some_and(is_number) && words.clone().all(|word| is_number(&word)) {
        let numbers: Option<Vec<usize>> =
            words.map(|word| word.parse().ok().filter(|number| (1..=count).contains(number))).collect();
        return numbers.map_or_else(
            || TypedAnswer::Unclear(text!("The numbers go from 1 to {count}.", count)),
            TypedAnswer::Numbers,
        );
    }
    match to_english(&line.trim().to_lowercase(), language) {
        "one" => TypedAnswer::OneByOne,
        _ => parse_answer(line, language),
    }
}

/// Translates the words of an answer into English. The words of another language apply only if the question was in that
/// language: `s` is not a yes to an English question.
fn to_english(word: &str, language: Language) -> &str {
    match word {
        _ if language != Language::Portuguese => word,
        "s" | "sim" => "yes",
        "não" | "nao" => "no",
        "sempre" => "always",
        "tudo" => "all",
        "editar" => "edit",
        "projeto" => "project",
        "uma" | "um" => "one",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::refusal;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for yes in ["y\n", "YES\n", " y \n"] {
            assert_eq!(parse_answer(yes, Language::English), TypedAnswer::Answer(UserAnswer::Yes));
        }
        for unclear in ["yep\n", "y but carefully\n", "yes, of course\n", "sure\n", "alway\n", "s\n"] {
            assert!(matches!(parse_answer(unclear, Language::English), TypedAnswer::Unclear(_)), "{unclear}");
        }
        for no in ["", "\n", "n\n", "No.\n"] {
            assert_eq!(parse_answer(no, Language::English), TypedAnswer::Answer(UserAnswer::No(None)), "{no}");
        }
        let reason = UserAnswer::No(Some("use the other file.".into()));
        for sentence in ["n use the other file\n", "No, use the other file\n", "use the other file.\n"] {
            assert_eq!(parse_answer(sentence, Language::English), TypedAnswer::Answer(reason.clone()), "{sentence}");
        }
        let reason = UserAnswer::No(Some("no need for that.".into()));
        for sentence in ["no need for that\n", "n no need for that\n", "No, no need for that.\n"] {
            assert_eq!(parse_answer(sentence, Language::English), TypedAnswer::Answer(reason.clone()), "{sentence}");
        }
        assert_eq!(parse_answer("always git  log\n", Language::English), TypedAnswer::Always("git  log".into()));
        assert_eq!(
            (parse_answer("always\n", Language::English), parse_answer("e\n", Language::English)),
            (TypedAnswer::Always(String::new()), TypedAnswer::Edit(String::new()))
        );
        assert!(matches!(parse_answer("a\n", Language::English), TypedAnswer::Unclear(_)));
    }

    #[test]
    fn of_several_calls_some_are_chosen() {
        let parse_answer = |line: &str| parse_group_answer(line, 3, Language::English);
        assert_eq!(
            (parse_answer("1 3\n"), parse_answer("2,1\n")),
            (TypedAnswer::Numbers(vec![1, 3]), TypedAnswer::Numbers(vec![2, 1]))
        );
        assert_eq!(
            (parse_answer("y\n"), parse_answer("one\n")),
            (TypedAnswer::Answer(UserAnswer::Yes), TypedAnswer::OneByOne)
        );
        assert_eq!(
            (parse_answer("all\n"), parse_answer("\n")),
            (TypedAnswer::All, TypedAnswer::Answer(UserAnswer::No(None)))
        );
        for unclear in ["4\n", "0\n", "1 yes\n", "99999999999999999999999\n"] {
            let said = parse_answer(unclear);
            assert!(
                !matches!(said, TypedAnswer::Numbers(_) | TypedAnswer::Answer(UserAnswer::Yes)),
                "{unclear}: {said:?}"
            );
        }
    }

    #[test]
    fn answers_in_portuguese_count_where_the_question_is_in_portuguese() {
        let parse_answer = |line| parse_answer(line, Language::Portuguese);
        let why = |line| match parse_answer(line) {
            TypedAnswer::Answer(UserAnswer::No(why)) => refusal(why).render(Language::Portuguese),
            other => panic!("{line} is no no: {other:?}"),
        };
        for yes in ["s\n", "SIM\n", "y\n", "yes\n"] {
            assert_eq!(parse_answer(yes), TypedAnswer::Answer(UserAnswer::Yes), "{yes}");
            assert!(is_yes(yes, Language::Portuguese));
        }
        assert!(matches!(parse_answer("sim, mas com cuidado\n"), TypedAnswer::Unclear(_)));
        for no in ["", "\n", "n\n", "não\n", "NÃO\n", "nao\n", "no\n"] {
            assert_eq!(why(no), "O usuário disse que não.", "{no}");
        }
        for (line, reason) in [
            ("n outro arquivo\n", "outro arquivo."),
            ("não quero\n", "não quero."),
            ("não, agora não!\n", "agora não!"),
        ] {
            assert_eq!(why(line), format!("O usuário disse não: {reason}"));
        }
        assert_eq!(
            (parse_answer("sempre git log\n"), parse_answer("always\n")),
            (TypedAnswer::Always("git log".into()), TypedAnswer::Always(String::new()))
        );
        assert_eq!(
            (parse_answer("editar\n"), parse_answer("tudo\n")),
            (TypedAnswer::Edit(String::new()), TypedAnswer::All)
        );
        for portuguese in ["s\n", "sim\n"] {
            assert!(!is_yes(portuguese, Language::English));
        }
    }
}
