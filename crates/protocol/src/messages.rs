//! The words of this crate for people and models, in the order of the modules that use them.
//!
//! The instructions are in `prompt/words.rs`: they are a page, not sentences about something that happened.

// Errors of the host.
crate::texts! { "error"
    cannot(doing, cause) {
        en: "cannot {doing}: {cause}",
        pt: "não foi possível {doing}: {cause}",
    }
}

// What the operating system says.
crate::texts! { "system"
    no_such_file() { en: "No such file or directory", pt: "arquivo ou diretório inexistente" }
    permission_denied() { en: "Permission denied", pt: "permissão negada" }
    operation_not_permitted() { en: "Operation not permitted", pt: "operação não permitida" }
    file_exists() { en: "File exists", pt: "o arquivo já existe" }
    not_a_directory() { en: "Not a directory", pt: "não é um diretório" }
    is_a_directory() { en: "Is a directory", pt: "é um diretório" }
    no_space_left() { en: "No space left on device", pt: "não há espaço disponível no dispositivo" }
    read_only_file_system() { en: "Read-only file system", pt: "sistema de arquivos somente para leitura" }
    too_many_open_files() { en: "Too many open files", pt: "arquivos abertos demais" }
    connection_refused() { en: "Connection refused", pt: "conexão recusada" }
    address_in_use() { en: "Address already in use", pt: "endereço já em uso" }
}

// Images.
crate::texts! { "image"
    no_image(name) {
        en: "{name} is no image that can be sent: it does not begin as a PNG, JPEG, GIF or WebP file does",
        pt: "{name} não é uma imagem que se possa enviar: não começa como um arquivo PNG, JPEG, GIF ou WebP",
    }
    image_too_large(name, most) {
        en: "the image {name} has more than {most} MiB; make it smaller and send that",
        pt: "a imagem {name} tem mais de {most} MiB; diminua a imagem e envie a menor",
    }
    image_not_passed_on(name) {
        en: "[The image {name} is not shown: only text is passed on here.]",
        pt: "[A imagem {name} não é mostrada: aqui só se passa texto adiante.]",
    }
}

// The table of limits.
crate::texts! { "limits"
    no_such_limit(key, hint) { en: "there is no limit {key}. {hint}", pt: "o limite {key} não existe. {hint}" }
    limits_are(list) { en: "The limits are {list}.", pt: "Os limites são {list}." }
    limit_out_of_range(key, least, most, number) {
        en: "{key} is a whole number from {least} to {most}; this is {number}.",
        pt: "{key} é um número inteiro de {least} a {most}; isto é {number}.",
    }
}

