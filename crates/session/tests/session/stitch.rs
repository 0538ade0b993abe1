//! Tests blocks that break off with their reply and are continued in the next one.
//!
//! Wherever a reply is cut inside a block, a correct continuation gives the call of the uncut reply. A continuation
//! with one wrong byte in the repeated text gives no call.

use super::talk::{Talk, block, options};
use toolfence_kit::Random;
use toolfence_policy::AskMode;
use toolfence_protocol::{Dialects, FinishReason, Role};
use toolfence_session::{Answer, Input};

const LINES: &str =
    "fn first() {\n    println!(\"{}\\\\n\", 1);\n}\n\nfn second() {\n    println!(\"{}\\\\n\", 2);\n}\n";

fn body_block(text: &str) -> String {
    format!("```tool\n{{\"id\": \"z\", \"name\": \"change\", \"args\": {{\"x\": \"<<EOF\"}}}}\n{text}EOF\n```\n")
}

fn json_block(text: &str) -> String {
    let args = serde_json::json!({"id": "z", "name": "change", "args": {"x": text}});
    format!("```tool\n{args}\n```\n")
}

fn pretty_block(text: &str) -> String {
    let args = serde_json::json!({"id": "z", "name": "change", "args": {"x": text}});
    format!("~~~~tool\n{args:#}\n~~~~\n")
}

fn talk_with_approvals() -> Talk {
    let mut talk = Talk::with(AskMode::Risky, options());
    talk.user("begin").log.clear();
    talk
}

/// Returns the arguments of the call that needs approval.
fn asked_args(talk: &mut Talk) -> Option<String> {
    let log = std::mem::take(&mut talk.log);
    let call = log.iter().find_map(|line| line.strip_prefix("ask "))?;
    call.split_once(' ').map(|(_, args)| args.to_owned())
}

/// Returns the text that the model is asked to repeat.
fn requested_repetition(talk: &Talk) -> Option<String> {
    let message = talk.last(Role::User);
    let (_, rest) = message.split_once("finish the block:\n\n")?;
    let (fence, rest) = rest.split_once('\n')?;
    Some(rest.split_once(&format!("\n{fence}"))?.0.to_owned())
}

/// Returns the reply up to a byte, as a lossy decoder leaves it after half a character.
fn head(reply: &str, cut: usize) -> String {
    String::from_utf8_lossy(&reply.as_bytes()[..cut]).into_owned()
}

/// Sends the reply up to `cut`. Returns the text that the model must repeat, if it is asked to, and the rest of the
/// reply.
fn cut(talk: &mut Talk, reply: &str, cut: usize) -> Option<(String, String)> {
    talk.chunks(&head(reply, cut)).end([FinishReason::Length, FinishReason::Cut][cut % 2]);
    if talk.log.contains(&"run r look".to_owned()) {
        talk.succeeds("r", "seen");
    }
    if talk.log.last().is_none_or(|line| line != "call") {
        return None; // it was not inside the block
    }
    let repeated = requested_repetition(talk)?;
    let whole = (0..=cut).rev().find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    let end = reply[..whole].trim_end().len();
    assert!(reply[..end].ends_with(&repeated), "{repeated:?} does not end at byte {end} of {reply}");
    assert!(repeated.len() >= 32);
    let rest = reply[end..].to_owned();
    Some((repeated, rest))
}

fn random_text(random: &mut Random) -> String {
    let pieces = [
        "a line of some length, with words in it\n",
        "    indented\n",
        "é€𐍈 \u{1f600}\n",
        "\"quoted\" and \\n escaped \\u00e9\n",
        "\n",
        "}\n",
        "x",
        "a very long line without an end that continues and continues, so that it is longer than anything else in here. ",
        "```sh\nmake\n```\n",
    ];
    let text = random.text(&pieces, 14);
    format!("{text}\n")
}

