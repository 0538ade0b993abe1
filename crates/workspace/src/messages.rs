//! The words of this crate for people and models, in the order of the modules that use them.
//!
//! What the system says stays as it says it: the name of an error in brackets is the same in every language. One mark within
//! text is English whatever the language is, because it is part of a string: that of a line that was cut.

// Paths: where they lead, and why one cannot be used.
toolfence_protocol::texts! { "path"
    path_empty() {
        en: "The path is empty. Give a path relative to the project root; \".\" is the root.",
        pt: "O caminho está vazio. Dê um caminho relativo à raiz do projeto; \".\" é a raiz.",
    }
    path_blank(path) {
        en: "The path is blank: {path} holds nothing that can be seen. Give a path, such as src/main.rs.",
        pt: "O caminho está em branco: {path} não contém nada visível. Dê um caminho, como src/main.rs.",
    }
    path_with_nul(path) {
        en: "The path {path} contains a NUL byte. Write it without.",
        pt: "O caminho {path} contém um byte NUL. Escreva-o sem esse byte.",
    }
    path_too_long(path, bytes, most) {
        en: "The path {path} has {bytes} bytes; {most} are the most.",
        pt: "O caminho {path} tem {bytes} bytes; o máximo são {most}.",
    }
    outside_root(path) {
        en: "{path} is outside the project root, where tools cannot go. Use a path relative to the root, such as \
             \"src/main.rs\".",
        pt: "{path} está fora da raiz do projeto, aonde as ferramentas não podem ir. Use um caminho relativo à raiz, como \
             \"src/main.rs\".",
    }
    led_out_by_link(path, link) {
        en: "{path} leads out of the project by the link {link}; tools do not follow it. Work with files below the root.",
        pt: "{path} leva para fora do projeto pelo link {link}; as ferramentas não o seguem. Trabalhe com arquivos abaixo da \
             raiz.",
    }
    open_root(path) {
        en: "open the project root {path}",
        pt: "abrir a raiz do projeto {path}",
    }
    root_gone(path) {
        en: "The project root {path} was removed while it was in use, so no tool can do anything. Tell the user.",
        pt: "A raiz do projeto {path} foi removida enquanto estava em uso, por isso nenhuma ferramenta pode fazer nada. Avise o \
             usuário.",
    }
    no_such_path(path) {
        en: "{path} does not exist. Use list_files to see what is there.",
        pt: "{path} não existe. Use list_files para ver o que há.",
    }
    no_such_path_but_close(path, close) {
        en: "{path} does not exist. Did you mean {close}?",
        pt: "{path} não existe. Você quis dizer {close}?",
    }
    through_a_file(path) {
        en: "{path} goes through a file as if it were a folder. Use list_files to see what is there.",
        pt: "{path} passa por um arquivo como se fosse uma pasta. Use list_files para ver o que há.",
    }
    through_a_file_but_close(path, close) {
        en: "{path} goes through a file as if it were a folder. Did you mean {close}?",
        pt: "{path} passa por um arquivo como se fosse uma pasta. Você quis dizer {close}?",
    }
    removed_meanwhile(path) {
        en: "{path} was removed at the same moment. Use list_files to see what is there.",
        pt: "{path} foi removido neste mesmo momento. Use list_files para ver o que há.",
    }
    changed_meanwhile(path) {
        en: "{path} was changed by somebody else at the same moment. Read it again first.",
        pt: "{path} foi alterado por outro processo neste mesmo momento. Leia-o de novo antes.",
    }
    access_refused(path, error) {
        en: "The system does not allow access to {path} ({error}).",
        pt: "O sistema não permite o acesso a {path} ({error}).",
    }
    links_in_a_circle(path) {
        en: "The links of {path} lead in a circle or are too many.",
        pt: "Os links de {path} formam um círculo ou são muitos.",
    }
    name_too_long(path) {
        en: "{path} has a name that is too long for the system.",
        pt: "{path} tem um nome longo demais para o sistema.",
    }
    socket_or_device(path) {
        en: "{path} is a socket or a device, not a file. Tools open only regular files.",
        pt: "{path} é um socket ou um dispositivo, não um arquivo. As ferramentas só abrem arquivos comuns.",
    }
    no_space(path) {
        en: "There is no space left to write {path}.",
        pt: "Não há mais espaço para escrever {path}.",
    }
    system_failed(path, error) {
        en: "The system failed on {path}: {error}.",
        pt: "O sistema falhou em {path}: {error}.",
    }
    reading_stopped(path) {
        en: "Reading {path} was stopped.",
        pt: "A leitura de {path} foi interrompida.",
    }
    blocked_by_rule(path, rule) {
        en: "{path} is blocked by the rule {rule}: it may hold secrets. Do without it, or ask the user for what you need.",
        pt: "{path} está bloqueado pela regra {rule}: pode conter segredos. Prossiga sem ele ou peça ao usuário o que você \
             precisa.",
    }
    link_of_blocked(path, other) {
        en: "{path} is a hard link of {other}, which is blocked. Do without it, or ask the user for what you need.",
        pt: "{path} é um hard link de {other}, que está bloqueado. Prossiga sem ele ou peça ao usuário o que você precisa.",
    }
    links_unknown(path, most) {
        en: "{path} has several names (hard links), and the project has more than {most} entries, too many to make sure that \
             none of them is blocked. Copy it to a new file and use that.",
        pt: "{path} tem vários nomes (hard links), e o projeto tem mais de {most} entradas, muitas para ter certeza de que \
             nenhum deles está bloqueado. Copie-o para um novo arquivo e use esse.",
    }
    protected_by_rule(path, rule) {
        en: "{path} is protected by the rule {rule}: tools may read it but never change it. Ask the user to do it.",
        pt: "{path} está protegido pela regra {rule}: as ferramentas podem lê-lo, mas nunca alterá-lo. Peça ao usuário que faça \
             isso.",
    }
    folder_not_file(path) {
        en: "{path} is a folder, not a file. Use list_files to see what is in it.",
        pt: "{path} é uma pasta, não um arquivo. Use list_files para ver o que há nela.",
    }
    not_a_file(path, kind) {
        en: "{path} is {kind}, not a file. Tools open only regular files.",
        pt: "{path} é {kind}, não um arquivo. As ferramentas só abrem arquivos comuns.",
    }
    not_a_folder(path, kind) {
        en: "{path} is {kind}, not a folder. Give a folder.",
        pt: "{path} é {kind}, não uma pasta. Dê uma pasta.",
    }
    a_file() { en: "a file", pt: "um arquivo" }
    a_folder() { en: "a folder", pt: "uma pasta" }
    a_link() { en: "a link", pt: "um link" }
    a_fifo() { en: "a FIFO (named pipe)", pt: "um FIFO (pipe nomeado)" }
    a_socket() { en: "a socket", pt: "um socket" }
    a_device() { en: "a device", pt: "um dispositivo" }
    of_unknown_kind() { en: "of an unknown kind", pt: "de um tipo desconhecido" }
    dangling_link(path, target) {
        en: "{path} is a link to {target}, which does not exist. Write to that path itself, or remove the link first.",
        pt: "{path} é um link para {target}, que não existe. Escreva nesse caminho diretamente ou remova o link antes.",
    }
    names_a_folder(path) {
        en: "{path} names a folder. Give the path of a file.",
        pt: "{path} indica uma pasta. Dê o caminho de um arquivo.",
    }
    loose_and_blank(path) {
        en: "{path} has white space at an end of a name, so it was not made. Give a name that is not blank.",
        pt: "{path} tem espaço em branco em uma ponta de um nome, por isso não foi criado. Dê um nome que não esteja em branco.",
    }
    loose_but_there(path, name) {
        en: "{path} has white space at an end of a name, so it was not made. Did you mean {name}, which exists?",
        pt: "{path} tem espaço em branco em uma ponta de um nome, por isso não foi criado. Você quis dizer {name}, que existe?",
    }
    loose(path, name) {
        en: "{path} has white space at an end of a name, so it was not made. Write it without: {name}.",
        pt: "{path} tem espaço em branco em uma ponta de um nome, por isso não foi criado. Escreva sem esse espaço: {name}.",
    }
}

