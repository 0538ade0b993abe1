//! The words of the judge of commands for people and models, in the order of its layers.

use toolfence_protocol::Text;

// The text of a command, before it is parsed.
toolfence_protocol::texts! { "shell"
    too_many_bytes(count, most) {
        en: "The command has {count} bytes; {most} are the most.",
        pt: "O comando tem {count} bytes; o máximo é {most}.",
    }
    holds_nul() { en: "The command holds a NUL character.", pt: "O comando contém um caractere NUL." }
    odd_character(code) {
        en: "The command holds the invisible or control character U+{code}.",
        pt: "O comando contém o caractere invisível ou de controle U+{code}.",
    }
    blanks(most) {
        en: "The command holds a run of more than {most} blanks, which can push its end out of sight.",
        pt: "O comando contém uma sequência de mais de {most} espaços, que pode esconder o seu fim.",
    }
    too_many_expansions(most) {
        en: "The command holds more than {most} expansions.",
        pt: "O comando contém mais de {most} expansões.",
    }
    too_many_documents(most) {
        en: "The command holds more than {most} here-documents.",
        pt: "O comando contém mais de {most} here-documents.",
    }
    many_less_signs() {
        en: "It holds more than three `<` in a row.",
        pt: "O comando contém mais de três `<` seguidos.",
    }
    misleads_the_reader() {
        en: "An escaped or doubled dollar sign before a quote or a bracket, or a comment that ends in a backslash, cannot be read with certainty.",
        pt: "Um cifrão escapado ou duplicado antes de aspas ou colchetes, ou um comentário que termina em barra invertida, não pode ser lido com certeza.",
    }
    document_without_end() {
        en: "The end word of a here-document is missing or too long.",
        pt: "A palavra final de um here-document falta ou é longa demais.",
    }
    expansion_beside_document() {
        en: "An expansion stands on the line of a here-document.",
        pt: "Há uma expansão na linha de um here-document.",
    }
    too_deep(most) { en: "The command is nested deeper than {most}.", pt: "O comando tem mais de {most} níveis de aninhamento." }
    too_long_for_depth() {
        en: "The command is too long for how deep it is nested.",
        pt: "O comando é longo demais para o seu aninhamento.",
    }
    odd_subscript() {
        en: "The subscript of an array is too complicated.",
        pt: "O índice de um array é complicado demais.",
    }
    number_into_variable() {
        en: "A redirect would put a number into a variable.",
        pt: "Um redirecionamento colocaria um número em uma variável.",
    }
    long_descriptor() { en: "The number of a descriptor is too long.", pt: "O número de um descritor é longo demais." }
    parser_failed() { en: "The parser failed on it.", pt: "O analisador falhou com este comando." }
    unreadable(error) {
        en: "It cannot be read as a command: {error}.",
        pt: "Não é possível ler isto como um comando: {error}.",
    }
    split_it(reason) {
        en: "{reason} Split it, or put it into a script file.",
        pt: "{reason} Divida-o ou coloque-o em um arquivo de script.",
    }
}

