//! Why a command ended early or did less than it was asked for.

// The command line and what it gives.
toolfence_protocol::texts! { "coder"
    prompt_beside_command() {
        en: "-p is for a question by itself; leave it or the command out",
        pt: "-p serve para uma pergunta avulsa; omita essa opção ou o comando",
    }
    up_to_two() {
        en: "a number from 0 to 2 is wanted",
        pt: "é preciso um número de 0 a 2",
    }
    at_least_one() {
        en: "a whole number of at least 1 is wanted",
        pt: "é preciso um número inteiro de pelo menos 1",
    }
    results_form() {
        en: "results are text or json, or a key and its value: data=on, nonce=on, break_tokens=on",
        pt: "os resultados são text ou json, ou uma chave e seu valor: data=on, nonce=on, break_tokens=on",
    }
    limit_form() {
        en: "a limit is written KEY=NUMBER, such as rounds=40",
        pt: "um limite se escreve CHAVE=NÚMERO, como rounds=40",
    }
    number_up_to(most) {
        en: "a whole number from 1 to {most} is wanted",
        pt: "é preciso um número inteiro de 1 a {most}",
    }
    no_address() {
        en: "an address with a port is wanted, such as 127.0.0.1:4141",
        pt: "é preciso um endereço com uma porta, como 127.0.0.1:4141",
    }
    no_age() {
        en: "a number with s, m, h or d behind it is wanted, such as 90s or 7d",
        pt: "é preciso um número seguido de s, m, h ou d, como 90s ou 7d",
    }
    unexpected_argument(argument) {
        en: "unexpected argument {argument}",
        pt: "argumento inesperado {argument}",
    }
    no_command_of_name(name) {
        en: "there is no command {name}; a question to the model goes behind -p: coder -p \"...\"",
        pt: "não há nenhum comando {name}; uma pergunta ao modelo vai depois de -p: coder -p \"...\"",
    }
    no_value_for(argument) {
        en: "{argument} needs a value",
        pt: "{argument} precisa de um valor",
    }
    invalid_value_for(argument, value) {
        en: "{value} is no value of {argument}",
        pt: "{value} não é um valor de {argument}",
    }
    because(wrong) {
        en: ": {wrong}",
        pt: ": {wrong}",
    }
    possible_values(values) {
        en: "\n  possible values: {values}",
        pt: "\n  valores possíveis: {values}",
    }
    arguments_missing(arguments) {
        en: "this is missing: {arguments}",
        pt: "falta isto: {arguments}",
    }
    command_missing(name) {
        en: "{name} needs a command",
        pt: "{name} precisa de um comando",
    }
    only_once(argument) {
        en: "{argument} can be given only once",
        pt: "{argument} só pode ser dado uma vez",
    }
    not_together(argument, other) {
        en: "{argument} cannot be given together with {other}",
        pt: "{argument} não pode ser dado junto com {other}",
    }
    did_you_mean(names) {
        en: "\n  did you mean {names}?",
        pt: "\n  você quis dizer {names}?",
    }
    no_utf8_argument() {
        en: "an argument is no UTF-8 text",
        pt: "um argumento não é um texto UTF-8",
    }
    usage_and_help(usage) {
        en: "\n\nUsage: {usage}\n\n--help says more.",
        pt: "\n\nUso: {usage}\n\n--help diz mais.",
    }
    help_says_more() {
        en: "\n\n--help says more.",
        pt: "\n\n--help diz mais.",
    }
    bad_rule(option, line, wrong) {
        en: "{option} {line}: {wrong}",
        pt: "{option} {line}: {wrong}",
    }
    args_not_object(error) {
        en: "--args is not a JSON object: {error}",
        pt: "--args não é um objeto JSON: {error}",
    }
    no_tool_of_name(name, tools) {
        en: "there is no tool {name}; the tools are {tools}",
        pt: "não há nenhuma ferramenta {name}; as ferramentas são {tools}",
    }
    no_file(path) {
        en: "there is no file {path}",
        pt: "não há nenhum arquivo {path}",
    }
}

