//! Compaction: a conversation that no longer fits becomes one that does.
//!
//! Pure and deterministic: no model is asked for a summary, for that would be one more reply that can fail. What gives way, in
//! this order, and only as far as the budget asks for it:
//!
//! 1. Images in front of the last three exchanges, from the oldest on. A line says what stood there.
//! 2. Old output of tools. Head and tail of it stay, and a note says how to see the rest.
//! 3. The oldest exchanges. A note below the task says what they came to: the words of the user, the files that were changed,
//!    what was not allowed and what is allowed for good, and the plan.
//! 4. Images and output in the last three exchanges, the oldest first, then these exchanges, but for the last one, and at the very
//!    last the images of the newest message of the user.
//!
//! An exchange is a reply with the message that answers it. The instructions, the task, which is the first message of the user,
//! and the words of the model stay as they are. The history stays an alternation of user and assistant, and a block of a result
//! stays a block: it is written anew around its shortened output.

use super::messages;
use std::collections::HashSet;
use std::sync::Arc;
use toolfence_policy::changed_names;
use toolfence_policy::plan::{self, Plan};
use toolfence_protocol::format::{self, Format, Part};
use toolfence_protocol::parse::{self, Event, Parser};
use toolfence_protocol::{
    Args, Catalog, Effect, ErrorCode, FinishReason, Image, Language, Message, Role, Text, ToolCall, clip,
};

/// Exchanges at the end that stay verbatim where they fit.
const KEPT: usize = 3;

/// What a backend's template adds to a message, in bytes.
const AROUND: usize = 16;

/// What an image takes of the window, in bytes of text: as many as have its tokens at the usual 3.5 bytes each.
const IMAGE: usize = Image::TOKENS * 7 / 2;

/// Bytes to which old output is cut. A note and some lines of head and tail fit.
const SHORT: usize = 1000;

/// Bytes to which output in the last exchanges is cut, the most generous first.
const CAPS: &[usize] = &[32_000, 8000, 2500, SHORT];

/// Replies before a result in which its call is looked for: it stands in the last one, or in one that was taken up since.
const MOST_REPLIES: usize = 4;

/// Bytes of `data` in a result, such as a diff, beyond which it goes with the output.
const SMALL_DATA: usize = 300;

/// Names of files, decisions and rules that a note holds.
const MOST_LISTED: usize = 60;

/// Characters of a line of such a list.
const LONGEST_LINE: usize = 240;

/// What the session knows beside the history.
pub(super) struct Context<'a> {
    pub(super) catalog: &'a Arc<Catalog>,
    pub(super) parser: parse::Options,
    pub(super) format: &'a Format,
    /// What the person allowed for good.
    pub(super) allowed: &'a [String],
}

/// A conversation that was compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) messages: Vec<Message>,
    /// Outputs of tools that were shortened, in the messages that are left.
    pub(super) outputs: usize,
    /// Messages that gave way to the note.
    pub(super) dropped: usize,
    /// Images that gave way to a line, in the messages that are left.
    pub(super) images: usize,
}

/// What a conversation takes, in bytes as [`compact`] counts them.
pub(super) fn size(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.content.len() + message.images.len() * IMAGE + AROUND).sum()
}

/// Compacts the history to `goal` bytes, or as far as possible. `None` if it is not longer, or nothing can give way. The images of the
/// newest message give way only for `limit`, which is at least the goal.
pub(super) fn compact(history: &[Message], goal: usize, limit: usize, context: &Context<'_>) -> Option<View> {
    let before = size(history);
    if before <= goal {
        return None;
    }
    let layout = Layout::of(history);
    let none = vec![0; history.len()];
    let mut view = Shortened { messages: history.to_vec(), outputs: none.clone(), images: none };
    let newest = history.iter().rposition(|message| message.role == Role::User).unwrap_or(0);
    if layout.replies.len() > KEPT {
        view.drop_images(0..layout.tail(KEPT).min(newest), goal, context);
    }
    view.shorten(layout.start..layout.tail(KEPT), SHORT, goal, context);
    let facts: Vec<Facts> = history.iter().map(|message| Facts::of(message, context)).collect();
    let facts = Facts::joined(facts, context);
    let drop = |view: &Shortened, keep, budget| {
        let most = layout.replies.len().saturating_sub(keep);
        layout.fewest_dropped(history, view, most, budget, &facts, context)
    };
    let mut best = drop(&view, KEPT, goal);
    let shows_images = |view: &Shortened| view.messages.iter().any(|message| !message.images.is_empty());
    // What is dropped already needs no room, so that the newest gives way last.
    let room = |view: &Shortened, best: &View| goal + size(&view.messages).saturating_sub(size(&best.messages));
    if size(&best.messages) > goal && shows_images(&view) {
        let room = room(&view, &best);
        view.drop_images(0..newest, room, context);
        best = smaller(best, drop(&view, KEPT, goal));
    }
    for cap in CAPS {
        if size(&best.messages) <= goal {
            break;
        }
        let room = room(&view, &best);
        view.shorten(layout.tail(KEPT)..history.len(), *cap, room, context);
        best = smaller(best, drop(&view, KEPT, goal));
    }
    if size(&best.messages) > goal {
        best = smaller(best, drop(&view, 1, goal));
    }
    if size(&best.messages) > limit && shows_images(&view) {
        let room = room(&view, &best);
        view.drop_images(0..history.len(), room, context);
        best = smaller(best, drop(&view, KEPT, goal));
        if size(&best.messages) > goal {
            best = smaller(best, drop(&view, 1, goal));
        }
    }
    (size(&best.messages) < before).then_some(best)
}

