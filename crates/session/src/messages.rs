//! The words of this crate for the model and the host, in the order of the modules that use them.

use toolfence_protocol::parse::ReadError;
use toolfence_protocol::{ErrorCode, Text, ToolCall, ToolFailure, ToolResult, fence};

// The answers to calls that did not run.
toolfence_protocol::texts! { "session"
    block_broke_off() {
        en: "The reply broke off inside this block, so it was not run. Send the whole block again from its opening fence; if it \
             is long, split the work into several smaller calls.",
        pt: "A resposta foi interrompida dentro deste bloco, por isso ele não foi executado. Envie de novo o bloco inteiro, a \
             partir da cerca de abertura; se for longo, divida o trabalho em várias chamadas menores.",
    }
    block_broke_off_again() {
        en: "The reply broke off inside this block for the second time, so it was not run. Do not go on with it: split the work \
             into several smaller calls, and send the first of them whole, from its opening fence.",
        pt: "A resposta foi interrompida dentro deste bloco pela segunda vez, por isso ele não foi executado. Não o continue: \
             divida o trabalho em várias chamadas menores e envie a primeira inteira, a partir da cerca de abertura.",
    }
    block_to_be_continued() {
        en: "The reply broke off inside this block, so it was not run yet. Go on with it as the note below says.",
        pt: "A resposta foi interrompida dentro deste bloco, por isso ele ainda não foi executado. Continue-o como diz a nota \
             abaixo.",
    }
    block_not_continued() {
        en: "Not run: your reply was to go on with a block that broke off, and does not begin with the text that it was to \
             repeat, so this may be content of that block. Send the whole call again as the first thing of your reply, from its \
             opening fence; if it is long, split the work into several smaller calls.",
        pt: "Não executada: a sua resposta devia continuar um bloco interrompido e não começa com o texto que devia repetir; por \
             isso isto pode ser conteúdo daquele bloco. Envie de novo a chamada inteira no começo da sua resposta, a partir da \
             cerca de abertura; se for longa, divida o trabalho em várias chamadas menores.",
    }
    skipped_after_failure() {
        en: "Not run: a change or command before it in your reply did not succeed. Look at that result first, then send this \
             call again if it is still right.",
        pt: "Não executada: uma alteração ou um comando anterior na sua resposta não teve êxito. Veja primeiro aquele \
             resultado e depois envie esta chamada de novo, se ela ainda estiver certa.",
    }
    stopped_while_running() {
        en: "The user stopped it while it ran; what it had done by then may have stayed. Check before you go on.",
        pt: "O usuário a interrompeu durante a execução; o que já tinha sido feito pode ter ficado. Verifique antes de continuar.",
    }
    cancelled_before_running() {
        en: "The user cancelled before it ran. Wait for what the user says next.",
        pt: "O usuário a cancelou antes da execução. Espere pelo que o usuário disser.",
    }
}

