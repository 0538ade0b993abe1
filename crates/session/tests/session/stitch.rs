//! Blocks that break off with their reply and are taken up in the next one.
//!
//! The laws: wherever in a block a reply is cut, a continuation that is right gives the call of the uncut reply; one that is
//! wrong in one byte of what it repeats gives none.

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

fn asking() -> Talk {
    let mut talk = Talk::with(AskMode::Risky, options());
    talk.user("begin").log.clear();
    talk
}

/// The arguments of the call that the session asks about.
fn asked(talk: &mut Talk) -> Option<String> {
    let log = std::mem::take(&mut talk.log);
    let call = log.iter().find_map(|line| line.strip_prefix("ask "))?;
    call.split_once(' ').map(|(_, args)| args.to_owned())
}

/// What the model is asked to repeat.
fn repeated(talk: &Talk) -> Option<String> {
    let message = talk.last(Role::User);
    let (_, behind) = message.split_once("finish the block:\n\n")?;
    let (fence, behind) = behind.split_once('\n')?;
    Some(behind.split_once(&format!("\n{fence}"))?.0.to_owned())
}

/// The reply up to a byte, as a decoder leaves it that got half of a character.
fn head(reply: &str, cut: usize) -> String {
    String::from_utf8_lossy(&reply.as_bytes()[..cut]).into_owned()
}

/// Cuts the reply there. Gives what has to be repeated, where that was asked for, and what comes behind it.
fn cut(talk: &mut Talk, reply: &str, cut: usize) -> Option<(String, String)> {
    talk.chunks(&head(reply, cut)).end([FinishReason::Length, FinishReason::Cut][cut % 2]);
    if talk.log.contains(&"run r look".to_owned()) {
        talk.works("r", "seen");
    }
    if talk.log.last().is_none_or(|line| line != "call") {
        return None; // it was not inside of the block
    }
    let repeated = repeated(talk)?;
    let whole = (0..=cut).rev().find(|at| reply.is_char_boundary(*at)).unwrap_or(0);
    let end = reply[..whole].trim_end().len();
    assert!(reply[..end].ends_with(&repeated), "{repeated:?} does not stand before byte {end} of {reply}");
    assert!(repeated.len() >= 32);
    let behind = reply[end..].to_owned();
    Some((repeated, behind))
}

fn texts(random: &mut Random) -> String {
    let pieces = [
        "a line of some length, with words in it\n",
        "    indented\n",
        "é€𐍈 \u{1f600}\n",
        "\"quoted\" and \\n escaped \\u00e9\n",
        "\n",
        "}\n",
        "x",
        "a very long line without an end that goes on and on, so that it is longer than anything else in here. ",
        "```sh\nmake\n```\n",
    ];
    let text = random.text(&pieces, 14);
    format!("{text}\n")
}

