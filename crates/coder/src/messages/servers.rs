//! Servers of the Model Context Protocol: what became of each, and whether it is trusted.

toolfence_protocol::texts! { "coder"
    server_not_used(name, why) {
        en: "The MCP server {name} is not used: {why}.",
        pt: "O servidor MCP {name} não é usado: {why}.",
    }
    server_not_trusted(name) {
        en: "The tools of the MCP server {name} are left out: you have not trusted what it says of them now. \
             `coder mcp trust {name}` shows that and asks.",
        pt: "As ferramentas do servidor MCP {name} ficam de fora: você não confiou no que ele diz delas agora. \
             `coder mcp trust {name}` mostra isso e pergunta.",
    }
    server_outside(name) {
        en: "The MCP server {name} runs without a sandbox.",
        pt: "O servidor MCP {name} roda sem sandbox.",
    }
    server_name_like_another() {
        en: "its name differs from that of another server only in _ and -",
        pt: "o nome dele só difere do de outro servidor em _ e -",
    }
    server_thread_died() {
        en: "the thread that starts it ended in a panic",
        pt: "a thread que o inicia terminou em pânico",
    }
    path_holds_settings(path) {
        en: "{path} would let it change your settings or what you trust",
        pt: "{path} permitiria que ele alterasse as suas configurações ou aquilo em que você confia",
    }
    variable_not_set(name) { en: "the variable {name} is not set", pt: "a variável {name} não está definida" }
    trust_allows_server() {
        en: "Trusted, the model is told of these tools in these words. Each call still asks you, unless your settings allow it.",
        pt: "Com a sua confiança, o modelo fica sabendo destas ferramentas com estas palavras. Cada chamada ainda pergunta a você, a \
             não ser que as suas configurações a permitam.",
    }
    server_in_short(name, count, command, paths, network) {
        en: "In short: {name} has {count} {count|tool|tools}. It runs `{command}`, {paths}, and {network}.",
        pt: "Em resumo: {name} tem {count} {count|ferramenta|ferramentas}. Executa `{command}`, {paths} e {network}.",
    }
    writes_nothing() { en: "writes no files of yours", pt: "não escreve em arquivos seus" }
    writes_in(paths) { en: "may read and write {paths}", pt: "pode ler e escrever {paths}" }
    has_network() { en: "has the network", pt: "tem a rede" }
    has_no_network() { en: "has no network", pt: "não tem a rede" }
    waiting_for_servers(servers) {
        en: "Waiting for MCP servers to tell their tools, for half a minute at most: {servers}.",
        pt: "Esperando que servidores MCP informem as ferramentas deles, por meio minuto no máximo: {servers}.",
    }
    servers_offer(servers) { en: "tools of MCP servers: {servers}", pt: "ferramentas de servidores MCP: {servers}" }
    server_with_tools(name, count) {
        en: "{name} ({count} {count|tool|tools})",
        pt: "{name} ({count} {count|ferramenta|ferramentas})",
    }
    servers_not_started() {
        en: "The tools of MCP servers are not among these: `coder mcp list` starts the servers and shows them.",
        pt: "As ferramentas de servidores MCP não estão entre estas: `coder mcp list` inicia os servidores e as mostra.",
    }
    no_servers() {
        en: "The settings name no MCP server. A section [mcp.NAME] with a command does.",
        pt: "As configurações não indicam nenhum servidor MCP. Uma seção [mcp.NOME] com command indica um.",
    }
    no_such_server(name) {
        en: "The settings name no MCP server {name}; `coder mcp list` shows those that they do.",
        pt: "As configurações não indicam um servidor MCP {name}; `coder mcp list` mostra os que elas indicam.",
    }
    server_failed(why) { en: "failed: {why}", pt: "falhou: {why}" }
    server_is_trusted() { en: "trusted", pt: "de confiança" }
    server_is_untrusted(name) {
        en: "not trusted: `coder mcp trust {name}` shows what it says and asks",
        pt: "sem confiança: `coder mcp trust {name}` mostra o que ele diz e pergunta",
    }
    // `/mcp`.
    slash_mcp() {
        en: "the servers of tools: how they are; of one, all; or start one again",
        pt: "os servidores de ferramentas: como estão; de um, tudo; ou inicia um de novo",
    }
    server_runs(count) {
        en: "trusted, runs, {count} {count|tool|tools}",
        pt: "de confiança, em execução, {count} {count|ferramenta|ferramentas}",
    }
    server_is_over(why) {
        en: "trusted; {why}. The next call starts it again.",
        pt: "de confiança; {why}. A próxima chamada o inicia de novo.",
    }
    server_differs(name) {
        en: "says something else of its tools than you have trusted, so calls are refused. `/mcp restart {name}` shows that and asks.",
        pt: "diz das ferramentas dele algo diferente daquilo em que você confiou, por isso as chamadas são recusadas. \
             `/mcp restart {name}` mostra isso e pergunta.",
    }
    server_wants_trust(name) {
        en: "not trusted, so the model is not told of its tools. `/mcp restart {name}` shows what it says and asks.",
        pt: "sem confiança, por isso o modelo não sabe das ferramentas dele. `/mcp restart {name}` mostra o que ele diz e pergunta.",
    }
    server_not_running(name, why) {
        en: "failed: {why}. `/mcp restart {name}` tries again.",
        pt: "falhou: {why}. `/mcp restart {name}` tenta de novo.",
    }
    server_said() { en: "the last lines of its stderr:", pt: "as últimas linhas da saída de erro dele:" }
    other_variables(name) {
        en: "The settings give {name} other variables than when this conversation began, whose values would stand in what is written \
             down of it. Start `coder` again.",
        pt: "As configurações dão a {name} outras variáveis do que quando esta conversa começou, e os valores delas ficariam no que \
             se escreve dela. Inicie o `coder` de novo.",
    }
    server_starts(name) { en: "Starting {name} ...", pt: "Iniciando {name} ..." }
    server_not_waited_for(name) {
        en: "The start of {name} was stopped. `/mcp restart {name}` tries again.",
        pt: "O início de {name} foi interrompido. `/mcp restart {name}` tenta de novo.",
    }
    mcp_takes() {
        en: "/mcp takes nothing, the name of a server, or `restart` and a name.",
        pt: "/mcp não leva nada, ou leva o nome de um servidor, ou `restart` e um nome.",
    }
    told_of_tools(name, tools) {
        en: "The user has started the MCP server {name} again. Its tools are these now: {tools}.",
        pt: "O usuário iniciou de novo o servidor MCP {name}. As ferramentas dele agora são estas: {tools}.",
    }
    told_of_no_tools(name) {
        en: "The user has started the MCP server {name} again. None of its tools can be called now.",
        pt: "O usuário iniciou de novo o servidor MCP {name}. Nenhuma ferramenta dele pode ser chamada agora.",
    }
    server_stays_untrusted(name) {
        en: "The MCP server {name} is not trusted.",
        pt: "O servidor MCP {name} não é de confiança.",
    }
}
