//! A turn and a conversation as a person sees them.

// A turn.
toolfence_protocol::texts! { "coder"
    call_in_html() {
        en: "a call in HTML does not count",
        pt: "uma chamada em HTML não conta",
    }
    thought_call(tool) {
        en: "a call of {tool} above was only thought and does not count",
        pt: "uma chamada de {tool} acima foi só pensamento e não conta",
    }
    all_was_thought() {
        en: "all above was thought, for the backend opens the reasoning itself; its replies are read so from now on",
        pt: "tudo acima foi pensamento, pois o próprio backend abre o raciocínio; daqui em diante as respostas dele são lidas assim",
    }
    indented_call() {
        en: "an indented call does not count",
        pt: "uma chamada indentada não conta",
    }
    call_in_other_block() {
        en: "a call in a block of another kind does not count",
        pt: "uma chamada em um bloco de outro tipo não conta",
    }
    call_without_fence() {
        en: "a call outside of a tool block does not count",
        pt: "uma chamada fora de um bloco de ferramenta não conta",
    }
    call_behind_text() {
        en: "a tool block that does not begin a line does not count",
        pt: "um bloco de ferramenta que não começa uma linha não conta",
    }
    call_in_wrong_form() {
        en: "a call in a form that is not read does not count",
        pt: "uma chamada em uma forma que não é lida não conta",
    }
    made_up_result() {
        en: "the model made up a result; that and what follows it is dropped",
        pt: "o modelo inventou um resultado; ele e o que vem depois são descartados",
    }
    no_call_counts() {
        en: "no call in this reply counts; the model is reminded how to write one",
        pt: "nenhuma chamada desta resposta conta; o modelo é lembrado de como escrever uma",
    }
    waiting_for_model(seconds) {
        en: "waiting for the model, {seconds} s",
        pt: "aguardando o modelo, {seconds} s",
    }
    thinking(seconds) {
        en: "thinking, {seconds} s",
        pt: "pensando, {seconds} s",
    }
    thought_for(took, lines) {
        en: "thought for {took}, {lines} {lines|line|lines}",
        pt: "pensou por {took}, {lines} {lines|linha|linhas}",
    }
    thought_to_see(thought) {
        en: "{thought}; /thoughts shows them",
        pt: "{thought}; /thoughts mostra tudo",
    }
    tools_run(seconds) {
        en: "running, {seconds} s",
        pt: "executando, {seconds} s",
    }
    sign_of_success() {
        en: "[ok]",
        pt: "[ok]",
    }
    sign_of_failure() {
        en: "[failed]",
        pt: "[falhou]",
    }
    backend_waits(why, seconds) {
        en: "{why}; asking again in {seconds} s",
        pt: "{why}; nova tentativa em {seconds} s",
    }
    reply_broke_off(why) {
        en: "the reply broke off: {why}",
        pt: "a resposta foi interrompida: {why}",
    }
    conversation_compacted(before, after, outputs, messages) {
        en: "compacted from about {before} to {after} tokens: {outputs} old {outputs|output|outputs} shortened, {messages} old \
             {messages|message|messages} summed up",
        pt: "compactado de cerca de {before} para {after} tokens: {outputs} {outputs|saída antiga encurtada|saídas antigas \
             encurtadas}, {messages} {messages|mensagem antiga resumida|mensagens antigas resumidas}",
    }
    images_compacted(count) {
        en: "{count} {count|image is|images are} no longer shown to the model",
        pt: "{count} {count|imagem já não é mostrada|imagens já não são mostradas} ao modelo",
    }
    no_output() {
        en: "no output",
        pt: "nenhuma saída",
    }
    lines_of_output(count) {
        en: "{count} {count|line|lines}",
        pt: "{count} {count|linha|linhas}",
    }
    output_cut(size) {
        en: "{size}, cut",
        pt: "{size}, cortada",
    }
    lines_changed(added, removed) {
        en: "+{added} -{removed} lines",
        pt: "+{added} -{removed} linhas",
    }
    ended_with_status(status, time) {
        en: "status {status}, {time}",
        pt: "status {status}, {time}",
    }
    stopped_after(time) {
        en: "stopped after {time}; what it did until then stays",
        pt: "interrompida depois de {time}; o que fez até então fica",
    }
    stopped_while_running() {
        en: "stopped; what it did until then stays",
        pt: "interrompida; o que fez até então fica",
    }
    stopped_before_running() {
        en: "stopped before it ran",
        pt: "interrompida antes da execução",
    }
    stopped_while_written() {
        en: "stopped while it was written; it did not run",
        pt: "interrompida enquanto era escrita; não foi executada",
    }
    cut_while_written() {
        en: "the reply ended in the middle of it; it did not run",
        pt: "a resposta acabou no meio dela; não foi executada",
    }
    cut_and_continued() {
        en: "the reply ended in the middle of it; the model is asked to go on",
        pt: "a resposta acabou no meio dela; pede-se ao modelo que continue",
    }
    skipped_after_failure() {
        en: "not run, for a change or command before it did not succeed",
        pt: "não executada, pois uma alteração ou um comando anterior não teve êxito",
    }
    not_run_because(why) { en: "not run: {why}", pt: "não executada: {why}" }
    could_not_be_read(problem) {
        en: "could not be read: {problem}",
        pt: "não foi possível ler: {problem}",
    }
    output_in_time(size, time) {
        en: "{size}, {time}",
        pt: "{size}, {time}",
    }
    milliseconds(count) {
        en: "{count} ms",
        pt: "{count} ms",
    }
    seconds(count) {
        en: "{count} s",
        pt: "{count} s",
    }
    minutes(minutes, seconds) {
        en: "{minutes} min {seconds} s",
        pt: "{minutes} min {seconds} s",
    }
    lines_more(count) {
        en: "... {count} {count|line|lines} more",
        pt: "... mais {count} {count|linha|linhas}",
    }
    lines_more_to_see(count) {
        en: "... {count} {count|line|lines} more; /last shows all",
        pt: "... mais {count} {count|linha|linhas}; /last mostra tudo",
    }
    turn_is_over() {
        en: "coder has an answer",
        pt: "coder tem uma resposta",
    }
    turn_asks() {
        en: "coder has a question",
        pt: "coder tem uma pergunta",
    }
}

