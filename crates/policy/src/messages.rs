//! The words of this crate for people and models, in the order of the modules that use them.
//! Those of the judge of commands are in `shell/messages.rs`.

// Calls as a whole.
toolfence_protocol::texts! { "policy"
    only_reads(tool) { en: "{tool} only reads.", pt: "{tool} só lê." }
    only_planned() {
        en: "This conversation is in plan mode: only what reads runs until the user ends it. Read what you need and say what you would do.",
        pt: "Esta conversa está no modo de plano: até o usuário encerrar esse modo, só roda o que lê. Leia o que precisar e diga o que faria.",
    }
    changes_files(tool) { en: "{tool} changes files.", pt: "{tool} altera arquivos." }
    runs_a_program(tool) {
        en: "{tool} runs a program or changes what runs.",
        pt: "{tool} executa um programa ou altera o que é executado.",
    }
    calls_a_server(tool) {
        en: "{tool} is a tool of an MCP server, and that program decides what the call does.",
        pt: "{tool} é uma ferramenta de um servidor MCP: o que ela faz, esse programa decide.",
    }
    tool_allowed_before(tool) {
        en: "You allowed every call of {tool}.",
        pt: "Você permitiu todas as chamadas de {tool}.",
    }
    every_call_of(tool) { en: "every call of {tool}", pt: "todas as chamadas de {tool}" }
    wants_network() { en: "It wants to use the network.", pt: "A chamada quer usar a rede." }
    wants_out_of_sandbox() {
        en: "It wants to run outside the sandbox, where it can read, change and send whatever you can.",
        pt: "A chamada quer ser executada fora do sandbox, onde pode ler, alterar e enviar tudo o que você pode.",
    }
    file_allowed_before(tool) {
        en: "You allowed {tool} to change this file for the session.",
        pt: "Você permitiu que {tool} altere este arquivo nesta sessão.",
    }
    stitched() {
        en: "The call broke off with one reply and was finished in the next: look whether the two were put together well.",
        pt: "A chamada foi interrompida em uma resposta e terminada na seguinte: veja se as duas foram bem unidas.",
    }
    refused(rule, reason) {
        en: "Refused by the rule {rule}: {reason} Do not repeat the call; do it another way or ask.",
        pt: "Recusada pela regra {rule}: {reason} Não repita a chamada; faça de outro jeito ou pergunte.",
    }
    // What is blocked is not to be had in another way.
    refused_in_any_way(rule, reason) {
        en: "Refused by the rule {rule}: {reason} Do not repeat the call.",
        pt: "Recusada pela regra {rule}: {reason} Não repita a chamada.",
    }
    body_instead_of_quotes() {
        en: "Inside a string write quotes as \\\", or give the text as a verbatim body: \"<<TAG\" as the string, the text below the object.",
        pt: "Dentro de uma string, escreva aspas como \\\", ou dê o texto como corpo literal: \"<<TAG\" como string e o texto abaixo do objeto.",
    }
    close_each_block() {
        en: "A block before this one was not closed as it should be: end each block with its closing fence, ```, alone on a line.",
        pt: "Um bloco antes deste não foi fechado como devia: termine cada bloco com a sua cerca de fechamento, ```, sozinha em uma \
             linha.",
    }
    guessed(repairs, tool, arguments) {
        en: "The call could only be read by a guess ({repairs}), and {tool} does more than read, so it did not run. It was read \
             as {tool} with the arguments {arguments}. If that is what was meant, write it again as a block with the info word `tool`, \
             at the beginning of a line, that holds valid JSON: {{\"name\": .., \"args\": {{..}}}}.",
        pt: "A chamada só pôde ser lida por suposição ({repairs}), e {tool} faz mais do que ler, por isso ela não foi executada. \
             Ela foi lida como {tool} com os argumentos {arguments}. Se era isso, escreva-a de novo como um bloco com a palavra \
             `tool`, no começo de uma linha, com JSON válido: {{\"name\": .., \"args\": {{..}}}}.",
    }
    denied_by_person(why) {
        en: "{why} Do not repeat the call; ask, or do it another way.",
        pt: "{why} Não repita a chamada; pergunte ou faça de outro jeito.",
    }
}

// Paths.
toolfence_protocol::texts! { "policy"
    blocked_path(path, rule) {
        en: "{path} is blocked by the rule {rule}. Its content is not for tools; work without it.",
        pt: "{path} está bloqueado pela regra {rule}. O conteúdo não é para ferramentas; trabalhe sem ele.",
    }
    protected_path(path, rule) {
        en: "{path} is below {rule}, which tools may read but never write.",
        pt: "{path} está abaixo de {rule}, que as ferramentas podem ler, mas nunca alterar.",
    }
    used_by_git(path) {
        en: "{path} is what git on this machine runs or reads outside of the sandbox, for the configuration of the repository \
             leads there.",
        pt: "{path} é algo que o git desta máquina executa ou lê fora do sandbox, pois a configuração do repositório leva até lá.",
    }
    unknown_path(path) { en: "Nobody can tell what {path} is.", pt: "Não há como saber o que é {path}." }
    inside_root(path) { en: "{path} is inside the project.", pt: "{path} está dentro do projeto." }
    outside_root(path) {
        en: "{path} is outside the project. Use a path relative to its root, such as src/main.rs.",
        pt: "{path} está fora do projeto. Use um caminho relativo à raiz dele, como src/main.rs.",
    }
    led_out_by_link(path, link) {
        en: "{path} leads out of the project by the link `{link}`; tools do not follow it. Work with files below the root.",
        pt: "{path} leva para fora do projeto pelo link `{link}`; as ferramentas não o seguem. Trabalhe com arquivos abaixo da \
             raiz.",
    }
}

// What "always" would store, and why it is not on offer: the end of a sentence.
toolfence_protocol::texts! { "always"
    nothing_exact() { en: "there is nothing exact to store", pt: "não há nada exato a guardar" }
    nothing_asked() { en: "nothing is asked", pt: "nada foi perguntado" }
    all_is_asked() {
        en: "the setting `ask = \"always\"` asks about everything",
        pt: "a configuração `ask = \"always\"` pergunta sobre tudo",
    }
    patch_unreadable() { en: "the patch cannot be read", pt: "não é possível ler o patch" }
}

// Plans.
toolfence_protocol::texts! { "plan"
    plan_of_steps(count, most) {
        en: "A plan has 1 to {most} steps, and this one has {count}. Give `steps` as a list of objects with `text` and `state`.",
        pt: "Um plano tem de 1 a {most} passos, e este tem {count}. Dê `steps` como uma lista de objetos com `text` e `state`.",
    }
    plan_with_active(count) {
        en: "The plan has {count} active steps. Mark the one that you are working on as active and the others as pending or done.",
        pt: "O plano tem {count} passos ativos. Marque como `active` o passo em que você está trabalhando e os outros como \
             `pending` ou `done`.",
    }
    plan_step_length(number, most) {
        en: "The text of step {number} has to have 1 to {most} characters. Say the step in one short sentence.",
        pt: "O texto do passo {number} deve ter de 1 a {most} caracteres. Diga o passo em uma frase curta.",
    }
    plan_step_state(number, state) {
        en: "The state of step {number} is {state}. Write `pending`, `active` or `done`.",
        pt: "O estado do passo {number} é {state}. Escreva `pending`, `active` ou `done`.",
    }
}
