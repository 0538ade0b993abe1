//! Which server answers, and what to do where none does.

toolfence_protocol::texts! { "coder"
    provider_needs_key(provider, variable) {
        en: "{provider} wants a key: put it into the variable {variable}, or into TOOLFENCE_API_KEY",
        pt: "{provider} quer uma chave: ponha-a na variável {variable} ou em TOOLFENCE_API_KEY",
    }
    key_variable_is_empty(variable) {
        en: "api_key_env names the variable {variable}, which is not set or empty",
        pt: "api_key_env indica a variável {variable}, que não está definida ou está vazia",
    }
    no_program() {
        en: "it names no program",
        pt: "não indica nenhum programa",
    }
    program_from_path() {
        en: "it begins with the name of a program in the PATH, or with its absolute path",
        pt: "começa com o nome de um programa do PATH ou com o caminho absoluto dele",
    }
    cannot_start(program, error) {
        en: "cannot run {program}: {error}",
        pt: "não foi possível executar {program}: {error}",
    }
    key_took_too_long(seconds) {
        en: "no key came within {seconds} s",
        pt: "nenhuma chave chegou em {seconds} s",
    }
    key_command_failed(program, status) {
        en: "{program} ended with {status}",
        pt: "{program} terminou com {status}",
    }
    no_key_printed(program) {
        en: "what {program} printed is no key: one line is wanted, and nothing else",
        pt: "o que {program} imprimiu não é uma chave: é preciso uma linha, e nada mais",
    }
    file_is_missing() {
        en: "there is no such file",
        pt: "esse arquivo não existe",
    }
    server_found(kind, url, model) {
        en: "using {kind} at {url}, model {model}",
        pt: "usando {kind} em {url}, modelo {model}",
    }
    answered_by_program(program) {
        en: "answered by the program {program}",
        pt: "quem responde é o programa {program}",
    }
    answered_through(model, program) {
        en: "answered by {model}, through the program {program}",
        pt: "quem responde é {model}, pelo programa {program}",
    }
    answered_by(model, url) {
        en: "answered by {model} at {url}",
        pt: "quem responde é {model} em {url}",
    }
    server_beside(kind, url, models) {
        en: "\n  also {kind} at {url}: {models}",
        pt: "\n  também {kind} em {url}: {models}",
    }
    how_to_choose() {
        en: "\n  choose with --base-url and --model, or in your settings",
        pt: "\n  escolha com --base-url e --model, ou nas suas configurações",
    }
    model_chosen(model, count) {
        en: "using the model {model}, one of {count}; choose with --model",
        pt: "usando o modelo {model}, um de {count}; escolha com --model",
    }
    key_is_not_sent() {
        en: "\n  TOOLFENCE_API_KEY is not sent to a server that was only found: name it with --base-url",
        pt: "\n  TOOLFENCE_API_KEY não é enviada a um servidor que só foi encontrado: indique-o com --base-url",
    }
    some_server() {
        en: "an OpenAI-shaped server",
        pt: "um servidor no formato da OpenAI",
    }
    loads_its_model() {
        en: "it is loading its model",
        pt: "está carregando o modelo",
    }
    server_loads(kind, url, seconds) {
        en: "{kind} at {url} is loading its model; waiting for it up to {seconds} s",
        pt: "{kind} em {url} está carregando o modelo; aguardando até {seconds} s",
    }
    server_still_loads(kind, url, seconds) {
        en: "{kind} at {url} is still loading its model after {seconds} s. Try again when its log says that it is ready, or wait longer \
             for it: `http.first_byte` in the settings",
        pt: "{kind} em {url} ainda está carregando o modelo depois de {seconds} s. Tente de novo quando o log dele disser que está \
             pronto ou espere mais por ele: `http.first_byte` nas configurações",
    }
    no_model_there() {
        en: "no model",
        pt: "nenhum modelo",
    }
    and_more_models(names, count) {
        en: "{names} and {count} more",
        pt: "{names} e mais {count}",
    }
}

