//! Providers that are known by name: where their OpenAI-shaped API begins, and which variable holds the key.

/// A provider that a host can offer by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// The name, as it stands before `::` in a model's name: `groq::llama-3.3-70b-versatile`.
    pub name: &'static str,
    /// Where the OpenAI-shaped API begins.
    pub base_url: &'static str,
    /// The environment variable that usually holds the key; empty for a server on this machine, which needs none.
    pub key_variable: &'static str,
    /// How the names of its models begin, where that names the provider.
    models: &'static [&'static str],
}

const fn preset(
    name: &'static str,
    base_url: &'static str,
    key_variable: &'static str,
    models: &'static [&'static str],
) -> Preset {
    Preset { name, base_url, key_variable, models }
}

/// Each address is the one in the provider's own documentation of its OpenAI-compatible API.
const PRESETS: &[Preset] = &[
    preset("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", &["gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"]),
    preset("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", &["claude-"]),
    preset(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        &["gemini-", "gemma-"],
    ),
    preset(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        &["mistral-", "codestral-", "devstral-", "magistral-"],
    ),
    preset("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", &["deepseek-"]),
    preset("xai", "https://api.x.ai/v1", "XAI_API_KEY", &["grok-"]),
    preset("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", &["command-"]),
    preset("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", &[]),
    preset("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", &[]),
    preset("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY", &[]),
    preset("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", &[]),
    preset("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", &[]),
    preset("ollama", "http://127.0.0.1:11434/v1", "", &[]),
    preset("lmstudio", "http://127.0.0.1:1234/v1", "", &[]),
    preset("llama.cpp", "http://127.0.0.1:8080/v1", "", &[]),
    preset("vllm", "http://127.0.0.1:8000/v1", "", &[]),
];

impl Preset {
    /// All of them.
    pub fn all() -> &'static [Preset] {
        PRESETS
    }

    /// The provider that a model's name names, and the name as that provider knows it: `groq::x` is `x` at groq, and
    /// `gpt-4o` is OpenAI's. `None` where the name tells no provider.
    pub fn of_model(model: &str) -> Option<(Preset, &str)> {
        if let Some((provider, model)) = model.split_once("::") {
            let preset = PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(provider))?;
            return Some((*preset, model));
        }
        let preset = PRESETS.iter().find(|preset| preset.models.iter().any(|begin| model.starts_with(begin)))?;
        Some((*preset, model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_names_its_provider() {
        for (model, want) in [
            ("gpt-4o-mini", Some(("openai", "gpt-4o-mini"))),
            ("claude-sonnet-4-5", Some(("anthropic", "claude-sonnet-4-5"))),
            ("groq::llama-3.3-70b", Some(("groq", "llama-3.3-70b"))),
            ("Ollama::qwen3:8b", Some(("ollama", "qwen3:8b"))),
            ("nobody::x", None),
            ("qwen3", None),
        ] {
            assert_eq!(Preset::of_model(model).map(|(preset, model)| (preset.name, model)), want, "{model}");
        }
        for preset in Preset::all() {
            assert!(reqwest::Url::parse(preset.base_url).is_ok() && !preset.base_url.ends_with('/'), "{preset:?}");
        }
    }
}
