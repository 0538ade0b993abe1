//! The words of this crate for the model and the host, in the order of the modules that use them.

// Reading a patch.
toolfence_protocol::texts! { "patch"
    in_line_of_patch(line, problem) {
        en: "line {line} of the patch: {problem}",
        pt: "linha {line} do patch: {problem}",
    }
    longer_than(megabytes) {
        en: "the patch has more than {megabytes} MB. Send it in parts.",
        pt: "o patch tem mais de {megabytes} MB. Envie-o em partes.",
    }
    no_patch() {
        en: "no patch is in it. Give a unified diff with \"--- a/path\", \"+++ b/path\" and \"@@\" lines, or a text between \
             \"*** Begin Patch\" and \"*** End Patch\".",
        pt: "não há nenhum patch aqui. Envie um diff unificado com linhas \"--- a/path\", \"+++ b/path\" e \"@@\", ou um texto \
             entre \"*** Begin Patch\" e \"*** End Patch\".",
    }
    begin_missing() {
        en: "\"*** Begin Patch\" is missing before this line.",
        pt: "falta \"*** Begin Patch\" antes desta linha.",
    }
    end_missing() {
        en: "there is no \"*** End Patch\", so the patch was cut off. Send all of it again.",
        pt: "não há \"*** End Patch\", portanto o patch foi cortado. Envie-o inteiro de novo.",
    }
    mark_wanted() {
        en: "here \"*** Add File: path\", \"*** Update File: path\" or \"*** Delete File: path\" is wanted.",
        pt: "aqui falta \"*** Add File: path\", \"*** Update File: path\" ou \"*** Delete File: path\".",
    }
    change_outside_of_marks() {
        en: "a change outside of \"*** Begin Patch\" and \"*** End Patch\". Put all changes in one form.",
        pt: "uma alteração fora de \"*** Begin Patch\" e \"*** End Patch\". Ponha todas as alterações em uma só forma.",
    }
    mark_misspelt() {
        en: "this is nearly a mark. Write \"*** Add File: path\", \"*** Update File: path\", \"*** Delete File: path\" or \"*** Move \
             to: path\", or leave the line out.",
        pt: "isto é quase uma marca. Escreva \"*** Add File: path\", \"*** Update File: path\", \"*** Delete File: path\" ou \
             \"*** Move to: path\", ou omita a linha.",
    }
    deleted_file_has_no_lines() {
        en: "a deleted file has no lines in this form.",
        pt: "neste formato, um arquivo excluído não tem linhas.",
    }
    too_many_headings(most) {
        en: "more than {most} headings above one hunk. Keep the nearest.",
        pt: "mais de {most} títulos acima de um só hunk. Mantenha os mais próximos.",
    }
    hunk_without_signs() {
        en: "a hunk without lines. Lines begin with a blank, + or -.",
        pt: "um hunk sem linhas. As linhas começam com um espaço, + ou -.",
    }
    hunk_without_lines() {
        en: "a hunk without lines. Is the patch complete?",
        pt: "um hunk sem linhas. O patch está completo?",
    }
    line_outside_of_hunks() {
        en: "a line that adds or removes something stands outside of any hunk. Correct the numbers behind the @@ above, put a \
             blank before every line of context, or put \"--- a/path\", \"+++ b/path\" and \"@@\" before the line.",
        pt: "uma linha que acrescenta ou remove algo está fora de qualquer hunk. Corrija os números depois do @@ acima, ponha um \
             espaço antes de cada linha de contexto ou ponha \"--- a/path\", \"+++ b/path\" e \"@@\" antes da linha.",
    }
    head_halved() {
        en: "half of the head of a file. Put \"--- a/path\" and \"+++ b/path\" directly below each other.",
        pt: "metade do cabeçalho de um arquivo. Ponha \"--- a/path\" e \"+++ b/path\" diretamente um abaixo do outro.",
    }
    diff_is_indented() {
        en: "a diff whose lines are indented. Write it from the beginning of the line.",
        pt: "um diff cujas linhas estão indentadas. Escreva-o a partir do começo da linha.",
    }
    git_line_missing() {
        en: "lines of git about a file without the \"diff --git\" line before them, or in another form.",
        pt: "linhas do git sobre um arquivo sem a linha \"diff --git\" antes delas, ou em outra forma.",
    }
    diff_of_merge() {
        en: "this is the diff of a merge, with several old sides. Give a unified diff.",
        pt: "este é o diff de um merge, com vários lados antigos. Envie um diff unificado.",
    }
    context_diff() {
        en: "this is a context diff. Give a unified diff (diff -u).",
        pt: "este é um diff de contexto. Envie um diff unificado (diff -u).",
    }
    hunk_without_file() {
        en: "a hunk without the name of its file. Put \"--- a/path\" and \"+++ b/path\" before it.",
        pt: "um hunk sem o nome do seu arquivo. Ponha \"--- a/path\" e \"+++ b/path\" antes dele.",
    }
    binary_file() {
        en: "a binary file, which a text patch cannot change. Leave it out, or make the file with a command.",
        pt: "um arquivo binário, que um patch de texto não pode alterar. Omita-o ou crie o arquivo com um comando.",
    }
    neither_side_has_name() {
        en: "neither side of this change has the name of a file.",
        pt: "nenhum dos lados desta alteração tem o nome de um arquivo.",
    }
    head_contradicts_itself() {
        en: "the lines before the hunks contradict each other about whether the file is new, deleted, renamed or copied. Keep those that say what is meant.",
        pt: "as linhas antes dos hunks se contradizem sobre se o arquivo é novo, excluído, renomeado ou copiado. Mantenha as que dizem o que se pretende.",
    }
    names_contradict() {
        en: "the names of the file in this head are not the same. Give the same two names in \"diff --git\", \"---\", \"+++\" and the lines of git, \
             or leave the \"diff --git\" line out.",
        pt: "os nomes do arquivo neste cabeçalho não são os mesmos. Use os mesmos dois nomes em \"diff --git\", \"---\", \"+++\" e nas linhas \
             do git, ou omita a linha \"diff --git\".",
    }
    other_file_begins() {
        en: "another file begins here, but the head is incomplete. Put \"--- a/path\" and \"+++ b/path\" directly below each other, or leave the \
             line out.",
        pt: "outro arquivo começa aqui, mas o cabeçalho está incompleto. Ponha \"--- a/path\" e \"+++ b/path\" diretamente um abaixo do outro, ou \
             omita a linha.",
    }
    one_name_missing() {
        en: "one of the two names of a file that is renamed or copied is missing.",
        pt: "falta um dos dois nomes de um arquivo que é renomeado ou copiado.",
    }
    names_unreadable() {
        en: "the names of the file cannot be read. Add \"---\" and \"+++\" lines.",
        pt: "não é possível ler os nomes do arquivo. Acrescente linhas \"---\" e \"+++\".",
    }
    symbolic_link() {
        en: "a symbolic link, which a patch may not make, change or remove.",
        pt: "um link simbólico, que um patch não pode criar, alterar nem remover.",
    }
    submodule() {
        en: "a submodule, which a patch cannot change.",
        pt: "um submódulo, que um patch não pode alterar.",
    }
    mode_of_no_file(mode) {
        en: "the mode {mode} is none of a file; 100644 and 100755 are.",
        pt: "o modo {mode} não é de um arquivo; 100644 e 100755 são.",
    }
    new_file_only_adds(name) {
        en: "{name} is a new file, so every line of it begins with +.",
        pt: "{name} é um arquivo novo, portanto cada linha dele começa com +.",
    }
    others_would_be_there() {
        en: "Others would have to be there before.",
        pt: "Outras teriam de já existir antes.",
    }
    deleted_file_only_removes(name) {
        en: "{name} is deleted, so every line of it begins with -.",
        pt: "{name} é excluído, portanto cada linha dele começa com -.",
    }
    no_hunks(name) {
        en: "nothing is said about what to change in {name}: there are no hunks.",
        pt: "nada é dito sobre o que alterar em {name}: não há hunks.",
    }
}