fn random_reply(random: &mut Random) -> (String, usize) {
    let text = random_text(random);
    let block = match random.below(5) {
        0 => body_block(&text),
        1 => json_block(&text),
        2 => pretty_block(&text),
        3 => body_block(LINES),
        _ => format!("- {}\n", body_block(&text).trim_end().replace('\n', "\n  ")),
    };
    let look = super::block("r", "look", "1");
    let before = ["", "Prose.\n\n", &look][random.below(3)];
    (format!("{before}{block}"), before.len())
}

#[test]
fn a_block_that_broke_off_is_continued() {
    let reply = format!("Hm.\n\n{}{}", block("r", "look", "1"), body_block(LINES));
    let mut talk = talk_with_approvals();
    let at = reply.find("ln!(\"{}\\\\n\", 2").unwrap();
    let (again, rest) = cut(&mut talk, &reply, at).expect("the block can be continued");
    assert_eq!(again, "fn second() {\n    print".replace("fn second", "println!(\"{}\\\\n\", 1);\n}\n\nfn second"));
    talk.assert_log(&[
        "text Hm.\n\n\n",
        "incomplete",
        "saw look",
        "run r look",
        "answered r ok",
        "answered z malformed_call",
        "call",
    ]);
    talk.model_received(&["seen", "was not run yet", "Continue that block now", &again])
        .model_did_not_receive("Send the whole");
    talk.chunk = 7;
    talk.reply(&format!("{again}{rest}"));
    let asked = asked_args(&mut talk).expect("a stitched change needs approval");
    assert!(asked.contains("fn second() {\\n    println!"), "{asked}");
    assert_eq!(talk.last(Role::Assistant), format!("{again}{rest}"), "the history has what the model wrote");
    talk.answer(Answer::Yes).assert_log(&["run z change"]);
    talk.succeeds("z", "done").model_received(&["done"]);
}

#[test]
fn stitched_changes_need_approval() {
    let mut talk = Talk::started();
    let (again, rest) = cut(&mut talk, &body_block(LINES), 130).expect("the block can be continued");
    talk.log.clear();
    talk.reply(&format!("{again}{rest}"));
    talk.assert_log(&["saw change", "answered z denied", "call"]).model_received(&["stitched", "put together"]);
    // A stitched call that only reads runs.
    let mut talk = Talk::started();
    let look = body_block(LINES).replace("change", "look");
    let (again, rest) = cut(&mut talk, &look, 130).expect("the block can be continued");
    talk.log.clear();
    talk.reply(&format!("{again}{rest}{}", block("b", "change", "1")));
    talk.assert_log(&["saw look", "saw change", "run z look"]);
    talk.succeeds("z", "").assert_log(&["answered z ok", "run b change"]);
}

#[test]
fn a_block_is_continued_once() {
    let mut talk = talk_with_approvals();
    let text = LINES.repeat(3).replace("1)", "one)").replacen("first", "zeroth", 1);
    let reply = body_block(&text);
    let (again, rest) = cut(&mut talk, &reply, 150).expect("the block can be continued");
    talk.log.clear();
    talk.chunks(&format!("{again}{}", &rest[..80])).end(FinishReason::Length);
    talk.assert_log(&["incomplete", "answered call_1 malformed_call", "call"]);
    talk.model_received(&["for the second time", "several smaller calls"])
        .model_did_not_receive("Continue that block now");
    // A reply that continues a block may break off in another block, and that block may be continued too.
    let mut talk = talk_with_approvals();
    let (again, rest) = cut(&mut talk, &reply, 150).expect("the block can be continued");
    talk.chunks(&format!("{again}{rest}{}", &reply[..170])).end(FinishReason::Length);
    assert!(talk.asks());
    talk.answer(Answer::Yes).succeeds("z", "done").model_received(&["done", "Continue that block now"]);
    talk.log.clear();
    let again = requested_repetition(&talk).unwrap();
    talk.reply(&format!("{again}{}", &reply[reply[..170].trim_end().len()..]));
    assert!(talk.asks(), "{:?}", talk.log);
}

