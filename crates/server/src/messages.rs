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
    options_between_turns_only() {
        en: "options can be set between turns only",
        pt: "as opções só podem ser definidas entre dois turnos",
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
    answer_in_json() {
        en: "- When you call no tool, your whole reply is one JSON object, without a fence and without other text.\n",
        pt: "- Quando você não chama nenhuma ferramenta, a resposta inteira é um objeto JSON, sem cerca e sem outro texto.\n",
    }
    answer_in_json_of(schema) {
        en: "- When you call no tool, your whole reply is one JSON object, without a fence and without other text, that fits \
             this JSON Schema: {schema}\n",
        pt: "- Quando você não chama nenhuma ferramenta, a resposta inteira é um objeto JSON, sem cerca e sem outro texto, que \
             segue este JSON Schema: {schema}\n",
    }
    give_the_answer_as_json() {
        en: "Now give this answer as JSON in the form that was asked for, and nothing else.",
        pt: "Agora dê esta resposta como JSON na forma pedida, e nada mais.",
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
    close_each_block() {
        en: "End each block with its closing fence, ```, alone on a line.",
        pt: "Termine cada bloco com a sua cerca de fechamento, ```, sozinha em uma linha.",
    }
    block_broke_off() {
        en: "The reply ended inside this block. Send the whole block again from its opening fence.",
        pt: "A resposta terminou dentro deste bloco. Envie de novo o bloco inteiro, a partir da cerca de abertura.",
    }
    all_taken_for_thought() {
        en: "Your reply has no closing tag of a reasoning, and yours have one otherwise: all of it was taken for reasoning. Write your \
             answer or your call again.",
        pt: "Sua resposta não tem a marca que fecha o raciocínio, que as suas costumam ter: toda ela foi lida como raciocínio. Escreva \
             de novo sua resposta ou sua chamada.",
    }
    not_passed_on() {
        en: "Not run: another block of this reply could not be used. Send this call again too if it is still right.",
        pt: "Não executada: outro bloco desta resposta não pôde ser usado. Envie também esta chamada de novo, se ela ainda \
             estiver certa.",
    }
}

// The proxy, to its client.
#[cfg(feature = "proxy")]
toolfence_protocol::texts! { "proxy"
    no_loopback_name() {
        en: "The Host header is no loopback name; use http://127.0.0.1 or localhost",
        pt: "O cabeçalho Host não é um nome de loopback; use http://127.0.0.1 ou localhost",
    }
    another_origin() {
        en: "Requests of pages of another origin are refused",
        pt: "Requisições de páginas de outra origem são recusadas",
    }
    wants_its_key() {
        en: "This proxy wants its key: send the header Authorization: Bearer KEY",
        pt: "Este proxy exige a sua chave: envie o cabeçalho Authorization: Bearer CHAVE",
    }
    content_type(kind) {
        en: "The content type is {kind}; send application/json",
        pt: "O tipo de conteúdo é {kind}; envie application/json",
    }
    header_cannot_be_sent(name) {
        en: "The header {name} cannot be sent: its name or its value has a character that may not stand there, or it says how the \
             request is sent.",
        pt: "O cabeçalho {name} não pode ser enviado: o nome ou o valor tem um caractere que não pode estar ali, ou ele diz como a \
             requisição é enviada.",
    }
    not_reached_in_time(causes) {
        en: "The upstream was not reached in time{causes}",
        pt: "O upstream não foi alcançado a tempo{causes}",
    }
    cannot_be_reached(causes) {
        en: "The upstream cannot be reached{causes}",
        pt: "Não é possível alcançar o upstream{causes}",
    }
    no_answer_within(time) {
        en: "The upstream did not answer within {time}",
        pt: "O upstream não respondeu em {time}",
    }
    upstream_broke_off(causes) {
        en: "The upstream broke off{causes}",
        pt: "O upstream interrompeu a resposta{causes}",
    }
    nothing_said_for(time) {
        en: "The upstream said nothing for {time}",
        pt: "O upstream não disse nada durante {time}",
    }
    no_chat_request(error) {
        en: "The body is not a chat request: {error}",
        pt: "O corpo não é uma requisição de chat: {error}",
    }
    several_answers() {
        en: "n must be 1 where there are tools; send the request several times instead",
        pt: "n tem de ser 1 quando há ferramentas; em vez disso, envie a requisição várias vezes",
    }
    chosen_tool_missing(name) {
        en: "tool_choice names {name}, which is not among the tools",
        pt: "tool_choice indica {name}, que não está entre as ferramentas",
    }
    tools_too_large(most) {
        en: "tools is larger than {most} bytes; describe fewer or shorter ones",
        pt: "tools tem mais de {most} bytes; descreva menos ferramentas ou ferramentas menores",
    }
    no_function(index) {
        en: "tools[{index}].type is not \"function\"; only functions can be called through text",
        pt: "tools[{index}].type não é \"function\"; só funções podem ser chamadas por texto",
    }
    function_missing(index) {
        en: "tools[{index}].function is missing",
        pt: "falta tools[{index}].function",
    }
    no_function_name(index) {
        en: "tools[{index}].function.name is not a name: letters, digits, _ and -, 128 at most",
        pt: "tools[{index}].function.name não é um nome: letras, dígitos, _ e -, no máximo 128",
    }
    no_tool_choice() {
        en: "tool_choice is neither \"auto\", \"none\" or \"required\" nor {{\"type\": \"function\", \"function\": \
             {{\"name\": ..}}}}",
        pt: "tool_choice não é \"auto\", \"none\" nem \"required\", nem {{\"type\": \"function\", \"function\": \
             {{\"name\": ..}}}}",
    }
    chat_is_posted() {
        en: "Chat completions are asked for with POST",
        pt: "Respostas de chat são pedidas com POST",
    }
    models_are_got() {
        en: "Models are asked for with GET",
        pt: "Modelos são pedidos com GET",
    }
    nothing_here() {
        en: "There is nothing here; the proxy answers POST /v1/chat/completions and GET /v1/models",
        pt: "Não há nada aqui; o proxy responde a POST /v1/chat/completions e GET /v1/models",
    }
    body_is_no_text() {
        en: "The body is not UTF-8",
        pt: "O corpo não é UTF-8",
    }
    client_went_away() {
        en: "The client went away",
        pt: "O cliente foi embora",
    }
    whole_answer_wanted() {
        en: "A whole answer was wanted",
        pt: "Era esperada uma resposta inteira",
    }
    request_too_large(limit) {
        en: "The request is larger than {limit} bytes; send less",
        pt: "A requisição tem mais de {limit} bytes; envie menos",
    }
    request_too_slow() {
        en: "The request came too slowly",
        pt: "A requisição chegou devagar demais",
    }
    request_broke_off(error) {
        en: "The request broke off: {error}",
        pt: "A requisição foi interrompida: {error}",
    }
    given_up(why) {
        en: "The model was asked again and still wrote no call that can be used. {why}",
        pt: "O modelo foi consultado de novo e ainda não escreveu uma chamada que possa ser usada. {why}",
    }
    asked_too_often() {
        en: "it was asked too often",
        pt: "ele foi consultado vezes demais",
    }
    turned_out_no_call(why) {
        en: "A call that was being passed on turned out to be no call. Ask again. {why}",
        pt: "Uma chamada que estava sendo repassada não era uma chamada. Pergunte de novo. {why}",
    }
    answered_status(status) {
        en: "The upstream answered {status} when it was asked again",
        pt: "O upstream respondeu {status} quando foi consultado de novo",
    }
    no_json_of_the_api(error) {
        en: "An answer of the upstream is no JSON of the API: {error}",
        pt: "Uma resposta do upstream não é JSON da API: {error}",
    }
    upstream_said(message) {
        en: "The upstream said: {message}",
        pt: "O upstream disse: {message}",
    }
    no_finish_reason() {
        en: "The upstream ended its answer in the middle: there is no finish reason",
        pt: "O upstream terminou a resposta no meio: não há finish_reason",
    }
    unknown_content_type(kind) {
        en: "The upstream answered with {kind} in place of JSON or a stream of events",
        pt: "O upstream respondeu com {kind} em vez de JSON ou de um fluxo de eventos",
    }
    event_too_long(limit) {
        en: "An event of the upstream is longer than {limit} bytes",
        pt: "Um evento do upstream tem mais de {limit} bytes",
    }
    answer_too_long(limit) {
        en: "The upstream's answer is longer than {limit} bytes",
        pt: "A resposta do upstream tem mais de {limit} bytes",
    }
}
