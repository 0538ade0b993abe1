//! The dialects: the forms in which models were trained to write calls.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Defines [`Dialect`] with its names, so that none can be forgotten.
macro_rules! dialects {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal;)*) => {
        /// A form in which models were trained to write calls. The parser recognises each by its own tokens, so the
        /// model of a backend need not be configured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Dialect { $($(#[doc = $doc])* #[serde(rename = $name)] $variant,)* }

        impl Dialect {
            /// All dialects.
            pub const ALL: &'static [Dialect] = &[$(Dialect::$variant,)*];

            /// Returns the name that events, settings and case files use.
            pub fn name(self) -> &'static str {
                match self { $(Dialect::$variant => $name,)* }
            }

            /// Returns the documentation of the dialect: its form, a colon, and the models that write it.
            #[cfg(test)]
            fn documentation(self) -> &'static str {
                match self { $(Dialect::$variant => concat!($($doc),*),)* }
            }
        }
    };
}

dialects! {
    /// `<tool_call>{"name": .., "arguments": {..}}</tool_call>`: Hermes, Qwen 2.5 and 3, ERNIE, MiMo.
    Hermes = "hermes";
    /// `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`: Qwen3-Coder.
    Qwen3Coder = "qwen3_coder";
    /// `<function=name>{..}</function>`, `<|python_tag|>{..}` and `<|python_tag|>name.call(a=1)`: Llama 3, Functionary
    /// 3.1.
    Llama = "llama";
    /// `[TOOL_CALLS][{..}]` and `[TOOL_CALLS]name[ARGS]{..}`: Mistral.
    Mistral = "mistral";
    /// `<｜tool▁calls▁begin｜>` and `<｜DSML｜function_calls>`: DeepSeek V3, R1, and V3.1 to V4.1.
    DeepSeek = "deepseek";
    /// `<|tool_calls_section_begin|>` and `<|open|>tools<|sep|>`: Kimi K2 and K3.
    Kimi = "kimi";
    /// `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`: GLM 4.5 and later, Ling 3,
    /// Laguna, Spark 2.5.
    Glm = "glm";
    /// `<|tool_call|>[{..}]` and `<function_call>{..}`: Granite, Phi-4 (which closes it with `<|/tool_call|>`).
    Granite = "granite";
    /// `functools[{..}]`: Phi-4 mini, FireFunction.
    Functools = "functools";
    /// `<start_function_call>call:name{..}` and `<|tool_call>call:name{..}`: FunctionGemma, Gemma 4.
    Gemma = "gemma";
    /// `<|tool_call_start|>[f(a=1)]<|tool_call_end|>`: LFM2, MiniCPM.
    Lfm2 = "lfm2";
    /// `<function_calls>f(a=1)</function_calls>`: OLMo 3.
    Olmo = "olmo";
    /// `<tool_calls>[{..}]</tool_calls>`, and `<tool_calls><tool_call>name` with the tags of GLM: Hunyuan, Jamba,
    /// Apriel, MiniMax M1.
    Hunyuan = "hunyuan";
    /// `<|START_ACTION|>[{..}]<|END_ACTION|>`, and a reply that is `Action:` with a list in a code span: Cohere's
    /// Command.
    Cohere = "cohere";
    /// `<|tools_prefix|>[{"name": {..}}]<|tools_suffix|>`: Apertus.
    Apertus = "apertus";
    /// `<｜tool_calls_begin｜>` with `<steptml:invoke name="..">`: Step 3.
    Step = "step";
    /// `<seed:tool_call><function=name>`: Seed-OSS.
    SeedOss = "seed_oss";
    /// `<minimax:tool_call><invoke name="..">`, and tags after `]<]minimax[>[`: MiniMax M2 and M3.
    MiniMax = "minimax";
    /// `<|channel|>commentary to=functions.name<|message|>{..}<|call|>`: gpt-oss.
    Harmony = "harmony";
    /// `<invoke name=".."><parameter name="..">`, alone or in `<function_calls>`: Claude and models trained on its
    /// output.
    Anthropic = "anthropic";
    /// `<|action_start|><|plugin|>{..}<|action_end|>`: InternLM.
    InternLm = "internlm";
    /// `<TOOLCALL>[{..}]</TOOLCALL>`: Nemotron.
    Nemotron = "nemotron";
    /// `[TOOL_REQUEST]{..}[END_TOOL_REQUEST]`: LM Studio, for models without a format of their own.
    LmStudio = "lm_studio";
    /// `<longcat_tool_call>{..}</longcat_tool_call>`: LongCat.
    LongCat = "longcat";
    /// `<|tool_call:start|>name` with `<|tool_arg:start|>key<|tool_arg:value|>value<|tool_arg:end|>`: Solar Open 2.
    Solar = "solar";
    /// `function call<|role_sep|>`, `<|function_call|>{..}` and `<｜GCML｜tool_calls>`: GigaChat 3 and 3.5.
    GigaChat = "gigachat";
    /// `<dots_function_call><invoke name="..">`: dots.
    Dots = "dots";
    /// `<ifm|tool_call>name` with `<ifm|arg_key>`: K2 Horizon.
    K2Horizon = "k2_horizon";
    /// `<atem:function_calls><atem:invoke name="..">`: Muse Glimmer.
    Muse = "muse";
    /// `<|tool_calls|>[{'name': ..}]`, a list in Python syntax: Sarashina.
    Sarashina = "sarashina";
    /// `<function name=".."><param name="..">`: MiniCPM 5.
    MiniCpm = "minicpm";
    /// `[f(a=1), g(b="x")]` as the whole reply, between `<|python_start|>` and `<|python_end|>`, or in a fence
    /// `tool_code`: Llama 3.2 and 4, Gemma 3, Gemini.
    Pythonic = "pythonic";
    /// A reply that consists only of calls in JSON: Llama 3, xLAM.
    BareJson = "bare_json";
    /// A fenced code block with the word `bash`, `sh` or `shell`, read as a call of `bash`; only if it is named: models
    /// that write scripts by habit.
    ShellBlock = "shell_block";
    /// `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE` in a fenced code block, read as a call of `apply_patch`; only if
    /// it is named: models that were trained on the format of aider.
    SearchReplace = "search_replace";
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Dialect {
    /// Returns `true` if calls in this dialect are read only if it is enabled by name: in most replies such a block is
    /// an example.
    pub fn is_opt_in(self) -> bool {
        matches!(self, Dialect::ShellBlock | Dialect::SearchReplace)
    }

    /// Returns an example call in this dialect for the instructions; `args` is the text of a JSON object. `None` for a
    /// dialect whose calls are not JSON between two tokens.
    pub(crate) fn example_call(self, name: &str, args: &str) -> Option<String> {
        let quoted = serde_json::Value::from(name);
        let call = |key: &str| format!("{{\"name\": {quoted}, \"{key}\": {args}}}");
        Some(match self {
            Dialect::Hermes => format!("<tool_call>\n{}\n</tool_call>", call("arguments")),
            Dialect::Llama => format!("<function={name}>{args}</function>"),
            Dialect::Mistral => format!("[TOOL_CALLS][{}]", call("arguments")),
            Dialect::Granite => format!("<|tool_call|>[{}]", call("arguments")),
            Dialect::Functools => format!("functools[{}]", call("arguments")),
            Dialect::Hunyuan => format!("<tool_calls>[{}]</tool_calls>", call("arguments")),
            Dialect::Nemotron => format!("<TOOLCALL>[{}]</TOOLCALL>", call("arguments")),
            Dialect::LmStudio => format!("[TOOL_REQUEST]{}[END_TOOL_REQUEST]", call("arguments")),
            Dialect::LongCat => format!("<longcat_tool_call>{}</longcat_tool_call>", call("arguments")),
            Dialect::InternLm => format!("<|action_start|><|plugin|>{}<|action_end|>", call("parameters")),
            Dialect::Cohere => format!(
                "<|START_ACTION|>[{{\"tool_call_id\": \"0\", \"tool_name\": {quoted}, \"parameters\": {args}}}]<|END_ACTION|>"
            ),
            Dialect::Apertus => format!("<|tools_prefix|>[{{{quoted}: {args}}}]<|tools_suffix|>"),
            _ => return None,
        })
    }
}

/// The set of dialects in which calls are read.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Dialects(u64);

impl Dialects {
    /// No dialect: only blocks of the protocol are calls.
    pub const NONE: Dialects = Dialects(0);

    /// All dialects except those that [must be enabled by name](Dialect::is_opt_in), which are the last variants.
    pub const ALL: Dialects = Dialects((1 << Dialect::ShellBlock as u64) - 1);

    /// Returns `true` if calls in this dialect are read.
    pub fn contains(self, dialect: Dialect) -> bool {
        self.0 & 1 << dialect as u64 != 0
    }

    /// Adds a dialect.
    #[must_use]
    pub fn with(self, dialect: Dialect) -> Dialects {
        Dialects(self.0 | 1 << dialect as u64)
    }

    /// Removes a dialect.
    #[must_use]
    pub fn without(self, dialect: Dialect) -> Dialects {
        Dialects(self.0 & !(1 << dialect as u64))
    }

    /// Iterates over the dialects of the set, in the order of [`Dialect::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Dialect> {
        Dialect::ALL.iter().copied().filter(move |dialect| self.contains(*dialect))
    }

    /// Returns `true` if the set has no dialects.
    pub fn is_empty(self) -> bool {
        self == Dialects::NONE
    }
}