#[test]
fn calls_of_a_reply_that_does_not_continue_do_not_run() {
    let example = block("e", "look", "an example in the text");
    let reply = body_block(&format!("# How to call a tool, by example\n\nOne writes:\n\n{example}and that is all.\n"));
    let at = reply.find("One writes").unwrap() + 4;
    for (wrong, note) in [
        (format!("One writes:\n\n{example}and that is all.\nEOF\n```\n"), "this may be content of that block"),
        (format!("```tool\nOne writes:\n\n{example}EOF\n```\n"), "outside of the object"),
        (format!("```tool\nOne writes:\n{}\nEOF\n```\n", example.lines().nth(1).unwrap()), "content of that block"),
        ("I continue:\n".to_owned(), "the block that broke off was not run"),
    ] {
        let mut talk = talk_with_approvals();
        cut(&mut talk, &reply, at).expect("the block can be continued");
        talk.log.clear();
        talk.reply(&wrong);
        assert_eq!(talk.log.last().unwrap(), "call");
        assert!(!talk.log.iter().any(|line| line.starts_with("run") || line.starts_with("ask")), "{:?}", talk.log);
        talk.model_received(&[note]);
        if note != "outside of the object" {
            talk.model_received(&["Send", "the whole call again as the first thing of your reply"]);
        }
        // If the model then sends the whole block again, that block counts.
        talk.reply(&reply);
        assert!(talk.asks(), "{:?}", talk.log);
    }
    // Instead of the rest, the model may send the whole block again.
    let mut talk = talk_with_approvals();
    cut(&mut talk, &reply, at).expect("the block can be continued");
    talk.reply(&reply);
    assert!(talk.asks(), "{:?}", talk.log);
}

#[test]
fn reasoning_may_precede_the_repeated_text() {
    for (thought, opened) in [("<think>\nWhere was I?\n</think>\n\n", false), ("Where was I?\n</think>\n", true)] {
        let mut options = options();
        options.parser.reasoning = if opened {
            toolfence_protocol::parse::Reasoning::Opened
        } else {
            toolfence_protocol::parse::Reasoning::Unknown
        };
        let mut talk = Talk::with(AskMode::Risky, options);
        talk.user("begin");
        let reply = format!("{thought}{}", body_block(LINES));
        let (again, rest) = cut(&mut talk, &reply, reply.len() - 40).expect("the block can be continued");
        talk.chunk = 3;
        talk.reply(&format!("{thought}{again}{rest}"));
        assert!(talk.asks(), "{:?}", talk.log);
    }
}

#[test]
fn a_cancelled_or_last_reply_is_not_continued() {
    let reply = body_block(LINES);
    let mut talk = talk_with_approvals();
    talk.chunks(&reply[..130]).send(Input::Cancel).user("and now?");
    talk.model_received(&["Send the whole block again", "and now?"]).model_did_not_receive("Continue that block now");
    let mut options = options();
    options.limits.rounds = 1;
    let mut talk = Talk::with(AskMode::Risky, options);
    talk.user("begin").chunks(&reply[..130]).end(FinishReason::Length);
    talk.model_received(&["round 1 of 1"]).model_did_not_receive("Continue that block now");
    // A request to continue in one turn does not affect the next.
    let mut talk = talk_with_approvals();
    let (again, rest) = cut(&mut talk, &reply, 130).expect("the block can be continued");
    talk.send(Input::Cancel).user("something else").log.clear();
    talk.reply(&format!("{again}{rest}"));
    assert!(!talk.log.contains(&"saw change".to_owned()), "{:?}", talk.log);
}

