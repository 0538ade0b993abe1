//! The words of this crate for people and models, in the order of the modules that use them.
//!
//! What a program or a checker printed stays as it is. `TRUNCATED` and what follows it are for models, which know the word.

// A tool as a whole.
toolfence_protocol::texts! { "tool"
    quoted_paths() {
        en: "[A path in double quotes is written with C escapes (\\n is a line feed, \\351 a byte in octal). In a call give \
             the characters themselves, without the quotes. A name with a control character has to be changed by a command \
             first.]",
        pt: "[Um caminho entre aspas duplas está escrito com escapes de C (\\n é uma quebra de linha, \\351 um byte em octal). \
             Numa chamada, dê os próprios caracteres, sem as aspas. Um nome com caractere de controle precisa antes ser mudado \
             por um comando.]",
    }
    unnameable_paths() {
        en: "[A path with bytes that are not UTF-8 cannot be opened by a tool. Rename it with a command first, or ask the \
             user to.]",
        pt: "[Um caminho com bytes que não são UTF-8 não pode ser aberto por uma ferramenta. Renomeie-o antes com um comando \
             ou peça isso ao usuário.]",
    }
}

// read_file.
toolfence_protocol::texts! { "read"
    file_empty() { en: "[The file is empty.]", pt: "[O arquivo está vazio.]" }
    lines_left_out(shown, left, next) {
        en: "[TRUNCATED: showing first {shown} lines, {left} more available]\n[Go on with start_line={next}.]",
        pt: "[TRUNCADO: mostradas as primeiras {shown} linhas, há mais {left}]\n[Continue com start_line={next}.]",
    }
    at_least(count) { en: "at least {count}", pt: "pelo menos {count}" }
    not_utf8() {
        en: "[Some bytes are not UTF-8 text; they are shown as \u{FFFD}.]",
        pt: "[Alguns bytes não são texto UTF-8; aparecem como \u{FFFD}.]",
    }
    crlf_shown_as_lf() {
        en: "[Lines end with CRLF; they are shown as if with LF.]",
        pt: "[As linhas terminam com CRLF; são mostradas como se fosse LF.]",
    }
    bom_not_shown() {
        en: "[The file begins with a byte order mark, which is not shown.]",
        pt: "[O arquivo começa com uma marca de ordem de bytes, que não é mostrada.]",
    }
}

// list_files.
toolfence_protocol::texts! { "list"
    entry_blocked(path) { en: "{path}  (blocked)\n", pt: "{path}  (bloqueado)\n" }
    entry_unnameable(path) {
        en: "{path}  (cannot be opened: the name is not UTF-8)\n",
        pt: "{path}  (não pode ser aberto: o nome não é UTF-8)\n",
    }
    entry_of_size(path, bytes) { en: "{path}  {bytes} {bytes|byte|bytes}\n", pt: "{path}  {bytes} {bytes|byte|bytes}\n" }
    entry_irregular(path) { en: "{path}  (not a regular file)\n", pt: "{path}  (não é um arquivo comum)\n" }
    nothing_to_show() {
        en: "[Nothing to show: the folder is empty, or everything in it is hidden, ignored or unmatched.]",
        pt: "[Nada a mostrar: a pasta está vazia, ou tudo nela está oculto, é ignorado ou não corresponde ao padrão.]",
    }
    first_items(shown) {
        en: "[TRUNCATED: first {shown} items]\n[Give a deeper path, a pattern or max_depth for the others.]",
        pt: "[TRUNCADO: os primeiros {shown} itens]\n[Para os outros, dê um caminho mais fundo, um padrão ou max_depth.]",
    }
    tree_too_big_to_walk() {
        en: "[The tree is too big to be walked to its end; give a deeper path.]",
        pt: "[A árvore é grande demais para ser percorrida até o fim; dê um caminho mais fundo.]",
    }
    folders_unreadable(count) {
        en: "[{count} {count|folder|folders} could not be read.]",
        pt: "[Não foi possível ler {count} {count|pasta|pastas}.]",
    }
}

