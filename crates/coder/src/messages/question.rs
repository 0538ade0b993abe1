//! A question to the person, what it shows of the call, and what is said to an answer.

// The question.
toolfence_protocol::texts! { "coder"
    model_says(reason) {
        en: "the model: {reason}",
        pt: "o modelo: {reason}",
    }
    asked_because(why) {
        en: "asked because: {why}",
        pt: "motivo da pergunta: {why}",
    }
    always_would_allow(rules) {
        en: "always would allow, in this session: {rules}",
        pt: "sempre permitiria, nesta sessão: {rules}",
    }
    run_them(all) {
        en: "Run them? [y/N, the numbers of those to run, one to be asked one by one{all}, or n and a reason] ",
        pt: "Executar? [s/N, os números das que devem rodar, uma para perguntar uma por uma{all}, ou n e um motivo] ",
    }
    one_of_several(at, of, name) {
        en: "{at} of {of}: {name}",
        pt: "{at} de {of}: {name}",
    }
    choice_all() {
        en: ", all to see all of it",
        pt: ", tudo para ver tudo",
    }
    choice_always() {
        en: ", always",
        pt: ", sempre",
    }
}

// What is said to an answer.
toolfence_protocol::texts! { "coder"
    always_not_on_offer(why) {
        en: "Always is not on offer: {why}. Say y to run it this time.",
        pt: "Sempre não está disponível: {why}. Diga s para executar desta vez.",
    }
    always_or_all() {
        en: "Say always to allow it for this session, or all to see all of it.",
        pt: "Diga sempre para permitir nesta sessão, ou tudo para ver tudo.",
    }
    not_all_was_shown(count) {
        en: "{count} {count|line|lines} of it {count|was|were} not shown. Say all to see all of it, or say the same again to run it \
             without a look.",
        pt: "{count} {count|linha não foi mostrada|linhas não foram mostradas}. Diga tudo para ver tudo, ou diga o mesmo de novo para \
             executar sem olhar.",
    }
    yes_no_or_why() {
        en: "Say y to run it, n not to, or in a sentence why not.",
        pt: "Diga s para executar, n para não executar, ou em uma frase por que não.",
    }
    not_one_of_these(count) {
        en: "The numbers go from 1 to {count}.",
        pt: "Os números vão de 1 a {count}.",
    }
    only_one_by_one() {
        en: "That can be said to one call alone: say one to be asked one by one.",
        pt: "Isso só pode ser dito sobre uma chamada: diga uma para perguntar uma por uma.",
    }
    only_command_can_be_typed() {
        en: "Only a command can be typed here; say edit alone to open an editor.",
        pt: "Aqui só é possível digitar um comando; diga apenas editar para abrir um editor.",
    }
    nothing_was_changed() {
        en: "Nothing was changed.",
        pt: "Nada foi alterado.",
    }
    edited_is_no_object(error) {
        en: "That is not a JSON object: {error}.",
        pt: "Isso não é um objeto JSON: {error}.",
    }
    cannot_open_editor(error) {
        en: "The text cannot be opened in an editor: {error}.",
        pt: "Não foi possível abrir o texto em um editor: {error}.",
    }
    editor_failed(status) {
        en: "The editor ended with {status}, so nothing was changed.",
        pt: "O editor terminou com {status}, portanto nada foi alterado.",
    }
}

// What the model is told of an answer.
toolfence_protocol::texts! { "coder"
    nobody_to_ask() {
        en: "It needs a person's yes, and there is no terminal to ask on.",
        pt: "É preciso o sim de uma pessoa, e não há terminal onde perguntar.",
    }
    user_said_no() {
        en: "The user said no.",
        pt: "O usuário disse não.",
    }
    user_said_no_because(reason) {
        en: "The user said no: {reason}",
        pt: "O usuário disse não: {reason}",
    }
}

// What a call would do.
toolfence_protocol::texts! { "coder"
    a_change() {
        en: "a change:",
        pt: "uma alteração:",
    }
    all_of_it() {
        en: "all of it would be:",
        pt: "o conteúdo todo seria:",
    }
    file(name) {
        en: "file: {name}",
        pt: "arquivo: {name}",
    }
    file_also(name, more) {
        en: "file: {name} ({more})",
        pt: "arquivo: {name} ({more})",
    }
    written_as(name) {
        en: "written as {name}",
        pt: "escrito como {name}",
    }
    by_link(name) {
        en: "by the link {name}",
        pt: "pelo link {name}",
    }
    lines_not_shown(count) {
        en: "[{count} more {count|line that is|lines that are} not shown]",
        pt: "[mais {count} {count|linha que não é mostrada|linhas que não são mostradas}]",
    }
}

// The question of `coder config trust`.
toolfence_protocol::texts! { "coder"
    trust_allows() {
        en: "Trusted, it may also choose backend, server and model: whatever you say to the model goes there, with the key\n\
             in TOOLFENCE_API_KEY. What may run it can only tighten.",
        pt: "Com a sua confiança, ele também pode escolher backend, servidor e modelo: tudo o que você diz ao modelo vai para lá,\n\
             com a chave de TOOLFENCE_API_KEY. O que pode rodar ele só pode restringir.",
    }
    trust_allows_commands() {
        en: "Trusted, a command is sent to the model as your message when you type its name.",
        pt: "Com a sua confiança, um comando é enviado ao modelo como sua mensagem quando você digita o nome dele.",
    }
    trust_it() {
        en: "Trust it? [y/N] ",
        pt: "Confiar? [s/N] ",
    }
    no_terminal_for_trust() {
        en: "there is no terminal to ask on; read the file, then say `coder config trust --yes`",
        pt: "não há terminal onde perguntar; leia o arquivo e depois execute `coder config trust --yes`",
    }
    is_not_trusted() {
        en: "It is not trusted.",
        pt: "O arquivo não é de confiança.",
    }
    trusted_as_it_is(path, hash) {
        en: "{path} is trusted as it is: sha256 {hash}",
        pt: "{path} é de confiança como está: sha256 {hash}",
    }
    trusted_no_more(path) {
        en: "{path} is trusted no more",
        pt: "{path} não é mais de confiança",
    }
    nothing_to_trust(path, commands) {
        en: "there is no {path} to trust, and no command in {commands}",
        pt: "não há {path} em que confiar, nem comando em {commands}",
    }
}
