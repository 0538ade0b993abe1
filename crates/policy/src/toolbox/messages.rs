//! The words of this crate for the model.

toolfence_protocol::texts! { "toolbox"
    tool_not_here(tool) { en: "The tool {tool} is not here.", pt: "A ferramenta {tool} não está disponível aqui." }
}
