//! The words about settings, in the order of the modules that use them. What the reader of TOML says stays in English.

use toolfence_protocol::Text;

// A whole file, and its keys.
toolfence_protocol::texts! { "settings"
    mistake(name, line, column, message) {
        en: "{name}: line {line}, column {column}: {message}",
        pt: "{name}: linha {line}, coluna {column}: {message}",
    }
    cannot_read(line, column, message) {
        en: "cannot read the settings: line {line}, column {column}: {message}",
        pt: "não foi possível ler as configurações: linha {line}, coluna {column}: {message}",
    }
    looser_than(origin, key, value, now) {
        en: "{origin}: {key} = {value} is looser than {now}, so it has no effect.",
        pt: "{origin}: {key} = {value} é mais permissivo que {now}, por isso não tem efeito.",
    }
    higher_than(origin, key, value, now) {
        en: "{origin}: {key} = {value} is more than {now}, so it has no effect.",
        pt: "{origin}: {key} = {value} é mais que {now}, por isso não tem efeito.",
    }
    file_too_large(most) { en: "the file has more than {most} KiB", pt: "o arquivo tem mais de {most} KiB" }
    too_many_values(most) { en: "the file holds more than {most} values", pt: "o arquivo tem mais de {most} valores" }
    not_toml(why) { en: "this is not TOML: {why}", pt: "isto não é TOML: {why}" }
    no_such_key(key, hint) { en: "there is no key {key}. {hint}", pt: "a chave {key} não existe. {hint}" }
    did_you_mean(close) { en: "Did you mean {close}?", pt: "Você quis dizer {close}?" }
    or(first, second) { en: "{first} or {second}", pt: "{first} ou {second}" }
    keys_are(list) { en: "The keys are {list}.", pt: "As chaves são {list}." }
    is_a_table(name) { en: "{name} is a table: [{name}]", pt: "{name} é uma tabela: [{name}]" }
    only_where_trusted(key) {
        en: "{key} names what a project may not choose by itself, so it counts only in a file that you trust.",
        pt: "{key} define algo que um projeto não pode escolher por conta própria, por isso só vale em um arquivo em que você \
             confia.",
    }
    may_not_stand_here(key) {
        en: "{key} may not stand here: a project or a persona can only tighten. Put it into your own settings.",
        pt: "{key} não pode estar aqui: um projeto ou uma persona só pode restringir. Coloque-a nas suas próprias configurações.",
    }
}

// What the documented file says of a key.
toolfence_protocol::texts! { "settings"
    range(least, most) { en: "From {least} to {most}.", pt: "De {least} a {most}." }
    project_tightens() {
        en: "A project's file can only make it stricter.",
        pt: "O arquivo de um projeto só pode deixá-la mais restrita.",
    }
    project_lowers() {
        en: "A project's file can only lower it.",
        pt: "O arquivo de um projeto só pode diminuir o valor.",
    }
    project_adds() { en: "A project's file can add to it.", pt: "O arquivo de um projeto pode acrescentar itens." }
    project_narrows() {
        en: "A project's file can narrow it: what both allow stays.",
        pt: "O arquivo de um projeto pode restringi-la: fica o que os dois permitem.",
    }
    project_never() { en: "Not in a project's file.", pt: "Não vale no arquivo de um projeto." }
    project_trusted() {
        en: "In a project's file only once you trust that file.",
        pt: "No arquivo de um projeto, só depois que você confia nele.",
    }
}