// Reading JSON.
crate::texts! { "json"
    duplicate_key(key) {
        en: "the key {key} stands twice; write it once",
        pt: "a chave {key} aparece duas vezes; escreva-a uma só vez",
    }
    comment_not_closed() {
        en: "the comment that begins here is not closed",
        pt: "o comentário que começa aqui não foi fechado",
    }
    comment_may_hold_members() {
        en: "this comment may hold members of the object; leave comments out",
        pt: "este comentário pode conter membros do objeto; não escreva comentários",
    }
    number_out_of_range() {
        en: "number out of range",
        pt: "número fora do intervalo",
    }
    string_in_backticks() {
        en: "a string stands in double quotes, not in backticks; write newlines in it as \\n",
        pt: "uma string fica entre aspas duplas, não entre crases; escreva as quebras de linha dela como \\n",
    }
    value_with_one_quote() {
        en: "this value has a quote at its end only; write it in double quotes",
        pt: "este valor só tem aspas no fim; escreva-o entre aspas duplas",
    }
    value_wanted() {
        en: "a value is wanted here: a string in double quotes, a number, true, false, null, {{ or [",
        pt: "falta um valor aqui: uma string entre aspas duplas, um número, true, false, null, {{ ou [",
    }
    html_escapes() {
        en: "the quotes are written as HTML has them; write \" and not &quot;",
        pt: "as aspas estão escritas como em HTML; escreva \" e não &quot;",
    }
    odd_mark(mark) {
        en: "{mark} only looks like a character of JSON; write the plain one of ASCII",
        pt: "{mark} só parece um caractere de JSON; escreva o caractere comum de ASCII",
    }
    doubled_braces() {
        en: "the brace is doubled, as templates have it; write each brace once",
        pt: "a chave {{ está duplicada, como em modelos de texto; escreva cada uma só uma vez",
    }
    ambiguous_backslashes() {
        en: "the backslashes of this string can be read in two ways; write each as \\\\",
        pt: "as barras invertidas desta string podem ser lidas de duas formas; escreva cada uma como \\\\",
    }
    lone_surrogate() {
        en: "a lone surrogate is half a character; write the character itself",
        pt: "um surrogate sozinho é meio caractere; escreva o próprio caractere",
    }
    comma_or_closer_wanted() {
        en: "a comma or a closing bracket is wanted; inside a string write quotes as \\\" and backslashes as \\\\, \
             or give a long text as a verbatim body",
        pt: "falta uma vírgula ou um fechamento (}} ou ]); dentro de uma string, escreva aspas como \\\" e barras invertidas como \\\\, \
             ou dê um texto longo como corpo literal",
    }
    closes_nothing(bracket) {
        en: "{bracket} closes nothing that is open here",
        pt: "{bracket} não fecha nada que esteja aberto aqui",
    }
    closer_missing_before() {
        en: "a closing bracket is missing before this one",
        pt: "falta um fechamento (}} ou ]) antes deste",
    }
    key_outside_of_object() {
        en: "a key stands outside of an object",
        pt: "há uma chave fora de um objeto",
    }
    quoted_key_wanted() {
        en: "a key in double quotes is wanted",
        pt: "falta uma chave entre aspas duplas",
    }
    key_with_one_quote() {
        en: "the key has a quote at its end only; write it in double quotes",
        pt: "a chave só tem aspas no fim; escreva-a entre aspas duplas",
    }
    colon_wanted() {
        en: "a colon is wanted after the key; inside a string write quotes as \\\"",
        pt: "faltam dois-pontos depois da chave; dentro de uma string, escreva aspas como \\\"",
    }
    ellipsis() {
        en: "an ellipsis stands for what was left out; write everything",
        pt: "as reticências estão no lugar do que foi omitido; escreva tudo",
    }
    joined_strings() {
        en: "JSON does not join strings with a plus sign; write one string",
        pt: "JSON não junta strings com o sinal de mais; escreva uma só string",
    }
    string_end_uncertain() {
        en: "it is not certain where the string around this quote ends; inside a string write quotes as \\\", \
             or give the text as a verbatim body",
        pt: "não é certo onde termina a string em volta destas aspas; dentro de uma string, escreva aspas como \\\", \
             ou dê o texto como corpo literal",
    }
    ambiguous_quote() {
        en: "the quote here can be meant in two ways; inside a string write quotes as \\\", or give the text as a verbatim body",
        pt: "as aspas aqui podem ser entendidas de duas formas; dentro de uma string, escreva aspas como \\\", \
             ou dê o texto como corpo literal",
    }
    string_quotes_differ() {
        en: "the quotes around this string do not match; write both as \"",
        pt: "as aspas em volta desta string não combinam; escreva ambas como \"",
    }
    triple_quotes_misplaced() {
        en: "three quotes end the string here, but what follows does not fit",
        pt: "três aspas terminam a string aqui, mas o que vem depois não se encaixa",
    }
    key_quotes_differ() {
        en: "the quotes around this key do not match; write both as \"",
        pt: "as aspas em volta desta chave não combinam; escreva ambas como \"",
    }
    string_not_closed() {
        en: "the string that begins here is not closed",
        pt: "a string que começa aqui não foi fechada",
    }
    object_not_finished() {
        en: "the object is not finished; write it to its last closing bracket",
        pt: "o objeto não está completo; escreva-o até o último fechamento",
    }
    nested_deeper_than(most) {
        en: "nested deeper than {most}; flatten it",
        pt: "há mais de {most} níveis de aninhamento; use menos níveis",
    }
    too_many_closers() {
        en: "there are more closing brackets than opening ones; count them",
        pt: "há mais fechamentos do que aberturas; conte-os",
    }
    no_object() {
        en: "there is no JSON object; write one object with name and args",
        pt: "não há nenhum objeto JSON; escreva um objeto com name e args",
    }
    bracket_outside_of_object(bracket) {
        en: "{bracket} stands outside of the object; remove it",
        pt: "{bracket} está fora do objeto; remova-o",
    }
    quote_outside_of_object() {
        en: "a quote stands outside of the object; inside a string write quotes as \\\"",
        pt: "há aspas fora do objeto; dentro de uma string, escreva aspas como \\\"",
    }
    backtick_outside_of_object() {
        en: "a backtick stands outside of the object; write the object alone, and the closing fence on a line of its own",
        pt: "há uma crase fora do objeto; escreva só o objeto e, em uma linha própria, a cerca de fechamento",
    }
    escaped_quotes() {
        en: "the quotes of the object are escaped; write the object as plain JSON, not as the text of a string",
        pt: "as aspas do objeto têm escape; escreva o objeto como JSON comum, não como o texto de uma string",
    }
}

