//! What the crate tells people and models: see `toolfence_protocol::texts`.

toolfence_protocol::texts! { "blocking"
    finish_a_tool() { en: "finish a tool", pt: "terminar uma ferramenta" }
    seen_so_far(count) {
        en: "{count} files and folders so far",
        pt: "{count} arquivos e pastas até agora",
    }
}

toolfence_protocol::texts! { "command"
    thread_died() {
        en: "A thread that ran a command has died.",
        pt: "Uma thread que executava um comando morreu.",
    }
    no_terminal() {
        en: "There is no terminal here, and no user can answer a question. Use options that ask nothing, such as --yes, -m \
             or --no-edit, and change files with the file tools instead of an editor.",
        pt: "Não há terminal aqui nem ninguém para responder a uma pergunta. Use opções que não perguntam nada, como --yes, -m \
             ou --no-edit, e altere arquivos com as ferramentas de arquivos em vez de um editor.",
    }
    stdin_empty() {
        en: "Its stdin is empty: nothing could be read. Give it a script, a file or a pipe, or run it with background: true \
             and write to it with job.",
        pt: "O stdin dele está vazio: não havia nada a ler. Dê-lhe um script, um arquivo ou um pipe, ou execute-o com \
             background: true e escreva nele com job.",
    }
    unsupervised() {
        en: "There is no helper that holds what a command starts (toolfence-sandbox or coder, in the PATH), so a \
             process that left the process group of this one may still be running, and its memory had no limit.",
        pt: "Não há um auxiliar que contenha o que um comando inicia (toolfence-sandbox ou coder, no PATH), por isso um \
             processo que deixou o grupo de processos deste pode continuar em execução, e a memória dele não teve limite.",
    }
    all_in_file(name) {
        en: "All of the output is in {name}: read_file and search can look into it.",
        pt: "Toda a saída está em {name}: read_file e search podem consultá-lo.",
    }
    first_part_in_file(name) {
        en: "The first part of the output is in {name}: read_file and search can look into it.",
        pt: "A primeira parte da saída está em {name}: read_file e search podem consultá-lo.",
    }
    all_since_in_file(name) {
        en: "All output since it became too much to show is in {name}: read_file and search can look into it.",
        pt: "Toda a saída desde que ficou grande demais para mostrar está em {name}: read_file e search podem consultá-lo.",
    }
    first_since_in_file(name) {
        en: "The first 64 MiB of output since it became too much to show is in {name}: read_file and search can look into it.",
        pt: "Os primeiros 64 MiB da saída desde que ficou grande demais para mostrar estão em {name}: read_file e search podem \
             consultá-lo.",
    }
    may_go_on_running() {
        en: "At least one process it started may still be running: it could not be ended, or what held it was ended before it. \
             End it by its process id if it is not wanted.",
        pt: "Pelo menos um processo que ele iniciou pode continuar em execução: não foi possível encerrá-lo, ou o que o \
             continha foi encerrado antes. Encerre-o pelo id de processo, se ele não for desejado.",
    }
    left_were_ended() {
        en: "Processes it left running in the background were ended with it.",
        pt: "Processos que ele deixou em segundo plano foram encerrados com ele.",
    }
    ended_by_signal(signal, status) {
        en: "The command was ended by signal {signal} (status {status}).",
        pt: "O comando foi encerrado pelo sinal {signal} (status {status}).",
    }
    ended_with_status(status) {
        en: "The command ended with status {status}.",
        pt: "O comando terminou com status {status}.",
    }
    too_much_memory(most) {
        en: "The command was ended: it used more than {most} MiB of memory, with all it had started. Do it in smaller pieces or \
             with fewer processes at a time; the user can change the limit with the setting sandbox.memory.",
        pt: "O comando foi encerrado: usou mais de {most} MiB de memória, com tudo o que tinha iniciado. Faça-o em partes \
             menores ou com menos processos por vez; o usuário pode mudar o limite com a configuração sandbox.memory.",
    }
    late(seconds, most) {
        en: "The command did not end within {seconds} s and was ended. Give a longer timeout ({most} at most), or do it in \
             smaller steps.",
        pt: "O comando não terminou em {seconds} s e foi encerrado. Dê um timeout maior (no máximo {most}) ou faça-o em passos \
             menores.",
    }
    late_in_a_row(times) {
        en: "This is number {times} in a row. Do not try the same again: find out first what it waits for, or run it with \
             background: true and poll it.",
        pt: "Este é o número {times} seguido. Não tente o mesmo outra vez: descubra primeiro o que ele espera, ou execute-o com \
             background: true e consulte-o com poll.",
    }
    no_container(why) {
        en: "Commands run in a container here, which is missing: {why} Nothing was run. Tell the user, who can repair it or set \
             sandbox.container to off.",
        pt: "Aqui os comandos são executados em um contêiner, e não há nenhum: {why} Nada foi executado. Avise o usuário, que \
             pode consertar isso ou definir sandbox.container como off.",
    }
    not_started(error) {
        en: "The command could not be run, or not to its end: {error}.",
        pt: "Não foi possível executar o comando, ou não até o fim: {error}.",
    }
}

