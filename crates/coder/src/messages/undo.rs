//! Undoing, redoing, and what turns changed.

toolfence_protocol::texts! { "coder"
    nothing_is_kept() {
        en: "nothing is kept that could be undone: undo.journal is off, or there is no place for it (set HOME or XDG_STATE_HOME)",
        pt: "nada que pudesse ser desfeito é guardado: undo.journal está off, ou não há lugar para isso (defina HOME ou \
             XDG_STATE_HOME)",
    }
    number_wanted(command, rest) {
        en: "/{command} {rest} says nothing; /{command} 2 is for two turns",
        pt: "/{command} {rest} não diz nada; /{command} 2 vale para dois turnos",
    }
    nothing_to_redo() {
        en: "There is nothing to redo.",
        pt: "Não há nada para refazer.",
    }
    nothing_to_undo() {
        en: "There is nothing to undo.",
        pt: "Não há nada para desfazer.",
    }
    nothing_more_to_undo() {
        en: "There is nothing more to undo: older turns were dropped (undo.turns, undo.megabytes).",
        pt: "Não há mais nada para desfazer: turnos mais antigos foram descartados (undo.turns, undo.megabytes).",
    }
    older_turns_dropped() {
        en: "Older turns were dropped (undo.turns, undo.megabytes).",
        pt: "Turnos mais antigos foram descartados (undo.turns, undo.megabytes).",
    }
}

// What was done with a turn.
toolfence_protocol::texts! { "coder"
    turn(number) {
        en: "turn {number}",
        pt: "turno {number}",
    }
    turn_titled(number, title) {
        en: "turn {number}, {title}",
        pt: "turno {number}, {title}",
    }
    undid(turn) {
        en: "Undid {turn}:",
        pt: "Desfeito o {turn}:",
    }
    redid(turn) {
        en: "Redid {turn}:",
        pt: "Refeito o {turn}:",
    }
    would_undo(turn) {
        en: "Would undo {turn}:",
        pt: "Seria desfeito o {turn}:",
    }
    would_redo(turn) {
        en: "Would redo {turn}:",
        pt: "Seria refeito o {turn}:",
    }
    left_as_it_is(refused) {
        en: "{refused}; left as it is",
        pt: "{refused}; fica como está",
    }
    all_so_already() {
        en: "all of it is so already",
        pt: "tudo já está assim",
    }
    more_names(count) {
        en: "… and {count} more (--json lists all)",
        pt: "… e mais {count} (--json lista tudo)",
    }
    names_of_turn(count) {
        en: "{count} {count|name |names}",
        pt: "{count} {count|nome |nomes}",
    }
    undone() {
        en: "(undone)",
        pt: "(desfeito)",
    }
    seconds_ago(count) {
        en: "{count} s ago",
        pt: "há {count} s",
    }
    minutes_ago(count) {
        en: "{count} min ago",
        pt: "há {count} min",
    }
    hours_ago(count) {
        en: "{count} h ago",
        pt: "há {count} h",
    }
    days_ago(count) {
        en: "{count} d ago",
        pt: "há {count} d",
    }
}

// What the model is told when the person takes something back in a conversation.
toolfence_protocol::texts! { "coder"
    files_went_back(what, names) {
        en: "Note: the user {what}. These files are not as you have them in mind: {names}. Read them again before you rely on them, \
             and do not make the same change again unless it is asked for.",
        pt: "Nota: o usuário {what}. Estes arquivos não estão como você os tem em mente: {names}. Leia-os de novo antes de contar \
             com eles e não repita a mesma alteração, a menos que isso seja pedido.",
    }
    took_turns_back() {
        en: "took back what was changed in your turns before",
        pt: "desfez o que foi alterado nos seus turnos anteriores",
    }
    took_undo_back() {
        en: "took an undo back",
        pt: "refez o que havia desfeito",
    }
    name_and_change(name, what) {
        en: "{name} ({what})",
        pt: "{name} ({what})",
    }
    names_and_more(names, count) {
        en: "{names} and {count} more",
        pt: "{names} e mais {count}",
    }
}
