//! Servers of the Model Context Protocol: what became of each, and whether it is trusted.

toolfence::program::texts! { "coder"
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
        pt: "Com a sua confiança, o modelo fica sabendo destas ferramentas com estas palavras. Cada chamada ainda pergunta a você, a\n\
             não ser que as suas configurações a permitam.",
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
    server_stays_untrusted(name) {
        en: "The MCP server {name} is not trusted.",
        pt: "O servidor MCP {name} não é de confiança.",
    }
}