// The machine.
toolfence_protocol::texts! { "coder"
    cannot_start_runtime(error) {
        en: "cannot start the runtime: {error}",
        pt: "não foi possível iniciar o runtime: {error}",
    }
    cannot_listen_to_signals(error) {
        en: "cannot listen to signals: {error}",
        pt: "não foi possível escutar sinais: {error}",
    }
    cannot_write_output(error) {
        en: "cannot write the output: {error}",
        pt: "não foi possível escrever a saída: {error}",
    }
    cannot_read(path, error) {
        en: "cannot read {path}: {error}",
        pt: "não foi possível ler {path}: {error}",
    }
    cannot_write(path, error) {
        en: "cannot write {path}: {error}",
        pt: "não foi possível escrever {path}: {error}",
    }
    cannot_write_to(folder, error) {
        en: "cannot write to {folder}: {error}",
        pt: "não foi possível escrever em {folder}: {error}",
    }
    no_temporary_folder(error) {
        en: "no temporary folder: {error}",
        pt: "nenhuma pasta temporária: {error}",
    }
    ended_by_signal() {
        en: "ended by a signal",
        pt: "encerrado por um sinal",
    }
}

// How a turn ended.
toolfence_protocol::texts! { "coder"
    stopped() {
        en: "stopped",
        pt: "interrompido",
    }
    model_said_nothing() {
        en: "the model said nothing; ask again, or in other words",
        pt: "o modelo não disse nada; pergunte de novo ou com outras palavras",
    }
    breaks_off_at_limit() {
        en: "the answer breaks off at the length limit; raise the backend's, or ask it to go on",
        pt: "a resposta para no limite de tamanho; aumente o limite do backend ou peça ao modelo que continue",
    }
    breaks_off() {
        en: "the answer breaks off here; ask it to go on",
        pt: "a resposta para aqui; peça ao modelo que continue",
    }
    no_readable_call() {
        en: "the model could not write a readable call; a stronger model, or --lang, may help",
        pt: "o modelo não conseguiu escrever uma chamada legível; um modelo mais capaz ou --lang pode ajudar",
    }
    rounds_used_up() {
        en: "the rounds of a turn are used up; say \"go on\" to go on",
        pt: "as rodadas do turno acabaram; diga \"continue\" para continuar",
    }
    repeats_itself() {
        en: "the model repeats itself; tell it another way",
        pt: "o modelo se repete; indique-lhe outro caminho",
    }
    turn_ended() {
        en: "the turn ended",
        pt: "o turno terminou",
    }
}

// What options and settings ask for.
toolfence_protocol::texts! { "coder"
    give_folder(error) {
        en: "{error}. Give an existing folder with --root.",
        pt: "{error}. Indique uma pasta existente com --root.",
    }
    cannot_open_root(root, error) {
        en: "cannot open the project root {root}: {error}. Give an existing folder with --root.",
        pt: "não foi possível abrir a raiz do projeto {root}: {error}. Indique uma pasta existente com --root.",
    }
    no_persona() {
        en: "no persona",
        pt: "nenhuma persona",
    }
    provider_needs_model() {
        en: "the provider is known by its model: give --model, such as gpt-4o-mini",
        pt: "o provedor é reconhecido pelo modelo: indique --model, por exemplo gpt-4o-mini",
    }
    command_backend_needs_program() {
        en: "the command backend needs its program: give --command \"llm -m NAME\", or set command in your settings",
        pt: "o backend command precisa do programa: indique --command \"llm -m NAME\" ou defina command nas suas configurações",
    }
    program_in_project(path) {
        en: "the program that answers would run {path}, which lies in the project: the model could rewrite it, and it runs outside of \
             the sandbox. Put it elsewhere, in ~/bin for example",
        pt: "o programa que responde executaria {path}, que fica no projeto: o modelo poderia reescrevê-lo, e ele é executado fora \
             do sandbox. Ponha-o em outro lugar, em ~/bin por exemplo",
    }
    replay_needs_replies() {
        en: "the replay backend needs its recorded replies: give --replies FILE",
        pt: "o backend replay precisa das respostas gravadas: indique --replies FILE",
    }
    container_not_named() {
        en: "--sandbox container needs to know which: set sandbox.container and sandbox.image in your settings",
        pt: "--sandbox container precisa saber qual: defina sandbox.container e sandbox.image nas suas configurações",
    }
    container_needs_image() {
        en: "sandbox.container needs an image: set sandbox.image, such as \"debian:stable\"",
        pt: "sandbox.container precisa de uma imagem: defina sandbox.image, por exemplo \"debian:stable\"",
    }
    the_persona(name) {
        en: "the persona {name}",
        pt: "a persona {name}",
    }
    in_its_policy(persona, error) {
        en: "{persona}: in its policy: {error}",
        pt: "{persona}: na política dela: {error}",
    }
    trust_or_take_out() {
        en: "Read the file, then say `coder config trust`; or take the key out.",
        pt: "Leia o arquivo e depois execute `coder config trust`; ou retire a chave.",
    }
    is_a_link() {
        en: "it is a link; put the file itself there",
        pt: "é um link; ponha o próprio arquivo ali",
    }
    not_a_plain_file() {
        en: "it is not a plain file",
        pt: "não é um arquivo comum",
    }
    larger_than(kibibytes) {
        en: "it has more than {kibibytes} KiB",
        pt: "tem mais de {kibibytes} KiB",
    }
    not_utf8() {
        en: "it is not UTF-8 text",
        pt: "não é texto UTF-8",
    }
    project_path_not_utf8() {
        en: "the path of this project is not UTF-8, so its file cannot be trusted",
        pt: "o caminho deste projeto não é UTF-8, portanto não é possível confiar no arquivo dele",
    }
    no_place_for_trust() {
        en: "there is no place to remember what is trusted: set HOME or XDG_STATE_HOME",
        pt: "não há onde guardar em que você confia: defina HOME ou XDG_STATE_HOME",
    }
}

