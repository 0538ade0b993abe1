//! The words of this crate. Those that end no sentence stand behind the name of a server.

toolfence_protocol::texts! { "mcp"
    cannot_start(why) { en: "it cannot be started: {why}", pt: "não é possível iniciá-lo: {why}" }
    starts_too_slowly(seconds) {
        en: "it has not told its tools within {seconds} s",
        pt: "não informou as ferramentas dele em {seconds} s",
    }
    other_version(version, understood) {
        en: "it speaks the version {version} of MCP, and {understood} are understood here",
        pt: "fala a versão {version} do MCP, e aqui são entendidas {understood}",
    }
    refused(said, code) { en: "it refused: {said} ({code})", pt: "recusou: {said} ({code})" }
    ended() { en: "it has ended", pt: "terminou" }
    ended_with(status) { en: "it ended with status {status}", pt: "terminou com o status {status}" }
    ended_by(signal) { en: "signal {signal} ended it", pt: "o sinal {signal} o encerrou" }
    with_errors(why, said) { en: "{why}; its stderr ends with: {said}", pt: "{why}; a saída de erro dele acaba com: {said}" }
    hides_a_word(why, path) {
        en: "{why}. The sandbox hides {path} from it, unless `paths` names that or its folder",
        pt: "{why}. O sandbox esconde dele {path}, a não ser que `paths` indique isso ou a pasta disso",
    }
    without_network(why) {
        en: "{why}. It has no network: where it has to fetch something first, set `network = true`",
        pt: "{why}. Ele não tem a rede: se precisa buscar algo antes, defina `network = true`",
    }
    does_not_read() { en: "it does not read what it is sent", pt: "não lê o que lhe é enviado" }
    line_too_long(megabytes) {
        en: "it wrote a line of more than {megabytes} MiB, and was ended",
        pt: "escreveu uma linha de mais de {megabytes} MiB e foi encerrado",
    }
    no_messages() {
        en: "it wrote lines that are no messages of MCP, and was ended",
        pt: "escreveu linhas que não são mensagens do MCP e foi encerrado",
    }
    writes_too_much(megabytes) {
        en: "it wrote {megabytes} MiB without an answer, and was ended",
        pt: "escreveu {megabytes} MiB sem uma resposta e foi encerrado",
    }
    too_much_of_tools(kilobytes) {
        en: "it says more than {kilobytes} KiB of its tools",
        pt: "diz mais de {kilobytes} KiB sobre as ferramentas dele",
    }
    endless_list(pages) {
        en: "its list of tools has more than {pages} pages",
        pt: "a lista de ferramentas dele tem mais de {pages} páginas",
    }

    too_many_tools(server, most) {
        en: "The MCP server {server} has more than {most} tools. The others are left out.",
        pt: "O servidor MCP {server} tem mais de {most} ferramentas. As outras ficam de fora.",
    }
    bad_tool_name(server, name) {
        en: "The tool {name} of the MCP server {server} is left out: its name is not up to 64 letters, digits, _, - and dots.",
        pt: "A ferramenta {name} do servidor MCP {server} fica de fora: o nome não tem só letras, dígitos, _, - e pontos, 64 no máximo.",
    }
    tool_name_taken(server, name) {
        en: "The tool {name} of the MCP server {server} is left out: another tool has its name.",
        pt: "A ferramenta {name} do servidor MCP {server} fica de fora: outra ferramenta já tem esse nome.",
    }
    tool_twice(server, name) {
        en: "The tool {name} of the MCP server {server} comes twice. The second one is left out.",
        pt: "A ferramenta {name} do servidor MCP {server} aparece duas vezes. A segunda fica de fora.",
    }
    odd_words_in_schema(server, name) {
        en: "The tool {name} of the MCP server {server} is left out: its arguments have names or words that are not shown as they are.",
        pt: "A ferramenta {name} do servidor MCP {server} fica de fora: os argumentos dela têm nomes ou palavras que não aparecem como são.",
    }
    bad_schema(server, name) {
        en: "The tool {name} of the MCP server {server} is left out: it has no schema of an object for its arguments.",
        pt: "A ferramenta {name} do servidor MCP {server} fica de fora: ela não tem um esquema de objeto para os argumentos.",
    }

    // For the model.
    server_over(server, why) {
        en: "The MCP server {server} did not answer: {why}. It is started again with the next call of its tools.",
        pt: "O servidor MCP {server} não respondeu: {why}. Ele é iniciado de novo na próxima chamada das ferramentas dele.",
    }
    server_refused(server, said, code) {
        en: "The MCP server {server} refused the call: {said} ({code})",
        pt: "O servidor MCP {server} recusou a chamada: {said} ({code})",
    }
    call_too_slow(server, seconds) {
        en: "The MCP server {server} did not answer within {seconds} s. The call was cancelled; what it has done by then is not known.",
        pt: "O servidor MCP {server} não respondeu em {seconds} s. A chamada foi cancelada; não se sabe o que ela fez até ali.",
    }
    tools_changed(server) {
        en: "The MCP server {server} says something else of its tools than the user has trusted, so they cannot be called. Tell the \
             user: `coder mcp trust {server}` shows what it says now.",
        pt: "O servidor MCP {server} diz das ferramentas dele algo diferente do que o usuário aprovou, por isso não podem ser chamadas. \
             Avise o usuário: `coder mcp trust {server}` mostra o que ele diz agora.",
    }
    call_failed() {
        en: "The server says that the call failed. The output says why.",
        pt: "O servidor diz que a chamada falhou. A saída diz por quê.",
    }
    left_out(kind, bytes) {
        en: "[Content of the type {kind}, {bytes} bytes, is left out: only text, PNG, JPEG, GIF and WebP can be shown, and few images.]",
        pt: "[Um conteúdo do tipo {kind}, {bytes} bytes, fica de fora: só se podem mostrar texto, PNG, JPEG, GIF e WebP, e poucas imagens.]",
    }
    an_image(name, kind, bytes) {
        en: "[The image {name}: {kind}, {bytes} bytes]",
        pt: "[A imagem {name}: {kind}, {bytes} bytes]",
    }
    broken_image(kind, bytes) {
        en: "[An image of the type {kind}, {bytes} bytes, is not shown: the file is broken.]",
        pt: "[Uma imagem do tipo {kind}, {bytes} bytes, não é mostrada: o arquivo está danificado.]",
    }
    more_parts(most, count) {
        en: "[{count} more {count|part is|parts are} left out: a result has {most} at most.]",
        pt: "[Mais {count} {count|parte fica|partes ficam} de fora: um resultado tem no máximo {most}.]",
    }
    a_link(uri, name) { en: "[A link to {uri}: {name}]", pt: "[Um link para {uri}: {name}]" }
    unknown_content(kind) {
        en: "[Content of the unknown type {kind} is left out.]",
        pt: "[Um conteúdo do tipo desconhecido {kind} fica de fora.]",
    }
}
