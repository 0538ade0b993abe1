//! Parses with one loop over an explicit stack of lists, words and quotes, so that hostile nesting cannot overflow the
//! thread's stack.

mod redirections;

use super::builtins;
use super::documents::Document;
use super::source::Source;
use super::words::{WordBuilder, WordPlace};
use super::{
    Assignment, MAX_DEPTH, MAX_TEXT_DEPTH, Parsed, Redirection, ShellWord, SimpleCommand, Unreadable, is_name,
};

pub(super) type ParseResult = Result<(), Unreadable>;

/// A construct that the parser is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    List,
    Word,
    DoubleQuotes,
    /// The text after `:-` in `${x:-text}`, up to its `}`.
    Default,
    /// A here-document whose text is expanded.
    Document,
    For(ForStage),
    Case(CaseStage),
    /// `[[ .. ]]`.
    Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForStage {
    Name,
    In,
    Words,
    Do,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseStage {
    Subject,
    In,
    /// Before the first pattern of an item, where `esac` can be.
    Item,
    /// After `(` or `|`.
    Pattern,
    /// After a pattern.
    Bar,
}

/// What ends a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closer {
    EndOfText,
    Subshell,
    Substitution,
    Brace,
    Then,
    Fi,
    /// `fi` after `else`.
    OnlyFi,
    Do,
    Done,
    CaseItem,
}

/// The position of the parser in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListPosition {
    /// No command yet.
    Start,
    /// After `;`, `&` or a line end.
    Next,
    /// After `&&`, `||` or `|`: a command must follow, also on another line.
    Joined,
    /// After `!` or `time`.
    Prefixed,
    /// After `time`, where `-p` and `--` are its own.
    Timed,
    /// After `time -p`, where `--` is its own.
    TimedPortably,
    /// In a simple command.
    Words,
    /// After a compound command.
    Compound,
}

struct List {
    closer: Closer,
    spot: ListPosition,
    command: SimpleCommand,
    /// The redirection that waits for its target.
    redirect: Option<&'static str>,
    /// The number of pending here-documents that began outside the substitution around this list.
    outer_documents: usize,
    in_substitution: bool,
    /// Set in a substitution after a here-document. Bash 5.2 prints a substitution and parses it again, and loses the
    /// `;` between commands after a here-document: `$(cat <<E⏎E⏎a; b)` runs `a b`. So nothing may follow.
    ends_with_document: bool,
}

/// The state of a `[[ .. ]]`: where its words are arithmetic and must be numbers.
#[derive(Default)]
struct TestWords {
    after_number: bool,
    needs_number: bool,
}

/// A text that is parsed on its own.
struct NestedText {
    text: String,
    depth: usize,
    /// The here-document whose text this is; otherwise it is the script of backquotes.
    document: Option<usize>,
}

/// The results collected from all texts.
#[derive(Default)]
pub(super) struct Parser {
    commands: Vec<SimpleCommand>,
    /// The text of each here-document.
    pub(super) documents: Vec<ShellWord>,
    nested: Vec<NestedText>,
    /// The variables that arithmetic reads.
    pub(super) names_in_sums: Vec<String>,
    has_loops: bool,
    not_numbers: Vec<String>,
    pub(super) steps: usize,
}

/// The parser in one text.
pub(super) struct Reader<'t, 'p> {
    pub(super) source: Source<'t>,
    pub(super) parser: &'p mut Parser,
    depth: usize,
    pub(super) document: Option<usize>,
    pub(super) frames: Vec<Frame>,
    lists: Vec<List>,
    pub(super) words: Vec<WordBuilder>,
    loops: Vec<(String, bool)>,
    tests: Vec<TestWords>,
    pending: Vec<Document>,
}

impl Parser {
    /// Parses a text and then the here-documents and backquotes in it.
    pub(super) fn parse_all(&mut self, text: &str) -> ParseResult {
        self.nested.push(NestedText { text: text.to_owned(), depth: 0, document: None });
        // Nested texts can add more of them. The stack replaces recursion, and `MAX_TEXT_DEPTH` bounds it.
        while let Some(NestedText { text, depth, document }) = self.nested.pop() {
            let mut reader = Reader::new(&text, self, depth, document);
            let result = reader.read();
            let steps = reader.source.steps;
            self.steps += steps;
            result?;
        }
        // Only now are all assignments known: any of the texts can set a variable that another one uses in arithmetic.
        self.check_sums()
    }

