//! The words of this crate for people. What the crate `glob` says of a bad pattern stays in English.

toolfence_protocol::texts! { "rules"
    read_path_glob(glob) { en: "read the path glob {glob}", pt: "ler o glob de caminho {glob}" }
    // What a key of git's configuration can do, as the end of a sentence that begins with the key.
    runs_at_status() {
        en: "makes git run a program at every `git status`",
        pt: "faz o git executar um programa a cada `git status`",
    }
    runs_hooks() {
        en: "makes git run the programs of a folder at commits, checkouts, merges and pushes",
        pt: "faz o git executar os programas de uma pasta em commits, checkouts, merges e pushes",
    }
    runs_for_messages() {
        en: "makes git run a program wherever a message is written",
        pt: "faz o git executar um programa sempre que uma mensagem é escrita",
    }
    runs_at_interactive_rebase() {
        en: "makes git run a program at every interactive rebase",
        pt: "faz o git executar um programa a cada rebase interativo",
    }
    runs_for_all_output() {
        en: "makes git run a program for whatever it prints",
        pt: "faz o git executar um programa para tudo o que ele mostra",
    }
    runs_for_output() {
        en: "makes git run a program for what a command prints",
        pt: "faz o git executar um programa para o que um comando mostra",
    }
    runs_at_fetch_and_push() {
        en: "makes git run a program at every fetch and push",
        pt: "faz o git executar um programa a cada fetch e push",
    }
    runs_at_fetch() { en: "makes git run a program at every fetch", pt: "faz o git executar um programa a cada fetch" }
    runs_with_passwords() {
        en: "makes git run a program that is given passwords",
        pt: "faz o git executar um programa que recebe senhas",
    }
    runs_at_fetches() { en: "makes git run a program at fetches", pt: "faz o git executar um programa em fetches" }
    runs_for_credentials() {
        en: "makes git run a program that is given passwords, or changes who gets them",
        pt: "faz o git executar um programa que recebe senhas, ou muda quem as recebe",
    }
    makes_a_command() {
        en: "makes a git command of its own, which may run any program",
        pt: "cria um comando do git, que pode executar qualquer programa",
    }
    runs_at_add_and_checkout() {
        en: "makes git run a program on files at every add and checkout",
        pt: "faz o git executar um programa sobre arquivos a cada add e checkout",
    }
    runs_at_diff() {
        en: "makes git run a program at every `git diff`",
        pt: "faz o git executar um programa a cada `git diff`",
    }
    runs_at_diff_show_and_log() {
        en: "makes git run a program at every `git diff`, `git show` and `git log -p`",
        pt: "faz o git executar um programa a cada `git diff`, `git show` e `git log -p`",
    }
    runs_a_program() { en: "makes git run a program", pt: "faz o git executar um programa" }
    runs_at_merge() { en: "makes git run a program at every merge", pt: "faz o git executar um programa a cada merge" }
    runs_for_signatures() {
        en: "makes git run a program where signatures are made or verified",
        pt: "faz o git executar um programa onde assinaturas são feitas ou verificadas",
    }
    runs_at_commit() {
        en: "makes git run a program at every commit",
        pt: "faz o git executar um programa a cada commit",
    }
    runs_at_tag() { en: "makes git run a program at every tag", pt: "faz o git executar um programa a cada tag" }
    runs_at_push() { en: "makes git run a program at every push", pt: "faz o git executar um programa a cada push" }
    runs_at_log() {
        en: "makes git run a program at every `git log`",
        pt: "faz o git executar um programa a cada `git log`",
    }
    reads_more_configuration() {
        en: "makes git read further configuration from another file",
        pt: "faz o git ler mais configuração de outro arquivo",
    }
    changes_the_address() {
        en: "sends git to another address than the one a remote names",
        pt: "leva o git a um endereço diferente do que o remoto indica",
    }
    changes_http() {
        en: "changes how git reaches servers and what it sends them",
        pt: "muda como o git chega aos servidores e o que envia a eles",
    }
    changes_the_proxy() { en: "sends git through another server", pt: "leva o git por outro servidor" }
    odd_address_reads() {
        en: "can make git run a program or read another folder, as this is no http, https, ssh or git address",
        pt: "pode fazer o git executar um programa ou ler outra pasta, pois isto não é um endereço http, https, ssh ou git",
    }
    odd_address_writes() {
        en: "can make git run a program or write another folder, as this is no http, https, ssh or git address",
        pt: "pode fazer o git executar um programa ou escrever em outra pasta, pois isto não é um endereço http, https, ssh ou git",
    }
    runs_at_submodule_update() {
        en: "can make `git submodule update` run a program",
        pt: "pode fazer `git submodule update` executar um programa",
    }
    odd_remote_at_pull() {
        en: "can make git run a program at `git pull`, as this is no plain name of a remote",
        pt: "pode fazer o git executar um programa em `git pull`, pois isto não é um simples nome de remoto",
    }
    odd_remote_at_push() {
        en: "can make git run a program at `git push`, as this is no plain name of a remote",
        pt: "pode fazer o git executar um programa em `git push`, pois isto não é um simples nome de remoto",
    }
    takes_another_folder() {
        en: "makes git take another folder for the files of the repository",
        pt: "faz o git usar outra pasta para os arquivos do repositório",
    }
    changes_the_folder() {
        en: "changes which folder git takes for the files of the repository",
        pt: "muda a pasta que o git usa para os arquivos do repositório",
    }
    reads_attributes() {
        en: "makes git read from another file what it does with files",
        pt: "faz o git ler de outro arquivo o que faz com os arquivos",
    }
    copies_templates() {
        en: "makes git copy files, hooks among them, into new repositories",
        pt: "faz o git copiar arquivos, inclusive hooks, para novos repositórios",
    }
    trusts_repositories() {
        en: "lets git use repositories of other users",
        pt: "permite ao git usar repositórios de outros usuários",
    }
    allows_transports() {
        en: "lets git use other transports, which may run programs",
        pt: "permite ao git usar outros transportes, que podem executar programas",
    }
    runs_when_fetched_from() {
        en: "can make git run a program when somebody fetches",
        pt: "pode fazer o git executar um programa quando alguém faz fetch",
    }
    may_run_a_program() { en: "can make git run a program", pt: "pode fazer o git executar um programa" }
    may_run_at_commits() {
        en: "can make git run a program at commits",
        pt: "pode fazer o git executar um programa em commits",
    }
    runs_at_add_patch() {
        en: "makes git run a program at `git add -p`",
        pt: "faz o git executar um programa em `git add -p`",
    }
    changes_the_format() { en: "changes how git reads the repository", pt: "muda como o git lê o repositório" }
    not_known_to_be_harmless() {
        en: "is not one of the keys that are known to make git run nothing",
        pt: "não é uma das chaves que se sabe que não fazem o git executar nada",
    }
}
