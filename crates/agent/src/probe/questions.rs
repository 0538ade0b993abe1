//! The five questions: one function each, with one typed answer.

use super::ask::{Asker, Failure, Marks, Reply};
use super::{GrammarAnswer, ProtocolAnswer, ReasoningAnswer, StreamAnswer, TextAnswer};
use crate::backend::Backend;
use serde_json::{Map, Value};
use std::sync::Arc;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::{Catalog, Dialects, FinishReason, Param, ParamKind, ToolSpec, prompt, text};

/// The line before the text that the model repeats.
const BEGIN: &str = "BEGIN-7319";
/// The line after that text.
const END: &str = "END-7319";

/// Characters and lines that pages and bridges are known to change. The second `café` has a combining accent.
const SENT: &str = "alpha C:\\new\\temp \\\\server \\d+ \\\"q\\\" \\*
bravo \"double\" 'single' don't -- and then...
charlie a < b && c > d, &lt;e&gt; <b>tag</b>
delta snake_case_name __init__ 2*3*4 **bold** https://example.com/a_b?x=1&y=2
echo café cafe\u{301} Ω 日本語 🦀
foxtrot one\ttwo  three


    golf after two empty lines
\thotel by a tab
india ends in three blanks   
```tool
{\"juliet\": \"kilo\"}
```
lima is a long line of many plain words that has no line break before its last word, so that a page, a terminal or a mail program \
that breaks lines at eighty or at a hundred and twenty or at two hundred characters would have broken it before that word
mike is the last line
";

/// The words at the beginning and at the end of [`SENT`]. A reply without them is not a repetition of the text.
const WITNESSES: [&str; 2] = ["alpha", "mike"];

/// A grammar whose texts no model writes unless the server enforces the grammar.
const SMALL_GRAMMAR: &str = "root ::= \"heron-\" [0-9] [0-9] [0-9] [0-9] \"-stop\"\n";

/// The length in bytes from which a streaming backend would have split a reply into pieces.
const SPLITS: usize = 30;

/// The number of characters of the sent and the received text that an answer quotes.
const QUOTED: usize = 40;

/// The number of characters of a reply that an answer quotes.
const QUOTED_REPLY: usize = 200;

/// Does the backend stream?
pub(super) async fn ask_stream(asker: &mut Asker<'_>) -> StreamAnswer {
    let user =
        text!("Count from 1 to 40, one number on each line, and write nothing else.").into_string(asker.language);
    match asker.ask(text!("does it stream"), None, &user).await {
        Err(failure) => StreamAnswer::NoAnswer { why: failure.text() },
        Ok(reply) if reply.pieces >= 3 => StreamAnswer::Streams { pieces: reply.pieces },
        Ok(reply) if reply.text.len() >= SPLITS => StreamAnswer::AtOnce,
        Ok(_) => StreamAnswer::TooShort,
    }
}

/// Does the model follow the protocol, and if not, which dialect does it write?
///
/// Asks twice with the instructions in a system message, and then with the instructions in the message of the user,
/// until the model follows them or writes the same dialect twice.
pub(super) async fn ask_protocol(asker: &mut Asker<'_>) -> ProtocolAnswer {
    let tool = ToolSpec::new("list_files", "List the files of a folder.");
    let path = Param::new("path", ParamKind::Text { content: false }, "the folder").required();
    let catalog: Arc<Catalog> = Arc::new([tool.param(path)].into_iter().collect());
    let instructions = prompt::instructions(&catalog, asker.language);
    let request = text!("List the files of the folder src with the tool. Write the call and nothing else.")
        .into_string(asker.language);
    let mut before = None;
    let mut failed = None;
    let mut is_refused = false;
    for system_message in [true, true, false] {
        if system_message && is_refused {
            continue;
        }
        let (system, user) = match system_message {
            true => (Some(instructions.clone()), request.clone()),
            false => (None, format!("{instructions}\n\n{request}")),
        };
        let reply = match asker.ask(text!("does the model follow the protocol"), system, &user).await {
            Ok(reply) => reply,
            Err(failure) => {
                // A server that refuses or drops system messages may accept the instructions in the message of the
                // user.
                is_refused = failure.is_refusal();
                let may_differ = is_refused || matches!(failure, Failure::Empty);
                failed = Some(failure.text());
                if may_differ { continue } else { break }
            }
        };
        let answer = read_call(&reply, &catalog, system_message);
        let is_clear = match answer {
            ProtocolAnswer::Follows { .. } => true,
            ProtocolAnswer::Dialect { .. } => before.as_ref() == Some(&answer),
            _ => false,
        };
        if is_clear {
            return answer;
        }
        before = Some(answer);
    }
    // A reply says more than a failure of a later request.
    before.unwrap_or_else(|| ProtocolAnswer::NoAnswer { why: failed.unwrap_or_default() })
}

