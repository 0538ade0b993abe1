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

// The proxy, to whoever starts it.
#[cfg(feature = "proxy")]
toolfence_protocol::texts! { "proxy"
    upstream_is_no_url(upstream, why) {
        en: "The upstream {upstream} is not a URL of a server: {why}",
        pt: "O upstream {upstream} não é a URL de um servidor: {why}",
    }
    upstream_url_is_like() {
        en: "it begins with http:// or https:// and has no query",
        pt: "ela começa com http:// ou https:// e não tem query",
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
    no_function_name(place) {
        en: "{place}.name is not a name: letters, digits, _ and -, 128 at most",
        pt: "{place}.name não é um nome: letras, dígitos, _ e -, no máximo 128",
    }
    no_tool_choice() {
        en: "tool_choice is neither \"auto\", \"none\" or \"required\" nor {{\"type\": \"function\", \"function\": \
             {{\"name\": ..}}}}",
        pt: "tool_choice não é \"auto\", \"none\" nem \"required\", nem {{\"type\": \"function\", \"function\": \
             {{\"name\": ..}}}}",
    }
    chat_is_posted() {
        en: "This path is asked for with POST",
        pt: "Este caminho é pedido com POST",
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

// The API, to its client.
#[cfg(feature = "http")]
toolfence_protocol::texts! { "api"
    host_is_another(host) {
        en: "The Host header is {host}, which is no name of this server; use http://127.0.0.1 or localhost, or name it with \
             --host",
        pt: "O cabeçalho Host é {host}, que não é um nome deste servidor; use http://127.0.0.1 ou localhost, ou indique o nome \
             com --host",
    }
    page_is_another() {
        en: "Requests of pages of another origin are refused.",
        pt: "Requisições de páginas de outra origem são recusadas.",
    }
    wants_the_token() {
        en: "This server wants its token: send the header Authorization: Bearer TOKEN.",
        pt: "Este servidor exige o seu token: envie o cabeçalho Authorization: Bearer TOKEN.",
    }
    send_json() {
        en: "Send the body as JSON, with the header Content-Type: application/json.",
        pt: "Envie o corpo como JSON, com o cabeçalho Content-Type: application/json.",
    }
    no_such_path() {
        en: "There is nothing at this path; GET /openapi.json describes what there is.",
        pt: "Não há nada neste caminho; GET /openapi.json descreve o que existe.",
    }
    other_method(method) {
        en: "This path is asked for with {method}.",
        pt: "Este caminho é pedido com {method}.",
    }
    body_too_large(bytes) {
        en: "The body has more than {bytes} bytes.",
        pt: "O corpo tem mais de {bytes} bytes.",
    }
    body_too_slow() {
        en: "The body came too slowly.",
        pt: "O corpo chegou devagar demais.",
    }
    body_broke_off() {
        en: "The body broke off.",
        pt: "O corpo foi interrompido.",
    }
    body_is_no_object(why) {
        en: "The body is no JSON object: {why}",
        pt: "O corpo não é um objeto JSON: {why}",
    }
    other_value() {
        en: "it is another value",
        pt: "é outro valor",
    }
    field_is_there_twice(one, other) {
        en: "Both {one} and {other} are there; send one of them.",
        pt: "{one} e {other} estão presentes; envie só um deles.",
    }
    field_is_missing(name) {
        en: "{name} is missing.",
        pt: "Falta {name}.",
    }
    field_does_not_fit(name) {
        en: "{name} does not fit this decision.",
        pt: "{name} não combina com esta decisão.",
    }
    no_such_field() {
        en: "There is no field of this name.",
        pt: "Não há campo com este nome.",
    }
    wants_a_string() {
        en: "A string is wanted.",
        pt: "Aqui se espera uma string.",
    }
    wants_true_or_false() {
        en: "true or false is wanted.",
        pt: "Aqui se espera true ou false.",
    }
    wants_an_object() {
        en: "An object is wanted.",
        pt: "Aqui se espera um objeto.",
    }
    wants_a_list() {
        en: "A list is wanted.",
        pt: "Aqui se espera uma lista.",
    }
    wants_a_number(least, most) {
        en: "A number from {least} to {most} is wanted.",
        pt: "Aqui se espera um número de {least} a {most}.",
    }
    prompt_is_blank() {
        en: "The prompt is blank.",
        pt: "O prompt está em branco.",
    }
    prompt_too_long(characters, most) {
        en: "The prompt has {characters} characters; {most} are the most.",
        pt: "O prompt tem {characters} caracteres; o máximo são {most}.",
    }
    unknown_tool(name, tools) {
        en: "There is no tool {name}; use auto or one of {tools}.",
        pt: "Não há ferramenta {name}; use auto ou uma de {tools}.",
    }
    unknown_tool_like(name, close, tools) {
        en: "There is no tool {name}; did you mean {close}? Use auto or one of {tools}.",
        pt: "Não há ferramenta {name}; você quis dizer {close}? Use auto ou uma de {tools}.",
    }
    direct_needs_a_tool(tools) {
        en: "direct runs one tool, so name it: {tools}.",
        pt: "direct executa uma ferramenta, então indique qual: {tools}.",
    }
    args_are_for_direct() {
        en: "args are the arguments of a direct call; without direct the model writes them.",
        pt: "args são os argumentos de uma chamada direct; sem direct, o modelo os escreve.",
    }
    conversation_has_its_context() {
        en: "A conversation has its own context; leave this field out.",
        pt: "Uma conversa tem o seu próprio contexto; deixe este campo de fora.",
    }
    nobody_talks_in_a_direct_call() {
        en: "A direct call has no model to talk with, so it belongs to no conversation; send it to /api/agent.",
        pt: "Uma chamada direct não tem modelo com quem conversar, então não pertence a nenhuma conversa; envie-a para /api/agent.",
    }
    no_decision() {
        en: "The decision is approve, edit or deny.",
        pt: "A decisão é approve, edit ou deny.",
    }
    too_many_turns(most) {
        en: "{most} {most|turn runs|turns run} already, which is the limit; try again soon.",
        pt: "{most} {most|turno já está em andamento|turnos já estão em andamento}, que é o limite; tente de novo em breve.",
    }
    nothing_waits(id) {
        en: "No call waits for an answer as {id}: it was answered, its time is over, or its turn has ended.",
        pt: "Nenhuma chamada espera resposta como {id}: ela já foi respondida, o prazo acabou ou o turno terminou.",
    }
    answer_is_passed_on() {
        en: "The answer was passed on to the turn.",
        pt: "A resposta foi passada ao turno.",
    }
    call_waits(tool) {
        en: "`{tool}` waits for an approval.",
        pt: "`{tool}` espera uma aprovação.",
    }
    request_failed() {
        en: "The server could not answer; its own output may say why.",
        pt: "O servidor não conseguiu responder; a saída dele talvez diga por quê.",
    }
    server_is_well() {
        en: "The server is well.",
        pt: "O servidor está bem.",
    }
    tools_there_are(count) {
        en: "There {count|is|are} {count} {count|tool|tools}.",
        pt: "Há {count} {count|ferramenta|ferramentas}.",
    }
    here_they_are() {
        en: "Here is what was asked for.",
        pt: "Aqui está o que foi pedido.",
    }
    a_turn_runs() {
        en: "A turn runs; undo and redo wait until none does.",
        pt: "Um turno está em andamento; undo e redo esperam até que não haja nenhum.",
    }
    files_were_put_back() {
        en: "The turn was taken back or brought back, as far as its files allow.",
        pt: "O turno foi desfeito ou refeito, até onde os arquivos dele permitem.",
    }
    nothing_to_put_back() {
        en: "There is nothing to take back.",
        pt: "Não há nada para desfazer.",
    }
    cookie_is_set() {
        en: "The cookie is set.",
        pt: "O cookie foi definido.",
    }
    no_such_output() {
        en: "There is no such output, or no more: the oldest ones are removed.",
        pt: "Não há essa saída, ou não há mais: as mais antigas são removidas.",
    }
    unknown_persona(name, names) {
        en: "There is no persona {name}; use one of {names}.",
        pt: "Não há persona {name}; use uma de {names}.",
    }
    persona_has_no_such_tool(persona, tool, tools) {
        en: "The persona {persona} has no tool {tool}; use auto or one of {tools}.",
        pt: "A persona {persona} não tem a ferramenta {tool}; use auto ou uma de {tools}.",
    }
    no_sessions_here() {
        en: "This server has no place for conversations.",
        pt: "Este servidor não tem lugar para conversas.",
    }
    no_such_conversation(id) {
        en: "There is no conversation whose name begins with {id}.",
        pt: "Não há conversa cujo nome comece com {id}.",
    }
    several_conversations(id, count) {
        en: "The names of {count} conversations begin with {id}; give more of it.",
        pt: "Os nomes de {count} conversas começam com {id}; dê mais do nome.",
    }
    session_cannot_be_read(why) {
        en: "The conversation cannot be read: {why}",
        pt: "A conversa não pode ser lida: {why}",
    }
    tool_succeeded(tool) {
        en: "`{tool}` succeeded.",
        pt: "`{tool}` teve sucesso.",
    }
    tool_failed(tool, why) {
        en: "`{tool}` failed: {why}",
        pt: "`{tool}` falhou: {why}",
    }
    model_answered() {
        en: "The model answered.",
        pt: "O modelo respondeu.",
    }
    model_answered_after(calls) {
        en: "The model answered after {calls} {calls|call|calls}.",
        pt: "O modelo respondeu depois de {calls} {calls|chamada|chamadas}.",
    }
    model_said_nothing() {
        en: "The reply of the model was empty.",
        pt: "A resposta do modelo veio vazia.",
    }
    answer_reached_the_limit() {
        en: "The answer breaks off: the reply reached the limit of its length.",
        pt: "A resposta foi interrompida: ela atingiu o limite de tamanho.",
    }
    answer_broke_off() {
        en: "The answer broke off.",
        pt: "A resposta foi interrompida.",
    }
    no_readable_call() {
        en: "The model wrote no call that can be read, several times in a row.",
        pt: "O modelo não escreveu nenhuma chamada legível, várias vezes seguidas.",
    }
    rounds_are_used_up() {
        en: "The rounds of this turn are used up.",
        pt: "As rodadas deste turno se esgotaram.",
    }
    model_repeats_itself() {
        en: "The model repeats itself.",
        pt: "O modelo se repete.",
    }
    turn_was_cancelled() {
        en: "The turn was cancelled.",
        pt: "O turno foi cancelado.",
    }
    turn_took_too_long(seconds) {
        en: "The turn took longer than {seconds} {seconds|second|seconds} and was ended.",
        pt: "O turno demorou mais de {seconds} {seconds|segundo|segundos} e foi encerrado.",
    }
}

// The API, to the model.
#[cfg(feature = "http")]
toolfence_protocol::texts! { "api"
    request_with_context(context, prompt) {
        en: "Context History:\n{context}\n\nUser Request:\n{prompt}",
        pt: "Histórico do contexto:\n{context}\n\nPedido do usuário:\n{prompt}",
    }
    request_of_the_user(prompt) {
        en: "User Request:\n{prompt}",
        pt: "Pedido do usuário:\n{prompt}",
    }
    nobody_could_be_asked() {
        en: "Nobody could be asked whether this may run.",
        pt: "Não foi possível perguntar a ninguém se isto pode ser executado.",
    }
    nobody_answered_within(seconds) {
        en: "Nobody answered within {seconds} {seconds|second|seconds} whether this may run, so it did not.",
        pt: "Ninguém respondeu em {seconds} {seconds|segundo|segundos} se isto podia ser executado, então não foi.",
    }
}
