//! Parses GBNF as documented by llama.cpp, and generates random texts from it.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;
use toolfence_kit::Random;

#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    Class { not: bool, ranges: Vec<(char, char)> },
    Rule(String),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat { node: Box<Node>, least: usize, most: Option<usize> },
}

#[derive(Debug)]
pub(crate) struct Grammar(HashMap<String, Node>);

/// A rule of a random walk, and the bytes it produced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) rule: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Grammar {
    /// Reads one rule per line. Panics at errors that llama.cpp would refuse: an invalid name, a repeated rule, a
    /// missing one.
    pub(crate) fn read(text: &str) -> Grammar {
        let mut rules = HashMap::new();
        for line in text.lines() {
            let (name, body) = line.split_once(" ::= ").unwrap_or_else(|| panic!("no rule: {line}"));
            assert!(is_name(name), "{name}");
            let mut reader = Reader(body.chars().peekable());
            let node = reader.choice();
            assert_eq!(reader.0.next(), None, "left over in {line}");
            assert!(rules.insert(name.to_owned(), node).is_none(), "{name} is there twice");
        }
        let grammar = Grammar(rules);
        let missing = |name: &&String| !grammar.0.contains_key(*name);
        let lost: Vec<_> = grammar.0.values().flat_map(Node::rules).filter(missing).collect();
        assert!(lost.is_empty(), "not defined: {lost:?}");
        grammar
    }

    /// Returns whether a rule can be reached from itself before any character.
    pub(crate) fn is_left_recursive(&self) -> bool {
        self.0.keys().any(|name| {
            let (mut open, mut seen) = (self.0[name].leftmost(self), Vec::new());
            while let Some(next) = open.pop() {
                if !seen.contains(&next) {
                    open.extend(self.0[&next].leftmost(self));
                    seen.push(next);
                }
            }
            seen.contains(name)
        })
    }

    /// Returns a text that the grammar allows, and the rules that produced it. An outer rule precedes the rules inside
    /// it.
    pub(crate) fn walk(&self, random: &mut Random) -> (String, Vec<Step>) {
        let mut walk = Walk { grammar: self, random, text: String::new(), steps: Vec::new() };
        walk.rule("root");
        (walk.text, walk.steps)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

impl Node {
    fn rules(&self) -> Vec<&String> {
        match self {
            Node::Rule(name) => vec![name],
            Node::Sequence(nodes) | Node::Choice(nodes) => nodes.iter().flat_map(Node::rules).collect(),
            Node::Repeat { node, .. } => node.rules(),
            Node::Text(_) | Node::Class { .. } => Vec::new(),
        }
    }

    /// Returns whether the text of this node can be empty. References to rules count as not empty, which only hides
    /// recursion through empty rules.
    fn may_be_empty(&self) -> bool {
        match self {
            Node::Text(text) => text.is_empty(),
            Node::Class { .. } | Node::Rule(_) => false,
            Node::Sequence(nodes) => nodes.iter().all(Node::may_be_empty),
            Node::Choice(nodes) => nodes.iter().any(Node::may_be_empty),
            Node::Repeat { node, least, .. } => *least == 0 || node.may_be_empty(),
        }
    }

    fn leftmost(&self, grammar: &Grammar) -> Vec<String> {
        match self {
            Node::Rule(name) => vec![name.clone()],
            Node::Choice(nodes) => nodes.iter().flat_map(|node| node.leftmost(grammar)).collect(),
            Node::Repeat { node, .. } => node.leftmost(grammar),
            Node::Sequence(nodes) => {
                let empty = |node: &&Node| match node {
                    Node::Rule(name) => grammar.0[name].may_be_empty(),
                    node => node.may_be_empty(),
                };
                let count = nodes.iter().take_while(empty).count() + 1;
                nodes.iter().take(count).flat_map(|node| node.leftmost(grammar)).collect()
            }
            Node::Text(_) | Node::Class { .. } => Vec::new(),
        }
    }
}

struct Reader<'a>(Peekable<Chars<'a>>);

