//! A conversation at the prompt: the line that is typed, and what can be typed behind a slash.

// The line.
toolfence_protocol::texts! { "coder"
    /// What stands in the line in the place of a long paste.
    pasted(count) {
        en: "[Pasted {count} {count|line|lines}]",
        pt: "[{count} {count|linha colada|linhas coladas}]",
    }
    pasted_again(count, number) {
        en: "[Pasted {count} {count|line|lines}, no. {number}]",
        pt: "[{count} {count|linha colada|linhas coladas}, nº {number}]",
    }
    searched_in_history(words) {
        en: "search: {words}",
        pt: "busca: {words}",
    }
    no_line_editor(why) {
        en: "the line editor cannot work on this terminal ({why}); lines are read as they come",
        pt: "o editor de linha não funciona neste terminal ({why}); as linhas são lidas como vêm",
    }
}

// The commands.
toolfence_protocol::texts! { "coder"
    conversation_help() {
        en: "Write what you want done and press Enter. Alt-Enter, a backslash at the end of a line or an open ``` fence begins another\n\
             line, Tab completes, Ctrl-R searches in what you wrote before, Ctrl-O opens your editor. @NAME puts a file, a folder or an\n\
             image of the project below the message, and !COMMAND runs a command in your own name. Ctrl-C drops the line; while the\n\
             model works it stops what a tool does, and twice or without a tool the turn. What you type meanwhile is kept for the next\n\
             message.",
        pt: "Escreva o que você quer que seja feito e tecle Enter. Alt-Enter, uma barra invertida no fim da linha ou uma cerca ``` aberta\n\
             começa outra linha, Tab completa, Ctrl-R busca no que você já escreveu, Ctrl-O abre o seu editor. @NOME põe um arquivo, uma\n\
             pasta ou uma imagem do projeto abaixo da mensagem, e !COMANDO executa um comando em seu próprio nome. Ctrl-C descarta a linha;\n\
             enquanto o modelo trabalha, interrompe o que uma ferramenta faz e, duas vezes ou sem ferramenta, o turno. O que você digita\n\
             nesse tempo fica para a próxima mensagem.",
    }
    slash_help() {
        en: "list these commands",
        pt: "lista estes comandos",
    }
    slash_tools() {
        en: "the tools that the model has",
        pt: "as ferramentas que o modelo tem",
    }
    slash_allowed() {
        en: "what you said always to, until the end",
        pt: "aquilo a que você disse sempre, até o fim",
    }
    slash_model() {
        en: "list the models of the server, or go on with another one",
        pt: "lista os modelos do servidor, ou continua com outro",
    }
    slash_mode() {
        en: "when you are asked: risky, always, sandboxed or never",
        pt: "quando você é consultado: risky, always, sandboxed ou never",
    }
    slash_plan() {
        en: "begin or end plan mode, in which only what reads runs",
        pt: "começa ou encerra o modo de plano, em que só roda o que lê",
    }
    slash_policy() {
        en: "what the policy says to a command",
        pt: "o que a política diz sobre um comando",
    }
    slash_diff() {
        en: "what the last turn changed, the last N, or all of this session",
        pt: "o que o último turno alterou, os últimos N ou todos desta sessão",
    }
    slash_keep() {
        en: "put output of commands into the project that is not there; without PATH, list it",
        pt: "põe no projeto a saída de comandos que não está nele; sem PATH, lista-a",
    }
    slash_undo() {
        en: "take back what the last turn changed, or the last N; or list those there are",
        pt: "desfaz o que o último turno alterou, ou os últimos N; ou lista os que existem",
    }
    slash_redo() {
        en: "take the last undo back, or the last N",
        pt: "refaz o que foi desfeito por último, ou os últimos N",
    }
    slash_last() {
        en: "all of the last output",
        pt: "a última saída inteira",
    }
    slash_thoughts() {
        en: "all that the model thought in the last turn",
        pt: "tudo o que o modelo pensou no último turno",
    }
    slash_copy() {
        en: "put the last answer into the clipboard of the terminal",
        pt: "põe a última resposta na área de transferência do terminal",
    }
    slash_editor() {
        en: "write the message in your editor",
        pt: "escreve a mensagem no seu editor",
    }
    slash_retry() {
        en: "say your last message again, as if it and what followed had not been",
        pt: "diz de novo a sua última mensagem, como se ela e o que veio depois não existissem",
    }
    slash_compact() {
        en: "send less of what was said; old tool output goes first",
        pt: "envia menos do que foi dito; primeiro sai a saída antiga das ferramentas",
    }
    slash_clear() {
        en: "begin a new conversation; what you allowed stays allowed",
        pt: "começa outra conversa; o que você permitiu continua permitido",
    }
    slash_stats() {
        en: "what was spent so far, also before /clear, and what was done",
        pt: "quanto se gastou até agora, também antes de /clear, e o que foi feito",
    }
    slash_export() {
        en: "write this conversation in a new file that ends in .md, .html, .json or .jsonl",
        pt: "grava esta conversa em um arquivo novo que termina em .md, .html, .json ou .jsonl",
    }
    slash_sessions() {
        en: "the conversations about this project",
        pt: "as conversas sobre este projeto",
    }
    slash_resume() {
        en: "go on with another conversation",
        pt: "continua outra conversa",
    }
    slash_fork() {
        en: "go on in a copy of this one, or of what was said up to a message",
        pt: "continua em uma cópia desta, ou do que foi dito até uma mensagem",
    }
    slash_persona() {
        en: "go on as another persona, with its tools and rules",
        pt: "continua como outra persona, com as ferramentas e as regras dela",
    }
    slash_init() {
        en: "let the model write a first AGENTS.md for this project",
        pt: "faz o modelo escrever um primeiro AGENTS.md para este projeto",
    }
    slash_quit() {
        en: "end; so does Ctrl-D",
        pt: "encerra; Ctrl-D também",
    }
    slash_of_person() {
        en: "your own",
        pt: "seu",
    }
    slash_of_project() {
        en: "of the project",
        pt: "do projeto",
    }
    slash_not_trusted() {
        en: "of the project; you are shown what it says before it is used",
        pt: "do projeto; você vê o que ele diz antes do uso",
    }
    command_of_project_says(file) {
        en: "{file} is of the project, and you have not trusted what it says now. It sends this as your message:",
        pt: "{file} é do projeto, e você ainda não confiou no que ele diz agora. Ele envia isto como sua mensagem:",
    }
    nothing_was_sent() {
        en: "It is not trusted, and nothing was sent.",
        pt: "O arquivo não é de confiança, e nada foi enviado.",
    }
    own_command_not_used(file, name) {
        en: "{file} is not used: there is a /{name} already",
        pt: "{file} não é usado: já existe um /{name}",
    }
}