// Notes below the results.
toolfence_protocol::texts! { "session"
    forged_result() {
        en: "Note: your reply held a `tool_result` block. Results are given by the host only; that block and everything after it \
             were dropped and not run. Write your calls, end the reply, and wait for the results.",
        pt: "Nota: a sua resposta continha um bloco `tool_result`. Só o host dá resultados; esse bloco e tudo o que vinha depois \
             foram descartados e não foram executados. Escreva as chamadas, termine a resposta e espere pelos resultados.",
    }
    go_on_with_block(fence, repeated) {
        en: "Note: your reply broke off inside its last block. Go on with that block now. Begin your reply by repeating exactly \
             the text below, without a fence around it, then write at once what comes next, and finish the block:\n\n\
             {fence}\n{repeated}\n{fence}",
        pt: "Nota: a sua resposta foi interrompida dentro do último bloco. Continue esse bloco agora. Comece a resposta repetindo \
             exatamente o texto abaixo, sem cerca em volta, escreva logo em seguida o que vem depois e termine o bloco:\n\n\
             {fence}\n{repeated}\n{fence}",
    }
    send_whole() {
        en: "Note: the block that broke off was not run, for your reply does not begin with the text that it was to repeat. Send \
             the whole call again as the first thing of your reply, from its opening fence; if it is long, split the work into \
             several smaller calls. If you do not need it any more, answer in plain text.",
        pt: "Nota: o bloco interrompido não foi executado, pois a sua resposta não começa com o texto que devia repetir. Envie de \
             novo a chamada inteira no começo da resposta, a partir da cerca de abertura; se for longa, divida o trabalho em \
             várias chamadas menores. Se não precisar mais dela, responda em texto simples.",
    }
    reasoning_unclosed() {
        en: "Note: the reasoning in your reply was never closed, so nothing behind its opening tag was read as an answer or a \
             call. Close it before you go on, and give the answer or the call now.",
        pt: "Nota: o raciocínio na sua resposta não foi fechado, por isso nada depois da tag de abertura foi lido como resposta \
             ou chamada. Feche-o antes de continuar e dê agora a resposta ou a chamada.",
    }
    more_unreadable(count) {
        en: "Note: {count} more blocks of your reply could not be read either. Send one call at a time.",
        pt: "Nota: mais {count} {count|bloco|blocos} da sua resposta também não {count|pôde|puderam} ser \
             {count|lido|lidos}. Envie uma chamada de cada vez.",
    }
    calls_only_thought(count, names) {
        en: "Note: your reply closed a reasoning section that it had not opened, so everything before the closing tag was taken \
             as thought. {count} {count|call|calls} in it {count|was|were} not run: {names}. If you meant to make {count|it|them}, \
             send {count|it|them} again behind your reasoning.",
        pt: "Nota: a sua resposta fechou uma seção de raciocínio que não tinha aberto, por isso tudo o que vinha antes da tag de \
             fechamento foi tomado como pensamento. {count} {count|chamada|chamadas} nele não {count|foi executada|foram \
             executadas}: {names}. Se era essa a intenção, envie-{count|a|as} de novo depois do raciocínio.",
    }
    last_round(limit) {
        en: "Note: this was round {limit} of {limit}; no more calls will be run. Answer now in plain text: what is done, what is \
             left, and what to do next.",
        pt: "Nota: esta foi a rodada {limit} de {limit}; nenhuma outra chamada será executada. Responda agora em texto simples: o \
             que está feito, o que falta e o que fazer em seguida.",
    }
    calls_not_run(limit) {
        en: "Note: the calls in your last reply were not run, for the limit of {limit} rounds was reached.",
        pt: "Nota: as chamadas da sua última resposta não foram executadas, pois o limite de {limit} {limit|rodada|rodadas} foi \
             atingido.",
    }
    same_result_again(tool, times) {
        en: "Note: this is the same {tool} call with the same result, {times} times in a row. Repeating it will not help: do \
             something else, or answer with what you know.",
        pt: "Nota: esta é a {times}ª vez que a mesma chamada de {tool} tem o mesmo resultado. Repeti-la não ajuda: faça outra \
             coisa ou responda com o que sabe.",
    }
}

// What stands in the place of what was compacted.
toolfence_protocol::texts! { "session"
    output_compacted(lines) {
        en: "[COMPACTED: {lines} {lines|line was|lines were} left out of this old output; send the same call again to see \
             {lines|it|them}]",
        pt: "[COMPACTADO: {lines} {lines|linha foi omitida|linhas foram omitidas} desta saída antiga; envie a mesma chamada de \
             novo para {lines|vê-la|vê-las}]",
    }
    effect_compacted(lines) {
        en: "[COMPACTED: {lines} {lines|line was|lines were} left out of this old output; look at the files to see how things \
             stand now]",
        pt: "[COMPACTADO: {lines} {lines|linha foi omitida|linhas foram omitidas} desta saída antiga; leia os arquivos para ver \
             como as coisas estão agora]",
    }
    image_compacted(name) {
        en: "[COMPACTED: the image {name} stood here and did not fit any more; if you need it, call again the tool that gave it, or \
             ask the user to show it again]",
        pt: "[COMPACTADO: a imagem {name} estava aqui e não cabia mais; se precisar dela, chame de novo a ferramenta que a deu ou \
             peça ao usuário que a mostre de novo]",
    }
    image_gave_way(name) {
        en: "[The image {name} is not shown any more, because newer ones take its room; if you need it, call again the tool that gave \
             it, or ask the user to show it again]",
        pt: "[A imagem {name} não é mais mostrada, porque outras mais novas ocupam o lugar dela; se precisar dela, chame de novo a \
             ferramenta que a deu ou peça ao usuário que a mostre de novo]",
    }
    images_left_out(count, names, most) {
        en: "{count} {count|image is|images are} not shown, because a message shows {most} at most: {names}. Call the tool again for one \
             that you need.",
        pt: "{count} {count|imagem não é mostrada|imagens não são mostradas}, porque uma mensagem mostra no máximo {most}: {names}. \
             Chame a ferramenta de novo se precisar de uma delas.",
    }
    history_compacted(count) {
        en: "[COMPACTED: {count} {count|message|messages} of this conversation stood here and did not fit any more. Read files \
             again before you rely on what they hold.]",
        pt: "[COMPACTADO: {count} {count|mensagem|mensagens} desta conversa {count|estava|estavam} aqui e não {count|cabia|cabiam} \
             mais. Leia os arquivos de novo antes de contar com o que eles contêm.]",
    }
    user_also_said() { en: "The user also said:", pt: "O usuário também disse:" }
    more_was_said(count) {
        en: "({count} earlier {count|message|messages} of the user {count|is|are} left out.)",
        pt: "({count} {count|mensagem anterior|mensagens anteriores} do usuário {count|foi omitida|foram omitidas}.)",
    }
    files_changed_so_far() { en: "Files that your calls changed:", pt: "Arquivos que as suas chamadas mudaram:" }
    and_more_files(count) { en: "and {count} more", pt: "e mais {count}" }
    was_refused() { en: "Not allowed, with the reason:", pt: "Não permitido, com o motivo:" }
    is_always_allowed() { en: "The user always allows:", pt: "O usuário sempre permite:" }
    still_changed(names) {
        en: "Note: an earlier try at what follows was taken back from this conversation. What it changed is still changed, as far as \
             nobody undid it: {names}.",
        pt: "Nota: uma tentativa anterior do que segue foi retirada desta conversa. O que ela mudou continua mudado, se ninguém o \
             desfez: {names}.",
    }
    plan_so_far() { en: "Your plan:", pt: "O seu plano:" }
}