fn smaller(one: View, other: View) -> View {
    if size(&other.messages) < size(&one.messages) { other } else { one }
}

/// Where the parts of a history are.
struct Layout {
    /// The first message that may give way: behind the instructions and the task.
    start: usize,
    task: bool,
    /// The replies: each begins an exchange.
    replies: Vec<usize>,
}

impl Layout {
    fn of(history: &[Message]) -> Layout {
        let system = usize::from(history.first().is_some_and(|message| message.role == Role::System));
        let task = history.get(system).is_some_and(|message| message.role == Role::User);
        let start = system + usize::from(task);
        let is_reply = |index: &usize| history[*index].role == Role::Assistant;
        Layout { start, task, replies: (start..history.len()).filter(is_reply).collect() }
    }

    /// Where the last `count` exchanges begin.
    fn tail(&self, count: usize) -> usize {
        match self.replies.len().checked_sub(count) {
            Some(first) => self.replies.get(first).copied().unwrap_or(usize::MAX),
            None => self.start,
        }
    }

    /// The view from which the fewest exchanges were dropped so that it fits; where none does, the smallest at hand.
    fn fewest_dropped(
        &self,
        history: &[Message],
        view: &Shortened,
        most: usize,
        budget: usize,
        facts: &[Facts],
        context: &Context<'_>,
    ) -> View {
        let at = |count| self.without(history, view, count, budget, facts, context);
        let whole = at(0);
        if most == 0 || size(&whole.messages) <= budget {
            return whole;
        }
        let last = at(most);
        if size(&last.messages) > budget {
            return smaller(whole, last);
        }
        let (mut low, mut high, mut best) = (0, most, last);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            let tried = at(middle);
            if size(&tried.messages) <= budget {
                (high, best) = (middle, tried);
            } else {
                low = middle;
            }
        }
        best
    }

    /// The view without its first `count` exchanges.
    fn without(
        &self,
        history: &[Message],
        view: &Shortened,
        count: usize,
        budget: usize,
        facts: &[Facts],
        context: &Context<'_>,
    ) -> View {
        if count == 0 {
            let (outputs, images) = (view.outputs.iter().sum(), view.images.iter().sum());
            return View { messages: view.messages.clone(), outputs, dropped: 0, images };
        }
        let end = self.replies.get(count).copied().unwrap_or(history.len());
        let note = note(end - self.start, &facts[self.start..end], facts, budget / 5, context);
        // The task is as it was written, but for its images.
        let mut messages = view.messages[..self.start].to_vec();
        match messages.last_mut().filter(|_| self.task) {
            Some(task) => {
                task.content.push_str("\n\n");
                task.content.push_str(&note);
            }
            None => messages.push(Message::new(Role::User, note)),
        }
        messages.extend_from_slice(&view.messages[end..]);
        let left = |counts: &[usize]| counts[..self.start].iter().chain(&counts[end..]).sum();
        View { messages, outputs: left(&view.outputs), dropped: end - self.start, images: left(&view.images) }
    }
}

/// A history some of whose outputs were cut, with how many of each message, and some of whose images are gone.
struct Shortened {
    messages: Vec<Message>,
    outputs: Vec<usize>,
    /// How many images of each message gave way.
    images: Vec<usize>,
}

impl Shortened {
    /// Takes images out of these messages, the oldest first, until all fits. A line in each message says which stood there.
    fn drop_images(&mut self, range: std::ops::Range<usize>, budget: usize, context: &Context<'_>) {
        let mut now = size(&self.messages);
        for index in range {
            if now <= budget {
                return;
            }
            let message = &mut self.messages[index];
            let images = std::mem::take(&mut message.images);
            self.images[index] += images.len();
            for image in &images {
                let note = messages::image_compacted(line(image.name())).render(context.format.language);
                now = now.saturating_sub(IMAGE) + note.len() + 2;
                message.content.extend(["\n\n", &note]);
            }
        }
    }

