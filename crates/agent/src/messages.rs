//! The words of this crate for the person who runs the host and for the model, in the order of the modules that use them.
//!
//! What a server says of itself stays as the server says it.

// The driver.
toolfence_protocol::texts! { "agent"
    nobody_could_allow() {
        en: "Nobody is here who could allow it.",
        pt: "Não há ninguém aqui que possa permitir isso.",
    }
    backend_takes_no_images() {
        en: "this backend takes no images: leave the image out, or choose a server and a model that take some",
        pt: "este backend não aceita imagens: deixe a imagem de fora ou escolha um servidor e um modelo que aceitem",
    }
    too_many_images(most) {
        en: "a message shows at most {most} images",
        pt: "uma mensagem mostra no máximo {most} imagens",
    }
    image_not_shown(name) {
        en: "[The image {name} stood here. You cannot see it: this backend takes no images.]",
        pt: "[A imagem {name} estava aqui. Você não pode ver a imagem: este backend não aceita imagens.]",
    }
    image_refused(name) {
        en: "[The image {name} stood here. You cannot see it: the server refused the request with it.]",
        pt: "[A imagem {name} estava aqui. Você não pode ver a imagem: o servidor recusou o pedido com ela.]",
    }
    session_waits_for_nothing() {
        en: "The session waits for what nobody gives.",
        pt: "A sessão espera por algo que ninguém vai dar.",
    }
}

// Transcripts.
toolfence_protocol::texts! { "transcript"
    name_session() {
        en: "name the session",
        pt: "dar um nome à sessão",
    }
    open_session(path) {
        en: "open the session {path}",
        pt: "abrir a sessão {path}",
    }
    read_session(path) {
        en: "read the session {path}",
        pt: "ler a sessão {path}",
    }
    write_session(path) {
        en: "write down the session in {path}",
        pt: "gravar a sessão em {path}",
    }
    not_a_session(path) {
        en: "{path} is not a transcript: its first line is not the head of a session.",
        pt: "{path} não é uma transcrição: a primeira linha não é o cabeçalho de uma sessão.",
    }
    session_is_newer(path, version, known) {
        en: "{path} was written by a newer coder: its records have the version {version}, and this one reads up to {known}. Update \
             coder to read it.",
        pt: "{path} foi gravada por um coder mais novo: os registros têm a versão {version}, e este lê até a {known}. Atualize o \
             coder para ler a sessão.",
    }
    session_open_in_process(session, process) {
        en: "The session {session} is open in another coder, process {process}. End that one, or fork the session: `coder resume \
             {session} --fork`.",
        pt: "A sessão {session} está aberta em outro coder, processo {process}. Encerre aquele ou bifurque a sessão: `coder resume \
             {session} --fork`.",
    }
    session_open_elsewhere(session) {
        en: "The session {session} is open in another coder. End that one, or fork the session: `coder resume {session} --fork`.",
        pt: "A sessão {session} está aberta em outro coder. Encerre aquele ou bifurque a sessão: `coder resume {session} --fork`.",
    }
    no_such_session(beginning) {
        en: "No session begins with {beginning}; `coder sessions` lists them.",
        pt: "Nenhuma sessão começa com {beginning}; `coder sessions` lista as que existem.",
    }
    several_sessions(beginning, count) {
        en: "{count} sessions begin with {beginning}; write more of the name.",
        pt: "{count} sessões começam com {beginning}; escreva mais do nome.",
    }
    no_such_message(session, message, first, last) {
        en: "The session {session} has no message {message}; its messages are {first} to {last}, and `coder export {session}` shows \
             them.",
        pt: "A sessão {session} não tem a mensagem {message}; as mensagens vão de {first} a {last}, e `coder export {session}` as \
             mostra.",
    }
}

