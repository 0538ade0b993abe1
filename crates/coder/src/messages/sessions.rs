//! Conversations that were written down.

// Going on with one.
toolfence_protocol::texts! { "coder"
    conversations_are_off() {
        en: "conversations are not written down here (--no-transcript, or the key sessions.transcripts), and a turn in one needs that: \
             use POST /api/agent, or start without it",
        pt: "as conversas não são gravadas aqui (--no-transcript ou a chave sessions.transcripts), e um turno numa conversa precisa \
             disso: use POST /api/agent, ou inicie sem isso",
    }
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
    last_conversation_was_cleared(session) {
        en: "the last conversation was put aside with /clear, so this is a new one; `coder resume {session}` goes on with that one",
        pt: "a última conversa foi deixada de lado com /clear, então esta é nova; `coder resume {session}` continua aquela",
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

// Pages and the log.
toolfence_protocol::texts! { "coder"
    no_message_of_number(message, count) {
        en: "this conversation has no message {message}; it has {count} {count|message|messages}",
        pt: "esta conversa não tem a mensagem {message}; ela tem {count} {count|mensagem|mensagens}",
    }
    log_session(root) {
        en: "session in {root}",
        pt: "sessão em {root}",
    }
    log_run(call, rule) {
        en: "ran {call} (rule {rule})",
        pt: "executou {call} (regra {rule})",
    }
    log_run_by_person(call, rule) {
        en: "ran {call}, allowed by a person (rule {rule})",
        pt: "executou {call}, permitido por uma pessoa (regra {rule})",
    }
    log_asked(call, answer, rule) {
        en: "asked about {call}: {answer} (rule {rule})",
        pt: "perguntou sobre {call}: {answer} (regra {rule})",
    }
    log_nobody_asked(call, rule) {
        en: "would have asked about {call}: nobody was there, so no (rule {rule})",
        pt: "teria perguntado sobre {call}: não havia ninguém, então não (regra {rule})",
    }
    log_succeeded(tool, milliseconds) {
        en: "{tool} succeeded, {milliseconds} ms",
        pt: "{tool} deu certo, {milliseconds} ms",
    }
    log_failed(tool, code, message) {
        en: "{tool} failed, {code}: {message}",
        pt: "{tool} falhou, {code}: {message}",
    }
}

// What the model is told.
toolfence_protocol::texts! { "coder"
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

// What `coder stats` counts.
toolfence_protocol::texts! { "coder"
    stats_of(sessions, turns, rounds) {
        en: "{sessions} {sessions|conversation|conversations} with {turns} {turns|turn|turns} and {rounds} \
             {rounds|round|rounds} of calls",
        pt: "{sessions} {sessions|conversa|conversas} com {turns} {turns|turno|turnos} e {rounds} {rounds|rodada|rodadas} de \
             chamadas",
    }
    /// The heads of the columns, with bars between them.
    stats_columns() {
        en: "tool|calls|failed|p50 ms|p90 ms|most ms",
        pt: "ferramenta|chamadas|falhas|p50 ms|p90 ms|máx. ms",
    }
    stats_columns_of_times() {
        en: "time of|count|p50 ms|p90 ms|most ms",
        pt: "tempo de|vezes|p50 ms|p90 ms|máx. ms",
    }
    stats_times_of_model() { en: "replies", pt: "respostas" }
    stats_times_to_first_byte() { en: "first bytes", pt: "primeiro byte" }
    stats_times_of_tools() { en: "tools", pt: "ferramentas" }
    stats_times_of_person() { en: "your answers", pt: "suas respostas" }
    stats_answers(asked, counts) {
        en: "{asked} {asked|question|questions}: {counts}",
        pt: "{asked} {asked|pergunta|perguntas}: {counts}",
    }
    stats_allowed(policy, person) {
        en: "allowed: {policy} by the policy, {person} by a person",
        pt: "permitidas: {policy} pela política, {person} por uma pessoa",
    }
    stats_denied(policy, person, nobody) {
        en: "denied: {policy} by the policy, {person} by a person, {nobody} because nobody was there to be asked",
        pt: "negadas: {policy} pela política, {person} por uma pessoa, {nobody} porque não havia ninguém a consultar",
    }
    stats_failures(counts) {
        en: "failures: {counts}",
        pt: "falhas: {counts}",
    }
    stats_repairs(counts) {
        en: "repairs: {counts}",
        pt: "reparos: {counts}",
    }
    stats_unreadable(count) {
        en: "blocks that could not be read: {count}",
        pt: "blocos que não puderam ser lidos: {count}",
    }
}