// Reading, listing and searching.
toolfence_protocol::texts! { "file"
    utf16_text(path) {
        en: "{path} is UTF-16 text, not UTF-8. Use bash: iconv -f UTF-16 -t UTF-8 reads it, and iconv -f UTF-8 -t UTF-16 writes \
             it.",
        pt: "{path} é texto em UTF-16, não em UTF-8. Use bash: iconv -f UTF-16 -t UTF-8 para ler e iconv -f UTF-8 -t UTF-16 \
             para escrever.",
    }
    binary_file(path, bytes) {
        en: "{path} is a binary file ({bytes} bytes), not text. Use bash with file, xxd or strings to look into it.",
        pt: "{path} é um arquivo binário ({bytes} bytes), não texto. Use bash com file, xxd ou strings para examiná-lo.",
    }
    start_line_zero() {
        en: "start_line is 0; lines are counted from 1.",
        pt: "start_line é 0; as linhas são contadas a partir de 1.",
    }
    end_before_start(last, first) {
        en: "end_line {last} is before start_line {first}. Give a later end_line.",
        pt: "end_line {last} vem antes de start_line {first}. Dê um end_line posterior.",
    }
    start_beyond_end(path, lines, start) {
        en: "{path} has {lines} {lines|line|lines}; start_line {start} is beyond the end. Give a start_line in the file.",
        pt: "{path} tem {lines} {lines|linha|linhas}; start_line {start} passa do fim. Dê um start_line que esteja no arquivo.",
    }
    line_cut(line, shown, chars) {
        en: "{line} [line cut: {shown} of {chars} characters shown]",
        pt: "{line} [linha cortada: {shown} de {chars} caracteres mostrados]",
    }
    listing_stopped() {
        en: "The listing was stopped.",
        pt: "A listagem foi interrompida.",
    }
    two_globs() {
        en: "There is a glob in path and another in pattern. Give only one of them.",
        pt: "Há um glob em path e outro em pattern. Dê só um deles.",
    }
    glob_unreadable(glob, problem) {
        en: "The glob {glob} cannot be read: {problem}. Give a glob such as *.rs or src/**/*.{{ts,tsx}}.",
        pt: "O glob {glob} não pode ser lido: {problem}. Dê um glob como *.rs ou src/**/*.{{ts,tsx}}.",
    }
    glob_of_size(bytes, most) {
        en: "it has {bytes} bytes, 1 to {most} are wanted",
        pt: "ele tem {bytes} bytes; deveria ter de 1 a {most}",
    }
    search_stopped() {
        en: "The search was stopped.",
        pt: "A busca foi interrompida.",
    }
    pattern_of_size(bytes, most) {
        en: "The pattern has {bytes} bytes; 1 to {most} are wanted.",
        pt: "O padrão tem {bytes} bytes; deveria ter de 1 a {most}.",
    }
    text_not_searchable(pattern, problem) {
        en: "The text {pattern} cannot be searched: {problem}. A search is within lines.",
        pt: "O texto {pattern} não pode ser buscado: {problem}. A busca é feita dentro de cada linha.",
    }
    no_regular_expression(pattern, problem) {
        en: "The pattern {pattern} is not a regular expression that can be used: {problem}. Mend it, or set type to literal.",
        pt: "O padrão {pattern} não é uma expressão regular utilizável: {problem}. Corrija-o ou defina type como literal.",
    }
}