// The value of a key.
toolfence_protocol::texts! { "settings"
    is_one_of(key, words) { en: "{key} is one of {words}.", pt: "{key} é um destes valores: {words}." }
    is_from_zero_to(key, most) {
        en: "{key} is a number from 0 to {most}.",
        pt: "{key} é um número de 0 a {most}.",
    }
    number_from_zero_to(most) {
        en: "a number from 0 to {most}",
        pt: "um número de 0 a {most}",
    }
    a_text() {
        en: "a text that is not empty",
        pt: "um texto que não seja vazio",
    }
    is_whole(key, least, most) {
        en: "{key} is a whole number from {least} to {most}.",
        pt: "{key} é um número inteiro de {least} a {most}.",
    }
    wrong_kind(what, wanted, kind) {
        en: "{what} is {wanted}; this is {kind}.",
        pt: "{what} é {wanted}; isto é {kind}.",
    }
    // What is wanted: the middle of the sentence above.
    one_of_in_quotes(words) { en: "one of {words}, in quotes", pt: "um destes valores, entre aspas: {words}" }
    text_in_quotes() { en: "a text in quotes", pt: "um texto entre aspas" }
    whole_number(least, most) {
        en: "a whole number from {least} to {most}",
        pt: "um número inteiro de {least} a {most}",
    }
    list_of(example) { en: "a list: [{example}]", pt: "uma lista: [{example}]" }
    rule_forms() {
        en: "\"cargo test\" or [\"cargo\", \"test\"]",
        pt: "\"cargo test\" ou [\"cargo\", \"test\"]",
    }
    // What it is about, at the beginning of that sentence.
    a_glob() { en: "a glob", pt: "um glob" }
    a_command_line() { en: "a command line", pt: "uma linha de comando" }
    a_command_rule() { en: "a command rule", pt: "uma regra de comando" }
    a_checker() { en: "a checker", pt: "um verificador" }
    texts_wanted(kind) {
        en: "a list of texts is wanted; this is {kind}.",
        pt: "era esperada uma lista de textos; isto é {kind}.",
    }
    text_wanted(kind) {
        en: "a text in quotes is wanted; this is {kind}.",
        pt: "era esperado um texto entre aspas; isto é {kind}.",
    }
    command_line_empty() { en: "this command line is empty.", pt: "esta linha de comando está vazia." }
    glob_too_long(most) { en: "a glob has at most {most} bytes.", pt: "um glob tem no máximo {most} bytes." }
    glob_of_everything() {
        en: "this glob names the whole project; give the name of a file or folder.",
        pt: "este glob abrange o projeto inteiro; dê o nome de um arquivo ou pasta.",
    }
}

// What a value is.
toolfence_protocol::texts! { "settings"
    kind_text() { en: "a text", pt: "um texto" }
    kind_number() { en: "a number", pt: "um número" }
    kind_bool() { en: "true or false", pt: "true ou false" }
    kind_date() { en: "a date", pt: "uma data" }
    kind_list() { en: "a list", pt: "uma lista" }
    kind_table() { en: "a table", pt: "uma tabela" }
}

// Rules about commands.
toolfence_protocol::texts! { "settings"
    rule_expands_nothing(found) {
        en: "nothing is expanded in a command rule, so `$` and backquotes have no meaning in one, and this one has {found}. \
             Where it is meant as it stands, write the rule as a list: [\"echo\", \"$HOME\"].",
        pt: "nada é expandido em uma regra de comando; por isso `$` e crases não têm significado nela, e esta tem {found}. \
             Se o caractere é para ficar como está, escreva a regra como lista: [\"echo\", \"$HOME\"].",
    }
    rule_has_an_odd_blank() {
        en: "the command rule has white space or a control character that parts no words, such as a no-break space that was pasted. \
             Write plain spaces; where the character is meant, write the rule as a list.",
        pt: "a regra de comando tem um espaço ou caractere de controle que não separa palavras, como um espaço rígido colado. \
             Use espaços comuns; se o caractere é proposital, escreva a regra como lista.",
    }
    rule_quote_open() {
        en: "a quote in the command rule is not closed.",
        pt: "uma aspa da regra de comando não foi fechada.",
    }
    rule_has_a_comment() {
        en: "a `#` that begins a word begins a comment, and a command rule has none. Where it is meant as it stands, write \
             it in quotes: '#'.",
        pt: "um `#` que começa uma palavra começa um comentário, e uma regra de comando não tem comentários. Se ele é para \
             ficar como está, escreva-o entre aspas: '#'.",
    }
    rule_list_unreadable() {
        en: "the list of words cannot be read. It is written like this: [\"echo\", \"a b\"].",
        pt: "a lista de palavras não pode ser lida. Ela é escrita assim: [\"echo\", \"a b\"].",
    }
    rule_needs_a_word() {
        en: "a command rule needs at least one word.",
        pt: "uma regra de comando precisa de pelo menos uma palavra.",
    }
    rule_needs_a_full_word() {
        en: "a command rule needs at least one word that is not empty.",
        pt: "uma regra de comando precisa de pelo menos uma palavra que não seja vazia.",
    }
    rule_too_long(most) {
        en: "a command rule has at most {most} bytes.",
        pt: "uma regra de comando tem no máximo {most} bytes.",
    }
}

