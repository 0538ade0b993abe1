//! Presets of providers: the base URL of their OpenAI-compatible API, the variable for the key, and their
//! peculiarities.

use super::quirks::Quirks;

/// A provider or a kind of server that a host can offer by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// The name, which precedes `::` in a model's name: `groq::llama-3.3-70b-versatile`.
    pub name: &'static str,
    /// The base URL of the OpenAI-compatible API; empty if each customer has a different one.
    pub base_url: &'static str,
    /// The environment variable that usually holds the key; empty for a server on this machine, which needs none.
    pub key_variable: &'static str,
    /// Prefixes of the names of its models, if they identify the provider.
    pub models: &'static [&'static str],
    /// The peculiarities of the server.
    pub(super) quirks: Quirks,
}

const fn preset(name: &'static str, base_url: &'static str, key_variable: &'static str) -> Preset {
    Preset { name, base_url, key_variable, models: &[], quirks: Quirks::NONE }
}

impl Preset {
    const fn models(self, models: &'static [&'static str]) -> Preset {
        Preset { models, ..self }
    }

    const fn quirks(self, quirks: Quirks) -> Preset {
        Preset { quirks, ..self }
    }
}

/// Each address and variable is taken from the page named above it: the provider's own documentation of its
/// OpenAI-compatible API.
const PRESETS: &[Preset] = &[
    // platform.openai.com/docs/api-reference/chat: max_tokens is deprecated, and the models that reason refuse it.
    preset("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")
        .models(&["gpt-", "chatgpt-", "o1", "o3", "o4", "codex-"])
        .quirks(Quirks::COMPLETION_TOKENS),
    // platform.claude.com/docs/en/api/openai-sdk: system messages may be anywhere and are joined at the beginning.
    preset("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY").models(&["claude-"]),
    // ai.google.dev/gemini-api/docs/openai
    preset("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY")
        .models(&["gemini-", "gemma-"]),
    // docs.mistral.ai/api: the last event has the counts without being asked, and unknown members are refused.
    preset("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY")
        .models(&["mistral-", "ministral-", "codestral-", "devstral-", "magistral-"])
        .quirks(Quirks::UNCOUNTED),
    // api-docs.deepseek.com: there is no /v1.
    preset("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY").models(&["deepseek-"]),
    // docs.x.ai/docs/api-reference
    preset("xai", "https://api.x.ai/v1", "XAI_API_KEY").models(&["grok-"]),
    // docs.cohere.com/docs/compatibility-api: unknown members, such as stream_options, are refused.
    preset("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY")
        .models(&["command-"])
        .quirks(Quirks::UNCOUNTED),
    // docs.perplexity.ai/docs/sonar/openai-compatibility: there is no /v1.
    preset("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY").models(&["sonar"]),
    // platform.kimi.ai/docs/api/overview
    preset("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY").models(&["kimi-", "moonshot-"]),
    // docs.z.ai/guides/develop/openai/python
    preset("zai", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY").models(&["glm-"]),
    // alibabacloud.com/help/en/model-studio/base-url: the shared address of Singapore, for keys of that region. A
    // workspace may have an address of its own.
    preset("dashscope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY").models(&[
        "qwen-max",
        "qwen-plus",
        "qwen-flash",
        "qwen-turbo",
    ]),
    // platform.minimax.io/docs/api-reference/text-openai-api
    preset("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY").models(&["MiniMax-"]),
    // docs.ai21.com/reference/jamba-1-6-api-ref
    preset("ai21", "https://api.ai21.com/studio/v1", "AI21_API_KEY").models(&["jamba-"]),
    // console.groq.com/docs/openai
    preset("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    // openrouter.ai/docs/quickstart
    preset("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    // docs.together.ai/docs/inference/openai-compatibility
    preset("together", "https://api.together.ai/v1", "TOGETHER_API_KEY"),
    // docs.fireworks.ai/tools-sdks/openai-compatibility
    preset("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    // inference-docs.cerebras.ai/resources/openai
    preset("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    // huggingface.co/docs/inference-providers
    preset("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
    // docs.api.nvidia.com/nim/reference/llm-apis
    preset("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    // docs.sambanova.ai/cloud/docs/capabilities/openai-compatibility
    preset("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    // deepinfra.com/docs/openai_api
    preset("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    // docs.hyperbolic.ai/inference/quickstart
    preset("hyperbolic", "https://api.hyperbolic.xyz/v1", "HYPERBOLIC_API_KEY"),
    // novita.ai/docs/guides/llm-api
    preset("novita", "https://api.novita.ai/openai/v1", "NOVITA_API_KEY"),
    // docs.siliconflow.com/en/userguide/quickstart: the address for all countries but China.
    preset("siliconflow", "https://api.siliconflow.com/v1", "SILICONFLOW_API_KEY"),
    // docs.tokenfactory.nebius.com/api-reference/introduction
    preset("nebius", "https://api.tokenfactory.nebius.com/v1", "NEBIUS_API_KEY"),
    // scaleway.com/en/docs/generative-apis/quickstart
    preset("scaleway", "https://api.scaleway.ai/v1", "SCW_SECRET_KEY"),
    // docs.baseten.co/quickstart
    preset("baseten", "https://inference.baseten.co/v1", "BASETEN_API_KEY"),
    // vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions
    preset("vercel", "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY"),
    // docs.ollama.com/openai
    preset("ollama-cloud", "https://ollama.com/v1", "OLLAMA_API_KEY"),
    // learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle: https://RESOURCE.openai.azure.com/openai/v1
    preset("azure", "", "AZURE_OPENAI_API_KEY").quirks(Quirks::COMPLETION_TOKENS),
    // developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility:
    // https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1
    preset("cloudflare", "", "CLOUDFLARE_API_TOKEN"),
    // github.com/ggml-org/llama.cpp/tree/master/tools/server
    preset("llama.cpp", "http://127.0.0.1:8080/v1", ""),
    // docs.vllm.ai/en/latest/serving/openai_compatible_server.html
    preset("vllm", "http://127.0.0.1:8000/v1", ""),
    // lmstudio.ai/docs/developer/openai-compat
    preset("lmstudio", "http://127.0.0.1:1234/v1", ""),
    // docs.ollama.com/openai
    preset("ollama", "http://127.0.0.1:11434/v1", ""),
    // docs.sglang.ai/basic_usage/openai_api.html
    preset("sglang", "http://127.0.0.1:30000/v1", ""),
    // github.com/LostRuins/koboldcpp/wiki
    preset("koboldcpp", "http://127.0.0.1:5001/v1", ""),
];

impl Preset {
    /// Returns all presets: first those in the network, then servers on this machine.
    pub fn all() -> &'static [Preset] {
        PRESETS
    }

    /// Returns `true` for a kind of server on this machine.
    pub fn is_local(&self) -> bool {
        self.key_variable.is_empty()
    }

    /// Returns the preset of this name.
    pub fn by_name(name: &str) -> Option<Preset> {
        PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name)).copied()
    }

    /// Returns the provider that a model's name determines, and the name on that provider: `groq::x` is `x` at groq,
    /// and `gpt-4o` is OpenAI's. `None` if the name determines no provider.
    pub fn of_model(model: &str) -> Option<(Preset, &str)> {
        if let Some((provider, model)) = model.split_once("::") {
            return Some((Preset::by_name(provider)?, model));
        }
        let preset = PRESETS.iter().find(|preset| preset.models.iter().any(|begin| model.starts_with(begin)))?;
        Some((*preset, model))
    }

    /// Returns the provider with this base URL.
    pub(super) fn by_url(base_url: &str) -> Option<Preset> {
        let base_url = base_url.trim_end_matches('/');
        PRESETS.iter().find(|preset| !base_url.is_empty() && preset.base_url == base_url).copied()
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
            ("kimi-k2-0711-preview", Some(("moonshot", "kimi-k2-0711-preview"))),
            ("glm-4.6", Some(("zai", "glm-4.6"))),
            ("groq::llama-3.3-70b", Some(("groq", "llama-3.3-70b"))),
            ("azure::my-deployment", Some(("azure", "my-deployment"))),
            ("Ollama::qwen3:8b", Some(("ollama", "qwen3:8b"))),
            ("nobody::x", None),
            ("qwen3", None),
        ] {
            assert_eq!(Preset::of_model(model).map(|(preset, model)| (preset.name, model)), want, "{model}");
        }
    }

    #[test]
    fn the_table_is_consistent() {
        let mut names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PRESETS.len(), "a name is one provider's");
        for preset in PRESETS {
            let url = reqwest::Url::parse(preset.base_url);
            let host = url.as_ref().ok().and_then(reqwest::Url::host_str);
            assert!(preset.base_url.is_empty() || host.is_some() && !preset.base_url.ends_with('/'), "{preset:?}");
            assert_eq!(
                host == Some("127.0.0.1"),
                preset.is_local(),
                "only a server on this machine needs no key: {preset:?}"
            );
            assert!(preset.is_local() || preset.base_url.is_empty() || preset.base_url.starts_with("https://"));
            assert_eq!(Preset::by_url(preset.base_url).map(|found| found.name), host.map(|_| preset.name));
        }
    }
}