    /// Cuts outputs in these messages, the oldest first, until all fits.
    fn shorten(&mut self, range: std::ops::Range<usize>, cap: usize, budget: usize, context: &Context<'_>) {
        let mut now = size(&self.messages);
        for index in range.start..range.end.min(self.messages.len()) {
            if now <= budget {
                return;
            }
            let message = &mut self.messages[index];
            if message.role != Role::User {
                continue;
            }
            if let Some((text, outputs)) = shortened(&message.content, cap, context) {
                now = now + text.len() - message.content.len();
                message.content = text;
                self.outputs[index] = self.outputs[index].max(outputs);
            }
        }
    }
}

/// A message with its outputs cut to `cap` bytes, and how many were cut. `None` where no output is longer.
fn shortened(message: &str, cap: usize, context: &Context<'_>) -> Option<(String, usize)> {
    let (mut text, mut count) = (String::new(), 0);
    for Part { text: raw, result } in format::parts(message, context.format.nonce.as_deref()) {
        let Some(mut result) = result else {
            text.push_str(raw);
            continue;
        };
        let big = result.data.as_ref().is_some_and(|data| data.to_string().len() > SMALL_DATA);
        if result.output.len() <= cap && !big {
            text.push_str(raw);
            continue;
        }
        if result.output.len() > cap {
            let reads =
                context.catalog.find(&result.tool).is_some_and(|spec| spec.effect_of(&Args::new()) == Effect::Read);
            result.output = cut(&result.output, cap, reads, context);
            result.truncated = true;
        }
        if big {
            result.data = None;
        }
        let mut unlimited = context.format.clone();
        unlimited.message_limit = usize::MAX;
        let block = format::results(std::slice::from_ref(&result), &unlimited);
        let newline = if raw.ends_with('\n') { "\n" } else { "" };
        // A block that was short but for its data may be longer when it is written anew.
        if block.len() + newline.len() < raw.len() {
            text.extend([&block, newline]);
            count += 1;
        } else {
            text.push_str(raw);
        }
    }
    (count > 0).then_some((text, count))
}

/// Head and tail of an output in at most `cap` bytes, whole lines where lines are not too long.
fn cut(output: &str, cap: usize, reads: bool, context: &Context<'_>) -> String {
    let total = output.lines().count();
    let note = |lines: usize| {
        let text = if reads { messages::output_compacted(lines) } else { messages::effect_compacted(lines) };
        text.render(context.format.language)
    };
    // The note is never longer than with the most lines, and two line ends stand around it.
    let room = cap.saturating_sub(note(total.max(2)).len() + 2);
    let head = head(output, room / 3 * 2);
    let tail = tail(&output[head.len()..], room / 3);
    let left_out = total.saturating_sub(head.lines().count() + tail.lines().count()).max(1);
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{gap}{}\n{tail}", note(left_out))
}

/// The beginning of a text in at most `room` bytes: whole lines, unless more than half of the room would be left.
fn head(text: &str, room: usize) -> &str {
    let most = &text[..clip::floor_boundary(text, room)];
    match most.rfind('\n') {
        Some(end) if end + 1 >= room / 2 => &most[..=end],
        _ => most,
    }
}

/// The end of a text in at most `room` bytes, as [`head`] has its beginning.
fn tail(text: &str, room: usize) -> &str {
    let start = clip::ceil_boundary(text, text.len().saturating_sub(room));
    let most = &text[start..];
    match most.find('\n') {
        Some(end) if end < room / 2 => &most[end + 1..],
        _ => most,
    }
}

/// What a message leaves behind that has to outlive it.
#[derive(Debug, Default, Clone)]
struct Facts {
    /// The words of the user, without the results of calls.
    said: String,
    /// The calls of a reply.
    calls: Vec<ToolCall>,
    /// The results of those of the reply before.
    results: Vec<Told>,
    /// Files that calls changed.
    files: Vec<String>,
    /// Calls that were refused, and why.
    refused: Vec<String>,
    plan: Option<Plan>,
}

#[derive(Debug, Clone)]
struct Told {
    /// The result answers a block that could not be read.
    is_malformed: bool,
    tool: String,
    success: bool,
    files: Vec<String>,
    refusal: Option<Text>,
}

impl Facts {
    fn of(message: &Message, context: &Context<'_>) -> Facts {
        match message.role {
            Role::System => Facts::default(),
            Role::Assistant => Facts { calls: calls(&message.content, context), ..Facts::default() },
            Role::User => Facts::of_user(&message.content, context),
        }
    }