// A conversation.
toolfence_protocol::texts! { "coder"
    conversation_begins(persona, root) {
        en: "{persona} in {root}; /help for help",
        pt: "{persona} em {root}; /help mostra a ajuda",
    }
    everything_asks() {
        en: "asks before everything that is not denied",
        pt: "pergunta antes de tudo o que não é negado",
    }
    what_is_risky_asks() {
        en: "asks before what is not known to be harmless",
        pt: "pergunta antes do que não se sabe ser inofensivo",
    }
    what_no_sandbox_holds_asks() {
        en: "asks before what is not known to be harmless and the sandbox does not hold",
        pt: "pergunta antes do que não se sabe ser inofensivo e o sandbox não contém",
    }
    nothing_asks() {
        en: "asks nothing: what is not denied runs",
        pt: "não pergunta nada: o que não é negado é executado",
    }
    no_such_command(command) {
        en: "There is no command {command}; /help lists them.",
        pt: "Não há nenhum comando {command}; /help mostra os que existem.",
    }
    nothing_to_compact() {
        en: "nothing can be left out of this conversation",
        pt: "não há nada que possa ser omitido desta conversa",
    }
    nothing_to_retry() {
        en: "there is no message to say again",
        pt: "não há mensagem para dizer de novo",
    }
    conversation_cleared() {
        en: "a new conversation; files stay as they are, and what you allowed stays allowed",
        pt: "uma conversa nova; os arquivos ficam como estão, e o que você permitiu continua permitido",
    }
    cleared_stays(session) {
        en: "; `coder resume {session}` goes on with the old one",
        pt: "; `coder resume {session}` continua a antiga",
    }
    said_again(text) {
        en: "again: {text}",
        pt: "de novo: {text}",
    }
    replies_cost(replies, input, cached, output) {
        en: "{replies} {replies|reply|replies}: {input} tokens in, {cached} of them cached, {output} out",
        pt: "{replies} {replies|resposta|respostas}: {input} tokens de entrada, {cached} deles em cache, {output} de saída",
    }
    replies_estimated(count) {
        en: "; {count} {count|reply is|replies are} an estimate",
        pt: "; {count} {count|resposta é|respostas são} uma estimativa",
    }
    replies_price(price) {
        en: "; cost {price}",
        pt: "; custo {price}",
    }
    nothing_is_allowed() {
        en: "nothing but what the settings allow; `coder config show` has those",
        pt: "nada além do que as configurações permitem; `coder config show` mostra isso",
    }
}

// A command of the person.
toolfence_protocol::texts! { "coder"
    cannot_run_bash(error) {
        en: "cannot run bash: {error}",
        pt: "não foi possível executar bash: {error}",
    }
}

