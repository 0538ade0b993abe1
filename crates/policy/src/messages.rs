//! The words of this crate for people and models, in the order of the modules that use them.
//!
//! The judge of commands and the settings still write their reasons in English where they arise.

use toolfence_protocol::Text;

// Calls as a whole.
toolfence_protocol::texts! { "policy"
    only_reads(tool) { en: "{tool} only reads.", pt: "{tool} só lê." }
    changes_files(tool) { en: "{tool} changes files.", pt: "{tool} altera arquivos." }
    runs_a_program(tool) {
        en: "{tool} runs a program or changes what runs.",
        pt: "{tool} executa um programa ou altera o que é executado.",
    }
    wants_network() { en: "It wants to use the network.", pt: "A chamada quer usar a rede." }
    wants_out_of_sandbox() {
        en: "It wants to run outside the sandbox.",
        pt: "A chamada quer ser executada fora do sandbox.",
    }
    file_allowed_before(tool) {
        en: "You allowed {tool} to change this file for the session.",
        pt: "Você permitiu que {tool} altere este arquivo nesta sessão.",
    }
    echo(source) {
        en: "The same call stands in the result of {source}, which the model has read: it may repeat it.",
        pt: "A mesma chamada está no resultado de {source}, que o modelo leu: ele pode estar repetindo-a.",
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
    guessed(repairs, tool, arguments) {
        en: "The call could only be read by a guess ({repairs}), and {tool} does more than read, so it did not run. It was read \
             as {tool} with the arguments {arguments}. If that is what was meant, write the whole block again as valid JSON.",
        pt: "A chamada só pôde ser lida por suposição ({repairs}), e {tool} faz mais do que ler, por isso ela não foi executada. \
             Ela foi lida como {tool} com os argumentos {arguments}. Se era isso, escreva o bloco inteiro de novo como JSON \
             válido.",
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
    command_in(command, folder) { en: "{command}  (in {folder})", pt: "{command}  (em {folder})" }
    nothing_exact() { en: "there is nothing exact to store", pt: "não há nada exato a guardar" }
    nothing_asked() { en: "nothing is asked", pt: "nada foi perguntado" }
    all_is_asked() {
        en: "the setting `ask = \"always\"` asks about everything",
        pt: "a configuração `ask = \"always\"` pergunta sobre tudo",
    }
    patch_unreadable() { en: "the patch cannot be read", pt: "não é possível ler o patch" }
}

// Arguments of programs.
toolfence_protocol::texts! { "shell"
    could_match_option(pattern) {
        en: "{pattern} could match a name that is an option.",
        pt: "{pattern} pode corresponder a um nome que é uma opção.",
    }
    argument_not_known(program, argument) {
        en: "{program} {argument} is not known.",
        pt: "{program} {argument} não é uma forma conhecida.",
    }
    blocked_program(program, why) { en: "{program} is blocked: {why}.", pt: "{program} está bloqueado: {why}." }
    not_listed(command) {
        en: "{command} is not on the list of commands that only read.",
        pt: "{command} não está na lista de comandos que só leem.",
    }
    not_listed_but_known(command, does) {
        en: "{command} is not on the list of commands that only read: {does}.",
        pt: "{command} não está na lista de comandos que só leem: {does}.",
    }
}

/// Declares the texts that `programs.table` names instead of holding words, and finds one by its name.
macro_rules! program_texts {
    ($($name:ident { en: $english:expr, pt: $portuguese:expr $(,)? })*) => {
        toolfence_protocol::texts! { "program" $($name() { en: $english, pt: $portuguese })* }

        /// The text that the table of programs calls so.
        pub(crate) fn of_program(name: &str) -> Option<Text> {
            match name {
                $(stringify!($name) => Some($name()),)*
                _ => None,
            }
        }
    };
}

program_texts! {
    // `never`: why it is never run, behind "PROGRAM is blocked:".
    writes_raw_blocks { en: "it writes raw blocks", pt: "ele grava blocos brutos" }
    writes_raw_blocks_as_dd {
        en: "it writes raw blocks; copy with `cp`, or cut with `head -c` and `tail -c`",
        pt: "ele grava blocos brutos; copie com `cp` ou corte com `head -c` e `tail -c`",
    }
    makes_file_system { en: "it makes a file system", pt: "ele cria um sistema de arquivos" }
    overwrites_device { en: "it overwrites a device", pt: "ele sobrescreve um dispositivo" }
    erases_file_systems { en: "it erases file systems", pt: "ele apaga sistemas de arquivos" }
    erases_device { en: "it erases a device", pt: "ele apaga um dispositivo" }
    erases_volume { en: "it erases a volume", pt: "ele apaga um volume" }
    erases_volumes { en: "it erases volumes", pt: "ele apaga volumes" }
    ends_every_process { en: "it ends every process", pt: "ele encerra todos os processos" }
    stops_machine { en: "it stops the machine", pt: "ele desliga a máquina" }

    // `advice`: what to do instead.
    without_other_rights {
        en: "Run it without other rights: commands run as the user, and the system stays as it is.",
        pt: "Execute sem outros privilégios: os comandos são executados como o usuário, e o sistema fica como está.",
    }
    editor_waits {
        en: "It waits for a person at a terminal; read with read_file, change with edit_file or replace_text.",
        pt: "Ele espera por uma pessoa em um terminal; leia com read_file, altere com edit_file ou replace_text.",
    }
    pager_waits {
        en: "It waits for a person at a terminal; use read_file, or `head` and `tail`.",
        pt: "Ele espera por uma pessoa em um terminal; use read_file, ou `head` e `tail`.",
    }
    never_ends {
        en: "It never ends; use `ps aux`, or run the command once.",
        pt: "Ele nunca termina; use `ps aux` ou execute o comando uma só vez.",
    }
    manual_waits {
        en: "It waits for a person at a terminal; use the program's own `--help`.",
        pt: "Ele espera por uma pessoa em um terminal; use o `--help` do próprio programa.",
    }
    needs_terminal {
        en: "It needs a terminal; run the command itself, or as a background job.",
        pt: "Ele precisa de um terminal; execute o próprio comando, ou como tarefa em segundo plano.",
    }
    no_network {
        en: "Commands have no network; ask the person to do it.",
        pt: "Os comandos não têm rede; peça à pessoa que faça isso.",
    }
    no_network_unless_asked {
        en: "Commands have no network unless the call asks for it; say what is needed and why.",
        pt: "Os comandos não têm rede, a não ser que a chamada a peça; diga o que é necessário e por quê.",
    }
    reads_without_options {
        en: "Without options that write it is known to only read; change files with edit_file or replace_text.",
        pt: "Sem opções que gravam, sabe-se que ele só lê; altere arquivos com edit_file ou replace_text.",
    }
    write_with_tool { en: "Write files with write_file.", pt: "Grave arquivos com write_file." }
    name_what_goes {
        en: "Name exactly what is to go, relative to the root of the project.",
        pt: "Diga exatamente o que deve ser removido, com caminhos relativos à raiz do projeto.",
    }
    run_a_file {
        en: "Run a file of the project: run_python, or the program with the file's name.",
        pt: "Execute um arquivo do projeto: run_python, ou o programa com o nome do arquivo.",
    }
    write_command_itself { en: "Write the command itself.", pt: "Escreva o próprio comando." }
    variables_in_front {
        en: "Set variables in front of the one command that needs them: `NAME=value command`.",
        pt: "Defina variáveis na frente do único comando que precisa delas: `NAME=value command`.",
    }
    start_in_background {
        en: "Start it with `background` set, and look after it with the job tool.",
        pt: "Inicie-o com `background` e acompanhe-o com a ferramenta job.",
    }
    sandbox_runs_builds {
        en: "Tests, builds and checks run without a question while the sandbox holds.",
        pt: "Testes, builds e verificações são executados sem pergunta enquanto o sandbox os contém.",
    }
    outlives_session {
        en: "Nothing may outlive the session; run it as a background job.",
        pt: "Nada pode continuar depois da sessão; execute-o como tarefa em segundo plano.",
    }
    end_with_job { en: "End jobs with the job tool.", pt: "Encerre tarefas com a ferramenta job." }
    looking_at_git {
        en: "Looking (status, log, diff --stat, show REV:FILE) needs no question; `git -c` and `git -p` always do.",
        pt: "Consultas (status, log, diff --stat, show REV:FILE) não precisam de pergunta; `git -c` e `git -p` sempre precisam.",
    }

    // `does`: what it does that is more than reading, behind "PROGRAM is not on the list of commands that only read:".
    fetches_packages {
        en: "it fetches packages and may run programs of theirs",
        pt: "ele baixa pacotes e pode executar programas deles",
    }
    changes_packages {
        en: "it changes which packages the project uses",
        pt: "ele altera quais pacotes o projeto usa",
    }
    publishes_package { en: "it publishes the package", pt: "ele publica o pacote" }
    asks_service {
        en: "it asks a service that no sandbox holds",
        pt: "ele recorre a um serviço que nenhum sandbox contém",
    }

    // `runs-others`: what kind of program it is, behind "PROGRAM is".
    interpreter { en: "an interpreter", pt: "um interpretador" }
    wrapper { en: "a wrapper", pt: "um programa que executa outros" }
    package_runner { en: "a package runner", pt: "um gerenciador de pacotes que executa programas" }
    build_program { en: "a build program", pt: "um programa de build" }
}