toolfence_protocol::texts! { "inside"
    blocked_file_changed(name) {
        en: "{name}, whose content is not for commands, changed on disk while the command ran and could not stay hidden, so the \
             command was ended. What it had done by then has stayed. Check before you run it again.",
        pt: "{name}, cujo conteúdo não é para comandos, mudou no disco durante a execução do comando e não pôde continuar \
             oculto, por isso o comando foi encerrado. O que ele tinha feito até então permaneceu. Confira antes de executá-lo \
             outra vez.",
    }
    used_file_replaced(name) {
        en: "{name}, which git or toolfence uses, was replaced on disk while the command ran and could not stay read-only, so \
             the command was ended. What it had done by then has stayed. Check before you run it again.",
        pt: "{name}, que o git ou o toolfence usa, foi substituído no disco durante a execução do comando e não pôde continuar \
             somente leitura, por isso o comando foi encerrado. O que ele tinha feito até então permaneceu. Confira antes de \
             executá-lo outra vez.",
    }
    no_service_program(name) {
        en: "there is no program {name} in the PATH, outside of the project",
        pt: "não há programa {name} no PATH, fora do projeto",
    }
    no_plan_for_service() {
        en: "the sandbox here cannot be set up around it with these paths",
        pt: "o sandbox daqui não pode ser montado em torno dele com esses caminhos",
    }
    no_plan_for_masks() { en: "the helper got no plan for what is masked", pt: "o programa auxiliar não recebeu um plano para o que é mascarado" }
    not_sandboxed(error) {
        en: "the sandbox around the command could not be set up ({error}), so it was not run. Try again; if it fails again, \
             tell the user: `coder doctor` says what is wrong with them.",
        pt: "não foi possível montar o sandbox em volta do comando ({error}), por isso ele não foi executado. Tente de novo; se \
             falhar outra vez, avise o usuário: `coder doctor` diz o que há de errado.",
    }
    repositories_are_read_only() {
        en: "Repositories are read-only to commands here, so that nothing is left in .git that git would run later. Ask the user to \
             run the git command.",
        pt: "Os repositórios são somente leitura para os comandos aqui, para que nada fique em .git que o git execute depois. Peça ao \
             usuário que execute o comando do git.",
    }
    kept_as_it_is(name) {
        en: "{name} is kept as it is by the sandbox: it is blocked, or git or toolfence would run or read it later. The user can \
             remove it.",
        pt: "O sandbox mantém {name} como está: ele está bloqueado, ou o git ou o toolfence o executaria ou leria depois. O \
             usuário pode removê-lo.",
    }
    hidden_but_tracked(name) {
        en: "{name} is blocked and hidden from commands, and git tracks it and would take its change. Name what is wanted \
             instead (git add src, git commit -m TEXT -- src, git stash push -- src), or ask the user to do it.",
        pt: "{name} está bloqueado e oculto para os comandos, e o git o rastreia e incluiria a alteração dele. Em vez disso, \
             diga o que é desejado (git add src, git commit -m TEXT -- src, git stash push -- src) ou peça ao usuário que o \
             faça.",
    }
    hidden_from_diff() {
        en: "That file is blocked and hidden from commands, and git tracks it. Leave it out: git diff -- ':(exclude).env', with \
             its name.",
        pt: "Esse arquivo está bloqueado e oculto para os comandos, e o git o rastreia. Deixe-o de fora: git diff -- \
             ':(exclude).env', com o nome dele.",
    }
}

toolfence_protocol::texts! { "job"
    too_many_jobs(count, ids) {
        en: "{count} {count|job is|jobs are} there already: {ids}. Stop one first.",
        pt: "Já há {count} {count|tarefa|tarefas}: {ids}. Encerre uma antes.",
    }
    job_not_started(error) {
        en: "The job could not be started: {error}.",
        pt: "Não foi possível iniciar a tarefa: {error}.",
    }
    start_a_job() { en: "start a job", pt: "iniciar uma tarefa" }
    job_thread_died() { en: "A thread that ran a job has died.", pt: "Uma thread que executava uma tarefa morreu." }
    runs_on(id) {
        en: "It runs on as job {id}. Use job with {{\"id\": \"{id}\", \"action\": \"poll\"}} to look at it, \"write\" for \
             its stdin, \"stop\" to end it.",
        pt: "Ele continua como a tarefa {id}. Use job com {{\"id\": \"{id}\", \"action\": \"poll\"}} para consultá-la, \
             \"write\" para o stdin dela, \"stop\" para encerrá-la.",
    }
    no_such_job() {
        en: "There is no job with this id, or its end was reported already. No job is running.",
        pt: "Não há tarefa com este id, ou o fim dela já foi informado. Agora não há nenhuma.",
    }
    no_such_job_but(ids) {
        en: "There is no job with this id, or its end was reported already. Known: {ids}.",
        pt: "Não há tarefa com este id, ou o fim dela já foi informado. Conhecidas: {ids}.",
    }
}
