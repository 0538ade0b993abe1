//! The words of this crate for clients, for the person who runs the host and for the model, in the order of the modules that
//! use them.
//!
//! What an upstream says of itself, and what a reader of JSON says, stays as it is.

// The pipe, to its client.
#[cfg(feature = "pipe")]
toolfence_protocol::texts! { "pipe"
    talk_to_client() {
        en: "talk to the client",
        pt: "falar com o cliente",
    }
    line_too_long(bytes) {
        en: "the line has more than {bytes} {bytes|byte|bytes}; send smaller pieces",
        pt: "a linha tem mais de {bytes} {bytes|byte|bytes}; envie pedaços menores",
    }
    line_not_utf8() {
        en: "the line is not UTF-8; nothing of it was read",
        pt: "a linha não é UTF-8; nada dela foi lido",
    }
    line_unreadable(problem) {
        en: "this line cannot be read: {problem}",
        pt: "esta linha não pode ser lida: {problem}",
    }
    no_tool_name(name) {
        en: "{name} is no name for a tool: 1 to 64 letters, digits, _ - .",
        pt: "{name} não serve como nome de ferramenta: de 1 a 64 letras, dígitos, _ - .",
    }
    tools_between_turns_only() {
        en: "tools can be changed between turns only",
        pt: "as ferramentas só podem ser trocadas entre dois turnos",
    }
    last_reply_is_answered(what) {
        en: "{what}: the last reply is being answered; wait for results or stop",
        pt: "{what}: a última resposta ainda está sendo atendida; espere por results ou stop",
    }
    no_turn() {
        en: "there is no turn",
        pt: "não há nenhum turno",
    }
    nothing_asked(id) {
        en: "nothing is asked about {id}",
        pt: "não há nenhuma pergunta sobre {id}",
    }
    no_result_awaited(id) {
        en: "no result is awaited for {id}",
        pt: "nenhum resultado é esperado para {id}",
    }
}

// The pipe, to the model.
#[cfg(feature = "pipe")]
toolfence_protocol::texts! { "pipe"
    user_said_no() {
        en: "The user said no.",
        pt: "O usuário disse que não.",
    }
}

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
