//! What the commands report that look at the machine, the settings and the policy.

// `coder doctor`: which barriers hold.
toolfence_protocol::texts! { "coder"
    system(kernel, user) {
        en: "Linux {kernel}, user {user}",
        pt: "Linux {kernel}, usuário {user}",
    }
    holds() {
        en: "holds",
        pt: "resiste",
    }
    broken() {
        en: "BROKEN",
        pt: "CEDEU",
    }
    open() {
        en: "open",
        pt: "aberta",
    }
    unknown() {
        en: "unknown",
        pt: "incerto",
    }
    sandbox_off() {
        en: "The sandbox is switched off: what only the sandbox holds asks.",
        pt: "O sandbox está desligado: o que só o sandbox contém pergunta antes.",
    }
    container_missing() {
        en: "The container that was asked for is not there: no command runs.",
        pt: "O contêiner pedido não existe: nenhum comando é executado.",
    }
    no_sandbox_here() {
        en: "No sandbox is available here: what only the sandbox holds asks.",
        pt: "Nenhum sandbox está disponível aqui: o que só o sandbox contém pergunta antes.",
    }
    sandbox_holds_in_part() {
        en: "A sandbox is available, and it does not fully hold: what only the sandbox holds asks.",
        pt: "Há um sandbox disponível, mas ele não resiste por completo: o que só o sandbox contém pergunta antes.",
    }
    sandbox_broken() {
        en: "The sandbox is set up, and something gets through it. Please report it.",
        pt: "O sandbox está montado, e algo passa por ele. Por favor, relate isso.",
    }
    sandbox_not_all_tried() {
        en: "The sandbox is set up, and not all of it could be tried.",
        pt: "O sandbox está montado, mas não foi possível testar tudo nele.",
    }
    sandbox_with_network() {
        en: "The sandbox is set up with an open network: what only the sandbox holds asks.",
        pt: "O sandbox está montado com a rede aberta: o que só o sandbox contém pergunta antes.",
    }
    sandbox_holds() {
        en: "The whole sandbox holds: tests, builds and checks of the project run without a question.",
        pt: "O sandbox resiste por inteiro: testes, builds e verificações do projeto rodam sem perguntas.",
    }
}

// `coder doctor`: what can be done about a sandbox that cannot be set up.
toolfence_protocol::texts! { "coder"
    engine_has_to_work(engine, image) {
        en: "`{engine} run --rm {image} bash -c true` has to work: start the engine, or get the image with `{engine} pull {image}`. \
             Without it set sandbox.container to off.",
        pt: "`{engine} run --rm {image} bash -c true` precisa funcionar: inicie o engine ou baixe a imagem com `{engine} pull \
             {image}`. Se não for usá-lo, defina sandbox.container como off.",
    }
    apparmor_restricts() {
        en: "AppArmor keeps namespaces from ordinary users: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` allows \
             them, or a profile for this program with the rule `userns,`.",
        pt: "O AppArmor nega namespaces a usuários comuns: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0` os permite, \
             ou então um perfil para este programa com a regra `userns,`.",
    }
    kernel_restricts() {
        en: "The kernel keeps namespaces from ordinary users: `sudo sysctl kernel.unprivileged_userns_clone=1` allows them.",
        pt: "O kernel nega namespaces a usuários comuns: `sudo sysctl kernel.unprivileged_userns_clone=1` os permite.",
    }
    no_user_namespaces() {
        en: "The kernel allows no user namespaces: `sudo sysctl user.max_user_namespaces=10000` allows them.",
        pt: "O kernel não permite namespaces de usuário: `sudo sysctl user.max_user_namespaces=10000` os permite.",
    }
    inside_a_container() {
        en: "This is a container: what is around it may refuse namespaces. Start it with a seccomp profile that allows unshare and \
             mount, or rely on the container.",
        pt: "Isto é um contêiner: o que está em volta pode negar namespaces. Inicie-o com um perfil seccomp que permita unshare e \
             mount, ou confie no contêiner.",
    }
}

// `coder doctor`: what checks changed files.
toolfence_protocol::texts! { "coder"
    checks_of_changed_files() {
        en: "checks of changed files",
        pt: "verificações de arquivos alterados",
    }
    built_in() {
        en: "built in",
        pt: "interno",
    }
    read_in_process(languages) {
        en: "{languages}: read in process",
        pt: "{languages}: lidos no próprio processo",
    }
    checker_asked() {
        en: "asked",
        pt: "usado",
    }
    checker_without_sandbox() {
        en: "no sandbox",
        pt: "sem sandbox",
    }
    checker_missing() {
        en: "missing",
        pt: "ausente",
    }
    checker(files, program) {
        en: "{files}: {program}",
        pt: "{files}: {program}",
    }
    checker_in_project(files, program, file) {
        en: "{files}: {program}, where there is a {file}",
        pt: "{files}: {program}, onde há um {file}",
    }
    not_checked() {
        en: "not checked",
        pt: "não são verificados",
    }
    read_in_process_as(languages) {
        en: "read in process, as {languages}",
        pt: "lidos no próprio processo, como {languages}",
    }
}