// The shapes of the language.
toolfence_protocol::texts! { "shell"
    no_command() { en: "There is no command in it.", pt: "Não há nenhum comando nisto." }
    too_much_inside(most) {
        en: "It holds more than {most} bytes of commands inside commands.",
        pt: "Há mais de {most} bytes de comandos dentro de comandos.",
    }
    too_many_commands(most) { en: "It holds more than {most} commands.", pt: "Há mais de {most} comandos." }
    too_many_words(most) { en: "A command has more than {most} words.", pt: "Um comando tem mais de {most} palavras." }
    background_in_loop(most) {
        en: "It starts commands in the background in a loop, and more than {most} of them may run at once.",
        pt: "Inicia comandos em segundo plano em um laço, e mais de {most} deles podem ser executados ao mesmo tempo.",
    }
    set_after_use(name) {
        en: "It sets {name} after it was used for what it was before.",
        pt: "Altera {name} depois de usar o valor que tinha antes.",
    }
    unlisted_construct(what) {
        en: "It uses {what}, which is not on the list of what only reads.",
        pt: "Usa {what}, que não está na lista do que só lê.",
    }
    sets_variable(name) {
        en: "It sets {name}, and what that changes is not known.",
        pt: "Define {name}, e não se sabe o que isso altera.",
    }
    sets_variable_for_all(name) {
        en: "It sets {name} for this command too, and what that changes is not known.",
        pt: "Define {name} também para este comando, e não se sabe o que isso altera.",
    }
    untold_word() { en: "a word that only a run would tell", pt: "uma palavra que só uma execução revelaria" }
    array() { en: "an array or `+=`", pt: "um array ou `+=`" }
    process_substitution() { en: "a process substitution", pt: "uma substituição de processo" }
    coproc() { en: "coproc", pt: "coproc" }
    extended_test() { en: "[[ ]]", pt: "[[ ]]" }
    case() { en: "case", pt: "case" }
    function() { en: "a function", pt: "uma função" }
    arithmetic() { en: "arithmetic", pt: "aritmética" }
    test_of_name() { en: "a test of a variable by its name", pt: "um teste de uma variável pelo nome" }
    expanding_document() { en: "a here-document that expands", pt: "um here-document com expansões" }
    untold_loop() { en: "a loop over what only a run would tell", pt: "um laço sobre o que só uma execução revelaria" }
    assignment() { en: "an assignment", pt: "uma atribuição" }
    redirect() { en: "a redirect", pt: "um redirecionamento" }
    untold_program() { en: "a program that only a run would tell", pt: "um programa que só uma execução revelaria" }
}

// Programs and what they run.
toolfence_protocol::texts! { "shell"
    program_not_told() {
        en: "The program is a word that only a run would tell.",
        pt: "O programa é uma palavra que só uma execução revelaria.",
    }
    program_not_literal() {
        en: "The program is not a literal word.",
        pt: "O programa não é uma palavra literal.",
    }
    renames_program() {
        en: "It changes which program a name stands for.",
        pt: "Altera a que programa um nome corresponde.",
    }
    only_some_commands() {
        en: "The settings allow only some commands; this is none of them.",
        pt: "As configurações permitem apenas alguns comandos; este não é um deles.",
    }
    holds_untold_word() {
        en: "It holds a word that only a run would tell.",
        pt: "Contém uma palavra que só uma execução revelaria.",
    }
    not_of_system(name) {
        en: "{name} is not known to be a program of the system.",
        pt: "Não se sabe se {name} é um programa do sistema.",
    }
    runs_untold(program) { en: "Nobody can tell what {program} would run.", pt: "Não há como saber o que {program} executaria." }
    runs_printed() {
        en: "It would run what the line itself prints, which only a run would tell.",
        pt: "Executaria o que a própria linha imprime, que só uma execução revelaria.",
    }
    runs_input() {
        en: "A shell would run text that only a run would tell.",
        pt: "Um shell executaria um texto que só uma execução revelaria.",
    }
    rule_denies(rule) {
        en: "The settings deny commands that begin with {rule}.",
        pt: "As configurações negam comandos que começam com {rule}.",
    }
    rule_may_deny(rule) {
        en: "Only a run would tell whether it begins with {rule}, which the settings deny.",
        pt: "Só uma execução revelaria se o comando começa com {rule}, que as configurações negam.",
    }
    rules_may_deny() {
        en: "Which program runs can only be told by running it, and the settings deny some.",
        pt: "Só a execução revela qual programa é executado, e as configurações negam alguns.",
    }
    rule_allows(rule) {
        en: "Commands that begin with {rule} are allowed.",
        pt: "Comandos que começam com {rule} são permitidos.",
    }
    allowed_before() {
        en: "You allowed exactly this command for the session.",
        pt: "Você permitiu exatamente este comando nesta sessão.",
    }
}

