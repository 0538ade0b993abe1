//! The words of this crate for people and models: why git gave no answer.

toolfence_protocol::texts! { "git"
    no_output() {
        en: "git has no output",
        pt: "o git não tem saída",
    }
    reader_died() {
        en: "the reader of git's output died",
        pt: "a leitura da saída do git foi interrompida",
    }
    took_too_long() {
        en: "git took too long",
        pt: "o git demorou demais",
    }
    printed_too_much() {
        en: "git printed too much",
        pt: "o git escreveu demais na saída",
    }
    ended_with(status) {
        en: "git ended with {status}",
        pt: "o git terminou com {status}",
    }
    no_regular_file() {
        en: "it is no regular file",
        pt: "não é um arquivo comum",
    }
}