// Changes of files, and patches.
toolfence_protocol::texts! { "change"
    content_too_large(path, bytes, most) {
        en: "The content for {path} has {bytes} bytes; {most} are the most. Write it in parts, or with a command.",
        pt: "O conteúdo para {path} tem {bytes} bytes; o máximo são {most}. Escreva-o em partes ou com um comando.",
    }
    stale(path) {
        en: "{path} has changed since it was last read, so nothing was done: lines may have moved. Read it again, and put all \
             edits of one file into one call.",
        pt: "{path} mudou desde a última leitura, por isso nada foi feito: linhas podem ter mudado de lugar. Leia-o de novo e \
             ponha todas as edições de um arquivo em uma só chamada.",
    }
    old_content_not_kept(path) {
        en: "The old content of {path} was too long to be kept, so the change stays.",
        pt: "O conteúdo antigo de {path} era longo demais para ser guardado, por isso a alteração permanece.",
    }
    file_not_changed(path, problem) {
        en: "{path} was not changed: {problem}",
        pt: "{path} não foi alterado: {problem}",
    }
    too_large_to_edit(path, bytes, most) {
        en: "{path} has {bytes} bytes; {most} are the most that can be edited. Change it with a command such as sed.",
        pt: "{path} tem {bytes} bytes; podem ser editados no máximo {most}. Altere-o com um comando como sed.",
    }
    attributes_not_carried(path, most) {
        en: "{path} has extended attributes that cannot be read, or more than {most} MB of them, and would lose them. Change it \
             with a command that writes into the file.",
        pt: "{path} tem atributos estendidos que não podem ser lidos, ou mais de {most} MB deles, e os perderia. Altere-o com um \
             comando que escreva dentro do arquivo.",
    }
    read_only(path) {
        en: "{path} is read-only. Ask before changing its mode with chmod.",
        pt: "{path} é somente leitura. Pergunte antes de mudar o modo dele com chmod.",
    }
    attributes_not_copied() {
        en: "its extended attributes cannot be copied",
        pt: "os atributos estendidos dele não podem ser copiados",
    }
    #[cfg(target_os = "linux")]
    access_list() { en: "access control list", pt: "lista de controle de acesso" }
    #[cfg(target_os = "linux")]
    default_access_list() { en: "default access control list", pt: "lista de controle de acesso padrão" }
    #[cfg(target_os = "linux")]
    attribute(name) { en: "attribute {name}", pt: "atributo {name}" }
    not_put_back(path, error) {
        en: "{path} was changed before that and could not be put back ({error}).",
        pt: "{path} foi alterado antes disso e não pôde ser restaurado ({error}).",
    }
    nothing_changed() {
        en: "Nothing was changed.",
        pt: "Nada foi alterado.",
    }
    nothing_changed_because(problem) {
        en: "Nothing was changed: {problem}",
        pt: "Nada foi alterado: {problem}",
    }
    nothing_changed_refused(refusals) {
        en: "Nothing was changed.\n{refusals}",
        pt: "Nada foi alterado.\n{refusals}",
    }
    one_file_twice(path, other) {
        en: "{path} and {other} are the same file. Name it in one way.",
        pt: "{path} e {other} são o mesmo arquivo. Escreva o nome dele de um só modo.",
    }
    reached_by_link(path, real) {
        en: "{path} is reached by a link. Name {real} itself.",
        pt: "Chega-se a {path} por um link. Dê o próprio {real}.",
    }
    patch_of_many_files(most) {
        en: "The patch changes more than {most} files at once. Send it in parts.",
        pt: "O patch altera mais de {most} arquivos de uma vez. Envie-o em partes.",
    }
    patch_of_many_bytes(most) {
        en: "The patch changes more than {most} MB of files at once. Send it in parts.",
        pt: "O patch altera mais de {most} MB de arquivos de uma vez. Envie-o em partes.",
    }
}