// The block list.
toolfence_protocol::texts! { "shell"
    blocked_program(program, why) { en: "{program} is blocked: {why}.", pt: "{program} está bloqueado: {why}." }
    erases_disk(program) {
        en: "{program} is blocked here: it erases a disk.",
        pt: "{program} está bloqueado aqui: ele apaga um disco.",
    }
    is_device(path) { en: "{path} is a device.", pt: "{path} é um dispositivo." }
    is_system_file(path) { en: "{path} is a file of the system.", pt: "{path} é um arquivo do sistema." }
    fork_bomb(name) {
        en: "The function {name} starts itself again and again.",
        pt: "A função {name} inicia a si mesma repetidamente.",
    }
    no_preserve_root() { en: "rm --no-preserve-root is blocked.", pt: "rm --no-preserve-root está bloqueado." }
    verb_stops_machine(verb) {
        en: "{verb} is blocked: it stops the machine.",
        pt: "{verb} está bloqueado: ele desliga a máquina.",
    }
    kills_all() {
        en: "kill with -1 ends every process; name the one that is meant.",
        pt: "kill com -1 encerra todos os processos; indique o que deve ser encerrado.",
    }
    reaches_far(program, path) {
        en: "{program} on {path} would reach far beyond the project. Name what is meant, relative to the root of the project.",
        pt: "{program} em {path} iria muito além do projeto. Indique o que se quer, com caminhos relativos à raiz do projeto.",
    }
    may_reach_far(program, path) {
        en: "{program} on {path} would reach far beyond the project if that turned out to be / or a home folder. Name what is \
            meant.",
        pt: "{program} em {path} iria muito além do projeto se isso fosse / ou uma pasta pessoal. Indique o que se quer.",
    }
}

// Files.
toolfence_protocol::texts! { "shell"
    writes_to(path) { en: "It writes to {path}.", pt: "Grava em {path}." }
    could_match_blocked(pattern, rule) {
        en: "{pattern} could match a name blocked by {rule}.",
        pt: "{pattern} pode corresponder a um nome bloqueado por {rule}.",
    }
    names_blocked(word, rule) {
        en: "{word} names a file that is blocked by {rule}. Its content is not for tools, in no other way either; work without it.",
        pt: "{word} indica um arquivo bloqueado por {rule}. O conteúdo não é para ferramentas, nem de outra forma; trabalhe sem \
             ele.",
    }
    may_be_blocked(word, rule) {
        en: "Nobody can tell whether {word} is a file blocked by {rule}.",
        pt: "Não há como saber se {word} é um arquivo bloqueado por {rule}.",
    }
    path_not_literal(path) { en: "{path} is not literal.", pt: "{path} não é literal." }
    folder_not_known() {
        en: "The folder it runs in cannot be known.",
        pt: "Não há como saber em que pasta o comando é executado.",
    }
    is_outside(path) { en: "{path} is outside the project.", pt: "{path} está fora do projeto." }
    path_not_told(path) { en: "Nobody can tell what {path} is.", pt: "Não há como saber o que é {path}." }
    is_protected(path, rule) {
        en: "{path} is below {rule}, which tools may read but never write.",
        pt: "{path} está abaixo de {rule}, que as ferramentas podem ler, mas nunca alterar.",
    }
}

// What an allowed command does, in a sentence that says no more than is true.
toolfence_protocol::texts! { "shell"
    only_reads() { en: "Every part only reads.", pt: "Todas as partes só leem." }
    only_reads_or(what) { en: "Every part only reads, or {what}.", pt: "Todas as partes só leem, ou {what}." }
    only_reads_or_several(first, last) {
        en: "Every part only reads, {first}, or {last}.",
        pt: "Todas as partes só leem, {first}, ou {last}.",
    }
    does_by_name() { en: "is allowed by name", pt: "são permitidas pelo nome" }
    does_store() {
        en: "writes to the private /tmp of the sandbox",
        pt: "gravam no /tmp privado do sandbox",
    }
    does_run() {
        en: "may run code of the project, which the sandbox holds",
        pt: "podem executar código do projeto, que o sandbox contém",
    }
}