fn replies(random: &mut Random) -> (String, usize) {
    let text = texts(random);
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
fn a_block_that_broke_off_is_taken_up() {
    let reply = format!("Hm.\n\n{}{}", block("r", "look", "1"), body_block(LINES));
    let mut talk = asking();
    let at = reply.find("ln!(\"{}\\\\n\", 2").unwrap();
    let (again, behind) = cut(&mut talk, &reply, at).expect("it can be taken up");
    assert_eq!(again, "fn second() {\n    print".replace("fn second", "println!(\"{}\\\\n\", 1);\n}\n\nfn second"));
    talk.logged(&[
        "text Hm.\n\n\n",
        "incomplete",
        "saw look",
        "run r look",
        "answered r ok",
        "answered z malformed_call",
        "call",
    ]);
    talk.told(&["seen", "was not run yet", "Continue that block now", &again]).not_told("Send the whole");
    talk.chunk = 7;
    talk.reply(&format!("{again}{behind}"));
    let asked = asked(&mut talk).expect("a change that was put together asks");
    assert!(asked.contains("fn second() {\\n    println!"), "{asked}");
    assert_eq!(talk.last(Role::Assistant), format!("{again}{behind}"), "the history has what the model wrote");
    talk.answer(Answer::Yes).logged(&["run z change"]);
    talk.works("z", "done").told(&["done"]);
}

#[test]
fn what_was_put_together_is_never_run_unasked() {
    let mut talk = Talk::begun();
    let (again, behind) = cut(&mut talk, &body_block(LINES), 130).expect("it can be taken up");
    talk.log.clear();
    talk.reply(&format!("{again}{behind}"));
    talk.logged(&["saw change", "answered z denied", "call"]).told(&["stitched", "put together"]);
    // What only reads runs.
    let mut talk = Talk::begun();
    let look = body_block(LINES).replace("change", "look");
    let (again, behind) = cut(&mut talk, &look, 130).expect("it can be taken up");
    talk.log.clear();
    talk.reply(&format!("{again}{behind}{}", block("b", "change", "1")));
    talk.logged(&["saw look", "saw change", "run z look"]);
    talk.works("z", "").logged(&["answered z ok", "run b change"]);
}

#[test]
fn a_block_is_taken_up_once() {
    let mut talk = asking();
    let text = LINES.repeat(3).replace("1)", "one)").replacen("first", "zeroth", 1);
    let reply = body_block(&text);
    let (again, behind) = cut(&mut talk, &reply, 150).expect("it can be taken up");
    talk.log.clear();
    talk.chunks(&format!("{again}{}", &behind[..80])).end(FinishReason::Length);
    talk.logged(&["incomplete", "answered call_1 malformed_call", "call"]);
    talk.told(&["for the second time", "several smaller calls"]).not_told("Continue that block now");
    // Another block of a reply that went on with one may be taken up in its turn.
    let mut talk = asking();
    let (again, behind) = cut(&mut talk, &reply, 150).expect("it can be taken up");
    talk.chunks(&format!("{again}{behind}{}", &reply[..170])).end(FinishReason::Length);
    assert!(talk.asks());
    talk.answer(Answer::Yes).works("z", "done").told(&["done", "Continue that block now"]);
    talk.log.clear();
    let again = repeated(&talk).unwrap();
    talk.reply(&format!("{again}{}", &reply[reply[..170].trim_end().len()..]));
    assert!(talk.asks(), "{:?}", talk.log);
}

#[test]
fn a_reply_that_does_not_go_on_is_not_read() {
    let example = block("e", "look", "an example in the text");
    let reply = body_block(&format!("# How to call a tool, by example\n\nOne writes:\n\n{example}and that is all.\n"));
    let at = reply.find("One writes").unwrap() + 4;
    for (wrong, told) in [
        (format!("One writes:\n\n{example}and that is all.\nEOF\n```\n"), "this may be content of that block"),
        (format!("```tool\nOne writes:\n\n{example}EOF\n```\n"), "outside of the object"),
        (format!("```tool\nOne writes:\n{}\nEOF\n```\n", example.lines().nth(1).unwrap()), "content of that block"),
        ("I go on:\n".to_owned(), "the block that broke off was not run"),
    ] {
        let mut talk = asking();
        cut(&mut talk, &reply, at).expect("it can be taken up");
        talk.log.clear();
        talk.reply(&wrong);
        assert_eq!(talk.log.last().unwrap(), "call");
        assert!(!talk.log.iter().any(|line| line.starts_with("run") || line.starts_with("ask")), "{:?}", talk.log);
        talk.told(&[told]);
        if told != "outside of the object" {
            talk.told(&["Send", "the whole call again as the first thing of your reply"]);
        }
        // That is what counts then.
        talk.reply(&reply);
        assert!(talk.asks(), "{:?}", talk.log);
    }
    // The whole block instead, at once.
    let mut talk = asking();
    cut(&mut talk, &reply, at).expect("it can be taken up");
    talk.reply(&reply);
    assert!(talk.asks(), "{:?}", talk.log);
}

#[test]
fn reasoning_may_stand_before_what_is_repeated() {
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
        let (again, behind) = cut(&mut talk, &reply, reply.len() - 40).expect("it can be taken up");
        talk.chunk = 3;
        talk.reply(&format!("{thought}{again}{behind}"));
        assert!(talk.asks(), "{:?}", talk.log);
    }
}