    fn of_user(message: &str, context: &Context<'_>) -> Facts {
        let mut facts = Facts::default();
        let parts = format::parts(message, context.format.nonce.as_deref());
        let answers = parts.iter().any(|part| part.result.is_some());
        for part in parts {
            let Some(result) = part.result else {
                facts.say(part.text, answers);
                continue;
            };
            let names = result.data.as_ref().and_then(|data| data.get("files_modified")?.as_array().cloned());
            let files = names.unwrap_or_default().iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
            let is_malformed = result.error.as_ref().is_some_and(|error| error.code == ErrorCode::MalformedCall);
            let denied = result.error.filter(|error| error.code == ErrorCode::Denied);
            let refusal = denied.map(|error| error.message);
            facts.results.push(Told { is_malformed, tool: result.tool, success: result.success, files, refusal });
        }
        facts
    }

    /// Keeps what the user said. Beside results stand notes of the session too, which speak of what is gone.
    fn say(&mut self, text: &str, beside_results: bool) {
        let is_note =
            |paragraph: &str| beside_results && ["Note: ", "Nota: "].iter().any(|word| paragraph.starts_with(word));
        let words: Vec<&str> = text.split("\n\n").filter(|paragraph| !is_note(paragraph.trim_start())).collect();
        let words = words.join("\n\n");
        let words = words.trim();
        if !words.is_empty() {
            let gap = if self.said.is_empty() { "" } else { "\n\n" };
            self.said.extend([gap, words]);
        }
    }

    /// Brings together the calls of each reply and the results that follow it.
    fn joined(mut all: Vec<Facts>, context: &Context<'_>) -> Vec<Facts> {
        let mut calls: Vec<ToolCall> = Vec::new();
        for facts in &mut all {
            if !facts.calls.is_empty() {
                calls = std::mem::take(&mut facts.calls);
            }
            for told in std::mem::take(&mut facts.results) {
                // Results are in the order of the calls. Their ids are those of the conversation, which the text of a reply does not have.
                let at = calls.iter().position(|call| !told.is_malformed && call.name == told.tool);
                let call = at.map(|at| calls.remove(at));
                let call = call.as_ref();
                if let Some(why) = &told.refusal {
                    let label = call.map_or_else(|| told.tool.clone(), |call| label(call, context.catalog));
                    facts.refused.push(line(&format!("{label}: {}", why.render(context.format.language))));
                }
                if told.success {
                    facts.succeeded(call, told.files, context);
                }
            }
        }
        all
    }
}

impl Facts {
    fn succeeded(&mut self, call: Option<&ToolCall>, files: Vec<String>, context: &Context<'_>) {
        if files.is_empty()
            && let Some(call) = call
            && let Some(spec) = context.catalog.find(&call.name)
            && spec.effect_of(&call.args) == Effect::Write
        {
            self.files.extend(changed_names(spec, &call.args).iter().map(|name| line(name)));
        }
        self.files.extend(files.iter().map(|name| line(name)));
        let planned = call.filter(|call| call.name == plan::TOOL);
        self.plan = planned.and_then(|call| Plan::read(&call.args).ok()).or(self.plan.take());
    }
}

/// The calls of a reply, as the session read them.
fn calls(reply: &str, context: &Context<'_>) -> Vec<ToolCall> {
    let mut options = context.parser.clone();
    options.settled_only = true;
    let mut parser = Parser::new(options);
    parser.push(reply);
    parser.finish(FinishReason::Stop);
    let mut calls = Vec::new();
    while let Some(event) = parser.poll() {
        if let Event::Call { mut call, .. } = event {
            // Where its arguments are wrong, the call was answered with that and changed nothing.
            let _ = context.catalog.resolve(&mut call);
            calls.push(*call);
        }
    }
    calls
}

/// The last plan that a call in this history made and that was kept, as a resumed conversation has it.
pub(super) fn last_plan(history: &[Message], context: &Context<'_>) -> Option<Plan> {
    // From the end, and only where a result names the tool: whoever goes on with a long conversation waits for this.
    for (at, message) in history.iter().enumerate().rev() {
        if message.role != Role::User || !message.content.contains(plan::TOOL) {
            continue;
        }
        let told = Facts::of_user(&message.content, context);
        if !told.results.iter().any(|told| told.success && told.tool == plan::TOOL) {
            continue;
        }
        let replies = history[..at].iter().rev().filter(|message| message.role == Role::Assistant);
        let calls =
            replies.take(MOST_REPLIES).map(|reply| calls(&reply.content, context)).find(|calls| !calls.is_empty());
        let reply = Facts { calls: calls.unwrap_or_default(), ..Facts::default() };
        let plan = Facts::joined(vec![reply, told], context).into_iter().find_map(|facts| facts.plan);
        if plan.is_some() {
            return plan;
        }
    }
    None
}