// Reading a tool block.
crate::texts! { "parse"
    block_unreadable(line, column, problem) {
        en: "This block could not be read, at line {line}, column {column} of your reply: {problem}",
        pt: "Não foi possível ler este bloco, na linha {line}, coluna {column} da sua resposta: {problem}",
    }
    block_too_large(most) {
        en: "the block is larger than {most} bytes; write less at once",
        pt: "o bloco tem mais de {most} bytes; escreva menos de cada vez",
    }
    text_behind_bodies() {
        en: "after the last verbatim body only the closing fence may follow",
        pt: "depois do último corpo literal só pode vir a cerca de fechamento",
    }
    no_bodies_any_more() {
        en: "no verbatim body is read after three broken blocks; write the text as a JSON string",
        pt: "depois de três blocos quebrados nenhum corpo literal é lido; escreva o texto como uma string JSON",
    }
    body_holds_its_tag(tag) {
        en: "the verbatim body holds <<{tag} itself, so its end is not certain; choose another TAG",
        pt: "o próprio corpo literal contém <<{tag}, então o fim dele não é certo; escolha outra TAG",
    }
    body_unevenly_indented() {
        en: "the fence is indented and the lines of the verbatim body are not indented alike; write all of it \
             from the beginning of the line",
        pt: "a cerca está recuada e as linhas do corpo literal não têm o mesmo recuo; escreva tudo \
             a partir do início da linha",
    }
    body_end_missing(tag) {
        en: "the line {tag} that ends the verbatim body is missing; write {tag} alone on a line, then the closing fence",
        pt: "falta a linha {tag} que termina o corpo literal; escreva {tag} sozinha em uma linha e depois a cerca de fechamento",
    }
    string_open_at_end() {
        en: "a string is not closed; write newlines in strings as \\n, or use a verbatim body",
        pt: "uma string não foi fechada; escreva as quebras de linha em strings como \\n ou use um corpo literal",
    }
    block_empty() {
        en: "the block is empty; write one object with name and args",
        pt: "o bloco está vazio; escreva um objeto com name e args",
    }
    nested_too_deep() {
        en: "the JSON is nested too deep; flatten it",
        pt: "o JSON tem níveis demais de aninhamento; use menos níveis",
    }
    tag_not_announced(tool, form) {
        en: "{tool}: a verbatim body needs \"<<TAG\" as the whole string in an object that is exact JSON, with TAG in capitals, \
             without blanks or quotes; write {form}",
        pt: "{tool}: um corpo literal exige \"<<TAG\" como a string inteira em um objeto que seja JSON exato, com TAG em \
             maiúsculas, sem espaços nem aspas; escreva {form}",
    }
    the_body_form(argument, tag) {
        en: "\"{argument}\": \"<<{tag}\" in the object, then the closing braces, the text on the lines below them, \
             {tag} alone on the last line, and then the closing fence on a line of its own",
        pt: "\"{argument}\": \"<<{tag}\" no objeto, depois as chaves de fechamento, o texto nas linhas abaixo delas, \
             {tag} sozinha na última linha e por fim a cerca de fechamento em uma linha própria",
    }
    tag_mistyped(argument, form) {
        en: "{argument}: this is nearly the announcement of a verbatim body, and no body follows; write {form}. \
             Where the text is meant literally, write its first < as \\u003c",
        pt: "{argument}: isto é quase o anúncio de um corpo literal, e nenhum corpo vem depois; escreva {form}. \
             Se o texto for literal, escreva o primeiro < dele como \\u003c",
    }
    body_in_string(argument, form) {
        en: "{argument}: a verbatim body stands below the object, not inside the string; write {form}. \
             Where the text is meant literally, write its first < as \\u003c",
        pt: "{argument}: um corpo literal fica abaixo do objeto, não dentro da string; escreva {form}. \
             Se o texto for literal, escreva o primeiro < dele como \\u003c",
    }
    body_in_dialect(argument) {
        en: "{argument}: a verbatim body can only stand in a block with the info word `tool`; write the whole text here, or use \
             such a block",
        pt: "{argument}: um corpo literal só pode ficar em um bloco com a palavra `tool`; escreva o texto inteiro aqui ou use um \
             bloco assim",
    }
    body_before_closers(tag, form) {
        en: "the verbatim body {tag} stands before the closing braces of the object; write {form}",
        pt: "o corpo literal {tag} está antes das chaves de fechamento do objeto; escreva {form}",
    }
    body_behind_fence(tag, form) {
        en: "the closing fence came before the verbatim body {tag}, which belongs inside the block; write {form}. \
             For a text that begins with such a fence, open the block with a longer one",
        pt: "a cerca de fechamento veio antes do corpo literal {tag}, que fica dentro do bloco; escreva {form}. \
             Para um texto que começa com uma cerca assim, abra o bloco com uma cerca mais longa",
    }
    object_on_fence_line() {
        en: "the object stands on the line of the opening fence, where it is not read; begin it on the next line",
        pt: "o objeto está na linha da cerca de abertura, onde não é lido; comece-o na linha seguinte",
    }
    no_call_object() {
        en: "there is no JSON object in this block; write {{\"name\": \"...\", \"args\": {{...}}}}",
        pt: "não há nenhum objeto JSON neste bloco; escreva {{\"name\": \"...\", \"args\": {{...}}}}",
    }
    array_without_call() {
        en: "an array holds no call; write one object with name and args",
        pt: "um array não contém nenhuma chamada; escreva um objeto com name e args",
    }
    parameter_given_twice(key) {
        en: "the argument {key} is given twice; give it once",
        pt: "o argumento {key} foi dado duas vezes; dê-o uma só vez",
    }
    parameter_wanted(tag) {
        en: "{tag} or the closing tag of the call is wanted here",
        pt: "falta aqui {tag} ou a tag que fecha a chamada",
    }
    python_call_unreadable() {
        en: "this is no call with literal arguments, such as name(key=\"text\", count=3)",
        pt: "isto não é uma chamada com argumentos literais, como name(key=\"text\", count=3)",
    }
    python_f_string() {
        en: "an f-string is not computed; write the text itself",
        pt: "uma f-string não é calculada; escreva o próprio texto",
    }
    python_argument_without_name() {
        en: "an argument stands without its name; write name=value",
        pt: "um argumento está sem nome; escreva nome=valor",
    }
    gemma_call_unreadable() {
        en: "a comma or a closing bracket is wanted between arguments; write key:value",
        pt: "falta uma vírgula ou um fechamento entre os argumentos; escreva chave:valor",
    }
    dialect_unreadable(token) {
        en: "what stands here is not what a call behind {token} has there; write the whole call again",
        pt: "o que está aqui não é o que uma chamada depois de {token} tem neste lugar; escreva a chamada inteira de novo",
    }
    dialect_too_large(most) {
        en: "the call is longer than {most} bytes; split the work",
        pt: "a chamada passa de {most} bytes; divida o trabalho",
    }
    call_not_an_object() {
        en: "a call is an object with name and args",
        pt: "uma chamada é um objeto com name e args",
    }
    name_not_a_string() {
        en: "name must be a string: the name of a tool",
        pt: "name precisa ser uma string: o nome de uma ferramenta",
    }
    name_missing() {
        en: "name is missing; write {{\"name\": \"...\", \"args\": {{...}}}}",
        pt: "falta name; escreva {{\"name\": \"...\", \"args\": {{...}}}}",
    }
    named_twice(one, other) {
        en: "{one} and {other} name two tools; write one name, in name",
        pt: "{one} e {other} dão o nome de duas ferramentas; escreva um só nome, em name",
    }
    call_beside_call(name, wrapper) {
        en: "{name} names a tool and {wrapper} holds a call of its own; write one call with name and args",
        pt: "{name} dá o nome de uma ferramenta e {wrapper} contém outra chamada; escreva uma chamada com name e args",
    }
    name_empty() {
        en: "name is empty; give the name of a tool",
        pt: "name está vazio; dê o nome de uma ferramenta",
    }
    args_not_an_object(key) {
        en: "{key} must be an object: the arguments by name",
        pt: "{key} precisa ser um objeto: os argumentos por nome",
    }
    args_string_unreadable(problem) {
        en: "args is a string that holds no JSON object ({problem}); write args as an object",
        pt: "args é uma string que não contém um objeto JSON ({problem}); escreva args como um objeto",
    }
    args_string_of_several() {
        en: "args is a string that holds more than one JSON object; write args as an object",
        pt: "args é uma string que contém mais de um objeto JSON; escreva args como um objeto",
    }
    args_given_twice(key) {
        en: "the arguments are given twice, under {key} too; write them once, in args",
        pt: "os argumentos foram dados duas vezes, também em {key}; escreva-os uma só vez, em args",
    }
    argument_beside_args(key) {
        en: "{key} is given twice, in args and beside it; write it once, in args",
        pt: "{key} foi dado duas vezes, em args e ao lado dele; escreva-o uma só vez, em args",
    }
    list_item_ended() {
        en: "the list item ended before the block; indent every line of it alike",
        pt: "o item da lista terminou antes do bloco; recue todas as linhas dele por igual",
    }
    too_many_calls(most) {
        en: "more than {most} calls in one reply; make fewer at once",
        pt: "há mais de {most} chamadas em uma resposta; faça menos de cada vez",
    }
    not_as_taught(repair) {
        en: "not written as taught ({repair}); write it exactly so",
        pt: "não foi escrito como ensinado ({repair}); escreva exatamente assim",
    }
    fence_inside_open_text() {
        en: "the closing fence came inside a string or a verbatim body that was still open; \
             write newlines in strings as \\n, or end the verbatim body with its TAG",
        pt: "a cerca de fechamento veio dentro de uma string ou de um corpo literal ainda aberto; \
             escreva as quebras de linha em strings como \\n ou termine o corpo literal com a TAG dele",
    }
}

