//! The words of this crate for people. What another program or the system says is quoted as it is.

#[cfg(target_os = "linux")]
toolfence_protocol::texts! { "sandbox"
    switched_off() { en: "The sandbox is switched off.", pt: "O sandbox está desligado." }
    cannot_be_set_up(why) {
        en: "No sandbox can be set up here: {why}.",
        pt: "Não é possível montar um sandbox aqui: {why}.",
    }
    root_holds_home() {
        en: "the project root holds the home folder or the whole system",
        pt: "a raiz do projeto contém a pasta pessoal ou o sistema inteiro",
    }
    cannot_share(path, why) { en: "{path} cannot be shared: {why}", pt: "{path} não pode ser compartilhado: {why}" }
    shared_holds_too_much() {
        en: "it is in the project, or holds the project or the home folder",
        pt: "está no projeto, ou contém o projeto ou a pasta pessoal",
    }
    shared_is_too_large() {
        en: "it holds too many files, or too many that are blocked, to hide these; name folders in it",
        pt: "contém arquivos demais, ou bloqueados demais, para que estes sejam escondidos; indique pastas dentro dele",
    }
    shared_is_closed(folder, why) {
        en: "blocked files in {folder} cannot be hidden: {why}",
        pt: "não é possível esconder os arquivos bloqueados em {folder}: {why}",
    }
    no_helper() {
        en: "There is no helper: let main begin with toolfence::enter_if_asked(), or install toolfence-sandbox or coder in \
             the PATH.",
        pt: "Não há programa auxiliar: faça main começar com toolfence::enter_if_asked(), ou instale toolfence-sandbox ou \
             coder no PATH.",
    }
    sandbox_of_namespaces() { en: "A sandbox of namespaces", pt: "Um sandbox de namespaces" }
    sandbox_of_bubblewrap() { en: "A sandbox of bubblewrap", pt: "Um sandbox do bubblewrap" }
    sandbox_of_landlock() { en: "A sandbox of Landlock", pt: "Um sandbox do Landlock" }
    a_container() { en: "A container", pt: "Um contêiner" }
    a_sandbox() { en: "A sandbox", pt: "Um sandbox" }
    cannot_be_raised(kind, why) { en: "{kind} cannot be raised: {why}.", pt: "{kind} não pode ser montado: {why}." }
    no_plan() { en: "there is no plan for it", pt: "não há um plano para ele" }
    no_answer() { en: "the helper gave no answer", pt: "o programa auxiliar não respondeu" }
    no_bubblewrap() { en: "there is no bwrap on this system", pt: "não há bwrap neste sistema" }
    no_container_wanted() { en: "none was asked for", pt: "nenhum foi pedido" }
    no_engine(name) { en: "there is no {name} in the PATH", pt: "não há {name} no PATH" }
    engine_says(name, said) { en: "{name} says: {said}", pt: "{name} diz: {said}" }
    engine_says_nothing_in_time(seconds) { en: "nothing within {seconds} s", pt: "nada em {seconds} s" }
    engine_failed() { en: "it failed without a word", pt: "falhou sem dizer nada" }
}

#[cfg(not(target_os = "linux"))]
toolfence_protocol::texts! { "sandbox"
    linux_only() { en: "There is a sandbox on Linux only.", pt: "Só há sandbox no Linux." }
}

// What the helper tells its host: the barriers, and why one could not be set up.
toolfence_protocol::texts! { "sandbox"
    failed(barrier, cause) { en: "{barrier}: {cause}", pt: "{barrier}: {cause}" }
    failed_at(barrier, at, cause) { en: "{barrier} at {at}: {cause}", pt: "{barrier} em {at}: {cause}" }
    plan() { en: "the plan", pt: "o plano" }
    helper() { en: "the helper", pt: "o programa auxiliar" }
    input() { en: "the input of the command", pt: "a entrada do comando" }
    limits() { en: "the limits", pt: "os limites" }
    namespaces() { en: "the namespaces", pt: "os namespaces" }
    tree() { en: "the new tree of files", pt: "a nova árvore de arquivos" }
    guards() { en: "the guards of the repository", pt: "as proteções do repositório" }
    masks() { en: "the masks over blocked files", pt: "as máscaras sobre os arquivos bloqueados" }
    removable_masks() { en: "the removable masks", pt: "as máscaras removíveis" }
    first_process() { en: "the first process", pt: "o primeiro processo" }
    session() { en: "a session of its own", pt: "uma sessão própria" }
    capabilities() { en: "the drop of all capabilities", pt: "a renúncia a todas as capabilities" }
    system_calls() { en: "the filter of system calls", pt: "o filtro de chamadas de sistema" }
    folder() { en: "the folder", pt: "a pasta" }
    command() { en: "the command", pt: "o comando" }
    command_watch() { en: "the watch over the command", pt: "a vigilância do comando" }
    host_watch() { en: "the watch over the host", pt: "a vigilância do processo que o iniciou" }
    supervision() { en: "the supervision of the command", pt: "a supervisão do comando" }
    container() { en: "the container", pt: "o contêiner" }
    moved() { en: "it was moved away", pt: "foi movido para outro lugar" }
    replaced() { en: "it was put in the place of another", pt: "foi posto no lugar de outro" }
    other_root() { en: "the project is not the folder it was", pt: "o projeto não é mais a mesma pasta" }
    nobody_came() { en: "nobody came", pt: "ninguém veio" }
    host_gone() { en: "the host is gone", pt: "o processo que o iniciou terminou" }
    its_engine_failed() { en: "its engine failed", pt: "o programa de contêineres falhou" }
    no_number() { en: "the new process has no number", pt: "o novo processo não tem número" }
    too_long() { en: "it is too long", pt: "é longo demais" }
    threads(count) {
        en: "the helper has {count} threads and must have one",
        pt: "o programa auxiliar tem {count} threads e deve ter uma",
    }
    versions(helper, host) {
        en: "the helper is version {helper}, the host {host}",
        pt: "o programa auxiliar é da versão {helper}, quem o iniciou, da {host}",
    }
}

// What goes wrong around a child.
toolfence_protocol::texts! { "sandbox"
    with_last_line(error, line) { en: "{error}: {line}", pt: "{error}: {line}" }
    no_room_for_descriptor() { en: "there is no room for a descriptor", pt: "não há espaço para um descritor" }
    reaped_already() { en: "its end was noted already", pt: "o fim dele já foi registrado" }
    no_process_id() { en: "the child has no process id", pt: "o processo filho não tem identificador" }
    helper_does_not_listen() {
        en: "the helper of the sandbox does not listen",
        pt: "o programa auxiliar do sandbox não escuta",
    }
    helper_ended(status) {
        en: "the helper that held the command ended before it ({status}); without a sandbox, what the command started may still be \
             running",
        pt: "o programa auxiliar que continha o comando terminou antes dele ({status}); sem um sandbox, o que o comando iniciou \
             pode continuar em execução",
    }
    does_not_end() { en: "the command was killed and does not end", pt: "o comando foi morto e não termina" }
}