    /// Refuses variables in arithmetic that may be no number. Bash evaluates their values as expressions, and a
    /// subscript in one runs commands.
    fn check_sums(&self) -> ParseResult {
        if self.names_in_sums.is_empty() {
            return Ok(());
        }
        // Bash sets these itself, and not to numbers: `_` becomes the last argument, `PWD` a path, `REPLY` what `read`
        // reads.
        let is_special =
            |name: &str| name.starts_with("BASH") || matches!(name, "_" | "PWD" | "OLDPWD" | "REPLY" | "OPTARG");
        let mut set: Vec<&str> = self.not_numbers.iter().map(String::as_str).collect();
        set.sort_unstable();
        let mut reads_anything = false;
        let mut read: Vec<&str> = Vec::new();
        // `read`, `eval` and the like also count if they follow the arithmetic, because a loop can repeat both.
        for command in &self.commands {
            match builtins::variables_set(&command.words) {
                builtins::VariablesSet::Named(names) => read.extend(names),
                builtins::VariablesSet::Any => reads_anything = true,
            }
        }
        read.sort_unstable();
        let is_free = |name: &str| {
            !is_special(name)
                && !reads_anything
                && set.binary_search(&name).is_err()
                && read.binary_search(&name).is_err()
        };
        if self.names_in_sums.iter().all(|name| is_free(name)) {
            return Ok(());
        }
        Err(Unreadable { position: 0, construct: "arithmetic with a variable that may be no number" })
    }

    /// Returns the commands, with the texts of here-documents in their redirections.
    pub(super) fn finish(self) -> Parsed {
        let Self { mut commands, documents, names_in_sums, has_loops, .. } = self;
        for redirection in commands.iter_mut().flat_map(|command| &mut command.redirections) {
            if let Some(document) = redirection.document.take() {
                redirection.target = documents[document].clone();
            }
        }
        Parsed { commands, uses_numbers_by_name: !names_in_sums.is_empty(), has_loops }
    }
}

impl<'t, 'p> Reader<'t, 'p> {
    fn new(text: &'t str, parser: &'p mut Parser, depth: usize, document: Option<usize>) -> Self {
        let (source, frames, lists, words) = (Source::new(text), Vec::new(), Vec::new(), Vec::new());
        let (loops, tests, pending) = (Vec::new(), Vec::new(), Vec::new());
        Self { source, parser, depth, document, frames, lists, words, loops, tests, pending }
    }

    pub(super) fn refuse<T>(&self, construct: &'static str) -> Result<T, Unreadable> {
        Err(Unreadable { position: self.source.position(), construct })
    }

    /// Reads the whole text.
    fn read(&mut self) -> ParseResult {
        self.check_characters()?;
        // A here-document has no commands of its own, only expansions.
        if self.document.is_some() {
            self.words.push(WordBuilder::new(WordPlace::Plain, 0));
            self.frames.push(Frame::Document);
        } else {
            self.open_list(Closer::EndOfText);
        }
        while let Some(&frame) = self.frames.last() {
            // Checked at each step, because every construct pushes its frame at another place.
            if self.frames.len() > MAX_DEPTH {
                return self.refuse("deep nesting");
            }
            match frame {
                Frame::List => self.read_list()?,
                Frame::Word => self.read_word()?,
                Frame::DoubleQuotes => self.read_double_quotes()?,
                Frame::Default => self.read_default()?,
                Frame::Document => self.read_document()?,
                Frame::For(stage) => self.read_for(stage)?,
                Frame::Case(stage) => self.read_case(stage)?,
                Frame::Test => self.read_test()?,
            }
        }
        Ok(())
    }

    /// Refuses the characters that bash uses inside its words (01, 7F), NUL, and invisible ones.
    fn check_characters(&self) -> ParseResult {
        match self.source.find_control() {
            Some(position) => Err(Unreadable { position, construct: "a control character" }),
            None => Ok(()),
        }
    }

    // Lists