#[test]
fn who_cancels_or_has_no_round_left_is_not_asked_to_go_on() {
    let reply = body_block(LINES);
    let mut talk = asking();
    talk.chunks(&reply[..130]).give(Input::Cancel).user("and now?");
    talk.told(&["Send the whole block again", "and now?"]).not_told("Continue that block now");
    let mut options = options();
    options.limits.rounds = 1;
    let mut talk = Talk::with(AskMode::Risky, options);
    talk.user("begin").chunks(&reply[..130]).end(FinishReason::Length);
    talk.told(&["round 1 of 1"]).not_told("Continue that block now");
    // Nor does what was asked for in one turn count in the next.
    let mut talk = asking();
    let (again, behind) = cut(&mut talk, &reply, 130).expect("it can be taken up");
    talk.give(Input::Cancel).user("something else").log.clear();
    talk.reply(&format!("{again}{behind}"));
    assert!(!talk.log.contains(&"saw change".to_owned()), "{:?}", talk.log);
}

/// In the forms that models were trained to write, too.
#[test]
fn calls_in_dialects_are_taken_up() {
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
        let wanted = asked(&mut whole).unwrap_or_else(|| panic!("it is a call: {:?}", whole.log));
        let mut put_together = 0;
        for at in 1..reply.len() {
            let mut talk = talk();
            talk.chunk = 1 + at % 9;
            let Some((again, behind)) = cut(&mut talk, reply, at) else { continue };
            talk.log.clear();
            talk.reply(&format!("{again}{behind}"));
            assert_eq!(asked(&mut talk).as_deref(), Some(wanted.as_str()), "cut at {at} of {reply}");
            put_together += 1;
        }
        assert!(put_together > 20, "{put_together}");
    }
}

#[test]
fn any_cut_that_is_continued_gives_the_uncut_call() {
    let mut random = Random::new(7);
    let (mut cuts, mut put_together) = (0, 0);
    for _ in 0..60 {
        let (reply, start) = replies(&mut random);
        let mut talk = asking();
        if talk.reply(&reply).log.contains(&"run r look".to_owned()) {
            talk.works("r", "");
        }
        let wanted = asked(&mut talk).unwrap_or_else(|| panic!("it is a call: {reply}"));
        for at in start..reply.len() {
            let mut talk = asking();
            talk.chunk = 1 + at % 50;
            let taken_up = cut(&mut talk, &reply, at);
            let log = std::mem::take(&mut talk.log);
            if !log.contains(&"incomplete".to_owned()) {
                continue; // not inside of the block
            }
            cuts += 1;
            match taken_up {
                Some((again, behind)) => {
                    put_together += 1;
                    // Behind a fence of its own, what begins with the first line is the whole block again.
                    let kinds = if again.starts_with('{') { 2 } else { 4 };
                    let before = ["", "\n", "```tool\n", "~~~~tool\n  "][random.below(kinds)];
                    talk.reply(&format!("{before}{again}{behind}"))
                }
                None => {
                    talk.told(&["Send the whole block again"]);
                    talk.reply(&reply[start..])
                }
            };
            assert_eq!(asked(&mut talk).as_deref(), Some(wanted.as_str()), "cut at {at} of {reply}");
        }
    }
    println!("{cuts} cuts inside of a block, {put_together} put together");
    assert!(cuts > 10_000 && put_together > cuts / 2, "{cuts}, {put_together}");
}

#[test]
fn a_wrong_byte_at_the_seam_gives_no_call() {
    let mut random = Random::new(8);
    let mut tried = 0;
    for _ in 0..150 {
        let (reply, start) = replies(&mut random);
        for _ in 0..20 {
            let mut talk = asking();
            let at = start + 20 + random.below(reply.len() - start - 20);
            let Some((again, behind)) = cut(&mut talk, &reply, at) else { continue };
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
            // Whitespace may be lost or added at the beginning, and a letter taken out of a run of the same changes its end only.
            if format!("{}{behind}", wrong.trim_start()).starts_with(&again) || again.starts_with("{\"") {
                continue;
            }
            talk.reply(&format!("{before}{wrong}{behind}"));
            tried += 1;
            let runs = talk.log.iter().any(|line| line.starts_with("ask") || line.starts_with("run"));
            assert!(!runs, "{wrong:?} for {again:?}: {:?}", talk.log);
        }
    }
    println!("{tried} wrong continuations");
    assert!(tried > 1_000, "{tried}");
}