// What `coder exec` says beside the results.
toolfence_protocol::texts! { "coder"
    no_call_in_text() {
        en: "there is no call in this text; nothing was run",
        pt: "não há nenhuma chamada neste texto; nada foi executado",
    }
    copy_the_whole_message() {
        en: "this looks like the inside of a tool block: copy the whole message, with the lines around the block, or use --bare",
        pt: "isto parece o interior de um bloco de ferramenta: copie a mensagem inteira, com as linhas em volta do bloco, ou use --bare",
    }
    no_such_dialect(name, known) {
        en: "there is no dialect {name}; write all, none, or some of these with commas between them: {known}",
        pt: "não existe o dialeto {name}; escreva all, none ou alguns destes, separados por vírgulas: {known}",
    }
    dialect_not_shown(name, shown) {
        en: "no instructions can be written in the dialect {name}: only in those whose calls are JSON between two tokens: {shown}",
        pt: "não é possível escrever instruções no dialeto {name}: só naqueles cujas chamadas são JSON entre duas marcas: {shown}",
    }
    bad_tools_file(file, cause) {
        en: "{file} does not hold an array of function definitions: {cause}",
        pt: "{file} não contém um array de definições de funções: {cause}",
    }
    tool_without_name() {
        en: "a tool has no name",
        pt: "uma ferramenta está sem nome",
    }
    in_dialect(dialect, repairs) {
        en: "in the dialect {dialect}; {repairs}",
        pt: "no dialeto {dialect}; {repairs}",
    }
    call_running(id, tool) {
        en: "running    {id}: {tool}",
        pt: "executando {id}: {tool}",
    }
    call_answered(id, what) {
        en: "answered   {id}: {what}",
        pt: "respondida {id}: {what}",
    }
    call_done() {
        en: "done",
        pt: "feita",
    }
}

// What was found in a reply: a word of ten letters for what it is, the bytes it takes, and more of it.
toolfence_protocol::texts! { "coder"
    found_text(start, end, text) {
        en: "text       {start}..{end}  {text}",
        pt: "texto      {start}..{end}  {text}",
    }
    found_reasoning(start, end, text) {
        en: "reasoning  {start}..{end}  {text}",
        pt: "raciocínio {start}..{end}  {text}",
    }
    found_open_reasoning(start, end, text) {
        en: "reasoning  {start}..{end}, never closed  {text}",
        pt: "raciocínio {start}..{end}, nunca fechado  {text}",
    }
    found_unopened_reasoning(start, end) {
        en: "reasoning  {start}..{end}  a closing tag alone: all before it was thought",
        pt: "raciocínio {start}..{end}  uma tag de fechamento sozinha: tudo antes dela foi pensamento",
    }
    found_start(id, tool) {
        en: "started    {id}: {tool}",
        pt: "iniciada   {id}: {tool}",
    }
    found_progress(id, argument, text) {
        en: "progress   {id}: {argument} {text}",
        pt: "avanço     {id}: {argument} {text}",
    }
    found_call(start, end, index, id, tool, args, repairs) {
        en: "call       {start}..{end} [{index}]  {id}: {tool} {args}\n           {repairs}",
        pt: "chamada    {start}..{end} [{index}]  {id}: {tool} {args}\n           {repairs}",
    }
    found_malformed(start, end, line, column, error) {
        en: "malformed  {start}..{end}  line {line}, column {column}: {error}",
        pt: "malformada {start}..{end}  linha {line}, coluna {column}: {error}",
    }
    found_incomplete(start, end) {
        en: "incomplete {start}..{end}  the reply ended inside this block",
        pt: "incompleta {start}..{end}  a resposta terminou dentro deste bloco",
    }
    found_ignored(start, end, why) {
        en: "ignored    {start}..{end}  a call, but it does not count: {why}",
        pt: "ignorada   {start}..{end}  uma chamada, mas não conta: {why}",
    }
    ignored_in_quote() {
        en: "it stands in a block quote",
        pt: "está em uma citação",
    }
    ignored_in_fence() {
        en: "it stands inside another fence",
        pt: "está dentro de outra cerca",
    }
    ignored_in_html() {
        en: "it stands in HTML",
        pt: "está em HTML",
    }
    ignored_indented() {
        en: "it is indented by four columns or more",
        pt: "está indentada em quatro colunas ou mais",
    }
    ignored_info_word() {
        en: "its fence has another word than tool, and it is no call that is exactly of this form",
        pt: "sua cerca tem outra palavra em vez de tool, e ela não tem exatamente esta forma",
    }
    ignored_unfenced() {
        en: "it stands in no fence and in no dialect that is read",
        pt: "não está em nenhuma cerca nem em um dialeto que seja lido",
    }
    ignored_behind_text() {
        en: "something stands before it on its line: a call counts at the beginning of a line",
        pt: "há algo antes dela na linha: uma chamada conta no início de uma linha",
    }
    ignored_wrong_form() {
        en: "it names a tool in a form that neither a tool block nor a dialect has",
        pt: "ela nomeia uma ferramenta em uma forma que nem um bloco de ferramenta nem um dialeto tem",
    }
    ignored_thought() {
        en: "it was only thought",
        pt: "foi só pensamento",
    }
    found_forged(start, end) {
        en: "forged     {start}..{end}  a result the model made up",
        pt: "forjado    {start}..{end}  um resultado que o modelo inventou",
    }
    read_as_written() {
        en: "read as written",
        pt: "lida como escrita",
    }
    mended(repairs) {
        en: "mended: {repairs}",
        pt: "reparada: {repairs}",
    }
    lossless_repair(name) {
        en: "{name} (lossless)",
        pt: "{name} (sem perda)",
    }
    guessed_repair(name) {
        en: "{name} (a guess)",
        pt: "{name} (um palpite)",
    }
}