// Programs that check files.
toolfence_protocol::texts! { "settings"
    is_no_header(name) {
        en: "{name} is no header that can be sent: a name has letters, digits and marks such as -, a value no control characters.",
        pt: "{name} não é um cabeçalho que possa ser enviado: um nome tem letras, dígitos e sinais como -, e um valor não tem \
             caracteres de controle.",
    }
    is_no_member(name) {
        en: "{name} is set by the program and by keys of their own; name other members of the request.",
        pt: "{name} é definido pelo programa e por chaves próprias; indique outros membros da requisição.",
    }
    is_no_json(name) {
        en: "{name} has a number that JSON does not have.",
        pt: "{name} tem um número que não existe em JSON.",
    }
    price_has_no(field) {
        en: "a price has no {field}; it has input, output and, where you want, cached.",
        pt: "um preço não tem {field}; ele tem input, output e, se quiser, cached.",
    }
    is_no_price(model, field) {
        en: "{field} of {model} is a number: what a million tokens cost, such as 0.5.",
        pt: "{field} de {model} é um número: quanto custa um milhão de tokens, como 0.5.",
    }
    table_like(example) {
        en: "a table: {example}",
        pt: "uma tabela: {example}",
    }
    is_no_server_name(name) {
        en: "{name} is no name of a server: up to 32 of a to z, 0 to 9, _ and -, and not functions, default_api or mcp.",
        pt: "{name} não é nome de um servidor: até 32 de a a z, 0 a 9, _ e -, e não functions, default_api ou mcp.",
    }
    server_has_no(field) {
        en: "a server has no {field}; it has command, env, network, paths, allow and seconds.",
        pt: "um servidor não tem {field}; ele tem command, env, network, paths, allow e seconds.",
    }
    server_needs_command(example) {
        en: "a server needs command: {example}.",
        pt: "um servidor precisa de command: {example}.",
    }
    in_server(field, wrong) { en: "{field} of a server: {wrong}", pt: "{field} de um servidor: {wrong}" }
    server_takes(got) {
        en: "env is a table of texts, network true or false, seconds a whole number; not {got}.",
        pt: "env é uma tabela de textos, network é true ou false, seconds é um número inteiro; não {got}.",
    }
    too_much_in_server(most) {
        en: "a server has at most {most} variables, {most} paths and {most} allowed tools.",
        pt: "um servidor tem no máximo {most} variáveis, {most} caminhos e {most} ferramentas permitidas.",
    }
    is_no_variable(name) {
        en: "{name} is no variable with a text as its value.",
        pt: "{name} não é uma variável com um texto como valor.",
    }
    variable_loads_code(name) {
        en: "{name} steers how programs are loaded, and no server gets such a variable; set it in a script that starts the server.",
        pt: "{name} controla como os programas são carregados, e nenhum servidor recebe uma variável assim; defina-a num script que\n\
             inicie o servidor.",
    }
    path_from_the_root(path) {
        en: "a path begins with / or ~/, and {path} does not.",
        pt: "um caminho começa com / ou ~/, e {path} não começa.",
    }
    checker_has_no(field) {
        en: "a checker has no {field}; it has files, command and reads.",
        pt: "um verificador não tem {field}; ele tem files, command e reads.",
    }
    checker_needs(field, example) {
        en: "a checker needs {field}: {example}.",
        pt: "um verificador precisa de {field}: {example}.",
    }
    in_checker(field, wrong) { en: "{field} of a checker: {wrong}", pt: "{field} de um verificador: {wrong}" }
    too_many_globs(most) { en: "at most {most} globs.", pt: "no máximo {most} globs." }
    no_alternatives() {
        en: "a glob here has no {{a,b}}; write one glob for each: [\"*.a\", \"*.b\"].",
        pt: "um glob aqui não pode ter {{a,b}}; escreva um glob para cada: [\"*.a\", \"*.b\"].",
    }
    not_a_program() {
        en: "it begins with the name of a program in the PATH, or its absolute path.",
        pt: "ele começa com o nome de um programa do PATH ou com o caminho absoluto dele.",
    }
    command_too_long(words, bytes) {
        en: "at most {words} words, each of at most {bytes} bytes and without a NUL.",
        pt: "no máximo {words} palavras, cada uma com no máximo {bytes} bytes e sem NUL.",
    }
    reads_forms() {
        en: "reads of a checker is \"text\", for the new text on its stdin, or \"project:tsconfig.json\", for what is on disk \
             below a folder with this file.",
        pt: "reads de um verificador é \"text\", para o novo texto na entrada padrão, ou \"project:tsconfig.json\", para o que \
             está no disco abaixo de uma pasta com esse arquivo.",
    }
}

/// Names, of which one is meant: the first or the second.
pub(super) fn either(names: impl IntoIterator<Item = String>) -> Text {
    names.into_iter().map(Text::from).reduce(or).unwrap_or_default()
}