impl Reader<'_> {
    fn blanks(&mut self) {
        while self.0.next_if_eq(&' ').is_some() {}
    }

    fn choice(&mut self) -> Node {
        let mut choices = vec![self.sequence()];
        while self.0.next_if_eq(&'|').is_some() {
            choices.push(self.sequence());
        }
        if choices.len() == 1 { choices.remove(0) } else { Node::Choice(choices) }
    }

    fn sequence(&mut self) -> Node {
        let mut nodes = Vec::new();
        loop {
            self.blanks();
            let Some(node) = self.item() else { return Node::Sequence(nodes) };
            nodes.push(self.repeated(node));
        }
    }

    fn item(&mut self) -> Option<Node> {
        match *self.0.peek()? {
            '"' => Some(self.text()),
            '[' => Some(self.class()),
            '(' => {
                self.0.next();
                let node = self.choice();
                assert_eq!(self.0.next(), Some(')'));
                Some(node)
            }
            '|' | ')' => None,
            _ => {
                let mut name = String::new();
                while let Some(c) = self.0.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
                    name.push(c);
                }
                assert!(is_name(&name), "no item before {:?}", self.0.clone().collect::<String>());
                Some(Node::Rule(name))
            }
        }
    }

    fn repeated(&mut self, node: Node) -> Node {
        let (least, most) = match self.0.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => self.bounds(),
            _ => return node,
        };
        self.0.next();
        let single = matches!(node, Node::Rule(_) | Node::Class { .. } | Node::Text(_));
        assert!(single || most.is_some_and(|most| most < 100), "llama.cpp refuses a group that is repeated so often");
        Node::Repeat { node: Box::new(node), least, most }
    }

    /// Parses `{m}`, `{m,}` or `{m,n}` without the closing bracket.
    fn bounds(&mut self) -> (usize, Option<usize>) {
        self.0.next();
        let mut text = String::new();
        while let Some(c) = self.0.next_if(|c| *c != '}') {
            text.push(c);
        }
        let (least, most) = text.split_once(',').unwrap_or((&text, &text));
        let bounds = (least.parse().unwrap(), (!most.is_empty()).then(|| most.parse().unwrap()));
        assert!(bounds.1.is_none_or(|most| bounds.0 <= most && most <= 2000), "{text}");
        bounds
    }

    fn text(&mut self) -> Node {
        self.0.next();
        let mut text = String::new();
        while self.0.peek() != Some(&'"') {
            text.push(self.char());
        }
        self.0.next();
        Node::Text(text)
    }

    fn class(&mut self) -> Node {
        self.0.next();
        let not = self.0.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        while self.0.peek() != Some(&']') {
            let first = self.char();
            let mut ahead = self.0.clone();
            let last = if ahead.next() == Some('-') && ahead.next() != Some(']') {
                self.0.next();
                self.char()
            } else {
                first
            };
            assert!(first <= last);
            ranges.push((first, last));
        }
        self.0.next();
        Node::Class { not, ranges }
    }

    fn char(&mut self) -> char {
        let c = self.0.next().expect("the rule does not end inside");
        if c != '\\' {
            return c;
        }
        match self.0.next().unwrap() {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => self.hex(2),
            'u' => self.hex(4),
            c @ ('"' | '\\' | '[' | ']') => c,
            c => panic!("llama.cpp has no escape {c}"),
        }
    }

    fn hex(&mut self, digits: usize) -> char {
        let code: String = (0..digits).filter_map(|_| self.0.next()).collect();
        char::from_u32(u32::from_str_radix(&code, 16).unwrap()).unwrap()
    }
}

/// Characters that have a special meaning in the marks of blocks, in JSON or in bodies.
const NASTY: &str =
    "````~~~~<<<<>-+*#\"'\\{}[]:,.()!/=EEOOFFtoolhink0123456789 \t\n\r\u{0}\u{7f}\u{feff}\u{2028}\u{a0}éß漢😀";

struct Walk<'a> {
    grammar: &'a Grammar,
    random: &'a mut Random,
    text: String,
    steps: Vec<Step>,
}

impl Walk<'_> {
    fn rule(&mut self, name: &str) {
        let (index, start) = (self.steps.len(), self.text.len());
        self.steps.push(Step { rule: name.to_owned(), start, end: start });
        self.node(&self.grammar.0[name]);
        self.steps[index].end = self.text.len();
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(text) => self.text.push_str(text),
            Node::Class { not, ranges } => self.class(*not, ranges),
            Node::Rule(name) => self.rule(name),
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Choice(nodes) => {
                let chosen = self.random.below(nodes.len());
                self.node(&nodes[chosen]);
            }
            Node::Repeat { node, least, most } => {
                for _ in 0..self.count(*least, *most) {
                    self.node(node);
                }
            }
        }
    }

    /// Returns a small number or, sometimes, the maximum.
    fn count(&mut self, least: usize, most: Option<usize>) -> usize {
        let most = most.unwrap_or(least + 40);
        match self.random.below(40) {
            0 => most,
            1..20 => least + self.random.below((most - least).min(2) + 1),
            _ => least + self.random.below((most - least).min(12) + 1),
        }
    }

    fn class(&mut self, not: bool, ranges: &[(char, char)]) {
        if !not {
            let (first, last) = *self.random.pick(ranges);
            let chosen = self.random.below(last as usize - first as usize + 1);
            return self.text.push(char::from_u32(first as u32 + chosen as u32).unwrap());
        }
        let allowed = |c: &char| !ranges.iter().any(|(first, last)| (first..=last).contains(&c));
        let pool: Vec<char> = NASTY.chars().filter(allowed).collect();
        self.text.push(*self.random.pick(&pool));
    }
}