fn read_call(reply: &Reply, catalog: &Arc<Catalog>, system_message: bool) -> ProtocolAnswer {
    // A call in a channel of the server never reaches the parser, so this comes before the text.
    if !reply.native.is_empty() {
        return ProtocolAnswer::Native;
    }
    let mut options = parse::Options::default();
    options.dialects = Dialects::ALL;
    options.catalog = Some(catalog.clone());
    let mut clear = None;
    let mut has_doubtful_call = false;
    parse::for_each(&reply.text, options, FinishReason::Stop, |event| match event {
        Event::Call { call, .. } if call.name == "list_files" && !call.is_lossy() => clear = Some(call.dialect),
        Event::Call { .. } | Event::Malformed { .. } | Event::Incomplete { .. } | Event::Ignored { .. } => {
            has_doubtful_call = true;
        }
        _ => {}
    });
    match clear {
        Some(None) => ProtocolAnswer::Follows { system_message },
        Some(Some(dialect)) => ProtocolAnswer::Dialect { dialect, system_message },
        None => {
            let reply = reply.text.trim().chars().take(QUOTED_REPLY).collect();
            match has_doubtful_call {
                true => ProtocolAnswer::Unreadable { reply },
                false => ProtocolAnswer::NoCall { reply },
            }
        }
    }
}

/// Does text come back unchanged, and if not, where does it first differ?
///
/// Asks a second time after a difference: what changes on the way changes both times, and a slip of the model does not.
pub(super) async fn ask_text(asker: &mut Asker<'_>) -> TextAnswer {
    let order = text!(
        "Repeat exactly the text from the line {begin} to the line {end}, including both lines: every character, every blank, \
         every empty line. Add no code block around it, correct nothing, explain nothing, run nothing.",
        begin = BEGIN,
        end = END
    );
    let user = format!("{}\n\n{BEGIN}\n{SENT}{END}", order.into_string(asker.language));
    let mut before = None;
    for _ in 0..2 {
        let reply = match asker.ask(text!("does text come back unchanged"), None, &user).await {
            Ok(reply) => reply,
            Err(failure) => return TextAnswer::NoAnswer { why: failure.text() },
        };
        let answer = compare(&reply.text);
        match (&before, &answer) {
            (_, TextAnswer::Unchanged) => return answer,
            (
                Some(TextAnswer::Changed { line, column, .. }),
                TextAnswer::Changed { line: second_line, column: second_column, .. },
            ) if (line, column) == (second_line, second_column) => return answer,
            _ => before = Some(answer),
        }
    }
    TextAnswer::NotRepeated
}

/// Compares the text between the two lines with [`SENT`]. The parser treats both line endings alike, and so does this.
fn compare(reply: &str) -> TextAnswer {
    let reply = reply.replace("\r\n", "\n");
    // The last `BEGIN` counts, because some bridges repeat the question before the answer.
    let Some(begin) = reply.rfind(BEGIN) else { return TextAnswer::NotRepeated };
    let received = &reply[begin + BEGIN.len()..];
    let received = received.find(END).map_or(received, |end| &received[..end]);
    let received = received.strip_prefix('\n').unwrap_or(received);
    if received == SENT {
        return TextAnswer::Unchanged;
    }
    if !WITNESSES.iter().all(|word| received.contains(word)) {
        return TextAnswer::NotRepeated;
    }
    let same: usize =
        SENT.chars().zip(received.chars()).take_while(|(sent, came)| sent == came).map(|(c, _)| c.len_utf8()).sum();
    let line_start = SENT[..same].rfind('\n').map_or(0, |at| at + 1);
    let quote = |text: &str| text[same..].chars().take(QUOTED).collect();
    TextAnswer::Changed {
        line: SENT[..same].matches('\n').count() + 1,
        column: SENT[line_start..same].chars().count() + 1,
        sent: quote(SENT),
        received: quote(received),
    }
}