impl fmt::Debug for Dialects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<Dialect> for Dialects {
    fn from_iter<I: IntoIterator<Item = Dialect>>(dialects: I) -> Dialects {
        dialects.into_iter().fold(Dialects::NONE, Dialects::with)
    }
}

impl FromStr for Dialects {
    type Err = String;

    /// Parses `none`, or a list of names separated by commas, in which `all` means [`Dialects::ALL`]. The error is the
    /// unknown name.
    fn from_str(text: &str) -> Result<Dialects, String> {
        if matches!(text.trim(), "none" | "") {
            return Ok(Dialects::NONE);
        }
        let mut dialects = Dialects::NONE;
        for name in text.split(',').map(str::trim) {
            dialects = match find_by_name(name) {
                Some(dialect) => dialects.with(dialect),
                None if name == "all" => Dialects(dialects.0 | Dialects::ALL.0),
                None => return Err(name.to_owned()),
            };
        }
        Ok(dialects)
    }
}

fn find_by_name(name: &str) -> Option<Dialect> {
    Dialect::ALL.iter().copied().find(|dialect| dialect.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_parse_from_names() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialects::ALL.contains(*dialect), !dialect.is_opt_in(), "{dialect}");
        }
        assert_eq!("all".parse(), Ok(Dialects::ALL));
        assert_eq!("all, shell_block".parse(), Ok(Dialects::ALL.with(Dialect::ShellBlock)));
        assert_eq!("none".parse(), Ok(Dialects::NONE));
        let two: Dialects = "hermes, glm".parse().unwrap();
        assert!(two.contains(Dialect::Hermes) && two.contains(Dialect::Glm) && !two.contains(Dialect::Kimi));
        assert_eq!(two.without(Dialect::Glm).iter().collect::<Vec<_>>(), [Dialect::Hermes]);
        assert_eq!("hermes,other".parse::<Dialects>(), Err("other".to_owned()));
    }

    #[test]
    fn names_match_serde() {
        for dialect in Dialect::ALL {
            assert_eq!(serde_json::to_value(dialect).unwrap(), dialect.name());
        }
    }

    /// With `UPDATE=1` it writes the page.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test reads and writes a page of the documentation")]
    fn the_table_of_dialects_is_current() {
        let mut page = "# Dialect families\n\n".to_owned();
        page += "<!-- Generated by `UPDATE=1 cargo test -p toolfence-protocol --lib the_table`; do not edit. -->\n\n";
        page += "[Dialects](dialects.md) explains how to choose them and where they count. The source of each form is named in\n";
        page += "`crates/protocol/src/parse/dialect/table.rs`.\n\n| name | form | written by |\n|---|---|---|\n";
        for dialect in Dialect::ALL {
            let (form, models) = dialect.documentation().rsplit_once(": ").expect("a form and models");
            let form = form.trim().replace('|', "\\|");
            page += &format!("| `{dialect}` | {form} | {} |\n", models.trim_end_matches('.').replace('|', "\\|"));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialect-families.md");
        if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, &page).expect("the page can be written");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("the page"), page, "run with UPDATE=1");
    }
}