/// Files that the calls of these messages changed, as far as results and arguments name them.
pub(super) fn changed(messages: &[Message], context: &Context<'_>) -> Vec<String> {
    let facts = messages.iter().map(|message| Facts::of(message, context)).collect();
    let mut files = listed(Facts::joined(facts, context).into_iter().flat_map(|facts| facts.files));
    files.truncate(MOST_LISTED);
    files
}

/// What stands in the place of so many dropped messages, whose facts are these, in a conversation with all these facts.
fn note(count: usize, dropped: &[Facts], all: &[Facts], room: usize, context: &Context<'_>) -> String {
    let language = context.format.language;
    let mut note = messages::history_compacted(count).render(language);
    let mut section = |head: Text, body: String| {
        if !body.is_empty() {
            note.extend(["\n\n", &head.render(language), "\n", &body]);
        }
    };
    section(messages::user_also_said(), said(dropped, room, language));
    let names = listed(dropped.iter().flat_map(|facts| facts.files.iter().cloned()));
    let more = names.len().saturating_sub(MOST_LISTED);
    let mut shown: Vec<String> = names.into_iter().skip(more).collect();
    shown.extend((more > 0).then(|| messages::and_more_files(more).render(language)));
    section(messages::files_changed_so_far(), shown.join(", "));
    section(messages::was_refused(), bullets(dropped.iter().flat_map(|facts| facts.refused.iter().cloned())));
    section(messages::is_always_allowed(), bullets(context.allowed.iter().map(|rule| line(rule))));
    let plan = all.iter().rev().find_map(|facts| facts.plan.as_ref());
    section(messages::plan_so_far(), plan.map(Plan::checklist).unwrap_or_default());
    note.trim_end().to_owned()
}

/// The words of the user, quoted, the newest first to find room; in the order in which they were said.
fn said(dropped: &[Facts], room: usize, language: Language) -> String {
    let all: Vec<&str> = dropped.iter().map(|facts| facts.said.as_str()).filter(|said| !said.is_empty()).collect();
    let (mut quotes, mut left) = (Vec::new(), room);
    for words in all.iter().rev() {
        let quote: String = words.lines().map(|line| format!("> {line}\n")).collect();
        if quote.len() > left {
            break;
        }
        left -= quote.len();
        quotes.push(quote);
    }
    let missing = all.len() - quotes.len();
    if missing > 0 {
        quotes.push(format!("{}\n", messages::more_was_said(missing).render(language)));
    }
    quotes.reverse();
    quotes.join("\n").trim_end().to_owned()
}

/// Each of these once, where it comes last.
fn listed(lines: impl DoubleEndedIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut newest: Vec<String> = lines.rev().filter(|line| seen.insert(line.clone())).collect();
    newest.reverse();
    newest
}

/// The newest of these, one a line.
fn bullets(lines: impl DoubleEndedIterator<Item = String>) -> String {
    let lines = listed(lines);
    let newest = &lines[lines.len().saturating_sub(MOST_LISTED)..];
    newest.iter().map(|line| format!("- {line}\n")).collect::<String>().trim_end().to_owned()
}

/// A text as one line that is not too long.
fn line(text: &str) -> String {
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let mut line: String = words.flat_map(str::chars).take(LONGEST_LINE + 1).collect();
    if line.chars().count() > LONGEST_LINE {
        line.pop();
        line.push('…');
    }
    line
}