/// How does the model mark reasoning? Looks at the replies to the earlier questions too.
pub(super) async fn ask_reasoning(asker: &mut Asker<'_>) -> ReasoningAnswer {
    let user = text!(
        "A farmer has 17 sheep. All but 9 run away. How many are left? Think first, then answer with the number."
    )
    .into_string(asker.language);
    let asked = asker.ask(text!("how does the model mark reasoning"), None, &user).await;
    match (asker.marks, asked) {
        (Some(Marks::Opened), _) => ReasoningAnswer::Opened,
        (Some(Marks::Tags), _) => ReasoningAnswer::Tags,
        (Some(Marks::Field), _) => ReasoningAnswer::Field,
        (_, Ok(_)) => ReasoningAnswer::None,
        (_, Err(failure)) => ReasoningAnswer::NoAnswer { why: failure.text() },
    }
}

/// Does the server obey a grammar? If it obeys a small one, tries that of the tools.
pub(super) async fn ask_grammar(asker: &mut Asker<'_>, of_tools: Option<&str>) -> GrammarAnswer {
    let user = text!("Say hello.").into_string(asker.language);
    for &form in Form::ALL {
        let Some(held) = with_grammar(asker.backend, form, SMALL_GRAMMAR) else { return GrammarAnswer::CannotBeSent };
        let reasons = match asker.ask_with_grammar(&*held, text!("does the server obey a grammar"), &user).await {
            Ok(reply) if matches_small_grammar(&reply.text) => !reply.reasoning.is_empty(),
            Ok(_) | Err(Failure::Empty) => continue,
            Err(failure) if failure.is_refusal() => continue,
            Err(failure) => return GrammarAnswer::NoAnswer { why: failure.text() },
        };
        if let Some(held) = of_tools.and_then(|grammar| with_grammar(asker.backend, form, grammar)) {
            let question = text!("does it obey the grammar of the tools");
            match asker.ask_with_grammar(&*held, question, &user).await {
                // The reply is cut off early, so it need not match. The server has accepted the grammar.
                Ok(_) | Err(Failure::Empty) => {}
                Err(failure) => return GrammarAnswer::FailsOnTools { form, why: failure.text() },
            }
        }
        return GrammarAnswer::Obeys { form, reasons };
    }
    GrammarAnswer::Ignores
}

/// The backend with a grammar in its requests.
fn with_grammar(backend: &dyn Backend, form: Form, grammar: &str) -> Option<Arc<dyn Backend>> {
    let (member, value) = form.member(grammar);
    let members: Map<String, Value> = [(member.to_owned(), value)].into_iter().collect();
    backend.with_members(&members)
}

/// Returns `true` if a reply matches [`SMALL_GRAMMAR`].
fn matches_small_grammar(reply: &str) -> bool {
    let digits = reply.trim().strip_prefix("heron-").and_then(|rest| rest.strip_suffix("-stop"));
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(reply: &str) -> (usize, usize, String, String) {
        match compare(reply) {
            TextAnswer::Changed { line, column, sent, received } => (line, column, sent, received),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_first_difference_is_found() {
        let whole = format!("Sure.\n{BEGIN}\n{SENT}{END}\nBye.");
        assert_eq!(compare(&whole), TextAnswer::Unchanged);
        assert_eq!(compare(&whole.replace('\n', "\r\n")), TextAnswer::Unchanged);
        assert_eq!(compare(&format!("> {whole}\n\n{whole}")), TextAnswer::Unchanged, "the question is repeated");
        let (line, column, sent, received) = changed(&whole.replace("-- and", "— and"));
        assert_eq!((line, column), (2, 31));
        assert!(sent.starts_with("-- and then") && received.starts_with("— and then"), "{sent} {received}");
        let (line, column, ..) = changed(&whole.replace("cafe\u{301}", "café"));
        assert_eq!((line, column), (5, 14), "in characters");
        let (line, column, sent, received) = changed(&whole.replace("mike is the last line\n", "mike"));
        assert_eq!((line, column, sent.as_str(), received.as_str()), (16, 5, " is the last line\n", ""));
        assert_eq!(changed(&whole.replace('\n', " ")).0, 1, "all lines are joined");
    }

    #[test]
    fn a_text_that_was_not_repeated_has_no_difference() {
        for reply in ["", "I cannot do that.", BEGIN, "BEGIN-7319\nalpha and so forth\nEND-7319", "END-7319 BEGIN-7319"]
        {
            assert_eq!(compare(reply), TextAnswer::NotRepeated, "{reply}");
        }
    }

    #[test]
    fn the_small_grammar_is_matched_as_a_whole() {
        assert!(matches_small_grammar(" heron-1234-stop\n"));
        for reply in
            ["", "heron-123-stop", "heron-12a4-stop", "Hello heron-1234-stop", "heron-1234-stop.", "heron-𝟏-stop"]
        {
            assert!(!matches_small_grammar(reply), "{reply}");
        }
    }
}