// Why "always" is not on offer: the end of a sentence.
toolfence_protocol::texts! { "always"
    more_than_plain() {
        en: "more than plain commands is asked about",
        pt: "a pergunta é sobre mais do que comandos simples",
    }
    only_a_person() {
        en: "only a person may say yes to it, each time",
        pt: "só uma pessoa pode dizer sim, a cada vez",
    }
    not_certain() { en: "it cannot be read with certainty", pt: "não é possível lê-lo com certeza" }
    inside_another() { en: "it is inside of another command", pt: "ele está dentro de outro comando" }
    changed_before() {
        en: "what stands before it may change what it does",
        pt: "o que está antes dele pode alterar o que ele faz",
    }
    reads_given() {
        en: "it reads what another command or a text gives it",
        pt: "ele lê o que outro comando ou um texto lhe dá",
    }
    words_not_literal() { en: "not every word of it is literal", pt: "nem toda palavra dele é literal" }
    several_folders() { en: "it may run in more than one folder", pt: "ele pode ser executado em mais de uma pasta" }
    folder_unknown() { en: "its folder is not known", pt: "a pasta dele não é conhecida" }
    folder_outside() {
        en: "its folder is not known to be in the project",
        pt: "não se sabe se a pasta dele está no projeto",
    }
    is_kind(program, kind) { en: "{program} is {kind}", pt: "{program} é {kind}" }
    runs_another(program) { en: "{program} runs another command", pt: "{program} executa outro comando" }
    foreign_program(name) {
        en: "{name} is not known to be a program of the system",
        pt: "não se sabe se {name} é um programa do sistema",
    }
    around_not_literal() {
        en: "not every redirect and assignment of it is literal",
        pt: "nem todo redirecionamento e atribuição dele é literal",
    }
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
    not_listed(command) {
        en: "{command} is not on the list of commands that only read.",
        pt: "{command} não está na lista de comandos que só leem.",
    }
    not_listed_but_known(command, does) {
        en: "{command} is not on the list of commands that only read: {does}.",
        pt: "{command} não está na lista de comandos que só leem: {does}.",
    }
    word_not_told(word) {
        en: "{word} is a word that only a run would tell.",
        pt: "{word} é uma palavra que só uma execução revelaria.",
    }
    at_its_own_place(program) {
        en: "{program} is a program at a place of its own.",
        pt: "{program} é um programa em um lugar próprio.",
    }
    runs_project(program) {
        en: "{program} runs code of the project, which only the sandbox could hold.",
        pt: "{program} executa código do projeto, que só o sandbox poderia conter.",
    }
    reads_unnamed(program) {
        en: "{program} would read files that no word names, blocked ones too; only the sandbox could hide those.",
        pt: "{program} leria arquivos que nenhuma palavra indica, também os bloqueados; só o sandbox poderia escondê-los.",
    }
    file_is_input(program) {
        en: "{program} is not known with a file that is its input.",
        pt: "{program} não é conhecido com um arquivo que é a sua entrada.",
    }
    would_write(program, path) { en: "{program} would write to {path}.", pt: "{program} gravaria em {path}." }
    with_operands(program) { en: "{program} with operands is not known.", pt: "{program} com operandos não é conhecido." }
    only_with_one_of(program, words) {
        en: "{program} is only known with one of: {words}.",
        pt: "{program} só é conhecido com uma destas palavras: {words}.",
    }
    only_with_options(program, options) {
        en: "{program} is only known to only read with one of these options: {options}.",
        pt: "{program} só é conhecido como comando que só lê com uma destas opções: {options}.",
    }
    writes_second_operand(program) {
        en: "{program} may write to its second operand.",
        pt: "{program} pode gravar no seu segundo operando.",
    }
    with_found_names(program) {
        en: "{program} is not known with names that another command found.",
        pt: "{program} não é conhecido com nomes que outro comando encontrou.",
    }
    takes_options_from(program, word) {
        en: "{program} would take options from {word}.",
        pt: "{program} tomaria opções de {word}.",
    }
    only_literal_program(program) {
        en: "{program} is only known with a literal program.",
        pt: "{program} só é conhecido com um programa literal.",
    }
    no_reading_program(text, program) {
        en: "{text} is not a program for {program} that is known to only read.",
        pt: "{text} não é um programa para {program} que comprovadamente só lê.",
    }
    only_project_file(program) {
        en: "{program} is only known with a file of the project.",
        pt: "{program} só é conhecido com um arquivo do projeto.",
    }
    no_project_file(path) { en: "{path} is no file of the project.", pt: "{path} não é um arquivo do projeto." }
    test_with_such_words(program) {
        en: "{program} with such words is not known.",
        pt: "{program} com essas palavras não é conhecido.",
    }
    not_known_with(program, word) {
        en: "{program} is not known with {word}.",
        pt: "{program} não é conhecido com {word}.",
    }
    printf_format() {
        en: "printf is only known with a literal format that assigns nothing.",
        pt: "printf só é conhecido com um formato literal que não atribui nada.",
    }
    set_options() {
        en: "set is only known with -e, -u and -o pipefail.",
        pt: "set só é conhecido com -e, -u e -o pipefail.",
    }
    tar_names() { en: "tar is only known with literal names.", pt: "tar só é conhecido com nomes literais." }
    tar_lists() {
        en: "tar is only known to list: `tar tf ARCHIVE`.",
        pt: "tar só é conhecido para listar: `tar tf ARCHIVE`.",
    }
    cd_one_folder() {
        en: "cd is only known with one literal folder.",
        pt: "cd só é conhecido com uma única pasta literal.",
    }
}