// Where no server can answer.
toolfence_protocol::texts! { "coder"
    no_server_named() {
        en: "no model server is named, and none is looked for on this machine.",
        pt: "nenhum servidor de modelos foi indicado, e nenhum é procurado nesta máquina.",
    }
    no_server_answers(places) {
        en: "no model server is named, and none answers on this machine ({places}).",
        pt: "nenhum servidor de modelos foi indicado, e nenhum responde nesta máquina ({places}).",
    }
    servers_have_no_model() {
        en: "a model server answers on this machine, but it has no model; get one first, such as with `ollama pull qwen2.5-coder`.",
        pt: "um servidor de modelos responde nesta máquina, mas não tem nenhum modelo; obtenha um antes, por exemplo com `ollama \
             pull qwen2.5-coder`.",
    }
    no_server_has(model) {
        en: "no model server on this machine has the model {model}; name one that is there, or get it first.",
        pt: "nenhum servidor de modelos nesta máquina tem o modelo {model}; indique um dos que existem ou obtenha-o antes.",
    }
    model_of_provider(model, provider) {
        en: "\n  {model} is a model of {provider}: coder --backend provider --model {model}",
        pt: "\n  {model} é um modelo de {provider}: coder --backend provider --model {model}",
    }
    ollama_elsewhere(url) {
        en: "\n  OLLAMA_HOST names another machine, which is not asked by itself: coder --base-url {url} --model NAME",
        pt: "\n  OLLAMA_HOST indica outra máquina, que não é consultada por conta própria: coder --base-url {url} --model NOME",
    }
    no_key_is_set() {
        en: "No key of a provider is set.",
        pt: "Nenhuma chave de provedor está definida.",
    }
    keys_are_set(keys) {
        en: "Set here: {keys}.",
        pt: "Definidas aqui: {keys}.",
    }
    how_to_get_a_server(keys) {
        en: "\n\nStart a server on this machine, then `coder`:\n  \
             llama-server -m MODEL.gguf --port 8080 -c 32768\n  \
             ollama serve, and `ollama pull qwen2.5-coder`\n\
             Use a provider, with its key in its variable:\n  \
             OPENAI_API_KEY=... coder --backend provider --model gpt-4o-mini\n  \
             {keys} `coder config backends` lists all providers.\n\
             Use any other OpenAI-shaped server:\n  \
             TOOLFENCE_API_KEY=... coder --base-url https://HOST/v1 --model NAME\n\
             Use a program that answers:\n  \
             coder --backend command --command \"llm -m NAME\"\n\
             Use a web page to chat in:\n  \
             `coder prompt` prints what to paste into it; `coder exec` runs what it answers\n\
             See how it works without a model:\n  \
             coder demo\n\
             What you always use belongs into your settings: `coder config init`.",
        pt: "\n\nInicie um servidor nesta máquina e depois `coder`:\n  \
             llama-server -m MODELO.gguf --port 8080 -c 32768\n  \
             ollama serve, e `ollama pull qwen2.5-coder`\n\
             Use um provedor, com a chave na variável dele:\n  \
             OPENAI_API_KEY=... coder --backend provider --model gpt-4o-mini\n  \
             {keys} `coder config backends` lista todos os provedores.\n\
             Use qualquer outro servidor no formato da OpenAI:\n  \
             TOOLFENCE_API_KEY=... coder --base-url https://HOST/v1 --model NOME\n\
             Use um programa que responda:\n  \
             coder --backend command --command \"llm -m NOME\"\n\
             Use uma página da web para conversar:\n  \
             `coder prompt` mostra o que colar nela; `coder exec` executa o que ela responde\n\
             Veja como funciona sem um modelo:\n  \
             coder demo\n\
             O que você sempre usa fica nas suas configurações: `coder config init`.",
    }
}

// `coder config backends`.
toolfence_protocol::texts! { "coder"
    providers_are() {
        en: "Providers, and the variables of their keys:",
        pt: "Provedores e as variáveis das suas chaves:",
    }
    key_is_set() {
        en: "set",
        pt: "definida",
    }
    key_is_not_set() {
        en: "-",
        pt: "-",
    }
    address_of_your_own() {
        en: "an address of your own: --base-url",
        pt: "um endereço só seu: --base-url",
    }
    local_servers_are() {
        en: "\nServers on this machine:",
        pt: "\nServidores nesta máquina:",
    }
    does_not_answer() {
        en: "does not answer",
        pt: "não responde",
    }
    how_to_name_backends() {
        en: "\nA provider: coder --backend provider --model NAME::MODEL. A server: coder --base-url URL --model MODEL.",
        pt: "\nUm provedor: coder --backend provider --model NOME::MODELO. Um servidor: coder --base-url URL --model MODELO.",
    }
}