// What stands beside the words of a conversation on a page.
#[cfg(feature = "pages")]
toolfence_protocol::texts! { "export"
    export_image(name, kind, kib) {
        en: "Image: {name} ({kind}, {kib} KiB)",
        pt: "Imagem: {name} ({kind}, {kib} KiB)",
    }
    export_title(session) {
        en: "Conversation {session}",
        pt: "Conversa {session}",
    }
    export_project(root) {
        en: "Project: {root}",
        pt: "Projeto: {root}",
    }
    export_began(time) {
        en: "Began: {time}",
        pt: "Início: {time}",
    }
    export_user() {
        en: "You",
        pt: "Você",
    }
    export_assistant() {
        en: "Model",
        pt: "Modelo",
    }
    export_model(name) {
        en: "Model ({name})",
        pt: "Modelo ({name})",
    }
    export_told() {
        en: "Told to the model",
        pt: "Dito ao modelo",
    }
    export_ended() {
        en: "The turn ended without an answer",
        pt: "O turno terminou sem resposta",
    }
    export_shortened() {
        en: "From here on the model was sent less of the conversation",
        pt: "Daqui em diante o modelo recebeu menos da conversa",
    }
    export_cleared() {
        en: "The conversation was put aside here",
        pt: "A conversa foi deixada de lado aqui",
    }
    export_thoughts() {
        en: "Thoughts",
        pt: "Pensamentos",
    }
    export_result() {
        en: "Result",
        pt: "Resultado",
    }
    export_succeeded() {
        en: "succeeded",
        pt: "deu certo",
    }
    export_failed(code) {
        en: "failed: {code}",
        pt: "falhou: {code}",
    }
    export_decided_by_policy(rule) {
        en: "decided by the rule {rule}",
        pt: "decidido pela regra {rule}",
    }
    export_decided_by_person(rule) {
        en: "decided by a person, asked because of {rule}",
        pt: "decidido por uma pessoa, consultada por causa de {rule}",
    }
    export_decided_by_nobody(rule) {
        en: "denied because nobody was there to be asked about {rule}",
        pt: "negado porque não havia ninguém a consultar sobre {rule}",
    }
    export_outcome(status, milliseconds, decision) {
        en: "{status} ({milliseconds} ms), {decision}",
        pt: "{status} ({milliseconds} ms), {decision}",
    }
    export_outcome_alone(status) {
        en: "{status}",
        pt: "{status}",
    }
    export_left_out(count) {
        en: "({count} {count|line|lines} left out)",
        pt: "({count} {count|linha omitida|linhas omitidas})",
    }
}

// Recorded replies.
toolfence_protocol::texts! { "replay"
    recording_is_empty(mark) {
        en: "The recording has no replies: no line begins with `{mark}`.",
        pt: "A gravação não tem respostas: nenhuma linha começa com `{mark}`.",
    }
    recording_is_over(count) {
        en: "The recording is at its end: it has {count} {count|reply|replies} and one more was asked for. Record another \
             reply, or end the conversation before.",
        pt: "A gravação chegou ao fim: ela tem {count} {count|resposta|respostas} e mais uma foi pedida. Grave outra resposta \
             ou termine a conversa antes.",
    }
    recording_says(word, line) {
        en: "The recording says {word} in line {line}; a reply may say finish=stop, finish=length or finish=cut.",
        pt: "A gravação diz {word} na linha {line}; uma resposta pode dizer finish=stop, finish=length ou finish=cut.",
    }
}

// A program as a backend: what it is given, why no reply came of it, and what to do.
toolfence_protocol::texts! { "command"
    command_is_empty() {
        en: "The command of the backend is empty. Write a program and its arguments, such as `llm -m gpt-4o-mini`.",
        pt: "O comando do backend está vazio. Escreva um programa e os argumentos dele, como `llm -m gpt-4o-mini`.",
    }
    command_unreadable(line, problem) {
        en: "The command of the backend cannot be read: {line}: {problem}. It is no shell script: write words, with quotes around those \
             that have blanks.",
        pt: "Não foi possível ler o comando do backend: {line}: {problem}. Ele não é um script de shell: escreva palavras, entre aspas \
             as que têm espaços.",
    }
    get_answer_of(program) {
        en: "get an answer from the program {program}",
        pt: "obter uma resposta do programa {program}",
    }
    program_missing() {
        en: "there is no such program. Install it, write its full path, or check the PATH.",
        pt: "esse programa não existe. Instale-o, escreva o caminho completo ou confira o PATH.",
    }
    program_cannot_start(cause) {
        en: "{cause}. The system cannot start it: check that it may be executed, and that its first line (#!) names a program that is \
             there.",
        pt: "{cause}. O sistema não consegue iniciá-lo: confira se ele pode ser executado e se a primeira linha (#!) indica um \
             programa que existe.",
    }
    program_silent(seconds) {
        en: "it wrote nothing to its stdout for {seconds} s and was ended. Try it by hand in a terminal: it may wait for a login or a \
             model. If it is only slow, wait longer for it.",
        pt: "ele não escreveu nada na saída stdout durante {seconds} s e foi encerrado. Experimente-o à mão em um terminal: talvez \
             espere um login ou um modelo. Se só for lento, espere mais por ele.",
    }
    program_failed(how) {
        en: "it ended with {how} and without an answer. Try it by hand in a terminal, with a question on its stdin.",
        pt: "ele terminou com {how} e sem resposta. Experimente-o à mão em um terminal, com uma pergunta na entrada stdin.",
    }
    program_said_nothing() {
        en: "it ended without writing anything to its stdout. The answer has to come there; try it by hand, with a question on its \
             stdin.",
        pt: "ele terminou sem escrever nada na saída stdout. A resposta tem de vir por ali; experimente-o à mão, com uma pergunta na \
             entrada stdin.",
    }
    on_stderr(failure, said) {
        en: "{failure} Its stderr: {said}",
        pt: "{failure} A saída stderr dele: {said}",
    }
    status(code) {
        en: "status {code}",
        pt: "status {code}",
    }
    signal(number) {
        en: "signal {number}",
        pt: "sinal {number}",
    }
    broke_off_silent(seconds) {
        en: "the program wrote nothing more for {seconds} s",
        pt: "o programa não escreveu mais nada durante {seconds} s",
    }
    broke_off_with(how) {
        en: "the program ended with {how}",
        pt: "o programa terminou com {how}",
    }
    broke_off_unsupervised() {
        en: "nobody knows how the program ended",
        pt: "não se sabe como o programa terminou",
    }
}