// What the sandbox masks, and what commands left in repositories.
toolfence_protocol::texts! { "masks"
    folders_move() {
        en: "Folders of the project are moved all the time, so the sandbox cannot be set up and nothing was run. Wait until \
             whatever moves them has ended, and try again.",
        pt: "Pastas do projeto mudam de lugar o tempo todo, por isso o sandbox não pode ser montado e nada foi executado. Espere \
             terminar o que as move e tente de novo.",
    }
    walk_stopped() {
        en: "The walk over the project was stopped.",
        pt: "O exame do projeto foi interrompido.",
    }
    too_many(what) {
        en: "The project has too many {what} for the sandbox to be sure of it, so nothing was run. Ask the user to work in a \
             smaller folder.",
        pt: "O projeto tem um número excessivo de {what} para que o sandbox possa garantir algo, por isso nada foi executado. \
             Peça ao usuário que trabalhe em uma pasta menor.",
    }
    blocked_files() { en: "blocked files", pt: "arquivos bloqueados" }
    folders() { en: "folders", pt: "pastas" }
    files_for_other_names() {
        en: "files to find the other names of a blocked one",
        pt: "arquivos entre os quais procurar os outros nomes de um bloqueado",
    }
    not_looked_over() {
        en: "The project is too big to be looked over after the command. Look for new .git folders in it before you run git \
             there.",
        pt: "O projeto é grande demais para ser examinado depois do comando. Procure nele novas pastas .git antes de executar \
             git ali.",
    }
    set_aside(path, why, name) {
        en: "{path} appeared while the command ran. {why}, so it is now named {name}.",
        pt: "{path} apareceu durante a execução do comando. {why}; por isso agora se chama {name}.",
    }
    not_set_aside(path, why, error) {
        en: "{path} appeared while the command ran. {why}, and it could not be renamed ({error}). Do not run git there.",
        pt: "{path} apareceu durante a execução do comando. {why}, e não foi possível renomeá-lo ({error}). Não execute git ali.",
    }
    lets_git_run() {
        en: "It would let git run programs",
        pt: "Faria o git executar programas",
    }
    makes_a_repository() {
        en: "With it, git takes the folder for a repository and may run programs",
        pt: "Com ele, o git toma a pasta por um repositório e pode executar programas",
    }
    named_by_configuration() {
        en: "The configuration of git names it, so git would run or read it",
        pt: "A configuração do git o menciona, de modo que o git o executaria ou leria",
    }
}