    pub(super) fn open_list(&mut self, closer: Closer) {
        let outer = self.lists.last();
        let (outer_documents, in_substitution) = match closer {
            Closer::Substitution => (self.pending.len(), true),
            _ => outer.map_or((0, false), |list| (list.outer_documents, list.in_substitution)),
        };
        let (spot, command, redirect) = (ListPosition::Start, SimpleCommand::default(), None);
        self.lists.push(List {
            closer,
            spot,
            command,
            redirect,
            outer_documents,
            in_substitution,
            ends_with_document: false,
        });
        self.frames.push(Frame::List);
    }

    fn list(&mut self) -> &mut List {
        self.lists.last_mut().expect("every frame is in a list, but the text of a here-document, which has no commands")
    }

    /// Drops blanks and a comment: a `#` begins one where a token could begin.
    fn skip_blanks(&mut self) {
        while matches!(self.source.peek(), Some(' ' | '\t')) {
            self.source.take();
        }
        if self.source.peek() == Some('#') {
            self.source.skip_comment();
        }
    }

    fn read_list(&mut self) -> ParseResult {
        self.skip_blanks();
        let (spot, ends_with_document) = (self.list().spot, self.list().ends_with_document);
        let Some(next) = self.source.peek() else { return self.end_text() };
        if ends_with_document && spot == ListPosition::Next && !matches!(next, '\n' | ')') {
            return self.refuse("a command after a here-document in a substitution");
        }
        if self.list().redirect.is_some() && matches!(next, '\n' | ';' | '&' | '|' | '(' | ')') {
            return self.refuse("a redirection without a target");
        }
        match next {
            '\n' => self.end_line(),
            ';' => self.end_with_semicolon(),
            // `&>` and `&>>` redirect both streams in bash. A shell that does not know them reads `a &` and `>x`: see
            // `differs_from_bash` in `wrappers.rs`.
            '&' => {
                self.source.take();
                if self.source.take_if('>') {
                    let operator = if self.source.take_if('>') { "&>>" } else { "&>" };
                    self.begin_redirection(operator)
                } else if self.source.take_if('&') {
                    self.join()
                } else {
                    self.end_command(ListPosition::Next)
                }
            }
            '|' => {
                self.source.take();
                // `||` and `|&`, which sends both streams.
                let _ = self.source.take_if('|') || self.source.take_if('&');
                self.join()
            }
            '(' => {
                self.source.take();
                // Bash evaluates the text of `((` again, even if it is quoted: `((: '$(rm a.txt)'; :))` runs `rm`.
                if self.source.peek() == Some('(') {
                    return self.refuse("arithmetic as a command");
                }
                if matches!(spot, ListPosition::Words | ListPosition::Compound) {
                    return self.refuse("a function, an array or a pattern in brackets");
                }
                self.open_list(Closer::Subshell);
                Ok(())
            }
            ')' => self.close_bracket(),
            // `<(` and `>(` are process substitutions, which are parts of a word.
            '<' | '>' if !self.source.is_followed_by('(') => self.read_redirection(),
            // The `-` is a token of its own here: `ls >&-l` closes the output and passes `l`.
            '-' if matches!(self.list().redirect, Some("<&" | ">&")) => {
                self.source.take();
                let list = self.list();
                let operator = list.redirect.take().expect("the operator before `-`");
                let target = ShellWord::Literal("-".to_owned());
                list.command.redirections.push(Redirection { operator, target, document: None });
                Ok(())
            }
            _ => {
                let list = self.list();
                let place = match list.redirect {
                    Some("<<<") => WordPlace::Plain,
                    Some(_) => WordPlace::Target,
                    None if list.command.words.is_empty() => WordPlace::Leading,
                    None => WordPlace::Argument,
                };
                self.begin_word(place);
                Ok(())
            }
        }
    }

    fn end_text(&mut self) -> ParseResult {
        let list = self.list();
        let is_whole = list.closer == Closer::EndOfText && list.redirect.is_none() && list.spot != ListPosition::Joined;
        if !is_whole || !self.pending.is_empty() {
            return self.refuse("a text that ends too early");
        }
        self.flush_command()?;
        self.lists.pop();
        self.frames.pop();
        Ok(())
    }

    fn end_line(&mut self) -> ParseResult {
        self.source.take();
        let spot = match self.list().spot {
            // No command has begun, so the line end separates nothing; after `&&` or `|` the pipeline continues on the
            // next line.
            spot @ (ListPosition::Start | ListPosition::Next | ListPosition::Joined) => spot,
            ListPosition::Prefixed
            | ListPosition::Timed
            | ListPosition::TimedPortably
            | ListPosition::Words
            | ListPosition::Compound => {
                self.flush_command()?;
                ListPosition::Next
            }
        };
        self.list().spot = spot;
        self.read_documents()
    }

