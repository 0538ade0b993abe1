//! Compaction shortens a conversation that no longer fits the window.
//!
//! Compaction is pure and deterministic. It does not ask a model for a summary, because that would be one more reply
//! that can fail. It drops the following, in this order, and only as much as the budget requires:
//!
//! 1. Images before the last three exchanges, oldest first. A line names each dropped image.
//! 2. Old output of tools. Its head and tail stay, and a note says how to see the rest.
//! 3. The oldest exchanges. A note below the task summarises them: the words of the user, the changed files, what was
//!    denied, what is allowed for good, and the plan.
//! 4. Images and output in the last three exchanges, oldest first, then these exchanges except the last one, and
//!    finally the images of the newest message of the user.
//!
//! An exchange is a reply with the message that answers it. The instructions, the task, which is the first message of
//! the user, and the words of the model never change. User and assistant messages still alternate afterwards, and the
//! block of a result stays a block, rewritten around its shortened output.

use super::Reply;
use super::turn::{Entry, Part, Turn, entries};
use std::borrow::Cow;
use std::collections::HashSet;
use toolfence_policy::changed_names;
use toolfence_policy::plan::{self, Plan};
use toolfence_protocol::format::{self, Format};
use toolfence_protocol::{
    Args, Catalog, Effect, ErrorCode, Image, Language, Message, Role, Text, ToolCall, ToolResult, clip, text,
};

/// Exchanges at the end that stay verbatim if they fit.
const KEPT: usize = 3;

/// The bytes that a backend's template adds to a message.
const AROUND: usize = 16;

/// The size of an image in bytes of text, assuming the usual 3.5 bytes per token.
const IMAGE: usize = Image::TOKENS * 7 / 2;

/// The limit in bytes to which old outputs are cut, enough for a note and some lines of head and tail.
const SHORT: usize = 1000;

/// The limits in bytes to which outputs in the last exchanges are cut. They are tried in this order until the whole
/// fits.
const CAPS: &[usize] = &[32_000, 8000, 2500, SHORT];

/// The size in bytes up to which the `data` of a result, such as a diff, is kept when the result is shortened.
const SMALL_DATA: usize = 300;

/// The maximum number of files, decisions or rules that a note lists.
const MOST_LISTED: usize = 60;

/// The maximum number of characters of a line in such a list.
const LONGEST_LINE: usize = 240;

/// The session's data that compaction needs in addition to the history.
pub(super) struct Context<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) format: &'a Format,
    /// The rules that the person allowed for good.
    pub(super) allowed: &'a [String],
}

/// A compacted conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) messages: Vec<Message>,
    /// Shortened tool outputs in the remaining messages.
    pub(super) outputs: usize,
    /// Messages that the note replaces.
    pub(super) dropped: usize,
    /// Images in the remaining messages that a line replaces.
    pub(super) images: usize,
}

/// Returns the size of a conversation in the bytes that [`compact`] counts.
pub(super) fn size(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.content.len() + message.images.len() * IMAGE + AROUND).sum()
}