// Names of files.
toolfence_protocol::texts! { "patch"
    name_not_utf8() {
        en: "the name of a file is not UTF-8. Rename it with a command first.",
        pt: "o nome de um arquivo não é UTF-8. Renomeie-o antes com um comando.",
    }
    name_too_long_or_nul() {
        en: "the name of a file is too long or has a NUL byte.",
        pt: "o nome de um arquivo é longo demais ou tem um byte NUL.",
    }
    no_path_below_root(name) {
        en: "{name} is no path of a file below the root.",
        pt: "{name} não é um caminho de arquivo abaixo da raiz.",
    }
    leads_upwards(name) {
        en: "{name} leads upwards by \"..\".",
        pt: "{name} sobe de pasta com \"..\".",
    }
    names_no_file(name) {
        en: "{name} names no file.",
        pt: "{name} não nomeia nenhum arquivo.",
    }
    absolute_outside_root(name) {
        en: "{name} is an absolute path outside of the root.",
        pt: "{name} é um caminho absoluto fora da raiz.",
    }
    give_relative_paths() {
        en: "Give paths relative to the project root.",
        pt: "Use caminhos relativos à raiz do projeto.",
    }
}

// Why a hunk has no place: what follows its number.
toolfence_protocol::texts! { "patch"
    hunk(number, line, why) {
        en: "hunk {number} (line {line} of the patch) {why}",
        pt: "hunk {number} (linha {line} do patch) {why}",
    }
    no_line_found() {
        en: "was not found: none of its old lines is in the file. Is it the right file? Read it and write the hunk again.",
        pt: "não foi encontrado: nenhuma das suas linhas antigas está no arquivo. É o arquivo certo? Leia-o e escreva o hunk de \
             novo.",
    }
    not_found(explanation) {
        en: "was not found. {explanation}",
        pt: "não foi encontrado. {explanation}",
    }
    lone_returns() {
        en: "The file ends its lines with carriage returns alone, and only a line feed ends a line here. Give it line feeds with \
             a command first.",
        pt: "O arquivo termina as linhas só com retornos de carro (CR), e aqui só uma quebra de linha (LF) termina uma linha. \
             Antes, troque-os por quebras de linha com um comando.",
    }
    several_places(total, lines) {
        en: "fits in {total} places: lines {lines}. Give more lines of context, or the right line number behind @@ -.",
        pt: "encaixa em {total} lugares: linhas {lines}. Dê mais linhas de contexto ou o número de linha certo depois de @@ -.",
    }
    and_more(lines, more) {
        en: "{lines} and {more} more",
        pt: "{lines} e mais {more}",
    }
    already_applied(line) {
        en: "is already applied: its new lines are at line {line}. Leave it out.",
        pt: "já está aplicado: as suas linhas novas estão na linha {line}. Omita-o.",
    }
    overlaps(other, line) {
        en: "overlaps hunk {other} at line {line}. Make one hunk of both.",
        pt: "se sobrepõe ao hunk {other} na linha {line}. Faça um só hunk dos dois.",
    }
    not_at_end(line, lines) {
        en: "must stand at the end of the file, but its lines are at line {line} of {lines}. Read the end of the file again.",
        pt: "tem de ficar no fim do arquivo, mas as suas linhas estão na linha {line} de {lines}. Leia de novo o fim do arquivo.",
    }
    above_heading(line, heading) {
        en: "has its only place at line {line}, above its heading at line {heading}. Correct the heading or the lines.",
        pt: "só tem lugar na linha {line}, acima do seu título na linha {heading}. Corrija o título ou as linhas.",
    }
    indented_otherwise(line) {
        en: "stands at line {line}, but its lines are indented otherwise than the file's, and not in one way that tells how the \
             added lines are to be: as written or moved. Read that part of the file again and copy its lines exactly: one \
             blank, + or - in front, then the line with all of its own indentation.",
        pt: "fica na linha {line}, mas a indentação das suas linhas difere da do arquivo, e não de um modo que diga como devem ficar \
             as linhas acrescentadas: como foram escritas ou deslocadas. Leia de novo essa parte do arquivo e copie as \
             linhas exatamente: um espaço, + ou - na frente e depois a linha com toda a sua própria indentação.",
    }
    behind_end(lines) {
        en: "adds lines behind the end: the file has {lines} {lines|line|lines}. Correct the number behind @@ -.",
        pt: "acrescenta linhas depois do fim: o arquivo tem {lines} {lines|linha|linhas}. Corrija o número depois de @@ -.",
    }
    no_place() {
        en: "only adds lines, and nothing says where. Give lines of context, a line number or a heading.",
        pt: "só acrescenta linhas, e nada diz onde. Dê linhas de contexto, um número de linha ou um título.",
    }
    too_much_work() {
        en: "was not looked for: too many hunks for so long a file. Send fewer at once.",
        pt: "não foi procurado: há hunks demais para um arquivo tão longo. Envie menos hunks por vez.",
    }
    closest(line, matching, of, wanted, found, advice) {
        en: "It fits best at line {line}, where {matching} of its {of} old lines are; the first that differs:\n  \
             patch: {wanted}\n{found}\n{advice}",
        pt: "O melhor encaixe é na linha {line} (linhas antigas presentes: {matching} de {of}); a primeira que difere:\n  \
             patch: {wanted}\n{found}\n{advice}",
    }
    line_of_file(line, text) {
        en: "  file, line {line}: {text}",
        pt: "  arquivo, linha {line}: {text}",
    }
    no_line_of_file() {
        en: "  file: has no such line",
        pt: "  arquivo: não tem essa linha",
    }
    copy_lines_exactly() {
        en: "Read that part of the file again and copy its lines exactly.",
        pt: "Leia de novo essa parte do arquivo e copie as linhas exatamente.",
    }
    empty_line() {
        en: "(an empty line)",
        pt: "(uma linha vazia)",
    }
}