    /// Reads the here-documents that wait for the end of this line.
    fn read_documents(&mut self) -> ParseResult {
        let list = self.list();
        let (outer, in_substitution) = (list.outer_documents, list.in_substitution);
        if outer > 0 {
            // Versions of bash differ in which here-document the next lines belong to.
            return self.refuse("a line end in a substitution while a here-document waits");
        }
        for document in std::mem::take(&mut self.pending) {
            let Some(text) = document.read_text(&mut self.source, in_substitution) else {
                return self.refuse("a here-document without its end");
            };
            // Only these three characters are special here. Quotes are not: they do not keep `'$(a)'` from running `a`.
            if document.quoted || !text.contains(['$', '`', '\\']) {
                self.parser.documents[document.index] = ShellWord::Literal(text);
            } else {
                self.add_text(text, Some(document.index))?;
            }
        }
        Ok(())
    }

    /// Adds a text that is parsed on its own.
    pub(super) fn add_text(&mut self, text: String, document: Option<usize>) -> ParseResult {
        if self.depth == MAX_TEXT_DEPTH {
            return self.refuse("deep nesting");
        }
        self.parser.nested.push(NestedText { text, depth: self.depth + 1, document });
        Ok(())
    }

    fn end_with_semicolon(&mut self) -> ParseResult {
        self.source.take();
        // `;;`, `;&` and `;;&` differ only in which items bash runs next, and the commands of all items are listed.
        let ends_item = self.source.take_if(';');
        if ends_item || self.source.peek() == Some('&') {
            self.source.take_if('&');
            let list = self.list();
            if list.closer != Closer::CaseItem
                || matches!(
                    list.spot,
                    ListPosition::Joined | ListPosition::Prefixed | ListPosition::Timed | ListPosition::TimedPortably
                )
            {
                return self.refuse("a semicolon without a command");
            }
            self.flush_command()?;
            self.lists.pop();
            self.frames.pop();
            self.set_stage(Frame::Case(CaseStage::Item));
            return Ok(());
        }
        self.end_command(ListPosition::Next)
    }

    /// Ends a pipeline at `;` or `&`.
    fn end_command(&mut self, next: ListPosition) -> ParseResult {
        if matches!(self.list().spot, ListPosition::Start | ListPosition::Next | ListPosition::Joined) {
            return self.refuse("an operator without a command");
        }
        if self.list().ends_with_document {
            return self.refuse("a command after a here-document in a substitution");
        }
        self.flush_command()?;
        self.list().spot = next;
        Ok(())
    }

    /// Ends a command at `&&`, `||` or `|`.
    fn join(&mut self) -> ParseResult {
        if !matches!(self.list().spot, ListPosition::Words | ListPosition::Compound) {
            return self.refuse("an operator without a command");
        }
        self.end_command(ListPosition::Joined)
    }

    /// Adds the simple command that ends here to the result.
    fn flush_command(&mut self) -> ParseResult {
        let mut command = std::mem::take(&mut self.list().command);
        // Offsets in a nested text are not offsets in the command, where callers mark the span.
        if self.depth == 0 && self.document.is_none() {
            command.span = Some(command.position..self.source.position());
        }
        if command.words.is_empty() && command.assignments.is_empty() && command.redirections.is_empty() {
            return Ok(());
        }
        if let Err(construct) = builtins::check_command(&command) {
            return self.refuse(construct);
        }
        // Arithmetic runs a command in the subscript of such a value: `x='a[$(b)]'; echo $((x))`.
        for (name, value) in builtins::exported_values(&command.words) {
            if !value.bytes().all(|byte| byte.is_ascii_digit()) {
                self.parser.not_numbers.push(name.to_owned());
            }
        }
        for assignment in &command.assignments {
            if !assignment.value.is_number() {
                self.parser.not_numbers.push(assignment.name.clone());
            }
        }
        self.parser.commands.push(command);
        Ok(())
    }