// The backend over HTTP: what it is given.
#[cfg(feature = "http")]
toolfence_protocol::texts! { "backend"
    no_model() {
        en: "No model is named. Name one; servers that have only one take any name.",
        pt: "Nenhum modelo foi indicado. Indique um; servidores que só têm um aceitam qualquer nome.",
    }
    unknown_provider(model, short, known) {
        en: "The model's name {model} tells no provider. Give a base URL, or name the provider in front of it, such as \
             groq::{short}; known are {known}.",
        pt: "O nome do modelo {model} não indica um provedor. Dê uma URL base ou escreva o provedor antes do nome, como \
             groq::{short}; os conhecidos são {known}.",
    }
    provider_needs_address(provider) {
        en: "Every customer of {provider} has an address of their own: give it as the base URL, beside the model \
             {provider}::NAME.",
        pt: "Cada cliente de {provider} tem um endereço próprio: informe-o como URL base, junto com o modelo \
             {provider}::NOME.",
    }
    base_url_scheme(url) {
        en: "The base URL {url} begins with neither http:// nor https://.",
        pt: "A URL base {url} não começa com http:// nem com https://.",
    }
    read_base_url(url) {
        en: "read the base URL {url}",
        pt: "ler a URL base {url}",
    }
    header_cannot_be_sent(name) {
        en: "The header {name} cannot be sent: its name or its value has a character that may not stand there, or it says how the \
             request is sent.",
        pt: "O cabeçalho {name} não pode ser enviado: o nome ou o valor tem um caractere que não pode estar ali, ou ele diz como a \
             requisição é enviada.",
    }
    key_cannot_be_sent() {
        en: "The key holds a character that cannot be sent. Give it as the provider shows it.",
        pt: "A chave contém um caractere que não pode ser enviado. Informe-a como o provedor a mostra.",
    }
}