// Results that do not fit.
crate::texts! { "format"
    part_of(part, count) {
        en: "Part {part} of {count}. The rest follows; wait for it.",
        pt: "Parte {part} de {count}. O resto vem a seguir; aguarde.",
    }
    output_cut(lost) {
        en: "[TRUNCATED: {lost} bytes left out here to keep the message small. Ask for less at a time.]",
        pt: "[TRUNCADO: {lost} bytes omitidos aqui para a mensagem ficar curta. Peça menos de cada vez.]",
    }
    left_out(bytes, lines) {
        en: "[... {bytes} bytes ({lines} {lines|line|lines}) left out ...]",
        pt: "[... {bytes} bytes ({lines} {lines|linha|linhas}) omitidos ...]",
    }
}

// Tools and their arguments.
crate::texts! { "tool"
    no_such_tool(name) { en: "There is no tool {name}.", pt: "Não existe a ferramenta {name}." }
    no_such_argument(owner, name) {
        en: "{owner} has no argument {name}.",
        pt: "{owner} não tem o argumento {name}.",
    }
    did_you_mean(close) { en: "Did you mean {close}?", pt: "Você quis dizer {close}?" }
    tools_are(list) { en: "The tools are: {list}.", pt: "As ferramentas são: {list}." }
    arguments_are(list) { en: "Its arguments are: {list}.", pt: "Os argumentos são: {list}." }
    argument_given_twice(owner, argument, written) {
        en: "{owner}: {argument} is given twice, once as {written}. Give it once.",
        pt: "{owner}: {argument} foi dado duas vezes, uma delas como {written}. Dê uma só vez.",
    }
    argument_missing(owner, argument, wanted) {
        en: "{owner}: {argument} is missing. Give {wanted}.",
        pt: "{owner}: falta {argument}. Dê {wanted}.",
    }
    path_blank(owner, argument) {
        en: "The path is blank: {argument} of {owner} holds nothing that can be seen. Give a path, such as src/main.rs.",
        pt: "O caminho está em branco: {argument} de {owner} não contém nada visível. Dê um caminho, como src/main.rs.",
    }
    control_character(owner, argument, shown, escaped) {
        en: "{owner}: {argument} is {shown}, which holds a control character. If you mean a backslash, escape it: write {escaped}.",
        pt: "{owner}: {argument} é {shown}, que contém um caractere de controle. Se a intenção é uma barra invertida, \
             escape-a: escreva {escaped}.",
    }
    argument_is(owner, argument, got, wanted) {
        en: "{owner}: {argument} is {got}. Give {wanted}.",
        pt: "{owner}: {argument} é {got}. Dê {wanted}.",
    }
    object_wanted(place, got) {
        en: "{place} is {got}, an object is wanted.",
        pt: "{place} é {got}; deveria ser um objeto.",
    }
    the_null() { en: "null", pt: "null" }
    the_boolean(value) { en: "the boolean {value}", pt: "o booleano {value}" }
    the_number(value) { en: "the number {value}", pt: "o número {value}" }
    the_string(value) { en: "the string {value}", pt: "a string {value}" }
    the_array(value) { en: "the array {value}", pt: "o array {value}" }
    the_object(value) { en: "the object {value}", pt: "o objeto {value}" }
    a_path() { en: "a path as a string without NUL", pt: "um caminho como string sem NUL" }
    a_command() { en: "a shell command as a string without NUL", pt: "um comando de shell como string sem NUL" }
    a_patch() { en: "a patch as a string", pt: "um patch como string" }
    a_string() { en: "a string", pt: "uma string" }
    a_whole_number() { en: "a whole number", pt: "um número inteiro" }
    a_whole_number_of_at_least(least) {
        en: "a whole number of at least {least}",
        pt: "um número inteiro de no mínimo {least}",
    }
    a_whole_number_between(least, most) {
        en: "a whole number from {least} to {most}",
        pt: "um número inteiro de {least} a {most}",
    }
    a_flag() { en: "true or false", pt: "true ou false" }
    one_of(words) { en: "one of {words}", pt: "um destes: {words}" }
    an_array_of_strings() { en: "an array of strings", pt: "um array de strings" }
    an_array_of_objects(fields) {
        en: "an array of objects with {fields}",
        pt: "um array de objetos com {fields}",
    }
    any_value() { en: "any value", pt: "qualquer valor" }
    no_value() { en: "no value at all", pt: "nenhum valor" }
    exactly(value) { en: "exactly {value}", pt: "exatamente {value}" }
    or(one, other) { en: "{one} or {other}", pt: "{one} ou {other}" }
    a_number() { en: "a number", pt: "um número" }
    between(least, most) { en: " from {least} to {most}", pt: " de {least} a {most}" }
    at_least(least) { en: " of at least {least}", pt: " de no mínimo {least}" }
    at_most(most) { en: " of at most {most}", pt: " de no máximo {most}" }
    greater_than(bound) { en: " greater than {bound}", pt: " maior que {bound}" }
    less_than(bound) { en: " less than {bound}", pt: " menor que {bound}" }
    a_multiple_of(step) { en: ", a multiple of {step}", pt: ", múltiplo de {step}" }
    a_date() { en: "a date as a string, such as 2024-05-17", pt: "uma data como string, por exemplo 2024-05-17" }
    a_moment() {
        en: "a date and time as a string, such as 2024-05-17T09:30:00Z",
        pt: "uma data e hora como string, por exemplo 2024-05-17T09:30:00Z",
    }
    a_time() { en: "a time as a string, such as 09:30:00Z", pt: "uma hora como string, por exemplo 09:30:00Z" }
    a_duration() {
        en: "a duration as a string, such as PT15M",
        pt: "uma duração como string, por exemplo PT15M",
    }
    an_address() { en: "an email address as a string", pt: "um endereço de e-mail como string" }
    a_url() { en: "a URL as a string", pt: "um URL como string" }
    a_uuid() { en: "a UUID as a string", pt: "um UUID como string" }
    a_string_of_format(format) { en: "a string of the format {format}", pt: "uma string no formato {format}" }
    at_least_characters(least) {
        en: " of at least {least} {least|character|characters}",
        pt: " de no mínimo {least} {least|caractere|caracteres}",
    }
    at_most_characters(most) {
        en: " of at most {most} {most|character|characters}",
        pt: " de no máximo {most} {most|caractere|caracteres}",
    }
    exactly_characters(length) {
        en: " of exactly {length} {length|character|characters}",
        pt: " de exatamente {length} {length|caractere|caracteres}",
    }
    characters_between(least, most) {
        en: " of {least} to {most} characters",
        pt: " de {least} a {most} caracteres",
    }
    matching(pattern) {
        en: " that matches the regular expression `{pattern}`",
        pt: " que corresponde à expressão regular `{pattern}`",
    }
    an_array() { en: "an array", pt: "um array" }
    each_element(element) {
        en: " in which each element is {element}",
        pt: " em que cada elemento é {element}",
    }
    in_this_order(elements) {
        en: " that holds, in this order: {elements}",
        pt: " que contém, nesta ordem: {elements}",
    }
    at_least_elements(least) {
        en: " with at least {least} {least|element|elements}",
        pt: " com no mínimo {least} {least|elemento|elementos}",
    }
    at_most_elements(most) {
        en: " with at most {most} {most|element|elements}",
        pt: " com no máximo {most} {most|elemento|elementos}",
    }
    exactly_elements(count) {
        en: " with exactly {count} {count|element|elements}",
        pt: " com exatamente {count} {count|elemento|elementos}",
    }
    elements_between(least, most) {
        en: " with {least} to {most} elements",
        pt: " com {least} a {most} elementos",
    }
    none_twice() { en: ", none of them twice", pt: ", sem repetições" }
    an_object() { en: "an object", pt: "um objeto" }
    an_object_with(fields) { en: "an object with {fields}", pt: "um objeto com {fields}" }
    an_object_of(value) {
        en: "an object whose every value is {value}",
        pt: "um objeto em que cada valor é {value}",
    }
    by_default(value) { en: "; absent means {value}", pt: "; se faltar, vale {value}" }
    may_be_absent() { en: "; may be absent", pt: "; pode faltar" }
    like_the_one_above(name) {
        en: "built like the object that `{name}` is above",
        pt: "com a mesma forma do objeto que `{name}` é acima",
    }
    cannot_be_checked(owner) {
        en: "{owner}: the arguments are too large or too deeply nested to be checked. Send less at once.",
        pt: "{owner}: os argumentos são grandes ou aninhados demais para serem verificados. Envie menos de cada vez.",
    }
    breaks_a_rule(owner, argument, got, wanted) {
        en: "{owner}: {argument} is {got}, which its schema does not allow. Give {wanted}.",
        pt: "{owner}: {argument} é {got}, o que o esquema não permite. Dê {wanted}.",
    }
    the_arguments() { en: "the object of arguments", pt: "o objeto de argumentos" }
}