// Why a part of a patch does not apply to its file.
toolfence_protocol::texts! { "patch"
    no_such_file(path) {
        en: "{path} does not exist. Correct the name, or make it with --- /dev/null.",
        pt: "{path} não existe. Corrija o nome ou crie o arquivo com --- /dev/null.",
    }
    file_exists(path) {
        en: "{path} exists already. Change it with hunks, or choose another name.",
        pt: "{path} já existe. Altere-o com hunks ou escolha outro nome.",
    }
    file_exists_with_content(path) {
        en: "{path} exists already with this content: the patch is already applied there.",
        pt: "{path} já existe com este conteúdo: ali o patch já está aplicado.",
    }
    other_content(path) {
        en: "{path} is to be deleted but holds something else than the patch says. Read it again, or use *** Delete File.",
        pt: "{path} deve ser excluído, mas contém algo diferente do que diz o patch. Leia-o de novo ou use *** Delete File.",
    }
    no_change(path) {
        en: "{path} would be the same afterwards: nothing is changed by the hunks.",
        pt: "{path} ficaria igual: os hunks não alteram nada.",
    }
    two_readings(name, other) {
        en: "the patch may mean {name} or {other}, and both exist. Write names without prefixes, with the same name in \"---\" and \"+++\", or \
             with a/ and b/ before it and a \"diff --git\" line.",
        pt: "o patch pode se referir a {name} ou a {other}, e ambos existem. Escreva o mesmo nome sem prefixo em \"---\" e \"+++\", ou com a/ e b/ \
             antes dele e uma linha \"diff --git\".",
    }
    two_names(old, new) {
        en: "{old} exists and {new} does not. To rename a file, put \"rename from\" and \"rename to\" lines below diff --git, or \
             use *** Move to.",
        pt: "{old} existe e {new} não. Para renomear um arquivo, ponha linhas \"rename from\" e \"rename to\" abaixo de \
             diff --git ou use *** Move to.",
    }
}

