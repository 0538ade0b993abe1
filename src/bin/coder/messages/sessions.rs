//! Conversations that were written down.

// Going on with one.
toolfence::program::texts! { "coder"
    no_place_for_conversations() {
        en: "there is no place for conversations: set HOME or XDG_STATE_HOME",
        pt: "não há lugar para conversas: defina HOME ou XDG_STATE_HOME",
    }
    no_conversation_yet() {
        en: "No conversation about this project was written down; `coder sessions --all` has those about others.",
        pt: "Nenhuma conversa sobre este projeto foi gravada; `coder sessions --all` mostra as de outros projetos.",
    }
    no_conversation_with() {
        en: "No conversation has all these words.",
        pt: "Nenhuma conversa tem todas essas palavras.",
    }
    conversation_of_other_project(session, root) {
        en: "the conversation {session} is about another project: {root}. Go there, or name it with --root",
        pt: "a conversa {session} é sobre outro projeto: {root}. Vá para lá ou indique-o com --root",
    }
    continue_beside_command() {
        en: "--continue goes on with a conversation, so it stands beside no command; `coder resume NAME` names one",
        pt: "--continue continua uma conversa, então não vale junto de um comando; `coder resume NOME` indica uma",
    }
    name_a_conversation() {
        en: "name the conversation: nobody is at a terminal who could choose; `coder sessions` lists them",
        pt: "indique a conversa: não há ninguém em um terminal para escolher; `coder sessions` lista as que existem",
    }
    which_conversation(count) {
        en: "Which one? [1 to {count}, Enter for 1] ",
        pt: "Qual delas? [1 a {count}, Enter para 1] ",
    }
    no_such_number(count) {
        en: "that is no number from 1 to {count}",
        pt: "isso não é um número de 1 a {count}",
    }
    conversation_resumed(session, turns) {
        en: "conversation {session}, {turns} {turns|turn|turns} so far; what you said always to is asked about again",
        pt: "conversa {session}, {turns} {turns|turno|turnos} até aqui; aquilo a que você disse sempre volta a ser perguntado",
    }
    conversation_forked(session, from, message) {
        en: "conversation {session}, a copy of {from} up to message {message}",
        pt: "conversa {session}, uma cópia de {from} até a mensagem {message}",
    }
    nothing_to_fork() {
        en: "nothing of this conversation was written down that could be copied",
        pt: "nada desta conversa foi gravado que pudesse ser copiado",
    }
    lines_left_out(count) {
        en: "{count} {count|line|lines} of this conversation cannot be read and {count|is|are} left out",
        pt: "{count} {count|linha|linhas} desta conversa não {count|pode ser lida e fica|podem ser lidas e ficam} de fora",
    }
    turns_of_conversation(count) {
        en: "{count} {count|turn |turns}",
        pt: "{count} {count|turno |turnos}",
    }
    how_to_leave() {
        en: "Ctrl-C again, /quit or Ctrl-D ends the conversation; `coder --continue` goes on with it.",
        pt: "Ctrl-C de novo, /quit ou Ctrl-D encerra a conversa; `coder --continue` continua de onde parou.",
    }
}

// What the model is told.
toolfence::program::texts! { "coder"
    resumed_later() {
        en: "Note: this conversation was resumed after a break. Files may have changed meanwhile; read them again before you rely on \
             them.",
        pt: "Nota: esta conversa foi retomada depois de uma pausa. Arquivos podem ter mudado nesse meio-tempo; leia-os de novo antes \
             de confiar no que lembra deles.",
    }
    resumed_in_a_turn() {
        en: "Note: the program ended in the middle of the last turn, and this conversation was resumed later. Calls without a result \
             may have run in part or not at all. Look at the files again before you go on.",
        pt: "Nota: o programa terminou no meio do último turno, e esta conversa foi retomada depois. Chamadas sem resultado podem ter \
             sido executadas em parte ou não. Olhe os arquivos de novo antes de continuar.",
    }
}