// Standard input.
toolfence_protocol::texts! { "coder"
    not_what_is_wanted(wanted, error) {
        en: "this is not {wanted}: {error}",
        pt: "isto não é {wanted}: {error}",
    }
    in_line(line, error) {
        en: "line {line}: {error}",
        pt: "linha {line}: {error}",
    }
    a_call_to_judge() {
        en: "{{\"id\":..,\"command\":..}} or {{\"id\":..,\"tool\":..,\"args\":..}}",
        pt: "{{\"id\":..,\"command\":..}} nem {{\"id\":..,\"tool\":..,\"args\":..}}",
    }
    chunk_too_small() {
        en: "a chunk has at least 1 byte",
        pt: "um trecho tem pelo menos 1 byte",
    }
    command_or_tool() {
        en: "either a command is wanted, or a tool with its args",
        pt: "é preciso um comando, ou então uma ferramenta com os seus args",
    }
    stdin_too_long(mebibytes) {
        en: "stdin has more than {mebibytes} MiB at a time; send less",
        pt: "stdin tem mais de {mebibytes} MiB de uma vez; envie menos",
    }
    stdin_not_utf8(at) {
        en: "stdin is not UTF-8 at byte {at}; such bytes are read as U+FFFD",
        pt: "stdin não é UTF-8 no byte {at}; esses bytes são lidos como U+FFFD",
    }
    cannot_read_stdin(error) {
        en: "cannot read stdin: {error}",
        pt: "não foi possível ler stdin: {error}",
    }
}

// The proxy.
toolfence_protocol::texts! { "coder"
    name_is_blocked(rule) {
        en: "names like {rule} are blocked; `paths.allow` in the settings can lift that",
        pt: "nomes como {rule} são bloqueados; `paths.allow` nas configurações pode liberar",
    }
    proxy_is_open() {
        en: "other machines can use this proxy without a key; set TOOLFENCE_PROXY_KEY to ask them for one",
        pt: "outras máquinas podem usar este proxy sem chave; defina TOOLFENCE_PROXY_KEY para exigir uma",
    }
    cannot_listen(address, error) {
        en: "cannot listen on {address}: {error}; choose another --listen",
        pt: "não foi possível escutar em {address}: {error}; escolha outro --listen",
    }
    listening(address, upstream) {
        en: "listening on http://{address}/v1, in front of {upstream}",
        pt: "escutando em http://{address}/v1, à frente de {upstream}",
    }
}

// The HTTP API.
toolfence_protocol::texts! { "coder"
    serving(address) {
        en: "listening on http://{address}",
        pt: "escutando em http://{address}",
    }
    token_is(token) {
        en: "Clients send this header: Authorization: Bearer {token}",
        pt: "Os clientes enviam este cabeçalho: Authorization: Bearer {token}",
    }
    page_is(address, token) {
        en: "A page for people: http://{address}/#token={token}",
        pt: "Uma página para pessoas: http://{address}/#token={token}",
    }
    token_is_weak(least) {
        en: "TOOLFENCE_SERVE_TOKEN wants {least} or more visible characters of ASCII; leave it out to get a random token",
        pt: "TOOLFENCE_SERVE_TOKEN precisa de {least} ou mais caracteres ASCII visíveis; sem ela, um token aleatório é criado",
    }
    server_is_open() {
        en: "other machines can reach this server, and nothing is encrypted; see docs/http.md for a reverse proxy in front of it",
        pt: "outras máquinas podem alcançar este servidor, e nada é criptografado; veja em docs/http.md como pôr um proxy reverso à \
             frente dele",
    }
    only_direct_calls(why) {
        en: "no model can answer, so only direct calls work: {why}",
        pt: "nenhum modelo pode responder, então só chamadas diretas funcionam: {why}",
    }
}