// What is said to them.
toolfence_protocol::texts! { "coder"
    close_commands(names) {
        en: " Did you mean {names}?",
        pt: " Você quis dizer {names}?",
    }
    takes_nothing(command) {
        en: "{command} takes nothing behind it.",
        pt: "{command} não leva nada depois.",
    }
    by_hand_wants_a_terminal() {
        en: "!COMMAND runs what a person types at a terminal; here the input is none.",
        pt: "!COMANDO executa o que uma pessoa digita num terminal; aqui a entrada não é um.",
    }
    wants_words(usage) {
        en: "Something is missing: {usage}",
        pt: "Falta algo: {usage}",
    }
    nothing_ran_yet() {
        en: "no call has had a result yet",
        pt: "nenhuma chamada teve resultado ainda",
    }
    nothing_thought_yet() {
        en: "nothing that the model thought was told apart yet",
        pt: "ainda não há nada do modelo que tenha vindo como raciocínio",
    }
    nothing_answered_yet() {
        en: "there is no answer yet",
        pt: "ainda não há resposta",
    }
    too_long_to_copy(kibibytes) {
        en: "the answer is longer than the {kibibytes} KiB that terminals take",
        pt: "a resposta é mais longa que os {kibibytes} KiB que os terminais aceitam",
    }
    copied(bytes) {
        en: "{bytes} bytes were given to the terminal's clipboard; some terminals do not allow that",
        pt: "{bytes} bytes foram entregues à área de transferência do terminal; alguns terminais não permitem isso",
    }
    nothing_copied_without_terminal() {
        en: "there is no terminal whose clipboard could take it",
        pt: "não há um terminal cuja área de transferência possa receber isso",
    }
    export_wants_a_file() {
        en: "name a new file that ends in .md, .html, .json or .jsonl; the last two are JSON lines",
        pt: "dê o nome de um arquivo novo que termine em .md, .html, .json ou .jsonl; os dois últimos são linhas de JSON",
    }
    exported_to(file) {
        en: "the conversation is in {file}",
        pt: "a conversa está em {file}",
    }
    nothing_to_export() {
        en: "nothing was written down of this conversation yet",
        pt: "nada desta conversa foi registrado ainda",
    }
    nothing_was_written() {
        en: "nothing was written, so nothing is sent",
        pt: "nada foi escrito, então nada é enviado",
    }
    /// A message that the person sends with `/init`.
    write_agents_file() {
        en: "Look at this project and write a first AGENTS.md in its root, for agents that work on it. Read the README, the files that \
             say how it is built and tested, and as much of the source as you need. If there is an AGENTS.md or CLAUDE.md already, \
             improve it instead of starting over. Keep it under 60 lines: what the project is, where things are, the exact commands \
             to build, to test all and to run a single test, and the conventions that the code shows. Leave out what anybody knows.",
        pt: "Examine este projeto e escreva um primeiro AGENTS.md na raiz dele, para agentes que trabalham nele. Leia o README, os \
             arquivos que dizem como ele é compilado e testado, e o quanto precisar do código. Se já houver um AGENTS.md ou CLAUDE.md, \
             melhore o que existe em vez de recomeçar. Use no máximo 60 linhas: o que é o projeto, onde ficam as coisas, os comandos \
             exatos para compilar, para testar tudo e para rodar um só teste, e as convenções que o código mostra. Deixe de fora o que \
             qualquer um sabe.",
    }
}