// `coder config`.
toolfence_protocol::texts! { "coder"
    by_default() {
        en: "default",
        pt: "padrão",
    }
    project_file(path, standing) {
        en: "project file  {path}: {standing}",
        pt: "arquivo do projeto  {path}: {standing}",
    }
    project_absent() {
        en: "there is none",
        pt: "não existe",
    }
    project_untrusted() {
        en: "it can only tighten; `coder config trust` trusts it",
        pt: "só pode restringir; `coder config trust` passa a confiar nele",
    }
    project_trusted() {
        en: "trusted as it is",
        pt: "de confiança como está",
    }
    may_run_begins_with(beginnings) {
        en: "so that what may run begins with: {beginnings}",
        pt: "de modo que o que pode rodar começa com: {beginnings}",
    }
    nothing() {
        en: "nothing",
        pt: "nada",
    }
    is_there_already(path) {
        en: "{path} is there already; it is left as it is",
        pt: "{path} já existe; fica como está",
    }
    wrote(path) {
        en: "wrote {path}",
        pt: "{path} foi escrito",
    }
    no_place_for_own_file() {
        en: "there is no place for your own file: set HOME or XDG_CONFIG_HOME to an absolute path",
        pt: "não há lugar para o seu próprio arquivo: defina HOME ou XDG_CONFIG_HOME com um caminho absoluto",
    }
    own_file_head() {
        en: "# Settings of coder. What stands behind a # is a comment; take the # before a key away to set it.\n\
             # The command line counts over the persona, that over the project's .toolfence.toml, and that over this file; but a\n\
             # project or a persona can only make what may run stricter. `coder config show` tells what counts and why.\n\n",
        pt: "# Configurações do coder. O que vem depois de um # é comentário; retire o # antes de uma chave para defini-la.\n\
             # A linha de comando prevalece sobre a persona, esta sobre o .toolfence.toml do projeto, e este sobre este arquivo; mas\n\
             # um projeto ou uma persona só pode restringir o que pode rodar. `coder config show` diz o que vale e por quê.\n\n",
    }
    place_of_user() {
        en: "user",
        pt: "usuário",
    }
    place_of_project() {
        en: "project",
        pt: "projeto",
    }
    place_of_state() {
        en: "state",
        pt: "estado",
    }
    not_there(path) {
        en: "{path}  (not there)",
        pt: "{path}  (não existe)",
    }
}

// `coder policy`. Judgements are words of the protocol.
toolfence_protocol::texts! { "coder"
    it_runs() {
        en: "it runs",
        pt: "é executado",
    }
    person_is_asked() {
        en: "a person is asked",
        pt: "uma pessoa é consultada",
    }
    it_does_not_run() {
        en: "it does not run",
        pt: "não é executado",
    }
    always_would_store(rule) {
        en: "  always  would store: {rule}",
        pt: "  sempre  guardaria: {rule}",
    }
    always_stores_nothing(why) {
        en: "  always  is not on offer: {why}",
        pt: "  sempre  não está disponível: {why}",
    }
}

// `coder config profile`: what replies have shown of a backend.
toolfence_protocol::texts! { "coder"
    closing_tag_showed_it() {
        en: "a reply closed a reasoning that it had not opened",
        pt: "uma resposta fechou um raciocínio que não tinha aberto",
    }
    three_calls_showed_it() {
        en: "three calls came in it",
        pt: "três chamadas vieram nele",
    }
    probe_showed_it() {
        en: "the backend was asked",
        pt: "o backend foi consultado",
    }
    learned_ago(shown_by, age) {
        en: "{shown_by}, {age}",
        pt: "{shown_by}, {age}",
    }
    profile_counts(key, value) {
        en: "{key} is not set, and replies of this backend have shown: {value} (coder config profile)",
        pt: "{key} não está definido, e respostas deste backend mostraram: {value} (coder config profile)",
    }
    nothing_known_of(server, model) {
        en: "nothing is known of {model} at {server}",
        pt: "nada se sabe de {model} em {server}",
    }
    nothing_known_of_any() {
        en: "there is no profile of any backend",
        pt: "não há perfil de nenhum backend",
    }
    profile_forgotten(server, model) {
        en: "forgot what was known of {model} at {server}",
        pt: "o que se sabia de {model} em {server} foi esquecido",
    }
    recordings_have_no_profile() {
        en: "the backend is a recording, and a recording has no profile; --all shows the profiles of all backends",
        pt: "o backend é uma gravação, e uma gravação não tem perfil; --all mostra os perfis de todos os backends",
    }
    no_place_for_profiles() {
        en: "there is no place for profiles: set HOME or XDG_STATE_HOME",
        pt: "não há lugar para perfis: defina HOME ou XDG_STATE_HOME",
    }
    profile_unreadable(path, why) {
        en: "the profile of this backend cannot be read and is not used: {path}: {why}",
        pt: "não foi possível ler o perfil deste backend, que não é usado: {path}: {why}",
    }
    profile_of_version(version) {
        en: "it is of version {version}, and this program knows version 1",
        pt: "é da versão {version}, e este programa conhece a versão 1",
    }
    profile_not_kept(why) {
        en: "what replies have shown of this backend is not kept: {why}",
        pt: "o que as respostas mostraram deste backend não é guardado: {why}",
    }
}