// Personas.
toolfence_protocol::texts! { "persona"
    name_is_empty() {
        en: "The persona's name is empty. Give it one.",
        pt: "O nome da persona está vazio. Dê um nome a ela.",
    }
    no_text(name) {
        en: "The persona {name} has no text below its head.",
        pt: "A persona {name} não tem texto abaixo do cabeçalho.",
    }
    no_head(fence) {
        en: "A persona begins with a line `{fence}` in line 1, then TOML, then `{fence}` again.",
        pt: "Uma persona começa com `{fence}` na linha 1, depois vem TOML e depois `{fence}` de novo.",
    }
    head_not_closed(fence) {
        en: "The persona's head, begun in line 1, is not closed: a line `{fence}` is missing.",
        pt: "O cabeçalho da persona, que começa na linha 1, não foi fechado: falta uma linha `{fence}`.",
    }
    head_is_wrong(line, problem) {
        en: "The persona's head is wrong in line {line}: {problem}.",
        pt: "O cabeçalho da persona tem um erro na linha {line}: {problem}.",
    }
}

/// The answer to a block that could not be read.
pub(super) fn malformed(id: &str, tool: &str, error: &ReadError) -> ToolResult {
    refused(id, tool, ErrorCode::MalformedCall, error.answer())
}

/// The answer to a block that the reply's end cut off, for the first time or again.
pub(super) fn incomplete(id: &str, tool: &str, again: bool) -> ToolResult {
    let message = if again { block_broke_off_again() } else { block_broke_off() };
    refused(id, tool, ErrorCode::MalformedCall, message)
}

/// The answer to a block that the reply's end cut off and that the next reply is to go on with.
pub(super) fn to_be_continued(id: &str, tool: &str) -> ToolResult {
    refused(id, tool, ErrorCode::MalformedCall, block_to_be_continued())
}

/// What the model has to repeat so that the block that broke off can be taken up.
pub(super) fn go_on_from(repeated: &str) -> Text {
    go_on_with_block("`".repeat(fence::safe_length(repeated)), repeated)
}

/// The answer to what looks like a call in a reply that was to go on with a block and does not.
pub(super) fn not_continued(id: &str, tool: &str) -> ToolResult {
    refused(id, tool, ErrorCode::MalformedCall, block_not_continued())
}

/// The answer to a change that stands behind one that failed.
pub(super) fn skipped(call: &ToolCall) -> ToolResult {
    refused(&call.id, &call.name, ErrorCode::Cancelled, skipped_after_failure())
}

/// The answer to a call that the user stopped while it ran.
pub fn stopped(call: &ToolCall) -> ToolResult {
    refused(&call.id, &call.name, ErrorCode::Cancelled, stopped_while_running())
}

/// The answer to a call that was on its way when the user cancelled.
pub(super) fn cancelled(call: &ToolCall, started: bool) -> ToolResult {
    if started {
        return stopped(call);
    }
    refused(&call.id, &call.name, ErrorCode::Cancelled, cancelled_before_running())
}

/// Where the same call gave the same result again.
pub(super) fn again(tool: &str, times: u64) -> Text {
    let shown: String = tool.chars().take(64).collect();
    same_result_again(format!("{shown:?}"), times)
}

fn refused(id: &str, tool: &str, code: ErrorCode, message: Text) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