// Ranges of lines.
toolfence_protocol::texts! { "edit"
    no_edits() {
        en: "edits is empty. Give at least one edit.",
        pt: "edits está vazio. Dê pelo menos uma edição.",
    }
    starts_at_zero(edit) {
        en: "edit {edit} has start_line 0; lines are counted from 1.",
        pt: "a edição {edit} tem start_line 0; as linhas são contadas a partir de 1.",
    }
    ends_before_start(edit, start, end, before) {
        en: "edit {edit} ends at line {end}, before its start_line {start}. Give a later end_line, or {before} to insert before \
             line {start}.",
        pt: "a edição {edit} termina na linha {end}, antes do seu start_line {start}. Dê um end_line maior, ou {before} para \
             inserir antes da linha {start}.",
    }
    beyond_last_line(edit, start, end, lines, next) {
        en: "edit {edit} is of lines {start} to {end}, but the last line of the file is {lines}. Read it again; to append, give \
             start_line {next} and end_line {lines}.",
        pt: "a edição {edit} é das linhas {start} a {end}, mas a última linha do arquivo é a {lines}. Leia-o de novo; para \
             acrescentar no fim, dê start_line {next} e end_line {lines}.",
    }
    edits_meet(one, other, line) {
        en: "edits {one} and {other} meet at line {line}. Make one edit of both.",
        pt: "as edições {one} e {other} se encontram na linha {line}. Faça uma só edição das duas.",
    }
    text_too_long() {
        en: "the text is too long.",
        pt: "o texto é longo demais.",
    }
}