// What git reads.
toolfence_protocol::texts! { "git"
    two_folders() { en: "git with two folders is not known.", pt: "git com duas pastas não é conhecido." }
    git_not_listed(subcommand) {
        en: "git {subcommand} is not on the list of what only reads.",
        pt: "git {subcommand} não está na lista do que só lê.",
    }
    verifies(format) {
        en: "{format} may start the program that verifies signatures.",
        pt: "{format} pode iniciar o programa que verifica assinaturas.",
    }
    makes_one(subcommand) {
        en: "git {subcommand} with a name makes one.",
        pt: "git {subcommand} com um nome cria um.",
    }
    magic(word) {
        en: "{word} is a name that git reads in its own way.",
        pt: "{word} é um nome que o git lê à sua maneira.",
    }
    prints_blocked(subcommand, names, specs) {
        en: "git {subcommand} would print what is committed of blocked files: {names}. Name the files that are wanted, or add \
             -- {specs} to leave those out.",
        pt: "git {subcommand} imprimiria o que há em commits de arquivos bloqueados: {names}. Indique os arquivos desejados, ou \
             acrescente -- {specs} para deixar esses de fora.",
    }
    prints_untold(subcommand) {
        en: "git {subcommand} prints what is committed, and nobody can tell in time whether blocked files are. Name the files: \
             git {subcommand} -- src/main.rs",
        pt: "git {subcommand} imprime o que há em commits, e não há como saber a tempo se há arquivos bloqueados entre eles. \
             Indique os arquivos: git {subcommand} -- src/main.rs",
    }
    this_command() { en: "this command of git", pt: "este comando do git" }
    may_print_blocked(what, names) {
        en: "Nobody can tell whether {what} would print what is committed of blocked files: {names}. git log, git show, git diff \
             and git grep that name the files which are wanted are known not to.",
        pt: "Não há como saber se {what} imprimiria o que há em commits de arquivos bloqueados: {names}. Sabe-se que git log, \
             git show, git diff e git grep que indicam os arquivos desejados não o fazem.",
    }
    may_print(what) {
        en: "Nobody can tell whether {what} would print what is committed of blocked files. git log, git show, git diff and \
             git grep that name the files which are wanted are known not to.",
        pt: "Não há como saber se {what} imprimiria o que há em commits de arquivos bloqueados. Sabe-se que git log, git show, \
             git diff e git grep que indicam os arquivos desejados não o fazem.",
    }
    and_others(names) { en: "{names} and others", pt: "{names} e outros" }
    begins_above() {
        en: "The repository begins above the project: its commits hold more than the project.",
        pt: "O repositório começa acima do projeto: os commits dele contêm mais do que o projeto.",
    }
    runs_programs() {
        en: "The settings of the repository may make git run programs of its own.",
        pt: "A configuração do repositório pode fazer o git executar programas próprios dela.",
    }
    may_run_programs() {
        en: "Nobody can tell what the repository would make git run.",
        pt: "Não há como saber o que o repositório faria o git executar.",
    }
}