// Plan mode and the ask mode.
toolfence_protocol::texts! { "coder"
    plan_mode_begins() {
        en: "plan mode: only what reads runs; /plan ends it",
        pt: "modo de plano: só roda o que lê; /plan encerra",
    }
    plan_mode_ends() {
        en: "plan mode has ended",
        pt: "o modo de plano acabou",
    }
    /// For the model.
    told_to_plan() {
        en: "Note: the user has begun plan mode. Only calls that read run until it ends; everything else is refused. Find out what you \
             need to know, and then answer with a plan: what you would change, where and why.",
        pt: "Nota: o usuário começou o modo de plano. Até ele acabar, só rodam chamadas que leem; todo o resto é recusado. Descubra o que \
             precisar saber e depois responda com um plano: o que você mudaria, onde e por quê.",
    }
    /// For the model.
    told_to_act() {
        en: "Note: the user has ended plan mode. Changes and commands run again as before.",
        pt: "Nota: o usuário encerrou o modo de plano. Alterações e comandos voltam a rodar como antes.",
    }
    model_answers(name) {
        en: "{name} answers from here on",
        pt: "daqui em diante {name} responde",
    }
    no_models_told() {
        en: "the backend tells no models; /model NAME asks for one",
        pt: "o backend não informa modelos; /model NOME pede um",
    }
    asked_when(mode) {
        en: "you are asked: {mode}",
        pt: "você é consultado: {mode}",
    }
    asked_when_instead(mode, wanted) {
        en: "you are asked: {mode}; the project or the persona does not let it be {wanted}",
        pt: "você é consultado: {mode}; o projeto ou a persona não permite {wanted}",
    }
    no_ask_mode(word) {
        en: "{word} is not one of risky, always, sandboxed and never",
        pt: "{word} não é risky, always, sandboxed nem never",
    }
}

// What a message brings along.
toolfence_protocol::texts! { "coder"
    /// For the model.
    file_of_the_person(path) {
        en: "The file {path}:",
        pt: "O arquivo {path}:",
    }
    /// For the model.
    first_lines_of_file(path, count) {
        en: "The file {path}, its first {count} {count|line|lines}; read_file shows the rest:",
        pt: "O arquivo {path}, {count|a primeira|as primeiras} {count} {count|linha|linhas}; read_file mostra o resto:",
    }
    /// For the model.
    folder_of_the_person(path) {
        en: "The folder {path}:",
        pt: "A pasta {path}:",
    }
    /// For the model.
    first_names_of_folder(path) {
        en: "The folder {path}, the first of its names; list_files shows more:",
        pt: "A pasta {path}, os primeiros nomes dela; list_files mostra mais:",
    }
    brought_along(names) {
        en: "below the message: {names}",
        pt: "abaixo da mensagem: {names}",
    }
    not_brought_along(name, why) {
        en: "@{name} is not put below the message: {why}",
        pt: "@{name} não é posto abaixo da mensagem: {why}",
    }
    too_much_brought_along(kibibytes) {
        en: "the files of one message may have {kibibytes} KiB together",
        pt: "os arquivos de uma mensagem podem ter juntos {kibibytes} KiB",
    }
    /// For the model.
    person_ran(command, folder, ended) {
        en: "Note: the user ran this command by hand in {folder}: {command}\nIt ended with {ended}. Its output:",
        pt: "Nota: o usuário executou este comando manualmente em {folder}: {command}\nEle terminou com {ended}. A saída:",
    }
    command_ended(ended) {
        en: "{ended}; the model is told with your next message",
        pt: "{ended}; o modelo fica sabendo com a sua próxima mensagem",
    }
    command_stopped() {
        en: "a stop by the user",
        pt: "uma interrupção pelo usuário",
    }
    bytes_left_out(count) {
        en: "[{count} bytes left out]",
        pt: "[{count} bytes omitidos]",
    }
    message_beside_prompt() {
        en: "give the message once: as it is, or behind -p",
        pt: "indique a mensagem uma vez só: como está ou depois de -p",
    }
}
