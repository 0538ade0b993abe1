//! The words of this crate for the model, in the order of the modules that use them.

// The proxy, to the model.
#[cfg(feature = "proxy")]
toolfence_protocol::texts! { "proxy"
    must_call_a_tool() {
        en: "- Your next reply must call a tool.\n",
        pt: "- Sua próxima resposta tem de chamar uma ferramenta.\n",
    }
    must_call_the_tool(name) {
        en: "- Your next reply must call the tool `{name}`.\n",
        pt: "- Sua próxima resposta tem de chamar a ferramenta `{name}`.\n",
    }
    one_call_a_reply() {
        en: "- Write only one call a reply.\n",
        pt: "- Escreva só uma chamada por resposta.\n",
    }
    called_no_tool() {
        en: "Your reply calls no tool. It must call one: write that call now.",
        pt: "Sua resposta não chama nenhuma ferramenta. Ela tem de chamar uma: escreva essa chamada agora.",
    }
    called_not_the_tool(name) {
        en: "Your reply calls no tool. It must call the tool `{name}`: write that call now.",
        pt: "Sua resposta não chama nenhuma ferramenta. Ela tem de chamar a ferramenta `{name}`: escreva essa chamada agora.",
    }
    call_was_guessed(repairs, reading) {
        en: "This block is not exact JSON ({repairs}). It may mean {reading}, but that is a guess. Send the call again, exactly.",
        pt: "Este bloco não é JSON exato ({repairs}). Pode significar {reading}, mas isso é um palpite. Envie a chamada de novo, \
             exatamente.",
    }
    block_broke_off() {
        en: "The reply ended inside this block. Send the whole block again from its opening fence.",
        pt: "A resposta terminou dentro deste bloco. Envie de novo o bloco inteiro, a partir da cerca de abertura.",
    }
    not_passed_on() {
        en: "Not run: another block of this reply could not be used. Send this call again too if it is still right.",
        pt: "Não executada: outro bloco desta resposta não pôde ser usado. Envie também esta chamada de novo, se ela ainda \
             estiver certa.",
    }
}