    fn close_bracket(&mut self) -> ParseResult {
        self.source.take();
        let (closer, spot, outer) = {
            let list = self.list();
            (list.closer, list.spot, list.outer_documents)
        };
        let is_empty = spot == ListPosition::Start;
        match closer {
            Closer::Subshell if !is_empty && spot != ListPosition::Joined => self.close_compound(),
            Closer::Substitution if spot != ListPosition::Joined => {
                // Bash looks for the text of this here-document after the `)`, with a warning.
                if self.pending.len() != outer {
                    return self.refuse("a here-document without its end");
                }
                self.flush_command()?;
                self.lists.pop();
                self.frames.pop();
                Ok(())
            }
            _ => self.refuse("a closing bracket"),
        }
    }

    /// Ends the list of a compound command, which is a command of the list around it.
    fn close_compound(&mut self) -> ParseResult {
        self.flush_command()?;
        self.lists.pop();
        self.frames.pop();
        self.list().spot = ListPosition::Compound;
        Ok(())
    }

    fn set_stage(&mut self, frame: Frame) {
        *self.frames.last_mut().expect("the frame that is read") = frame;
    }

    // Simple commands

    fn begin_word(&mut self, place: WordPlace) {
        self.words.push(WordBuilder::new(place, self.source.position()));
        self.frames.push(Frame::Word);
    }

    pub(super) fn word(&mut self) -> &mut WordBuilder {
        self.words.last_mut().expect("quotes and expansions are in a word")
    }

    /// Passes a finished word to the frame around it.
    pub(super) fn finish_word(&mut self) -> ParseResult {
        self.frames.pop();
        let word = self.words.pop().expect("the word that was read");
        match self.frames.last() {
            Some(Frame::For(stage)) => self.take_for_word(*stage, word),
            Some(Frame::Case(stage)) => self.take_case_word(*stage, &word),
            Some(Frame::Test) => self.take_test_word(word),
            _ => self.take_list_word(word),
        }
    }

    fn take_list_word(&mut self, word: WordBuilder) -> ParseResult {
        let is_before_redirection = matches!(self.source.peek(), Some('<' | '>'));
        let list = self.list();
        if list.command.words.is_empty() && list.command.assignments.is_empty() && list.command.redirections.is_empty()
        {
            list.command.position = word.position;
        }
        if let Some(operator) = list.redirect.take() {
            // Bash reads `> 2>x` as a `2>` without a target for the first `>`.
            let is_number = word.plain().is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            if is_before_redirection && is_number && !matches!(operator, "<&" | ">&") {
                return self.refuse("a redirection without a target");
            }
            // `> {a,b}` expands to two words, which bash refuses as ambiguous when it runs the command.
            let mut targets = word.finish();
            let target = match targets.pop() {
                Some(target) if targets.is_empty() => target,
                _ => ShellWord::Unknown { prefix: String::new(), several: true, number: false },
            };
            // Bash expands a target that is no number a second time: `>& '$(a)'` runs `a`.
            let is_plain =
                |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
            if matches!(operator, "<&" | ">&") && !target.literal().is_some_and(is_plain) {
                return self.refuse("a redirection to a descriptor that is not plain");
            }
            self.list().command.redirections.push(Redirection { operator, target, document: None });
            return Ok(());
        }
        // `2>x`: the digits are the descriptor only if nothing separates them from the operator and nothing in them is
        // quoted.
        if is_before_redirection && let Some(text) = word.plain() {
            match redirections::descriptor(text) {
                Some(true) => {
                    let name = text.trim_matches(['{', '}']).to_owned();
                    return self.begin_descriptor(name);
                }
                Some(false) => return self.refuse("the descriptor of a redirection"),
                None => {}
            }
        }
        let spot = self.list().spot;
        if let Some(text) = word.plain() {
            // A word is reserved only where a command can begin, or directly after a compound command: `echo if` prints
            // `if`.
            let is_first = !matches!(spot, ListPosition::Words | ListPosition::Compound);
            if (is_first || spot == ListPosition::Compound) && is_reserved(text) {
                return self.take_reserved(text);
            }
            match (spot, text) {
                (ListPosition::Timed, "-p") => {
                    self.list().spot = ListPosition::TimedPortably;
                    return Ok(());
                }
                (ListPosition::Timed | ListPosition::TimedPortably, "--") => {
                    self.list().spot = ListPosition::Prefixed;
                    return Ok(());
                }
                _ => {}
            }
        }
        if spot == ListPosition::Compound {
            return self.refuse("a word after a compound command");
        }
        let list = self.list();
        list.spot = ListPosition::Words;
        // After the name, `Z=2` is an argument. `set -k` would change that, and `check_command` refuses it.
        if list.command.words.is_empty()
            && let Some(name) = word.assigned_name()
        {
            let name = name.to_owned();
            list.command.assignments.push(Assignment { name, value: word.finish_value() });
        } else {
            list.command.words.extend(word.finish());
        }
        Ok(())
    }

