//! The words of this crate for people. What another program or the system says is quoted as it is, and so is what the helper says of
//! a barrier that it could not set up: it crosses a process as one line.

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
    no_helper() {
        en: "There is no helper: let main begin with toolfence::sandbox::enter_if_asked(), or install toolfence-sandbox or coder in \
             the PATH.",
        pt: "Não há programa auxiliar: faça main começar com toolfence::sandbox::enter_if_asked(), ou instale toolfence-sandbox ou \
             coder no PATH.",
    }
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
