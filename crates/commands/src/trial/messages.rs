//! The words of this crate for people: what is tried, and what became of it.

use toolfence_protocol::Text;

toolfence_protocol::texts! { "trial"
    make_a_project() { en: "make a project to try", pt: "criar um projeto para o teste" }
    // The barriers.
    files() { en: "files", pt: "arquivos" }
    blocked_files() { en: "blocked files", pt: "arquivos bloqueados" }
    git() { en: "git", pt: "git" }
    processes() { en: "processes", pt: "processos" }
    network() { en: "network", pt: "rede" }
    system_calls() { en: "system calls", pt: "chamadas de sistema" }
    // What is tried.
    read_beside() { en: "read a file beside the project", pt: "ler um arquivo ao lado do projeto" }
    write_beside() { en: "write a file beside the project", pt: "escrever um arquivo ao lado do projeto" }
    look_at_home() { en: "look into the home folder", pt: "olhar a pasta pessoal" }
    change_system() { en: "change the system", pt: "alterar o sistema" }
    read_passwords() { en: "read the passwords of the system", pt: "ler as senhas do sistema" }
    look_at_devices() { en: "look at the devices", pt: "olhar os dispositivos" }
    write_project() { en: "write into the project", pt: "escrever no projeto" }
    read_env() { en: "read .env", pt: "ler .env" }
    read_deep() { en: "read one deep in the tree", pt: "ler um no fundo da árvore" }
    read_by_another_name() { en: "read one by another name", pt: "ler um por outro nome" }
    move_and_read() { en: "move one away and read it", pt: "mover um e ler" }
    move_folder_and_read() { en: "move its folder away and read it", pt: "mover a pasta dele e ler" }
    replace_it() { en: "put another in its place", pt: "pôr outro em seu lugar" }
    write_hook() { en: "write a hook", pt: "escrever um hook" }
    change_git_settings() { en: "change its settings", pt: "alterar a configuração dele" }
    move_repository() { en: "move the repository away", pt: "mover o repositório" }
    signal_host() { en: "signal a process of the host", pt: "enviar um sinal a um processo do hospedeiro" }
    read_host_memory() {
        en: "read the memory of a process of the host",
        pt: "ler a memória de um processo do hospedeiro",
    }
    see_host_processes() { en: "see processes of the host", pt: "ver processos do hospedeiro" }
    leave_running() { en: "leave one running", pt: "deixar um em execução" }
    start_many() { en: "start as many as there is room for", pt: "iniciar tantos quantos couberem" }
    connect_here() { en: "connect to a server on this machine", pt: "conectar a um servidor nesta máquina" }
    see_interfaces() { en: "see the interfaces", pt: "ver as interfaces" }
    // What is tried by system calls.
    call_to_mount_a_file_system() { en: "mount a file system", pt: "montar um sistema de arquivos" }
    call_to_take_a_mount_away() { en: "take a mount away", pt: "desmontar algo" }
    call_to_open_a_tree_of_mounts() { en: "open a tree of mounts", pt: "abrir uma árvore de montagens" }
    call_to_change_another_root() { en: "change another root", pt: "mudar a raiz" }
    call_to_make_namespaces() { en: "make namespaces", pt: "criar namespaces" }
    call_to_make_namespaces_by_clone() { en: "make namespaces by clone", pt: "criar namespaces com clone" }
    call_to_hide_flags_in_clone3() { en: "hide flags in clone3", pt: "esconder opções em clone3" }
    call_to_enter_other_namespaces() { en: "enter other namespaces", pt: "entrar em outros namespaces" }
    call_to_trace_a_process() { en: "trace a process", pt: "rastrear um processo" }
    call_to_read_the_memory_of_a_process() { en: "read the memory of a process", pt: "ler a memória de um processo" }
    call_to_take_descriptors_of_a_process() {
        en: "take descriptors of a process",
        pt: "tomar descritores de um processo",
    }
    call_to_open_a_file_by_its_number() { en: "open a file by its number", pt: "abrir um arquivo pelo número" }
    call_to_load_a_program_into_the_kernel() {
        en: "load a program into the kernel",
        pt: "carregar um programa no kernel",
    }
    call_to_use_the_keys_of_the_kernel() { en: "use the keys of the kernel", pt: "usar as chaves do kernel" }
    call_to_handle_page_faults() { en: "handle page faults", pt: "tratar faltas de página" }
    call_to_measure_the_machine() { en: "measure the machine", pt: "medir a máquina" }
    call_to_use_io_uring() { en: "use io_uring", pt: "usar io_uring" }
    call_to_type_into_a_terminal() { en: "type into a terminal", pt: "digitar em um terminal" }
    call_to_open_a_socket_to_the_kernel() { en: "open a socket to the kernel", pt: "abrir um socket para o kernel" }
    call_to_open_a_socket_to_the_host_of_a_machine() {
        en: "open a socket to the host of a machine",
        pt: "abrir um socket para o hospedeiro da VM",
    }
    call_to_open_an_internet_socket() { en: "open an internet socket", pt: "abrir um socket de internet" }
    call_to_ask_the_kernel_for_addresses() { en: "ask the kernel for addresses", pt: "pedir endereços ao kernel" }
    all_calls() { en: "all of them", pt: "todas" }
    // What is said of an attempt.
    network_is_allowed() { en: "every command may use the network", pt: "todo comando pode usar a rede" }
    filter_of_the_engine() {
        en: "the engine has a filter of its own, which is not tried",
        pt: "o engine tem um filtro próprio, que não é testado",
    }
    refused() { en: "refused", pt: "recusado" }
    allowed() { en: "allowed", pt: "permitido" }
    newer_linux() {
        en: "Linux 6.14 or newer bounds them for root too; an older one for ordinary users only.",
        pt: "O Linux 6.14 ou mais novo os limita também para root; um mais antigo, só para usuários comuns.",
    }
}