/// Calls in the forms that models were trained to write can be continued as well.
#[test]
fn calls_in_dialects_are_continued() {
    let hermes = "<tool_call>\n{\"name\": \"change\", \"arguments\": {\"x\": \"a text that is \\\"long enough\\\" to be cut in it\"}}\n</tool_call>\n";
    let qwen = "<tool_call>\n<function=change>\n<parameter=x>\nline one of a text that is long\nline two of it, é\n</parameter>\n</function>\n</tool_call>\n";
    for reply in [hermes, qwen] {
        let talk = || {
            let mut options = options();
            options.parser.dialects = Dialects::ALL;
            let mut talk = Talk::with(AskMode::Risky, options);
            talk.user("begin").log.clear();
            talk
        };
        let mut whole = talk();
        whole.reply(reply);
        let wanted = asked_args(&mut whole).unwrap_or_else(|| panic!("it is a call: {:?}", whole.log));
        let mut stitched = 0;
        for at in 1..reply.len() {
            let mut talk = talk();
            talk.chunk = 1 + at % 9;
            let Some((again, rest)) = cut(&mut talk, reply, at) else { continue };
            talk.log.clear();
            talk.reply(&format!("{again}{rest}"));
            assert_eq!(asked_args(&mut talk).as_deref(), Some(wanted.as_str()), "cut at {at} of {reply}");
            stitched += 1;
        }
        assert!(stitched > 20, "{stitched}");
    }
}

#[test]
fn any_cut_that_is_continued_gives_the_uncut_call() {
    let mut random = Random::new(7);
    let (mut cuts, mut stitched) = (0, 0);
    for _ in 0..60 {
        let (reply, start) = random_reply(&mut random);
        let mut talk = talk_with_approvals();
        if talk.reply(&reply).log.contains(&"run r look".to_owned()) {
            talk.succeeds("r", "");
        }
        let wanted = asked_args(&mut talk).unwrap_or_else(|| panic!("it is a call: {reply}"));
        for at in start..reply.len() {
            let mut talk = talk_with_approvals();
            talk.chunk = 1 + at % 50;
            let continuation = cut(&mut talk, &reply, at);
            let log = std::mem::take(&mut talk.log);
            if !log.contains(&"incomplete".to_owned()) {
                continue; // not inside the block
            }
            cuts += 1;
            match continuation {
                Some((again, rest)) => {
                    stitched += 1;
                    // If the repeated text begins with the first line of the block, a fence before it would begin the
                    // whole block again.
                    let kinds = if again.starts_with('{') { 2 } else { 4 };
                    let before = ["", "\n", "```tool\n", "~~~~tool\n  "][random.below(kinds)];
                    talk.reply(&format!("{before}{again}{rest}"))
                }
                None => {
                    talk.model_received(&["Send the whole block again"]);
                    talk.reply(&reply[start..])
                }
            };
            assert_eq!(asked_args(&mut talk).as_deref(), Some(wanted.as_str()), "cut at {at} of {reply}");
        }
    }
    println!("{cuts} cuts inside a block, {stitched} stitched");
    assert!(cuts > 10_000 && stitched > cuts / 2, "{cuts}, {stitched}");
}

#[test]
fn a_wrong_byte_at_the_seam_gives_no_call() {
    let mut random = Random::new(8);
    let mut tried = 0;
    for _ in 0..150 {
        let (reply, start) = random_reply(&mut random);
        for _ in 0..20 {
            let mut talk = talk_with_approvals();
            let at = start + 20 + random.below(reply.len() - start - 20);
            let Some((again, rest)) = cut(&mut talk, &reply, at) else { continue };
            talk.log.clear();
            let mut letters: Vec<char> = again.chars().collect();
            let place = random.below(letters.len());
            let other = ['#', 'é', '\n', ' '][random.below(4)];
            if letters[place] == other {
                continue;
            }
            match random.below(3) {
                0 => letters[place] = other,
                1 => letters.insert(place, other),
                _ => drop(letters.remove(place)),
            }
            let wrong: String = letters.into_iter().collect();
            let before = ["", "```tool\n"][random.below(2)];
            // Some changes are not wrong: white space at the beginning does not count, and if one of several equal
            // letters is removed, the beginning stays the same.
            if format!("{}{rest}", wrong.trim_start()).starts_with(&again) || again.starts_with("{\"") {
                continue;
            }
            talk.reply(&format!("{before}{wrong}{rest}"));
            tried += 1;
            let runs = talk.log.iter().any(|line| line.starts_with("ask") || line.starts_with("run"));
            assert!(!runs, "{wrong:?} for {again:?}: {:?}", talk.log);
        }
    }
    println!("{tried} wrong continuations");
    assert!(tried > 1_000, "{tried}");
}