    // Reserved words

    fn take_reserved(&mut self, word: &str) -> ParseResult {
        let (spot, closer) = (self.list().spot, self.list().closer);
        // `then` and the like end a list that has a command. They also follow a compound command without a `;`.
        let ends_list = matches!(spot, ListPosition::Next | ListPosition::Compound);
        if spot == ListPosition::Compound
            && !matches!(word, "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}")
        {
            return self.refuse("a word after a compound command");
        }
        match (word, closer) {
            ("!", _) => self.list().spot = ListPosition::Prefixed,
            ("time", _) => self.list().spot = ListPosition::Timed,
            ("{", _) => self.open_list(Closer::Brace),
            ("if", _) => self.open_list(Closer::Then),
            ("while" | "until", _) => {
                self.parser.has_loops = true;
                self.open_list(Closer::Do);
            }
            ("for", _) => {
                self.parser.has_loops = true;
                self.frames.push(Frame::For(ForStage::Name));
            }
            ("case", _) => self.frames.push(Frame::Case(CaseStage::Subject)),
            ("[[", _) => {
                self.tests.push(TestWords::default());
                self.frames.push(Frame::Test);
            }
            ("then", Closer::Then) if ends_list => return self.continue_compound(Closer::Fi),
            ("elif", Closer::Fi) if ends_list => return self.continue_compound(Closer::Then),
            ("else", Closer::Fi) if ends_list => return self.continue_compound(Closer::OnlyFi),
            ("do", Closer::Do) if ends_list => return self.continue_compound(Closer::Done),
            ("fi", Closer::Fi | Closer::OnlyFi) | ("done", Closer::Done) | ("}", Closer::Brace) if ends_list => {
                return self.close_compound();
            }
            ("esac", Closer::CaseItem) if ends_list || spot == ListPosition::Start => {
                self.flush_command()?;
                self.lists.pop();
                self.frames.pop();
                return self.close_head();
            }
            _ => return self.refuse("a reserved word"),
        }
        Ok(())
    }

    /// Begins the next list of the same compound command.
    fn continue_compound(&mut self, closer: Closer) -> ParseResult {
        self.flush_command()?;
        let list = self.list();
        list.closer = closer;
        list.spot = ListPosition::Start;
        Ok(())
    }

    /// Ends a `case` or `[[`, which does not end with a list.
    fn close_head(&mut self) -> ParseResult {
        self.frames.pop();
        self.list().spot = ListPosition::Compound;
        Ok(())
    }

    fn read_for(&mut self, stage: ForStage) -> ParseResult {
        self.skip_blanks();
        match (self.source.peek(), stage) {
            (Some('\n'), ForStage::In | ForStage::Words | ForStage::Do) => {
                self.source.take();
                if stage == ForStage::Words {
                    self.set_stage(Frame::For(ForStage::Do));
                }
                self.read_documents()
            }
            (Some(';'), ForStage::In | ForStage::Words) => {
                self.source.take();
                self.set_stage(Frame::For(ForStage::Do));
                Ok(())
            }
            (None | Some('\n' | ';' | '&' | '|' | '(' | ')'), _) => self.refuse("a loop"),
            (Some('<' | '>'), _) if !self.source.is_followed_by('(') => self.refuse("a loop"),
            _ => {
                self.begin_word(if stage == ForStage::Words { WordPlace::Argument } else { WordPlace::Plain });
                Ok(())
            }
        }
    }