// Why a call of git is not known to run nothing else: the end of a sentence.
toolfence_protocol::texts! { "git_call"
    call_no_folder() { en: "the folder it runs in cannot be known", pt: "não há como saber em que pasta ele é executado" }
    own_folder() { en: "it runs in git's own folder", pt: "ele é executado na pasta do próprio git" }
    untold_command() {
        en: "its command is a word that only a run would tell",
        pt: "o comando dele é uma palavra que só uma execução revelaria",
    }
    call_unknown(subcommand) { en: "git {subcommand} is not known", pt: "git {subcommand} não é conhecido" }
    call_untold_word(word) {
        en: "{word} is a word that only a run would tell",
        pt: "{word} é uma palavra que só uma execução revelaria",
    }
    own_file(path) { en: "{path} is a file of git's own", pt: "{path} é um arquivo do próprio git" }
    value(value, option) {
        en: "{value} is not known for the option {option}",
        pt: "{value} não é um valor conhecido da opção {option}",
    }
    place(path) { en: "{path} may be a folder of git's own", pt: "{path} pode ser uma pasta do próprio git" }
    no_remotes() { en: "not every word is the name of a remote", pt: "nem toda palavra é o nome de um remoto" }
    no_remote(word) {
        en: "{word} is neither the name of a remote nor an http, https, ssh or git address",
        pt: "{word} não é nem o nome de um remoto nem um endereço http, https, ssh ou git",
    }
    no_address(word) {
        en: "{word} is no http, https, ssh or git address",
        pt: "{word} não é um endereço http, https, ssh ou git",
    }
    missing_address() { en: "the address is missing", pt: "falta o endereço" }
    outside_refs() {
        en: "a symbolic ref must point below refs/",
        pt: "uma referência simbólica deve apontar para baixo de refs/",
    }
    sets_configuration() { en: "git that sets configuration", pt: "git que altera a configuração" }
    may_run_more(reason) {
        en: "git that is not known to run nothing else ({reason})",
        pt: "git que talvez execute algo mais ({reason})",
    }
    mixed(other) {
        en: "It writes the git repository and holds {other} too: the repository is only writable for a call of git commands \
             alone. Send the git commands as a call of their own, without pipes, redirects and wrappers (cd, echo, true and printf \
             may stand beside them); a commit message from a file is `git commit -F FILE`.",
        pt: "O comando altera o repositório git e também contém {other}: o repositório só pode ser alterado por uma chamada \
             apenas com comandos git. Envie os comandos git em uma chamada própria, sem pipes, redirecionamentos e programas que \
             executam outros (cd, echo, true e printf podem estar ao lado deles); uma mensagem de commit em um arquivo é \
             `git commit -F FILE`.",
    }
}

// Configuration of git that only a person may let be set.
toolfence_protocol::texts! { "git_config"
    for_a_person(what) {
        en: "{what}. Only a person may allow it, each time.",
        pt: "{what}. Só uma pessoa pode permitir isso, a cada vez.",
    }
    may_be_set() {
        en: "The configuration of git may be set and what it would be cannot be told",
        pt: "A configuração do git pode ser alterada, e não há como saber como ela ficaria",
    }
    odd_address(address) {
        en: "The address {address} is no http, https, ssh or git address; another one can make git run a program",
        pt: "{address} não é um endereço http, https, ssh ou git; outro tipo de endereço pode fazer o git executar um programa",
    }
    no_key(key) {
        en: "{key} is set in git's configuration, which cannot be read as a key",
        pt: "{key} é definido na configuração do git, mas não pode ser lido como uma chave",
    }
    key(key, danger) { en: "{key} {danger}", pt: "{key} {danger}" }
    opens_editor(verb) {
        en: "git config {verb} lets the configuration be written freely",
        pt: "git config {verb} permite escrever a configuração livremente",
    }
    outside(scope) {
        en: "git config --{scope} changes what git does outside of the project",
        pt: "git config --{scope} altera o que o git faz fora do projeto",
    }
    other_file(file) {
        en: "git config --file {file} writes a file that it names itself",
        pt: "git config --file {file} grava um arquivo que ele mesmo indica",
    }
    may_set_anything() {
        en: "git config with these words may set anything",
        pt: "git config com essas palavras pode alterar qualquer coisa",
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