// search.
toolfence_protocol::texts! { "search"
    no_matches(files) {
        en: "[No matches in {files} {files|file|files}.]",
        pt: "[Nenhuma ocorrência em {files} {files|arquivo|arquivos}.]",
    }
    limit_reached(limit) {
        en: "[TRUNCATED: reached limit {limit} before completing search]\n[Give a narrower pattern, path or glob for the \
             others.]",
        pt: "[TRUNCADO: o limite de {limit} foi atingido antes do fim da busca]\n[Para as outras, dê um padrão, caminho ou glob \
             mais restrito.]",
    }
    tree_too_big_to_search() {
        en: "[The tree is too big to be searched to its end; give a deeper path.]",
        pt: "[A árvore é grande demais para a busca chegar ao fim; dê um caminho mais fundo.]",
    }
    binary_not_searched(names) {
        en: "[Binary files, not searched: {names}.]",
        pt: "[Arquivos binários, fora da busca: {names}.]",
    }
    and_more(names, count) { en: "{names} and {count} more", pt: "{names} e mais {count}" }
    blocked_not_searched(count) {
        en: "[Files not searched: {count} blocked.]",
        pt: "[Arquivos fora da busca: {count} {count|bloqueado|bloqueados}.]",
    }
    unreadable_not_searched(count) {
        en: "[Files not searched: {count} unreadable.]",
        pt: "[Arquivos fora da busca: {count} {count|ilegível|ilegíveis}.]",
    }
    long_lines_not_searched(count) {
        en: "[Files not searched: {count} with a line of more than 8 MB.]",
        pt: "[Arquivos fora da busca: {count} com uma linha de mais de 8 MB.]",
    }
}

// Changes of files.
toolfence_protocol::texts! { "change"
    dry_run() { en: "Dry run: nothing was written. ", pt: "Simulação: nada foi gravado. " }
    same_with_that(name) {
        en: "{name} is the same with that; there is nothing to write.\n",
        pt: "{name} fica igual com isso; não há nada a gravar.\n",
    }
    changed(name, added, removed) {
        en: "{name} changed (+{added} -{removed} lines).\n",
        pt: "{name} foi alterado (+{added} -{removed} linhas).\n",
    }
    changed_from(name, added, removed, line) {
        en: "{name} changed (+{added} -{removed} lines, from line {line}).\n",
        pt: "{name} foi alterado (+{added} -{removed} linhas, a partir da linha {line}).\n",
    }
    would_change(name, added, removed) {
        en: "{name} would change (+{added} -{removed} lines).\n",
        pt: "{name} seria alterado (+{added} -{removed} linhas).\n",
    }
    would_change_from(name, added, removed, line) {
        en: "{name} would change (+{added} -{removed} lines, from line {line}).\n",
        pt: "{name} seria alterado (+{added} -{removed} linhas, a partir da linha {line}).\n",
    }
    kept_crlf() {
        en: "The CRLF line endings of the old file were kept.",
        pt: "As quebras de linha CRLF do arquivo antigo foram mantidas.",
    }
    kept_bom() {
        en: "The byte order mark of the old file was kept.",
        pt: "A marca de ordem de bytes do arquivo antigo foi mantida.",
    }
    had_other_names(count) {
        en: "The file had {count} other {count|name|names} (hard links); there the old content remains.",
        pt: "O arquivo tinha mais {count} {count|nome|nomes} (hard links); ali permanece o conteúdo antigo.",
    }
    attributes_refused(lost) {
        en: "The system refused its {lost}; where that kept people out, its mode does now. Tell the user.",
        pt: "O sistema recusou: {lost}; onde isso impedia o acesso de outros, agora o modo impede. Avise o usuário.",
    }
    no_diff() {
        en: "No diff: the change is too big for one, or the old file was no text.",
        pt: "Sem diff: a alteração é grande demais para um, ou o arquivo antigo não era texto.",
    }
}

// write_file.
toolfence_protocol::texts! { "write"
    file_created(name, bytes, lines) {
        en: "Created {name} ({bytes} {bytes|byte|bytes}, {lines} {lines|line|lines}).\n",
        pt: "{name} foi criado ({bytes} {bytes|byte|bytes}, {lines} {lines|linha|linhas}).\n",
    }
    file_written(name, bytes, added, removed) {
        en: "Wrote {name} ({bytes} {bytes|byte|bytes}, +{added} -{removed} lines).\n",
        pt: "{name} foi gravado ({bytes} {bytes|byte|bytes}, +{added} -{removed} linhas).\n",
    }
    has_this_content(name, bytes) {
        en: "{name} has this content already ({bytes} {bytes|byte|bytes}); nothing was written.\n",
        pt: "{name} já tem este conteúdo ({bytes} {bytes|byte|bytes}); nada foi gravado.\n",
    }
}