// Lists of names.
toolfence_protocol::texts! { "list"
    and_more(names, count) {
        en: "{names} and {count} more",
        pt: "{names} e mais {count}",
    }
}

// Undo.
toolfence_protocol::texts! { "undo"
    name_session() {
        en: "name the session",
        pt: "dar um nome à sessão",
    }
    read_record(path) {
        en: "read {path}",
        pt: "ler {path}",
    }
    write_folder(folder) {
        en: "write {folder}, so nothing was changed",
        pt: "escrever {folder}, por isso nada foi alterado",
    }
    project_gone(path) {
        en: "the project {path} is gone",
        pt: "o projeto {path} não existe mais",
    }
    turn_under_way() {
        en: "a turn is under way; wait for its end, then undo it",
        pt: "há um turno em andamento; espere o fim dele e então desfaça-o",
    }
    another_records() {
        en: "nothing was changed: another program records in this project now",
        pt: "nada foi alterado: outro programa está registrando neste projeto agora",
    }
    not_recorded() {
        en: "Another program records what it changes in this project now, so what this turn changes cannot be undone.",
        pt: "Outro programa está registrando o que altera neste projeto agora, por isso o que este turno alterar não poderá ser \
             desfeito.",
    }
    not_all_recorded(folder, error) {
        en: "What this turn changes cannot all be undone: {folder} cannot be written ({error}). Changes go on without.",
        pt: "Nem tudo o que este turno altera poderá ser desfeito: não é possível escrever em {folder} ({error}). As alterações \
             continuam sem registro.",
    }
    too_much_changed(most) {
        en: "More than {most} MiB changed in this turn; the rest of it cannot be undone.",
        pt: "Mais de {most} MiB mudaram neste turno; o resto dele não poderá ser desfeito.",
    }
    cut_short() {
        en: "It was cut short; what was recorded until then can be undone.",
        pt: "Ele foi interrompido; o que foi registrado até ali pode ser desfeito.",
    }
    removed() { en: "removed", pt: "removido" }
    restored() { en: "restored", pt: "restaurado" }
    changed_back() { en: "changed back", pt: "alterado de volta" }
    attributes_changed_back() { en: "attributes changed back", pt: "atributos alterados de volta" }
    mode(mode) { en: "mode {mode}", pt: "modo {mode}" }
    but_refused(what, attributes) {
        en: "{what}, but the system refused its {attributes}",
        pt: "{what}, mas o sistema recusou: {attributes}",
    }
    name_done(name, what) { en: "{name}: {what}", pt: "{name}: {what}" }
    name_done_to_theirs(name, what) {
        en: "{name}: {what}, to what somebody else left there during the turn",
        pt: "{name}: {what}, ao que outro processo deixou ali durante o turno",
    }
    name_refused(name, why) { en: "{name}: {why}", pt: "{name}: {why}" }
    changed_since() {
        en: "it was changed since",
        pt: "foi alterado desde então",
    }
    not_empty() {
        en: "there is something else in it by now",
        pt: "agora há outra coisa dentro dele",
    }
    not_for_tools() {
        en: "tools may not change it",
        pt: "as ferramentas não podem alterá-lo",
    }
    no_name() {
        en: "that is no name below the root",
        pt: "esse não é um nome abaixo da raiz",
    }
    content_not_kept() {
        en: "its content was not kept: too large, or not to be read",
        pt: "o conteúdo dele não foi guardado: grande demais ou ilegível",
    }
    present_not_kept() {
        en: "what it is now cannot be kept; make room on the disk, or let it be written, and try again",
        pt: "não é possível guardar o que ele é agora; libere espaço no disco ou permita a escrita e tente de novo",
    }
    kept_is_lost() {
        en: "what was kept of it is gone or damaged",
        pt: "o que se guardou dele sumiu ou está danificado",
    }
    system_refuses(error) {
        en: "the system refuses: {error}",
        pt: "o sistema recusa: {error}",
    }
    kept_content_lost(name) {
        en: "What was kept of {name} is gone or damaged.\n",
        pt: "O que se guardou de {name} sumiu ou está danificado.\n",
    }
    differs_without_lines(name) {
        en: "{name} differs, and is no text or too large to compare.\n",
        pt: "{name} é diferente, e não é texto ou é grande demais para comparar.\n",
    }
    link_went(name, target) { en: "Link {name} to {target} went.\n", pt: "O link {name} para {target} foi removido.\n" }
    link_made(name, target) { en: "Link {name} to {target} was made.\n", pt: "O link {name} para {target} foi criado.\n" }
    folder_removed(name) { en: "Folder {name} was removed.\n", pt: "A pasta {name} foi removida.\n" }
    empty_file_made(name) { en: "Empty file {name} was made.\n", pt: "O arquivo vazio {name} foi criado.\n" }
    empty_file_removed(name) { en: "Empty file {name} was removed.\n", pt: "O arquivo vazio {name} foi removido.\n" }
    folder_made(name) { en: "Folder {name} was made.\n", pt: "A pasta {name} foi criada.\n" }
    folder_mode(name, old, new) {
        en: "Folder {name}: old mode {old}, new mode {new}\n",
        pt: "Pasta {name}: modo antigo {old}, modo novo {new}\n",
    }
    folder_attributes(name) { en: "Folder {name}: attributes changed\n", pt: "Pasta {name}: atributos alterados\n" }
    file_mode(name, old, new) {
        en: "{name}: old mode {old}, new mode {new}\n",
        pt: "{name}: modo antigo {old}, modo novo {new}\n",
    }
    file_attributes(name) { en: "{name}: attributes changed\n", pt: "{name}: atributos alterados\n" }
}