// Passages.
toolfence_protocol::texts! { "passage"
    old_is_empty() {
        en: "old is empty. Give the passage that shall be replaced.",
        pt: "old está vazio. Dê o trecho que deve ser trocado.",
    }
    old_is_new() {
        en: "old and new are the same, so there is nothing to replace. (Ends of lines are kept as the file has them.)",
        pt: "old e new são iguais, portanto não há nada a trocar. (Os fins de linha ficam como o arquivo os tem.)",
    }
    occurs_often(total, lines) {
        en: "old occurs {total} times, at lines {lines}; it must occur exactly once. Give more of the lines around the one that \
             is meant.",
        pt: "old ocorre {total} vezes, nas linhas {lines}; tem de ocorrer exatamente uma vez. Inclua mais linhas em volta da \
             que interessa.",
    }
    does_not_occur() {
        en: "old does not occur in the file.",
        pt: "old não ocorre no arquivo.",
    }
    new_is_there(line) {
        en: "new is there already, at line {line}: perhaps nothing is left to do.",
        pt: "new já está lá, na linha {line}: talvez não falte fazer nada.",
    }
    nothing_is_like_it() {
        en: "Nothing in the file is like it. Is it the right file? Read it and copy the passage exactly.",
        pt: "Nada no arquivo se parece com ele. É o arquivo certo? Leia-o e copie o trecho exatamente.",
    }
    nearest(line, matching, of, wanted_at, wanted, found) {
        en: "It is most like what begins at line {line}, where {matching} of its {of} {of|line is|lines are} the same; the first \
             that differs:\n  old, line {wanted_at}: {wanted}\n{found}\nRead that part of the file again and copy it exactly.",
        pt: "O mais parecido começa na linha {line} (linhas iguais: {matching} de {of}); a primeira que difere:\n  \
             old, linha {wanted_at}: {wanted}\n{found}\nLeia de novo essa parte do arquivo e copie-a exatamente.",
    }
}