/// What the helper tries by a system call, under the name that it writes. One that this host does not know keeps that name.
pub(crate) fn call(name: &str) -> Text {
    type Call = (&'static str, fn() -> Text);
    const CALLS: &[Call] = &[
        ("mount a file system", call_to_mount_a_file_system),
        ("take a mount away", call_to_take_a_mount_away),
        ("open a tree of mounts", call_to_open_a_tree_of_mounts),
        ("change another root", call_to_change_another_root),
        ("make namespaces", call_to_make_namespaces),
        ("make namespaces by clone", call_to_make_namespaces_by_clone),
        ("hide flags in clone3", call_to_hide_flags_in_clone3),
        ("enter other namespaces", call_to_enter_other_namespaces),
        ("trace a process", call_to_trace_a_process),
        ("read the memory of a process", call_to_read_the_memory_of_a_process),
        ("take descriptors of a process", call_to_take_descriptors_of_a_process),
        ("open a file by its number", call_to_open_a_file_by_its_number),
        ("load a program into the kernel", call_to_load_a_program_into_the_kernel),
        ("use the keys of the kernel", call_to_use_the_keys_of_the_kernel),
        ("handle page faults", call_to_handle_page_faults),
        ("measure the machine", call_to_measure_the_machine),
        ("use io_uring", call_to_use_io_uring),
        ("type into a terminal", call_to_type_into_a_terminal),
        ("open a socket to the kernel", call_to_open_a_socket_to_the_kernel),
        ("open a socket to the host of a machine", call_to_open_a_socket_to_the_host_of_a_machine),
        ("open an internet socket", call_to_open_an_internet_socket),
        ("ask the kernel for addresses", call_to_ask_the_kernel_for_addresses),
    ];
    CALLS.iter().find(|(known, _)| *known == name).map_or_else(|| name.into(), |(_, text)| text())
}