    fn take_for_word(&mut self, stage: ForStage, word: WordBuilder) -> ParseResult {
        match (stage, word.plain()) {
            // `PATH` decides which program a name means.
            (ForStage::Name, Some("PATH")) => return self.refuse("a loop over the folders of programs"),
            // A loop assigns like any assignment: `for SECONDS in 'a[$(b)]'` runs `b`.
            (ForStage::Name, Some(name)) if is_name(name) && !builtins::is_evaluated(name) => {
                self.loops.push((name.to_owned(), true));
                self.set_stage(Frame::For(ForStage::In));
            }
            (ForStage::In, Some("in")) => self.set_stage(Frame::For(ForStage::Words)),
            (ForStage::In | ForStage::Do, Some("do")) => {
                let (name, is_number) = self.loops.pop().expect("the name of this loop");
                // Without `in`, a loop takes the arguments of the script, which are unknown.
                if !is_number || stage == ForStage::In {
                    self.parser.not_numbers.push(name);
                }
                self.frames.pop();
                self.open_list(Closer::Done);
            }
            (ForStage::Words, _) => {
                let is_number = word.finish().iter().all(ShellWord::is_number);
                self.loops.last_mut().expect("the name of this loop").1 &= is_number;
            }
            _ => return self.refuse("a loop"),
        }
        Ok(())
    }

    fn read_case(&mut self, stage: CaseStage) -> ParseResult {
        self.skip_blanks();
        match (self.source.peek(), stage) {
            (Some('\n'), CaseStage::In | CaseStage::Item) => {
                self.source.take();
                self.read_documents()
            }
            (Some('('), CaseStage::Item) => {
                self.source.take();
                self.set_stage(Frame::Case(CaseStage::Pattern));
                Ok(())
            }
            (Some('|'), CaseStage::Bar) => {
                self.source.take();
                self.set_stage(Frame::Case(CaseStage::Pattern));
                Ok(())
            }
            (Some(')'), CaseStage::Bar) => {
                self.source.take();
                self.open_list(Closer::CaseItem);
                Ok(())
            }
            (None | Some('\n' | ';' | '&' | '|' | '(' | ')'), _) => self.refuse("a case"),
            (Some('<' | '>'), _) if !self.source.is_followed_by('(') => self.refuse("a case"),
            _ => {
                self.begin_word(WordPlace::Plain);
                Ok(())
            }
        }
    }

    fn take_case_word(&mut self, stage: CaseStage, word: &WordBuilder) -> ParseResult {
        let next = match (stage, word.plain()) {
            (CaseStage::Subject, _) => CaseStage::In,
            (CaseStage::In, Some("in")) => CaseStage::Item,
            (CaseStage::Item, Some("esac")) => return self.close_head(),
            (CaseStage::Pattern, Some("esac")) | (CaseStage::In | CaseStage::Bar, _) => return self.refuse("a case"),
            (CaseStage::Item | CaseStage::Pattern, _) => CaseStage::Bar,
        };
        self.set_stage(Frame::Case(next));
        Ok(())
    }

    fn read_test(&mut self) -> ParseResult {
        self.skip_blanks();
        match self.source.peek() {
            // In `[[ ]]` these are no separators or redirections, and the text after `=~` has a syntax of its own.
            None | Some('\n' | ';' | '(' | ')' | '<' | '>') => self.refuse("an operator in [[ ]]"),
            Some(operator @ ('&' | '|')) => {
                self.source.take();
                if !self.source.take_if(operator) {
                    return self.refuse("an operator in [[ ]]");
                }
                Ok(())
            }
            _ => {
                self.begin_word(WordPlace::Plain);
                Ok(())
            }
        }
    }

    fn take_test_word(&mut self, word: WordBuilder) -> ParseResult {
        let ends = word.plain() == Some("]]");
        let word = word.finish().pop().expect("a plain word is one word");
        let state = self.tests.last_mut().expect("the test that is read");
        // Bash evaluates both sides of these operators as arithmetic, even if they are quoted.
        let compares = matches!(word.literal(), Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"));
        if (state.needs_number && !word.is_number()) || (compares && !state.after_number) {
            return self.refuse("arithmetic in [[ ]]");
        }
        // `-v` and `-R` evaluate the subscript of a name.
        if matches!(word.literal(), Some("-v" | "-R")) {
            return self.refuse("a test of a variable");
        }
        state.needs_number = compares;
        state.after_number = word.is_number();
        if ends {
            self.tests.pop();
            return self.close_head();
        }
        Ok(())
    }
}

fn is_reserved(word: &str) -> bool {
    let all = "! time { } [[ ]] if then elif else fi while until for do done case esac in select function coproc";
    all.split(' ').any(|reserved| reserved == word)
}