/// The tool and the path, command or pattern of a call: `read_file README.md`.
fn label(call: &ToolCall, catalog: &Catalog) -> String {
    /// Characters of a target that are shown.
    const LONGEST_TARGET: usize = 80;
    let telling = catalog.find(&call.name).and_then(|spec| spec.telling(&call.args));
    let target = telling.map_or("", |(_, text)| text);
    let line = format!("{} {}", call.name, target.split_whitespace().collect::<Vec<_>>().join(" "));
    line.trim_end().chars().take(LONGEST_TARGET).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolfence_kit::Random;
    use toolfence_protocol::{Output, ToolFailure, ToolResult};

    struct World {
        catalog: Arc<Catalog>,
        parser: parse::Options,
        format: Format,
        allowed: Vec<String>,
    }

    impl World {
        fn new() -> World {
            let plan = toolfence_protocol::ToolSpec::new(plan::TOOL, "for tests").effect(|_| Effect::Read);
            let plan = plan.param(
                toolfence_protocol::Param::new("steps", toolfence_protocol::ParamKind::Any, "the steps").required(),
            );
            let catalog: Catalog = toolfence_policy::toolset::builtins().iter().cloned().chain([plan]).collect();
            let catalog = Arc::new(catalog);
            let mut parser = parse::Options::default();
            parser.catalog = Some(catalog.clone());
            World { catalog, parser, format: Format::default(), allowed: vec!["cargo test *".into()] }
        }

        fn context(&self) -> Context<'_> {
            Context {
                catalog: &self.catalog,
                parser: self.parser.clone(),
                format: &self.format,
                allowed: &self.allowed,
            }
        }

        fn compact(&self, history: &[Message], budget: usize) -> Option<View> {
            compact(history, budget, budget, &self.context())
        }

        fn answer(&self, result: ToolResult) -> Message {
            Message::new(Role::User, format::results(&[result], &self.format))
        }
    }

    fn call(id: &str, name: &str, args: &serde_json::Value) -> Message {
        let body = json!({"id": id, "name": name, "args": args});
        Message::new(Role::Assistant, format!("I go on.\n\n```tool\n{body}\n```\n"))
    }

    fn read(id: &str, output: &str) -> ToolResult {
        ToolResult::new(id, "read_file", Output::text(output), 1)
    }

    /// A task of many steps: what was said, planned, changed and refused stands at its beginning.
    fn long_task(world: &World) -> Vec<Message> {
        let lines: String = (0..300).map(|line| format!("line {line} of a file\n")).collect();
        let mut history =
            vec![Message::new(Role::System, "instructions"), Message::new(Role::User, "Port it to Rust.")];
        let steps = json!({"steps": [{"text": "read it", "state": "done"}, {"text": "write it", "state": "active"}]});
        history.push(call("p", "plan", &steps));
        history.push(world.answer(ToolResult::new("p", "plan", Output::text("kept"), 1)));
        history.push(call("w", "write_file", &json!({"path": "src/deep/lib.rs", "content": "x"})));
        history.push(world.answer(ToolResult::new("w", "write_file", Output::text("written"), 1)));
        history.push(call("b", "bash", &json!({"command": "git push"})));
        let failure = ToolFailure::new(ErrorCode::Denied, "not before Friday.");
        history.push(world.answer(ToolResult::refused("b", "bash", failure)));
        history.push(Message::new(Role::Assistant, "So I wait."));
        history.push(Message::new(Role::User, "Keep the names\nof the functions."));
        for number in 0..20 {
            let id = format!("r{number}");
            history.push(call(&id, "read_file", &json!({"path": format!("a{number}.py")})));
            history.push(world.answer(read(&id, &lines)));
        }
        history
    }

    #[test]
    fn old_output_gives_way_first() {
        let world = World::new();
        let history = long_task(&world);
        let budget = size(&history) / 2;
        let view = world.compact(&history, budget).unwrap();
        assert_eq!((view.dropped, view.messages.len()), (0, history.len()));
        assert!(view.outputs > 5 && size(&view.messages) <= budget);
        // The oldest, and no more than was needed.
        let cut = |message: &&Message| message.content.contains("[COMPACTED: ");
        assert_eq!(view.messages.iter().filter(cut).count(), view.outputs);
        let last_cut = view.messages.iter().rposition(|message| cut(&message)).unwrap();
        assert_eq!(view.messages[last_cut + 1..], history[last_cut + 1..]);
        let result = &format::read_back(&view.messages[last_cut].content, None)[0];
        assert!(result.output.starts_with("line 0 of a file\n") && result.output.ends_with("line 299 of a file\n"));
        assert!(result.output.contains(" lines were left out of this old output; send the same call again"));
        assert!(result.truncated && result.output_bytes > 5000 && result.output.len() <= SHORT);
        assert!(world.compact(&history, size(&history)).is_none(), "what fits stays");
    }

    #[test]
    fn old_images_give_way_before_anything_else() {
        let world = World::new();
        let image = |name: &str| Image::new(name, b"GIF89a").unwrap();
        let mut history = long_task(&world);
        history[1].images = vec![image("task.gif")];
        history[3].images = vec![image("a.gif"), image("b.gif")];
        let newest = history.len() - 1;
        history[newest - 2].images = vec![image("recent.gif")];
        history[newest].images = vec![image("newest.gif")];
        let names = |view: &View| -> Vec<String> {
            view.messages.iter().flat_map(|message| &message.images).map(|image| image.name().to_owned()).collect()
        };
        let view = world.compact(&history, size(&history) - 100).unwrap();
        assert_eq!((view.images, view.outputs, view.dropped), (1, 0, 0), "the oldest is enough");
        assert_eq!(names(&view), ["a.gif", "b.gif", "recent.gif", "newest.gif"]);
        let line = "[COMPACTED: the image task.gif stood here and did not fit any more; if you need it, call again the tool \
                    that gave it, or ask the user to show it again]";
        assert_eq!(view.messages[1].content, format!("Port it to Rust.\n\n{line}"));
        let view = world.compact(&history, size(&history) / 2).unwrap();
        assert!(view.outputs > 0 && names(&view) == ["recent.gif", "newest.gif"], "{:?}", names(&view));
        let view = world.compact(&history, 9000).unwrap();
        assert_eq!(names(&view), ["newest.gif"], "the last exchanges give way if the rest is not enough");
        assert!(view.messages[1].content.contains(line), "the task says what it showed");
        let view = world.compact(&history, 4000).unwrap();
        assert!(names(&view).is_empty() && view.messages.last().unwrap().content.contains("newest.gif stood here"));
    }

    #[test]
    fn what_has_to_outlive_the_history_does() {
        let world = World::new();
        let history = long_task(&world);
        let view = world.compact(&history, 24_000).unwrap();
        let wanted = "Port it to Rust.\n\n[COMPACTED: ";
        assert!(view.messages[1].content.starts_with(wanted), "{}", view.messages[1].content);
        for wanted in [
            "The user also said:\n> Keep the names\n> of the functions.",
            "Files that your calls changed:\nsrc/deep/lib.rs",
            "Not allowed, with the reason:\n- bash git push: not before Friday.",
            "The user always allows:\n- cargo test *",
            "Your plan:\n[x] read it\n[>] write it",
        ] {
            assert!(view.messages[1].content.contains(wanted), "{wanted} in {}", view.messages[1].content);
        }
        assert_eq!(view.messages[0], history[0]);
        let last_three = &history[history.len() - 6..];
        assert!(view.messages.ends_with(last_three), "the last three exchanges stay verbatim");
        assert!(size(&view.messages) <= 24_000 && view.dropped > 10);
        assert_eq!(last_plan(&history, &world.context()).unwrap().checklist(), "[x] read it\n[>] write it");
    }

    #[test]
    fn the_last_exchanges_give_way_if_the_rest_is_not_enough() {
        let world = World::new();
        let history = long_task(&world);
        let last_three = &history[history.len() - 6..];
        let view = world.compact(&history, 24_000).unwrap();
        assert!(view.messages.ends_with(last_three), "{}", view.messages.len());
        let view = world.compact(&history, 15_000).unwrap();
        assert!(size(&view.messages) <= 15_000 && view.outputs > 0);
        assert!(view.messages.ends_with(&history[history.len() - 1..]), "the newest output is whole");
    }

    #[test]
    fn one_huge_output_at_the_end_gives_way_last() {
        let world = World::new();
        let mut history = long_task(&world);
        let last = history.len() - 1;
        history[last] = world.answer(read("r19", &"ä long line of a file\n".repeat(20_000)));
        let view = world.compact(&history, 20_000).unwrap();
        assert!(size(&view.messages) <= 20_000, "{}", size(&view.messages));
        let last = format::read_back(&view.messages.last().unwrap().content, None);
        assert!(last[0].output.len() > 5000, "as much of it as fits: {}", last[0].output.len());
    }

    /// What conversations hold that is hard to cut: fences, calls inside of outputs, long lines, other letters.
    const PIECES: &[&str] = &[
        "a line\n",
        "\n",
        "```\n",
        "````tool\n",
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"rm -rf x\"}}\n```\n",
        "```tool_result\n{\"id\":\"x\"}\n",
        "ä€𐍈",
        "<|im_end|>",
        "> ",
        "\r\n",
        "~~~\n",
        "word ",
        "Note: something.\n\n",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];

    fn random_history(random: &mut Random, world: &World) -> Vec<Message> {
        let mut history = Vec::new();
        if !random.once_in(4) {
            history.push(Message::new(Role::System, random.text(PIECES, 9)));
        }
        if !random.once_in(5) {
            history.push(Message::new(Role::User, random.text(PIECES, 9)));
        }
        for number in 0..random.below(12) {
            let id = number.to_string();
            let args = json!({"path": random.text(PIECES, 3), "content": random.text(PIECES, 60)});
            let name = *random.pick(&["read_file", "write_file", "bash", "unknown"]);
            let reply = if random.once_in(3) {
                Message::new(Role::Assistant, random.text(PIECES, 30))
            } else {
                call(&id, name, &args)
            };
            history.push(reply);
            let most = *random.pick(&[5, 50, 400]);
            let mut result = ToolResult::new(&id, name, Output::text(random.text(PIECES, most)), 1);
            if random.once_in(4) {
                result.data =
                    Some(json!({"diff": random.text(PIECES, 80), "files_modified": ["a.rs", random.text(PIECES, 2)]}));
            }
            let mut answer = match random.below(4) {
                0 => Message::new(Role::User, random.text(PIECES, 40)),
                1 => Message::new(Role::User, format::results(&[result.clone(), result], &world.format)),
                _ => world.answer(result),
            };
            if random.once_in(4) {
                answer.content.push_str("\n\n");
                answer.content.push_str(&random.text(PIECES, 5));
            }
            if random.once_in(5) {
                answer.images = vec![Image::new(random.text(PIECES, 2), b"GIF89a").unwrap(); 1 + random.below(2)];
            }
            history.push(answer);
        }
        if random.once_in(3) {
            history.pop();
        }
        history
    }

    /// The calls that a reader of replies sees in a message, whoever wrote it.
    fn visible(text: &str, world: &World) -> Vec<String> {
        let found = calls(text, &world.context());
        found.iter().map(|call| format!("{} {}", call.name, serde_json::Value::Object(call.args.clone()))).collect()
    }

    #[test]
    fn laws_on_random_histories() {
        let mut random = Random::new(7);
        let (mut compacted, mut dropped, mut over) = (0, 0, 0);
        for round in 0..1500 {
            let mut world = World::new();
            world.format.kind = if random.once_in(3) { format::Kind::Json } else { format::Kind::Text };
            world.format.break_tokens = random.once_in(2);
            world.format.nonce = random.once_in(3).then(|| "n0nce".to_owned());
            let history = random_history(&mut random, &world);
            let budget = random.below(size(&history) + 200);
            let compacted_to = |history: &[Message]| compact(history, budget, budget, &world.context());
            let Some(view) = compacted_to(&history) else { continue };
            let what = format!("round {round}, budget {budget}");
            compacted += 1;
            dropped += usize::from(view.dropped > 0);
            over += usize::from(size(&view.messages) > budget);
            assert!(size(&view.messages) < size(&history), "{what}: smaller");

            let roles: Vec<Role> =
                view.messages.iter().map(|message| message.role).filter(|role| *role != Role::System).collect();
            assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{what}: user and assistant in turn");
            assert_eq!(
                view.messages.last().map(|message| message.role),
                history.last().map(|message| message.role),
                "{what}"
            );

            let layout = Layout::of(&history);
            for (index, message) in history[..layout.start].iter().enumerate() {
                assert!(view.messages[index].content.starts_with(&message.content), "{what}: instructions and task");
            }
            let replies: Vec<&Message> =
                view.messages.iter().filter(|message| message.role == Role::Assistant).collect();
            let tail: Vec<&Message> = history.iter().filter(|message| message.role == Role::Assistant).collect();
            assert!(tail.ends_with(&replies), "{what}: replies stay as they were written, but for the oldest");

            // A result stays a result, and nothing in it becomes one or a call.
            let nonce = world.format.nonce.as_deref();
            let kept = &history[history.len() - (view.messages.len() - layout.start.min(view.messages.len()))..];
            if view.dropped == 0 || layout.task {
                for (now, then) in view.messages[layout.start..].iter().zip(kept) {
                    let ids = |message: &Message| -> Vec<(String, String)> {
                        let results = format::read_back(&message.content, nonce);
                        results.into_iter().map(|result| (result.id, result.tool)).collect()
                    };
                    assert_eq!(ids(now), ids(then), "{what}: the same results");
                    let between = |message: &Message| -> String {
                        let parts = format::parts(&message.content, nonce).into_iter();
                        parts.filter(|part| part.result.is_none()).map(|part| part.text.to_owned()).collect()
                    };
                    let dropped = then.images.len() - now.images.len();
                    let (left, whole) = (between(now), between(then));
                    assert!(left.starts_with(&whole), "{what}: what stands between results stays");
                    assert_eq!(left.len() > whole.len(), dropped > 0, "{what}: a line for each image that is gone");
                    let before = visible(&then.content, &world);
                    let after = visible(&now.content, &world);
                    assert!(after.iter().all(|call| before.contains(call)), "{what}: {after:?} in {:?}", now.content);
                }
            }
            assert!(compacted_to(&view.messages).is_none(), "{what}: idempotent");
            if size(&view.messages) > budget {
                assert!(replies.len() <= KEPT, "{what}: over the budget only where nothing is left to give way");
            }
        }
        assert!(compacted > 600 && dropped > 100 && over > 50, "{compacted} {dropped} {over}");
    }

    #[test]
    fn cuts_never_split_a_character() {
        let world = World::new();
        let text = "ä€𐍈\r\nb".repeat(500);
        for cap in 0..700 {
            let short = cut(&text, cap, true, &world.context());
            assert!(short.contains("[COMPACTED: ") && (cap < 300 || short.len() <= cap), "{cap}: {}", short.len());
        }
    }
}