/// Returns the size of each message, rendered, as [`size`] counts it.
fn sizes(entries: &[Entry<'_>], format: &Format) -> Vec<usize> {
    entries.iter().map(|entry| size(&[entry.render(format)])).collect()
}

/// Compacts a conversation to `goal` bytes, or as far as possible. Returns `None` if it is not longer or nothing can be
/// dropped. The images of the newest message are dropped only to meet `limit`, which is at least `goal`.
pub(super) fn compact(history: &[Entry<'_>], goal: usize, limit: usize, context: &Context<'_>) -> Option<View> {
    let sizes = sizes(history, context.format);
    let before: usize = sizes.iter().sum();
    if before <= goal {
        return None;
    }
    let layout = Layout::new(history);
    let none = vec![0; history.len()];
    let mut view = Shortened { entries: history.to_vec(), sizes, outputs: none.clone(), images: none };
    // The images of this message are dropped last, because the question may be about them.
    let newest = history.iter().rposition(|entry| entry.role == Role::User).unwrap_or(0);
    // Steps 1 and 2 of the module's list: images and outputs before the last exchanges.
    if layout.replies.len() > KEPT {
        view.drop_images(0..layout.tail(KEPT).min(newest), goal, context);
    }
    view.shorten(layout.start..layout.tail(KEPT), SHORT, goal, context);
    // Step 3: the oldest exchanges. The facts come from `history`, because shortening drops `data`, which names changed
    // files.
    let facts: Vec<Facts> = history.iter().map(|entry| Facts::from_entry(entry, context)).collect();
    let drop = |view: &Shortened<'_>, keep, budget| {
        let most = layout.replies.len().saturating_sub(keep);
        layout.fewest_dropped(view, most, budget, &facts, context)
    };
    let mut best = drop(&view, KEPT, goal);
    let shows_images = |view: &Shortened<'_>| view.entries.iter().any(|entry| !entry.images.is_empty());
    // Exchanges that are dropped anyway need no room. Counting them would also shorten the newest output.
    let room = |view: &Shortened<'_>, best: &View| goal + view.size().saturating_sub(size(&best.messages));
    // Step 4: images and outputs in the last exchanges, then all exchanges except the last one.
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
    // The images of the newest message go only if the request would exceed the window without that.
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

/// The positions of the parts of a history.
struct Layout {
    /// The first message that may be dropped, after the instructions and the task.
    start: usize,
    task: bool,
    /// The indices of the replies, each of which begins an exchange.
    replies: Vec<usize>,
}

impl Layout {
    fn new(history: &[Entry<'_>]) -> Layout {
        let system = usize::from(history.first().is_some_and(|message| message.role == Role::System));
        let task = history.get(system).is_some_and(|message| message.role == Role::User);
        let start = system + usize::from(task);
        let is_reply = |index: &usize| history[*index].role == Role::Assistant;
        Layout { start, task, replies: (start..history.len()).filter(is_reply).collect() }
    }

    /// Returns the index at which the last `count` exchanges begin.
    fn tail(&self, count: usize) -> usize {
        match self.replies.len().checked_sub(count) {
            Some(first) => self.replies.get(first).copied().unwrap_or(usize::MAX),
            None => self.start,
        }
    }

    /// Returns the view with the fewest dropped exchanges that fits the budget, or the smallest view if none fits.
    fn fewest_dropped(
        &self,
        view: &Shortened<'_>,
        most: usize,
        budget: usize,
        facts: &[Facts],
        context: &Context<'_>,
    ) -> View {
        let at = |count| self.without(view, count, budget, facts, context);
        let whole = at(0);
        if most == 0 || size(&whole.messages) <= budget {
            return whole;
        }
        let last = at(most);
        // The note may be longer than the few messages that it replaces, so `last` is not always the smaller one.
        if size(&last.messages) > budget {
            return smaller(whole, last);
        }
        // Binary search: dropping `low` exchanges does not fit, dropping `high` fits, and `best` is the view for
        // `high`.
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

    /// Returns the view without its first `count` exchanges.
    fn without(
        &self,
        view: &Shortened<'_>,
        count: usize,
        budget: usize,
        facts: &[Facts],
        context: &Context<'_>,
    ) -> View {
        let render = |entries: &[Entry<'_>]| entries.iter().map(|entry| entry.render(context.format)).collect();
        if count == 0 {
            let (outputs, images) = (view.outputs.iter().sum(), view.images.iter().sum());
            return View { messages: render(&view.entries), outputs, dropped: 0, images };
        }
        let end = self.replies.get(count).copied().unwrap_or(view.entries.len());
        let note = note(end - self.start, &facts[self.start..end], facts, budget / 5, context);
        // The task keeps its words. Its images were replaced by lines before any exchange is dropped.
        let mut messages: Vec<Message> = render(&view.entries[..self.start]);
        // A note as a message of its own would follow the task, and user and assistant must alternate.
        match messages.last_mut().filter(|_| self.task) {
            Some(task) => {
                task.content.push_str("\n\n");
                task.content.push_str(&note);
            }
            None => messages.push(Message::new(Role::User, note)),
        }
        messages.extend::<Vec<Message>>(render(&view.entries[end..]));
        let left = |counts: &[usize]| counts[..self.start].iter().chain(&counts[end..]).sum();
        View { messages, outputs: left(&view.outputs), dropped: end - self.start, images: left(&view.images) }
    }
}

/// A history with some outputs cut and some images removed.
struct Shortened<'a> {
    entries: Vec<Entry<'a>>,
    /// The size of each message.
    sizes: Vec<usize>,
    outputs: Vec<usize>,
    /// The number of removed images of each message.
    images: Vec<usize>,
}

impl Shortened<'_> {
    fn size(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Removes images from these messages, oldest first, until the whole fits. A line in each message names the removed
    /// images.
    fn drop_images(&mut self, range: std::ops::Range<usize>, budget: usize, context: &Context<'_>) {
        let mut now = self.size();
        for index in range {
            if now <= budget {
                return;
            }
            let entry = &mut self.entries[index];
            let images = std::mem::take(&mut entry.images);
            self.images[index] += images.len();
            for image in &images {
                let note = text!(
                    "[COMPACTED: the image {name} was here and did not fit any more; if you need it, call again the \
                     tool that gave it, or ask the user to show it again]",
                    name = line(image.name())
                )
                .render(context.format.language);
                entry.parts.push(Part::Text(note.into()));
            }
            now -= self.sizes[index];
            self.sizes[index] = size(&[entry.render(context.format)]);
            now += self.sizes[index];
        }
    }

    /// Cuts outputs in these messages, oldest first, until the whole fits.
    fn shorten(&mut self, range: std::ops::Range<usize>, cap: usize, budget: usize, context: &Context<'_>) {
        let mut now = self.size();
        for index in range.start..range.end.min(self.entries.len()) {
            if now <= budget {
                return;
            }
            let entry = &mut self.entries[index];
            let mut outputs = 0;
            for part in &mut entry.parts {
                if let Part::Results(_, results) = part {
                    outputs += shorten_results(results, cap, context);
                }
            }
            if outputs > 0 {
                now -= self.sizes[index];
                self.sizes[index] = size(&[entry.render(context.format)]);
                now += self.sizes[index];
                // A later, smaller cap cuts the same outputs again, so the counts are not added.
                self.outputs[index] = self.outputs[index].max(outputs);
            }
        }
    }
}

/// Cuts the outputs of results to `cap` bytes, and returns how many were cut.
fn shorten_results(results: &mut Cow<'_, [ToolResult]>, cap: usize, context: &Context<'_>) -> usize {
    let block_size = |result: &ToolResult| format::results(std::slice::from_ref(result), context.format).len();
    let mut count = 0;
    for at in 0..results.len() {
        let whole = &results[at];
        // Without `format.data` the model gets no data, so dropping the data frees nothing.
        let has_big_data =
            context.format.data && whole.data.as_ref().is_some_and(|data| data.to_string().len() > SMALL_DATA);
        if whole.output.len() <= cap && !has_big_data {
            continue;
        }
        let mut result = whole.clone();
        if result.output.len() > cap {
            let reads =
                context.catalog.find(&result.tool).is_some_and(|spec| spec.effect_of(&Args::new()) == Effect::Read);
            result.output = cut(&result.output, cap, reads, context);
            result.truncated = true;
        }
        if has_big_data {
            result.data = None;
        }
        // A short block whose data is dropped may become longer when it is rewritten.
        if block_size(&result) < block_size(whole) {
            results.to_mut()[at] = result;
            count += 1;
        }
    }
    count
}

/// Returns the head and tail of an output in at most `cap` bytes, as whole lines unless the lines are too long.
fn cut(output: &str, cap: usize, reads: bool, context: &Context<'_>) -> String {
    let total = output.lines().count();
    let note = |lines: usize| {
        // Sending a change or a command again to see its output would repeat its effect.
        let text = if reads {
            text!(
                "[COMPACTED: {lines} {lines|line was|lines were} left out of this old output; send the same call again \
                 to see {lines|it|them}]",
                lines
            )
        } else {
            text!(
                "[COMPACTED: {lines} {lines|line was|lines were} left out of this old output; look at the files to see \
                 their present state]",
                lines
            )
        };
        text.render(context.format.language)
    };
    // The note is longest with the most lines, and a line end precedes and follows it.
    let room = cap.saturating_sub(note(total.max(2)).len() + 2);
    let head = head(output, room / 3 * 2);
    let tail = tail(&output[head.len()..], room / 3);
    let left_out = total.saturating_sub(head.lines().count() + tail.lines().count()).max(1);
    let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    format!("{head}{gap}{}\n{tail}", note(left_out))
}

/// Returns the beginning of a text in at most `room` bytes: whole lines, unless more than half of the room would stay
/// empty.
fn head(text: &str, room: usize) -> &str {
    let most = &text[..clip::floor_boundary(text, room)];
    match most.rfind('\n') {
        Some(end) if end + 1 >= room / 2 => &most[..=end],
        _ => most,
    }
}

/// Returns the end of a text in at most `room` bytes: whole lines, unless more than half of the room would stay empty.
fn tail(text: &str, room: usize) -> &str {
    let start = clip::ceil_boundary(text, text.len().saturating_sub(room));
    let most = &text[start..];
    match most.find('\n') {
        Some(end) if end < room / 2 => &most[end + 1..],
        _ => most,
    }
}

/// The facts in a message that a note keeps when the message is dropped.
#[derive(Debug, Default, Clone)]
struct Facts {
    /// The words of the user.
    user_text: String,
    /// The files that calls changed.
    files: Vec<String>,
    /// The denied calls with the reasons.
    refused: Vec<String>,
    plan: Option<Plan>,
}

impl Facts {
    fn from_entry(entry: &Entry<'_>, context: &Context<'_>) -> Facts {
        let mut facts = Facts::default();
        let mut user_texts = Vec::new();
        for part in &entry.parts {
            match part {
                Part::User(text) => user_texts.push(text.trim()),
                Part::Text(_) => {}
                Part::Results(calls, results) => {
                    for result in results.iter() {
                        let call = calls.iter().find(|call| call.id == result.id);
                        facts.add_result(call, result, context);
                    }
                }
            }
        }
        user_texts.retain(|text| !text.is_empty());
        facts.user_text = user_texts.join("\n\n");
        facts
    }

    fn add_result(&mut self, call: Option<&ToolCall>, result: &ToolResult, context: &Context<'_>) {
        if let Some(error) = result.error.as_ref().filter(|error| error.code == ErrorCode::Denied) {
            let label = call.map_or_else(|| result.tool.clone(), |call| label(call, context.catalog));
            self.refused.push(line(&format!("{label}: {}", error.message.render(context.format.language))));
        }
        if !result.success {
            return;
        }
        let files = changed_files(call, result, context.catalog);
        self.files.extend(files.iter().map(|name| line(name)));
        self.plan = plan_of_call(call).or(self.plan.take());
    }
}

/// Returns the files that a call changed, from its result if it lists them, or else from its arguments.
fn changed_files(call: Option<&ToolCall>, result: &ToolResult, catalog: &Catalog) -> Vec<String> {
    let names = result.data.as_ref().and_then(|data| data.get("files_modified")?.as_array());
    let files: Vec<String> = names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect();
    if !files.is_empty() {
        return files;
    }
    let Some(call) = call else { return files };
    match catalog.find(&call.name) {
        Some(spec) if spec.effect_of(&call.args) == Effect::Write => changed_names(spec, &call.args),
        _ => files,
    }
}

/// Returns the plan that a call made.
fn plan_of_call(call: Option<&ToolCall>) -> Option<Plan> {
    let call = call.filter(|call| call.name == plan::TOOL)?;
    Plan::read(&call.args).ok()
}

/// Returns the last plan of a conversation.
pub(super) fn find_last_plan(turns: &[Turn]) -> Option<Plan> {
    let replies = turns.iter().rev().flat_map(|turn| turn.replies.iter().rev());
    let plan_of = |reply: &Reply| {
        let succeeded = |result: &&ToolResult| result.success && result.tool == plan::TOOL;
        let results = reply.results.iter().rev().filter(succeeded);
        results.filter_map(|result| plan_of_call(reply.calls.iter().find(|call| call.id == result.id))).next()
    };
    replies.filter_map(plan_of).next()
}

/// Returns the files that the calls of these turns changed, as far as results and arguments name them.
pub(super) fn changed_in_turns(turns: &[Turn], context: &Context<'_>) -> Vec<String> {
    let entries = entries(turns);
    let mut files = keep_last_occurrences(entries.iter().flat_map(|entry| Facts::from_entry(entry, context).files));
    files.truncate(MOST_LISTED);
    files
}

/// Renders the note that replaces `count` messages with the facts `dropped`. `all` are the facts of the whole
/// conversation.
fn note(count: usize, dropped: &[Facts], all: &[Facts], room: usize, context: &Context<'_>) -> String {
    let language = context.format.language;
    let mut note = text!(
        "[COMPACTED: {count} {count|message|messages} of this conversation did not fit any more and {count|was|were} \
         removed. Read files again before you rely on their contents.]",
        count
    )
    .render(language);
    let mut section = |head: Text, body: String| {
        if !body.is_empty() {
            note.extend(["\n\n", &head.render(language), "\n", &body]);
        }
    };
    section(text!("The user also said:"), quote_user(dropped, room, language));
    let names = keep_last_occurrences(dropped.iter().flat_map(|facts| facts.files.iter().cloned()));
    let more = names.len().saturating_sub(MOST_LISTED);
    let mut shown: Vec<String> = names.into_iter().skip(more).collect();
    shown.extend((more > 0).then(|| text!("and {count} more", count = more).render(language)));
    section(text!("Files that your calls changed:"), shown.join(", "));
    section(
        text!("Not allowed, with the reason:"),
        bullets(dropped.iter().flat_map(|facts| facts.refused.iter().cloned())),
    );
    section(text!("The user always allows:"), bullets(context.allowed.iter().map(|rule| line(rule))));
    // The newest plan of the whole conversation: an older one would contradict a plan in the messages that stay.
    let plan = all.iter().rev().find_map(|facts| facts.plan.as_ref());
    section(text!("Your plan:"), plan.map(Plan::checklist).unwrap_or_default());
    note.trim_end().to_owned()
}

/// Quotes the words of the user in their order. The newest get the room first.
fn quote_user(dropped: &[Facts], room: usize, language: Language) -> String {
    let all: Vec<&str> = dropped.iter().map(|facts| facts.user_text.as_str()).filter(|text| !text.is_empty()).collect();
    let (mut quotes, mut left) = (Vec::new(), room);
    for words in all.iter().rev() {
        let quote: String = words.lines().map(|line| format!("> {line}\n")).collect();
        // Stop at the first message that does not fit. The line below counts only *earlier* messages, so no gap may
        // remain.
        if quote.len() > left {
            break;
        }
        left -= quote.len();
        quotes.push(quote);
    }
    let missing = all.len() - quotes.len();
    if missing > 0 {
        quotes.push(format!(
            "{}\n",
            text!("({count} earlier {count|message|messages} of the user {count|is|are} left out.)", count = missing)
                .render(language)
        ));
    }
    quotes.reverse();
    quotes.join("\n").trim_end().to_owned()
}

/// Removes duplicates and keeps the last occurrence of each line.
fn keep_last_occurrences(lines: impl DoubleEndedIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut newest: Vec<String> = lines.rev().filter(|line| seen.insert(line.clone())).collect();
    newest.reverse();
    newest
}

/// Renders the newest of these lines as a list.
fn bullets(lines: impl DoubleEndedIterator<Item = String>) -> String {
    let lines = keep_last_occurrences(lines);
    let newest = &lines[lines.len().saturating_sub(MOST_LISTED)..];
    newest.iter().map(|line| format!("- {line}\n")).collect::<String>().trim_end().to_owned()
}

/// Returns a text as one line, cut to [`LONGEST_LINE`] characters.
fn line(text: &str) -> String {
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let mut line: String = words.flat_map(str::chars).take(LONGEST_LINE + 1).collect();
    if line.chars().count() > LONGEST_LINE {
        line.pop();
        line.push('…');
    }
    line
}

/// Returns the tool and the path, command or pattern of a call: `read_file README.md`.
fn label(call: &ToolCall, catalog: &Catalog) -> String {
    /// The maximum number of characters in a label.
    const LONGEST_TARGET: usize = 80;
    let telling = catalog.find(&call.name).and_then(|spec| spec.summary_argument(&call.args));
    let target = telling.map_or("", |(_, text)| text);
    let line = format!("{} {}", call.name, target.split_whitespace().collect::<Vec<_>>().join(" "));
    line.trim_end().chars().take(LONGEST_TARGET).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Note;
    use serde_json::{Value, json};
    use toolfence_kit::Random;
    use toolfence_protocol::{Output, ToolFailure, parse};

    struct World {
        catalog: Catalog,
        format: Format,
        allowed: Vec<String>,
    }

    impl World {
        fn new() -> World {
            let plan = toolfence_protocol::ToolSpec::new(plan::TOOL, "for tests").effect(|_| Effect::Read);
            let plan = plan.param(
                toolfence_protocol::Param::new("steps", toolfence_protocol::ParamKind::Any, "the steps").required(),
            );
            let catalog = toolfence_policy::toolset::builtins().iter().cloned().chain([plan]).collect();
            World { catalog, format: Format::default(), allowed: vec!["cargo test *".into()] }
        }

        fn context(&self) -> Context<'_> {
            Context { catalog: &self.catalog, format: &self.format, allowed: &self.allowed }
        }

        fn messages(&self, history: &[Entry<'_>]) -> Vec<Message> {
            history.iter().map(|entry| entry.render(&self.format)).collect()
        }

        fn size(&self, history: &[Entry<'_>]) -> usize {
            size(&self.messages(history))
        }

        fn compact(&self, history: &[Entry<'_>], budget: usize) -> Option<View> {
            compact(history, budget, budget, &self.context())
        }
    }

    /// Returns the messages of these turns, after the instructions.
    fn with_instructions<'a>(instructions: &'a str, turns: &'a [Turn]) -> Vec<Entry<'a>> {
        let mut system = Entry::new(Role::System);
        system.parts.push(Part::Text(instructions.into()));
        let mut history = entries(turns);
        history.insert(0, system);
        history
    }

    /// Builds a reply with a call.
    fn call(name: &str, args: &Value, result: ToolResult) -> Reply {
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new(&result.id, name, args);
        let body = json!({"id": call.id, "name": call.name, "args": call.args});
        let text = format!("I continue.\n\n```tool\n{body}\n```\n");
        Reply { text, calls: vec![call], results: vec![result], notes: Vec::new() }
    }

    fn result(id: &str, tool: &str, output: &str) -> ToolResult {
        ToolResult::new(id, tool, Output::text(output), 1)
    }

    fn user(text: &str) -> Turn {
        Turn { user: vec![Note::User(text.into())], ..Turn::default() }
    }

    /// Builds a task of many steps that begins with a plan, a change, a refusal and words of the user.
    fn long_task() -> Vec<Turn> {
        let lines: String = (0..300).map(|line| format!("line {line} of a file\n")).collect();
        let steps = json!({"steps": [{"text": "read it", "state": "done"}, {"text": "write it", "state": "active"}]});
        let written = json!({"path": "src/deep/lib.rs", "content": "x"});
        let refusal = ToolFailure::new(ErrorCode::Denied, "not before Friday.");
        let refused = ToolResult::refused("b", "bash", refusal);
        let mut task = user("Port it to Rust.");
        task.replies = vec![
            call("plan", &steps, result("p", "plan", "kept")),
            call("write_file", &written, result("w", "write_file", "written")),
            call("bash", &json!({"command": "git push"}), refused),
            Reply { text: "So I wait.".into(), ..Reply::default() },
        ];
        let mut second = user("Note: keep the names\n\nof the functions.");
        second.replies = (0..20)
            .map(|number| {
                let result = result(&format!("r{number}"), "read_file", &lines);
                call("read_file", &json!({"path": format!("a{number}.py")}), result)
            })
            .collect();
        second.replies[0].notes = vec![Note::Session("Note: of the session.".into())];
        vec![task, second]
    }

    #[test]
    fn old_output_is_cut_first() {
        let world = World::new();
        let turns = long_task();
        let history = with_instructions("instructions", &turns);
        let budget = world.size(&history) / 2;
        let view = world.compact(&history, budget).unwrap();
        assert_eq!((view.dropped, view.messages.len()), (0, history.len()));
        assert!(view.outputs > 5 && size(&view.messages) <= budget);
        // Only the oldest were cut, and no more than needed.
        let cut = |message: &&Message| message.content.contains("[COMPACTED: ");
        assert_eq!(view.messages.iter().filter(cut).count(), view.outputs);
        let last_cut = view.messages.iter().rposition(|message| cut(&message)).unwrap();
        assert_eq!(view.messages[last_cut + 1..], world.messages(&history)[last_cut + 1..]);
        let result = &format::read_back(&view.messages[last_cut].content, None)[0];
        assert!(result.output.starts_with("line 0 of a file\n") && result.output.ends_with("line 299 of a file\n"));
        assert!(result.output.contains(" lines were left out of this old output; send the same call again"));
        assert!(result.truncated && result.output_bytes > 5000 && result.output.len() <= SHORT);
        assert!(world.compact(&history, world.size(&history)).is_none(), "what fits stays");
    }

    #[test]
    fn old_images_are_dropped_first() {
        let world = World::new();
        let image = |name: &str| Image::new(name, b"GIF89a").unwrap();
        let turns = long_task();
        let mut history = with_instructions("instructions", &turns);
        history[1].images = vec![image("task.gif")];
        history[3].images = vec![image("a.gif"), image("b.gif")];
        let newest = history.len() - 1;
        history[newest - 2].images = vec![image("recent.gif")];
        history[newest].images = vec![image("newest.gif")];
        let names = |view: &View| -> Vec<String> {
            view.messages.iter().flat_map(|message| &message.images).map(|image| image.name().to_owned()).collect()
        };
        let view = world.compact(&history, world.size(&history) - 100).unwrap();
        assert_eq!((view.images, view.outputs, view.dropped), (1, 0, 0), "the oldest is enough");
        assert_eq!(names(&view), ["a.gif", "b.gif", "recent.gif", "newest.gif"]);
        let line = "[COMPACTED: the image task.gif was here and did not fit any more; if you need it, call again the tool \
                    that gave it, or ask the user to show it again]";
        assert_eq!(view.messages[1].content, format!("Port it to Rust.\n\n{line}"));
        let view = world.compact(&history, world.size(&history) / 2).unwrap();
        assert!(view.outputs > 0 && names(&view) == ["recent.gif", "newest.gif"], "{:?}", names(&view));
        let view = world.compact(&history, 9000).unwrap();
        assert_eq!(names(&view), ["newest.gif"], "the last exchanges are cut if the rest is not enough");
        assert!(view.messages[1].content.contains(line), "the task says what it showed");
        let view = world.compact(&history, 4000).unwrap();
        assert!(names(&view).is_empty() && view.messages.last().unwrap().content.contains("newest.gif was here"));
    }

    #[test]
    fn notes_keep_the_facts_of_dropped_messages() {
        let world = World::new();
        let turns = long_task();
        let history = with_instructions("instructions", &turns);
        let view = world.compact(&history, 24_000).unwrap();
        let wanted = "Port it to Rust.\n\n[COMPACTED: ";
        assert!(view.messages[1].content.starts_with(wanted), "{}", view.messages[1].content);
        for wanted in [
            "The user also said:\n> Note: keep the names\n> \n> of the functions.",
            "Files that your calls changed:\nsrc/deep/lib.rs",
            "Not allowed, with the reason:\n- bash git push: not before Friday.",
            "The user always allows:\n- cargo test *",
            "Your plan:\n[x] read it\n[>] write it",
        ] {
            assert!(view.messages[1].content.contains(wanted), "{wanted} in {}", view.messages[1].content);
        }
        assert!(!view.messages[1].content.contains("of the session"));
        let whole = world.messages(&history);
        assert_eq!(view.messages[0], whole[0]);
        assert!(view.messages.ends_with(&whole[whole.len() - 6..]), "the last three exchanges stay verbatim");
        assert!(size(&view.messages) <= 24_000 && view.dropped > 10);
        assert_eq!(find_last_plan(&turns).unwrap().checklist(), "[x] read it\n[>] write it");
    }

    #[test]
    fn the_last_exchanges_are_dropped_if_the_rest_is_not_enough() {
        let world = World::new();
        let turns = long_task();
        let history = with_instructions("instructions", &turns);
        let whole = world.messages(&history);
        let view = world.compact(&history, 24_000).unwrap();
        assert!(view.messages.ends_with(&whole[whole.len() - 6..]), "{}", view.messages.len());
        let view = world.compact(&history, 15_000).unwrap();
        assert!(size(&view.messages) <= 15_000 && view.outputs > 0);
        assert!(view.messages.ends_with(&whole[whole.len() - 1..]), "the newest output is whole");
    }

    #[test]
    fn one_huge_output_at_the_end_is_cut_last() {
        let world = World::new();
        let mut turns = long_task();
        turns[1].replies[19].results = vec![result("r19", "read_file", &"ä long line of a file\n".repeat(20_000))];
        let history = with_instructions("instructions", &turns);
        let view = world.compact(&history, 20_000).unwrap();
        assert!(size(&view.messages) <= 20_000, "{}", size(&view.messages));
        let last = format::read_back(&view.messages.last().unwrap().content, None);
        assert!(last[0].output.len() > 5000, "as much of it as fits: {}", last[0].output.len());
    }

    /// Pieces of conversations that are hard to cut: fences, calls inside outputs, long lines, other scripts.
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

    fn random_turns(random: &mut Random) -> Vec<Turn> {
        let mut turns = Vec::new();
        if !random.once_in(5) {
            turns.push(user(&random.text(PIECES, 9)));
        }
        for number in 0..random.below(12) {
            let args = json!({"path": random.text(PIECES, 3), "content": random.text(PIECES, 60)});
            let name = *random.pick(&["read_file", "write_file", "bash", "unknown"]);
            let most = *random.pick(&[5, 50, 400]);
            let mut result = result(&number.to_string(), name, &random.text(PIECES, most));
            if random.once_in(4) {
                result.data =
                    Some(json!({"diff": random.text(PIECES, 80), "files_modified": ["a.rs", random.text(PIECES, 2)]}));
            }
            if random.once_in(5) {
                result.images = vec![Image::new(random.text(PIECES, 2), b"GIF89a").unwrap(); 1 + random.below(2)];
            }
            let mut reply = call(name, &args, result);
            if random.once_in(3) {
                reply = Reply { text: random.text(PIECES, 30), ..Reply::default() };
            }
            if random.once_in(3) {
                reply.results.extend(reply.results.clone());
            }
            if random.once_in(4) {
                reply.notes.push(Note::Session(random.text(PIECES, 5)));
            }
            if turns.is_empty() {
                turns.push(Turn::default());
            }
            turns.last_mut().unwrap().replies.push(reply);
            if random.once_in(4) {
                turns.push(user(&random.text(PIECES, 40)));
            }
        }
        turns
    }

    /// Returns the calls that the parser finds in a message of any role.
    fn visible(text: &str) -> Vec<String> {
        let calls = parse::parse(text).calls;
        calls.iter().map(|call| format!("{} {}", call.name, Value::Object(call.args.clone()))).collect()
    }

    #[test]
    fn random_histories_keep_their_structure() {
        let mut random = Random::new(7);
        let (mut compacted, mut dropped, mut over) = (0, 0, 0);
        for round in 0..1500 {
            let mut world = World::new();
            world.format.kind = if random.once_in(3) { format::Kind::Json } else { format::Kind::Text };
            world.format.break_tokens = random.once_in(2);
            world.format.nonce = random.once_in(3).then(|| "n0nce".to_owned());
            world.format.data = random.once_in(2);
            let (instructions, turns) = (random.text(PIECES, 9), random_turns(&mut random));
            let entries = match random.once_in(4) {
                true => entries(&turns),
                false => with_instructions(&instructions, &turns),
            };
            let history = world.messages(&entries);
            let budget = random.below(size(&history) + 200);
            let Some(view) = world.compact(&entries, budget) else { continue };
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

            let layout = Layout::new(&entries);
            for (index, message) in history[..layout.start].iter().enumerate() {
                assert!(view.messages[index].content.starts_with(&message.content), "{what}: instructions and task");
            }
            let replies: Vec<&Message> =
                view.messages.iter().filter(|message| message.role == Role::Assistant).collect();
            let tail: Vec<&Message> = history.iter().filter(|message| message.role == Role::Assistant).collect();
            assert!(tail.ends_with(&replies), "{what}: all replies but the oldest stay unchanged");

            // After compaction each result can still be read back, and no text inside it has become a result or a call.
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
                    assert!(left.starts_with(&whole), "{what}: the text between results stays");
                    assert_eq!(left.len() > whole.len(), dropped > 0, "{what}: a line for each dropped image");
                    let before = visible(&then.content);
                    let after = visible(&now.content);
                    assert!(after.iter().all(|call| before.contains(call)), "{what}: {after:?} in {:?}", now.content);
                }
            }
            if size(&view.messages) > budget {
                assert!(replies.len() <= KEPT, "{what}: over the budget only if nothing is left to drop");
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