// apply_patch.
toolfence_protocol::texts! { "patch_tool"
    patch_applies() {
        en: "Dry run: nothing was written. The patch applies:\n",
        pt: "Simulação: nada foi gravado. O patch se aplica:\n",
    }
    created(name) { en: "Created {name}\n", pt: "Criado {name}\n" }
    deleted(name) { en: "Deleted {name}\n", pt: "Excluído {name}\n" }
    renamed(old, new) { en: "Renamed {old} to {new}\n", pt: "Renomeado {old} para {new}\n" }
    copied(old, new) { en: "Copied {old} to {new}\n", pt: "Copiado {old} para {new}\n" }
    patched(name) { en: "Changed {name}\n", pt: "Alterado {name}\n" }
    hunk(number, line, fuzz) {
        en: "  hunk {number}: line {line}, fuzz {fuzz}\n",
        pt: "  hunk {number}: linha {line}, fuzz {fuzz}\n",
    }
    hunk_below(number, line, fuzz, lines) {
        en: "  hunk {number}: line {line}, fuzz {fuzz}, {lines} {lines|line|lines} below what @@ says\n",
        pt: "  hunk {number}: linha {line}, fuzz {fuzz}, {lines} {lines|linha|linhas} abaixo do que diz @@\n",
    }
    hunk_above(number, line, fuzz, lines) {
        en: "  hunk {number}: line {line}, fuzz {fuzz}, {lines} {lines|line|lines} above what @@ says\n",
        pt: "  hunk {number}: linha {line}, fuzz {fuzz}, {lines} {lines|linha|linhas} acima do que diz @@\n",
    }
    name_had_other_names(name) {
        en: "[{name} had other names (hard links); there the old content remains.]\n",
        pt: "[{name} tinha outros nomes (hard links); ali permanece o conteúdo antigo.]\n",
    }
}

// Checks around a change.
toolfence_protocol::texts! { "check"
    would_not_be_changed(name) {
        en: "Dry run: {name} would not be changed",
        pt: "Simulação: {name} não seria alterado",
    }
    nothing_would_be_changed() {
        en: "Dry run: nothing would be changed",
        pt: "Simulação: nada seria alterado",
    }
    was_not_changed(name) { en: "{name} was not changed", pt: "{name} não foi alterado" }
    nothing_was_changed() { en: "Nothing was changed", pt: "Nada foi alterado" }
    and_files(error, count) {
        en: "{error} (and {count} {count|file|files} more)",
        pt: "{error} (e mais {count} {count|arquivo|arquivos})",
    }
    by_program(program) { en: "by {program}", pt: "por {program}" }
    as_language(language) { en: "as {language}", pt: "como {language}" }
    change_stays(why, broke) {
        en: "The change was made and stays, for it could not be taken back: {why} What it broke: {broke}",
        pt: "A alteração foi feita e permanece, pois não foi possível desfazê-la: {why} O que ela quebrou: {broke}",
    }
    and_more_errors(count) { en: "... and {count} more.\n", pt: "... e mais {count}.\n" }
    as_it_would_have_been() { en: "As it would have been:\n", pt: "Como teria ficado:\n" }
    as_it_is() { en: "As it is:\n", pt: "Como está:\n" }
    is_not_there(name) { en: "As it is: there is no {name}.\n", pt: "Como está: {name} não existe.\n" }
    errors_elsewhere(count) {
        en: "[{count} new {count|error|errors} in other files, because of this change:]\n",
        pt: "[{count} {count|erro novo|erros novos} em outros arquivos, por causa desta alteração:]\n",
    }
    not_checked(path, program, why) {
        en: "{path} was not checked by {program}: {why}.",
        pt: "{path} não foi verificado por {program}: {why}.",
    }
    not_checked_for(path, program, sentence) {
        en: "{path} was not checked by {program}: {sentence}",
        pt: "{path} não foi verificado por {program}: {sentence}",
    }
    reads_the_disk() {
        en: "it reads what is on disk, and this is a dry run",
        pt: "ele lê o que está no disco, e isto é uma simulação",
    }
    nothing_holds_it() {
        en: "no sandbox is available here that would hold it",
        pt: "não há aqui um sandbox que o contenha",
    }
    took_too_long(seconds) {
        en: "it took longer than {seconds} seconds",
        pt: "ele levou mais de {seconds} segundos",
    }
    used_too_much_memory() {
        en: "it used more memory than sandbox.memory lets it have",
        pt: "ele usou mais memória do que sandbox.memory permite",
    }
    wrote_too_much() {
        en: "it wrote more than anybody would read",
        pt: "ele escreveu mais do que alguém leria",
    }
    checker_ended(status, line) {
        en: "it ended with status {status}: {line}",
        pt: "ele terminou com status {status}: {line}",
    }
    printed_nothing() { en: "it printed nothing", pt: "ele não imprimiu nada" }
}