// The backend over HTTP: why no reply came, and what to do about it.
#[cfg(feature = "http")]
toolfence_protocol::texts! { "backend"
    get_answer(whom) {
        en: "get an answer from {whom}",
        pt: "obter uma resposta de {whom}",
    }
    failure_and_advice(failure, advice) {
        en: "{failure}. {advice}",
        pt: "{failure}. {advice}",
    }
    look_at_log() {
        en: "Look at the server's log: it closed the connection without an answer.",
        pt: "Veja o log do servidor: ele fechou a conexão sem responder.",
    }
    check_page() {
        en: "Check the base URL: a web page may stand there; most servers want it to end with /v1.",
        pt: "Confira a URL base: pode haver uma página da web ali; a maioria dos servidores quer que ela termine com /v1.",
    }
    wait_longer() {
        en: "A model that is being loaded or a long prompt takes its time: wait longer for it (`http.first_byte` in the settings of \
             `coder`), or look at the server.",
        pt: "Um modelo que está sendo carregado ou um prompt longo demora: espere mais (`http.first_byte` nas configurações do \
             `coder`) ou veja o que acontece no servidor.",
    }
    check_key() {
        en: "Check the key: it is missing, wrong, or not for this model.",
        pt: "Confira a chave: ela falta, está errada ou não vale para este modelo.",
    }
    give_new_address() {
        en: "Give the address it names as the base URL: the key is not sent on to another one.",
        pt: "Use como URL base o endereço que ele indica: a chave não é repassada a outro endereço.",
    }
    check_model() {
        en: "Check the model's name and the base URL; most servers want it to end with /v1.",
        pt: "Confira o nome do modelo e a URL base; a maioria dos servidores quer que ela termine com /v1.",
    }
    show_no_images() {
        en: "The model takes no images: say it again without the image, or choose a model that takes some.",
        pt: "O modelo não aceita imagens: repita a mensagem sem a imagem ou escolha um modelo que aceite.",
    }
    shorten_conversation() {
        en: "Where the conversation is longer than the model's window, begin a new one or give the server a bigger window.",
        pt: "Se a conversa for maior que a janela do modelo, comece outra ou dê ao servidor uma janela maior.",
    }
    begin_anew() {
        en: "The conversation is longer than the model's window: begin a new one (`/clear` in `coder`), send less at once, or give \
             the server a bigger window.",
        pt: "A conversa é maior que a janela do modelo: comece outra (`/clear` no `coder`), envie menos de cada vez ou dê ao \
             servidor uma janela maior.",
    }
    ask_in(seconds) {
        en: "The server wants to be asked again in {seconds} s and no sooner: wait, or look at your limits there.",
        pt: "O servidor quer nova tentativa só daqui a {seconds} s: espere ou veja quais são os seus limites nele.",
    }
    check_host() {
        en: "No address was found for the host of that name: check the base URL and the network.",
        pt: "Nenhum endereço foi encontrado para um host com esse nome: confira a URL base e a rede.",
    }
    check_certificate() {
        en: "The server's certificate does not hold here: check the base URL, or give the certificate of the authority that made it \
             (`http.ca_file` in the settings of `coder`).",
        pt: "O certificado do servidor não vale aqui: confira a URL base ou informe o certificado da autoridade que o emitiu \
             (`http.ca_file` nas configurações do `coder`).",
    }
    speaks_no_tls() {
        en: "The server does not speak TLS there: begin the base URL with http://.",
        pt: "O servidor não fala TLS ali: comece a URL base com http://.",
    }
    check_proxy() {
        en: "The proxy did not let it through: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or `http.proxy` in the settings of `coder`.",
        pt: "O proxy não deixou passar: confira HTTPS_PROXY, HTTP_PROXY e NO_PROXY, ou `http.proxy` nas configurações do `coder`.",
    }
    ask_less_often() {
        en: "The server wants fewer requests: wait, or look at your limits there.",
        pt: "O servidor quer menos requisições: espere ou veja quais são os seus limites nele.",
    }
    try_later() {
        en: "The server has a trouble of its own: try again later, or look at its log.",
        pt: "O servidor está com um problema próprio: tente mais tarde ou veja o log dele.",
    }
    start_server() {
        en: "Nobody listens there: start the server, or check host and port of the base URL.",
        pt: "Nada escuta nesse endereço: inicie o servidor ou confira o host e a porta da URL base.",
    }
    check_all() {
        en: "Check the base URL, the model's name and the network.",
        pt: "Confira a URL base, o nome do modelo e a rede.",
    }
    connection_closed() {
        en: "the connection was closed",
        pt: "a conexão foi fechada",
    }
    no_stream() {
        en: "what answered is no stream of events",
        pt: "o que respondeu não é um stream de eventos",
    }
    nothing_came(seconds) {
        en: "nothing came for {seconds} s",
        pt: "nada chegou durante {seconds} s",
    }
    server_refused_silently(status) {
        en: "it refused with HTTP {status} and said no more",
        pt: "ele recusou com HTTP {status} e não disse mais nada",
    }
    server_refused(status, said) {
        en: "it refused with HTTP {status}: {said}",
        pt: "ele recusou com HTTP {status}: {said}",
    }
    server_takes_no_images() {
        en: "it takes no images, as it said before",
        pt: "ele não aceita imagens, como já disse",
    }
    server_said(said) {
        en: "the server said: {said}",
        pt: "o servidor disse: {said}",
    }
    event_not_json(problem) {
        en: "an event of the server is no JSON: {problem}",
        pt: "um evento do servidor não é JSON: {problem}",
    }
    event_too_long() {
        en: "an event of the server is too long",
        pt: "um evento do servidor é longo demais",
    }
    ended_without_reason() {
        en: "the server ended it without a reason",
        pt: "o servidor a encerrou sem dar o motivo",
    }
    ended_by_filter() {
        en: "the server's content filter ended it",
        pt: "o filtro de conteúdo do servidor a encerrou",
    }
    ended_with(word) {
        en: "the server ended it with {word}",
        pt: "o servidor a encerrou com {word}",
    }
}
