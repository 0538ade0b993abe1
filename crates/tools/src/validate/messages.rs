//! The words of this crate for people and models. What a checker or the parser of a format says is not among them: it stays
//! as it is.

toolfence_protocol::texts! { "validate"
    checker_needs_a_command() {
        en: "a checker needs a command: the name of a program, and its arguments",
        pt: "um verificador precisa de um comando: o nome de um programa e seus argumentos",
    }
    on_line(line, message) { en: "line {line}: {message}", pt: "linha {line}: {message}" }
    at_column(line, column, message) {
        en: "line {line}, column {column}: {message}",
        pt: "linha {line}, coluna {column}: {message}",
    }
}

// Syntax.
#[cfg(feature = "syntax")]
toolfence_protocol::texts! { "syntax"
    is_missing(token) { en: "`{token}` is missing here", pt: "falta `{token}` aqui" }
    something_missing() { en: "something is missing here", pt: "falta algo aqui" }
    never_closed(bracket) { en: "`{bracket}` is never closed", pt: "`{bracket}` nunca é fechado" }
    closes_nothing(bracket) { en: "`{bracket}` closes nothing", pt: "`{bracket}` não fecha nada" }
    unexpected(snippet) { en: "unexpected `{snippet}`", pt: "`{snippet}` inesperado" }
}