// Checks of the whole project.
toolfence_protocol::texts! { "project"
    not_held() {
        en: "No sandbox is available here that would hold it, and it may run what you wrote.",
        pt: "Não há aqui um sandbox que o contenha, e ele pode executar o que você escreveu.",
    }
    did_not_end(seconds) {
        en: "It did not end within {seconds} s and was ended.",
        pt: "Não terminou em {seconds} s e foi encerrado.",
    }
    not_asked(line, why) {
        en: "`{line}` could not be asked: {why}\n",
        pt: "`{line}` não pôde ser consultado: {why}\n",
    }
    nothing_asked() { en: "Nothing could be asked, as before.\n", pt: "Nada pôde ser consultado, como antes.\n" }
    both(one, two) { en: "{one} and {two}", pt: "{one} e {two}" }
    finds_new_faults(commands, count) {
        en: "{commands} {count|finds|find} what was not wrong before the changes of this reply. Mend it before you go on.",
        pt: "{commands} {count|encontra|encontram} o que não estava errado antes das alterações desta resposta. Corrija antes de \
             continuar.",
    }
    passes(line) { en: "`{line}` passes.", pt: "`{line}` passa." }
    passes_again(line) { en: "`{line}` passes again.", pt: "`{line}` voltou a passar." }
    finds_nothing_new(line) { en: "`{line}` finds nothing new.", pt: "`{line}` não encontra nada de novo." }
    finds_errors(line, count) {
        en: "`{line}` finds {count} {count|error|errors}.",
        pt: "`{line}` encontra {count} {count|erro|erros}.",
    }
    finds_new_errors(line, count) {
        en: "`{line}` finds {count} new {count|error|errors}.",
        pt: "`{line}` encontra {count} {count|erro novo|erros novos}.",
    }
    there_before(count) {
        en: "{count} {count|error was|errors were} there before.",
        pt: "{count} {count|erro já estava|erros já estavam} lá antes.",
    }
    not_asked_before() {
        en: "Whether they are new is not known: it was not asked before.",
        pt: "Não se sabe se são novos: o comando não foi consultado antes.",
    }
    printed_more() {
        en: "[It printed more than was read: there may be more errors.]\n",
        pt: "[Ele imprimiu mais do que foi lido: pode haver outros erros.]\n",
    }
    ends_as_before(line, status) {
        en: "`{line}` ends with status {status}, as before.",
        pt: "`{line}` termina com status {status}, como antes.",
    }
    ends_with(line, status) { en: "`{line}` ends with status {status}.", pt: "`{line}` termina com status {status}." }
    passed_before() { en: "It passed before.", pt: "Antes passava." }
}

// `plan`.
toolfence_protocol::texts! { "tools"
    plan_kept(done, count) {
        en: "The plan is kept: {done} of {count} {count|step is|steps are} done. Send all its steps again when one changes.",
        pt: "O plano foi guardado: {done} de {count} {count|passo feito|passos feitos}. Envie todos os passos de novo quando um mudar.",
    }
}

toolfence_protocol::texts! { "commands"
    no_background_outside() {
        en: "Nothing could promise that this job ends with the session, outside of the sandbox. Run the command in the \
             foreground with a timeout.",
        pt: "Fora do sandbox, nada poderia garantir que esta tarefa termine com a sessão. Execute o comando em primeiro plano \
             com um timeout.",
    }
    no_background_without_sandbox() {
        en: "Nothing could promise that this job ends with the session, because no sandbox is available here. Run the command \
             in the foreground with a timeout.",
        pt: "Nada poderia garantir que esta tarefa termine com a sessão, porque não há sandbox disponível aqui. Execute o \
             comando em primeiro plano com um timeout.",
    }
    no_python() {
        en: "There is no python3 in the PATH of the commands. Ask the user to install it, or do it with bash.",
        pt: "Não há python3 no PATH dos comandos. Peça ao usuário que o instale ou faça isso com bash.",
    }
    input_wanted() {
        en: "To write, an input is wanted: the text for the job's stdin, with its line end.",
        pt: "Para write é preciso um input: o texto para o stdin da tarefa, com a quebra de linha.",
    }
    no_stdin(id) {
        en: "Job {id} was not started with background: true, so its stdin is empty. Stop it and start it again so.",
        pt: "A tarefa {id} não foi iniciada com background: true, por isso o stdin dela está vazio. Encerre-a e inicie-a de novo \
             assim.",
    }
    does_not_read(bytes) {
        en: "It does not read: only {bytes} bytes of the input were taken.",
        pt: "Ela não está lendo: só {bytes} bytes do input foram aceitos.",
    }
    input_not_written(error) {
        en: "The input could not be written: {error}.",
        pt: "Não foi possível escrever o input: {error}.",
    }
    does_not_end(id) {
        en: "Job {id} was told to end and does not. Poll it later.",
        pt: "A tarefa {id} recebeu ordem de terminar e não termina. Consulte-a mais tarde com poll.",
    }
    job_ended(id) { en: "Job {id} has ended.", pt: "A tarefa {id} terminou." }
}
