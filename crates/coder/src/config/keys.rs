//! The keys of the program's own, beside those of the policy.

use crate::{theme, thoughts};
use toolfence_policy::settings::{InProject, KEYS, Key, Takes, limit_keys};

/// What chooses a server or a model is a project's only where the person trusts it; files that are read, never: trust
/// would not see them change.
const OWN: &[Key] = &[
    Key::new(
        "backend",
        Takes::Choice(&["http", "replay", "provider", "command"]),
        InProject::Trusted,
        "\"http\"",
        "Who answers: http, an OpenAI-shaped server; provider, one that is known by the model's name; command, a program;\n\
         replay, recordings.",
    ).in_portuguese("Quem responde: http, um servidor no formato da OpenAI; provider, um provedor reconhecido pelo nome do modelo; command, um\n\
         programa; replay, gravações."),
    Key::new(
        "base_url",
        Takes::Text,
        InProject::Trusted,
        "",
        "Where the OpenAI-shaped server is, such as \"http://127.0.0.1:8080/v1\". Where it is not set, the usual addresses on this\n\
         machine are looked at. Its key comes from the variable TOOLFENCE_API_KEY, or as the next two say, and from no file.",
    ).in_portuguese("Onde está o servidor no formato da OpenAI, como \"http://127.0.0.1:8080/v1\". Sem isto, os endereços de costume desta\n\
         máquina são consultados. A chave vem da variável TOOLFENCE_API_KEY, ou como dizem as duas seguintes, e de nenhum arquivo."),
    Key::new("api_key_env", Takes::Text, InProject::Never, "", "The variable that holds the key of the server.").in_portuguese("A variável que contém a chave do servidor."),
    Key::new(
        "api_key_command",
        Takes::Text,
        InProject::Never,
        "",
        "A command line that prints the key of the server, such as \"pass show models/key\". It runs without a shell, once a run,\n\
         and has 30 seconds. The program is one of the PATH, or is named from /.",
    ).in_portuguese("Uma linha de comando que mostra a chave do servidor, como \"pass show models/key\". Ela roda sem shell, uma vez por execução,\n\
         e tem 30 segundos. O programa é um do PATH ou é indicado a partir de /."),
    Key::new("model", Takes::Text, InProject::Trusted, "", "The model, as the backend names it.").in_portuguese("O modelo, como o backend o chama."),
    Key::new(
        "command",
        Takes::Text,
        InProject::Trusted,
        "",
        "The program of the backend command with its arguments: \"llm -m gpt-4o-mini\". It reads the conversation on its stdin and\n\
         prints the answer. No shell reads the line, and the program runs outside of the sandbox, in your home folder, with\n\
         your environment. {session}, {turn} and {model} are replaced. One that is named with a / and not from the\n\
         root is looked for beside this file.",
    ).in_portuguese("O programa do backend command com os argumentos dele: \"llm -m gpt-4o-mini\". Ele lê a conversa na entrada padrão e escreve a\n\
         resposta. Nenhum shell lê a linha, e o programa roda fora do sandbox, na sua pasta pessoal, com o seu ambiente.\n\
         {session}, {turn} e {model} são substituídos. Um que é indicado com / e não a partir da raiz é procurado ao lado deste arquivo."),
    Key::new(
        "command_conversation",
        Takes::Choice(&["whole", "own"]),
        InProject::Trusted,
        "\"whole\"",
        "What that program is sent with each message: whole, the whole conversation; own, only what is new, for a program that\n\
         keeps the conversation itself. If TOOLFENCE_FIRST is 1, it must begin a new one, and gets everything.",
    ).in_portuguese("O que esse programa recebe com cada mensagem: whole, a conversa inteira; own, só o que é novo, para um programa que guarda a\n\
         conversa por conta própria. Ele tem de começar outra quando TOOLFENCE_FIRST é 1, e então recebe tudo."),
    Key::new(
        "command_format",
        Takes::Choice(&["text", "json"]),
        InProject::Trusted,
        "\"text\"",
        "How it is sent: text, or json, one line {\"role\":..,\"content\":..} a message.",
    ).in_portuguese("Como ele o recebe: text, ou json, uma linha {\"role\":..,\"content\":..} por mensagem."),
    Key::new(
        "command_first_byte",
        Takes::Whole(1, 86_400),
        InProject::Never,
        "300",
        "Seconds that the program may take to begin its answer.",
    ).in_portuguese("Segundos que o programa pode levar até começar a resposta."),
    Key::new(
        "command_between",
        Takes::Whole(1, 86_400),
        InProject::Never,
        "60",
        "Seconds that it may be silent within its answer.",
    ).in_portuguese("Segundos que ele pode ficar em silêncio dentro da resposta."),
    Key::new(
        "persona",
        Takes::Text,
        InProject::Never,
        "\"coder\"",
        "Who the model is: coder, explainer, reviewer, small, another that `coder personas` lists, or a file. A file that is not named\n\
         from / is looked for beside this one.",
    ).in_portuguese("Quem o modelo é: coder, explainer, reviewer, small, outra que `coder personas` lista, ou um arquivo. Um arquivo que não é indicado a\n\
         partir de / é procurado ao lado deste."),
    Key::new(
        "agents_files",
        Takes::Choice(&["on", "off"]),
        InProject::Stricter,
        "\"on\"",
        "Whether the model is told what a project says to agents: in each folder from the root to the one where you are, the\n\
         first of AGENTS.md, CLAUDE.md, GEMINI.md and .github/copilot-instructions.md, and before them the one beside this\n\
         file; at most limits.agents_bytes in all.",
    ).in_portuguese("Se o modelo lê o que um projeto diz a agentes: em cada pasta, da raiz até onde você está, o primeiro de AGENTS.md, CLAUDE.md,\n\
         GEMINI.md e .github/copilot-instructions.md, e antes deles o que está ao lado deste arquivo; no máximo\n\
         limits.agents_bytes ao todo."),
    Key::new(
        "replies",
        Takes::Text,
        InProject::Never,
        "",
        "The recorded replies of the replay backend. A file that is not named from / is looked for beside this one.",
    ).in_portuguese("As respostas gravadas do backend replay. Um arquivo que não é indicado a partir de / é procurado ao lado deste."),
    Key::new(
        "lang",
        Takes::Choice(&["en", "pt"]),
        InProject::Trusted,
        "\"en\"",
        "The language of what you and the model are told: persona, instructions, results, questions and errors. Where it is not set,\n\
         LC_ALL, LC_MESSAGES or LANG may name Portuguese.",
    ).in_portuguese("A língua do que você e o modelo leem: persona, instruções, resultados, perguntas e erros. Sem isto, LC_ALL, LC_MESSAGES ou\n\
         LANG podem indicar o português."),
    Key::new(
        "instructions",
        Takes::Choice(&["inline", "external"]),
        InProject::Trusted,
        "\"inline\"",
        "Whether persona and instructions are sent: external where they are pasted into the backend already.",
    ).in_portuguese("Se persona e instruções são enviadas: external quando já foram coladas no backend."),
    Key::new(
        "dialects",
        Takes::Text,
        InProject::Trusted,
        "\"all\"",
        "The forms in which calls are read beside the blocks that the instructions teach: all, none, or names with commas\n\
         between them, such as \"hermes,llama\". With one name, it is the form that the model is known to write.",
    ).in_portuguese("As formas em que chamadas são lidas além dos blocos que as instruções ensinam: all, none, ou nomes com vírgulas entre eles,\n\
         como \"hermes,llama\". Com um só nome, é a forma em que se sabe que o modelo escreve."),
    Key::new(
        "reasoning",
        Takes::Choice(&["unknown", "known", "opened"]),
        InProject::Trusted,
        "\"unknown\"",
        "Whether the backend's template opens the model's reasoning, so that a reply has only the closing tag.\n\
         unknown: a closing tag by itself means that all before it was thought; no call in it counts.\n\
         known: reasoning has both tags in the reply, or none. `coder proxy` can then pass calls on while they are written.\n\
         opened: a reply begins in reasoning.",
    ).in_portuguese("Se o modelo de conversa do backend abre o raciocínio, de modo que uma resposta só tem a tag de fechamento.\n\
         unknown: uma tag de fechamento sozinha quer dizer que tudo antes foi pensado; nenhuma chamada ali conta.\n\
         known: o raciocínio tem as duas tags na resposta, ou nenhuma. Assim `coder proxy` passa chamadas adiante enquanto são escritas.\n\
         opened: uma resposta começa em raciocínio."),
    Key::new(
        "grammar",
        Takes::Choice(&["auto", "on", "off"]),
        InProject::Trusted,
        "\"auto\"",
        "Whether a grammar goes with each request, by which the server lets the model write prose and valid calls only.\n\
         auto: where `coder doctor --backend` saw that the server obeys one, and that it takes no reasoning from the model.\n\
         on: always, in the form that it was seen to obey, or else in that of llama.cpp.",
    ).in_portuguese("Se uma gramática acompanha cada pedido, com a qual o servidor deixa o modelo escrever só prosa e chamadas válidas.\n\
         auto: quando `coder doctor --backend` viu que o servidor obedece a uma e que ela não tira o raciocínio do modelo.\n\
         on: sempre, na forma a que ele foi visto obedecer, ou então na de llama.cpp."),
    Key::new(
        "window",
        Takes::Whole(1, 100_000_000),
        InProject::Trusted,
        "",
        "Tokens that the model can read. At 80 % of them the conversation is compacted: old tool output first, then old messages.\n\
         Without it the server is asked, and the conversation is compacted in any case once the server refuses it.",
    ).in_portuguese("Tokens que o modelo consegue ler. Em 80 % deles a conversa é compactada: primeiro a saída antiga das ferramentas, depois as\n\
         mensagens antigas. Sem isto o servidor é consultado, e a conversa é compactada de todo modo se o servidor a recusa."),
    Key::new(
        "temperature",
        Takes::Number(2),
        InProject::Trusted,
        "",
        "The sampling temperature. Where it is not set, the server decides.",
    ).in_portuguese("A temperatura da amostragem. Sem isto, o servidor decide."),
    Key::new(
        "top_p",
        Takes::Number(1),
        InProject::Trusted,
        "",
        "The share of the likeliest tokens that is sampled from. Where it is not set, the server decides.",
    ).in_portuguese("A parcela dos tokens mais prováveis entre os quais se sorteia. Sem isto, o servidor decide."),
    Key::new(
        "max_tokens",
        Takes::Whole(1, 100_000_000),
        InProject::Trusted,
        "",
        "The most tokens of a reply. Where it is not set, the server decides.",
    ).in_portuguese("O máximo de tokens de uma resposta. Sem isto, o servidor decide."),
    Key::new("stop", Takes::Texts, InProject::Trusted, "[]", "Texts before which a reply ends.").in_portuguese("Textos antes dos quais uma resposta termina."),
    Key::new(
        "prices",
        Takes::Prices,
        InProject::Never,
        "{}",
        "What a million tokens of a model cost, in the currency you think of; --stats and /stats count with it.\n\
         \"qwen3-coder\" = { input = 0.5, cached = 0.05, output = 1.5 }: the name is that of the setting model. Without cached, tokens\n\
         that the server still knew cost as much as others.",
    ).in_portuguese("Quanto custa um milhão de tokens de um modelo, na moeda que você quiser; --stats e /stats contam com isso.\n\
         \"qwen3-coder\" = { input = 0.5, cached = 0.05, output = 1.5 }: o nome é o da configuração model. Sem cached, os tokens que o\n\
         servidor ainda conhecia custam tanto quanto os outros."),
    Key::new(
        "mcp",
        Takes::Servers,
        InProject::Never,
        "{}",
        "Servers of MCP, the Model Context Protocol, whose tools join the others as NAME.TOOL. Each has a section of its own:\n\
         [mcp.files]\n\
         command = [\"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/data\"]\n\
         env = { TOKEN = \"$MY_TOKEN\" }: variables that it gets; a $ takes one of yours. Without it, those of every command.\n\
         network = true: it may use the network. paths = [\"/srv/data\"]: it may read and write there, and else read the project.\n\
         allow = [\"read_file\"]: tools that run without a question, or \"*\". seconds = 60: the most of a call.\n\
         The model is told of the tools once you trust what the server says of them: `coder mcp trust`.",
    ).in_portuguese("Servidores de MCP, o Model Context Protocol, cujas ferramentas se juntam às outras como NOME.FERRAMENTA. Cada um tem uma\n\
         seção própria:\n\
         [mcp.files]\n\
         command = [\"npx\", \"-y\", \"@modelcontextprotocol/server-filesystem\", \"/srv/data\"]\n\
         env = { TOKEN = \"$MY_TOKEN\" }: variáveis que ele recebe; um $ usa uma das suas. Sem isto, as de todo comando.\n\
         network = true: ele pode usar a rede. paths = [\"/srv/data\"]: ele pode ler e escrever ali e, fora disso, ler o projeto.\n\
         allow = [\"read_file\"]: ferramentas que rodam sem pergunta, ou \"*\". seconds = 60: o máximo de uma chamada.\n\
         O modelo fica sabendo das ferramentas quando você confia no que o servidor diz delas: `coder mcp trust`."),
    Key::new(
        "color",
        Takes::Choice(&["auto", "always", "never"]),
        InProject::Never,
        "\"auto\"",
        "Whether there are colours: auto where a terminal shows them and NO_COLOR is not set.",
    ).in_portuguese("Se há cores: auto onde um terminal as mostra e NO_COLOR não está definida."),
    Key::new(
        "notify",
        Takes::Choice(&["off", "bell", "osc9"]),
        InProject::Never,
        "\"bell\"",
        "How a terminal tells you that a long turn is over, or has a question: bell; osc9, a notification of the desktop where the\n\
         terminal can show one; or off.",
    ).in_portuguese("Como um terminal avisa que um turno longo terminou ou tem uma pergunta: bell, a campainha; osc9, uma notificação da área de\n\
         trabalho, onde o terminal consegue mostrá-la; ou off."),
    Key::new(
        "notify_after",
        Takes::Whole(0, 86_400),
        InProject::Never,
        "20",
        "Seconds without you after which a turn is a long one.",
    ).in_portuguese("Segundos sem você a partir dos quais um turno é longo."),
];

/// How it looks and is typed into: the person's business alone.
const TERMINAL: &[Key] = &[
    Key::new(
        "terminal.keys",
        Takes::Choice(&["emacs", "vi"]),
        InProject::Never,
        "\"emacs\"",
        "The keys by which a line is edited: those of Emacs, as in bash and readline, or those of vi. With vi, Esc leaves typing,\n\
         and the prompt is `:` then.",
    )
    .in_portuguese(
        "As teclas com que uma linha é editada: as do Emacs, como no bash e na readline, ou as do vi. Com vi, Esc sai da digitação,\n\
         e o prompt passa a ser `:`.",
    ),
    Key::new(
        "terminal.theme",
        Takes::Choice(theme::NAMES),
        InProject::Never,
        "\"auto\"",
        "The colours of replies, code, diffs and calls, where there are any.\n\
         auto: those that the terminal has under their names.\n\
         dark, light: fixed ones that can be read on a dark or a light background.\n\
         mono: none; what stands out is bold or underlined.",
    )
    .in_portuguese(
        "As cores de respostas, código, diffs e chamadas, onde há cores.\n\
         auto: as que o terminal tem com esses nomes.\n\
         dark, light: cores fixas que se leem sobre um fundo escuro ou claro.\n\
         mono: nenhuma; o que se destaca fica em negrito ou sublinhado.",
    ),
    Key::new(
        "terminal.reasoning",
        Takes::Choice(thoughts::WORDS),
        InProject::Never,
        "\"folded\"",
        "What stays of a long reasoning once it is over.\n\
         folded: a line that says how long it took; its last rows are shown while it comes, and /thoughts shows all of it.\n\
         shown: all of it.",
    )
    .in_portuguese(
        "O que fica de um raciocínio longo quando termina.\n\
         folded: uma linha que diz quanto demorou; as últimas linhas aparecem enquanto ele vem, e /thoughts mostra tudo.\n\
         shown: tudo.",
    ),
];

/// How a server is reached. What names a place, a file or a secret, no project may say.
const HTTP: &[Key] = &[
    Key::new(
        "http.headers",
        Takes::Headers,
        InProject::Never,
        "{}",
        "More headers of every request: \"X-Tenant\" = \"blue\". Their values are never shown, and never sent to a server that was\n\
         only found on this machine.",
    ).in_portuguese("Mais cabeçalhos de cada pedido: \"X-Tenant\" = \"blue\". Os valores nunca são mostrados, e nunca são enviados a um servidor que\n\
         só foi encontrado nesta máquina."),
    Key::new(
        "http.body",
        Takes::Members,
        InProject::Trusted,
        "{}",
        "More members of the body of every request: seed = 7, or chat_template_kwargs = { enable_thinking = false }.",
    ).in_portuguese("Mais membros do corpo de cada pedido: seed = 7, ou chat_template_kwargs = { enable_thinking = false }."),
    Key::new(
        "http.proxy",
        Takes::Text,
        InProject::Never,
        "",
        "The URL of a proxy in the place of those that HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name, or \"none\" for no proxy.\n\
         NO_PROXY and servers on this machine go without.",
    ).in_portuguese("A URL de um proxy no lugar dos que HTTPS_PROXY, HTTP_PROXY e ALL_PROXY indicam, ou \"none\" para nenhum. NO_PROXY e servidores\n\
         nesta máquina ficam sem proxy."),
    Key::new(
        "http.ca_file",
        Takes::Text,
        InProject::Never,
        "",
        "A file with certificates of authorities that are trusted beside those of the system, in PEM. A file that is not named\n\
         from / is looked for beside this one.",
    ).in_portuguese("Um arquivo com certificados de autoridades em que se confia além das do sistema, em PEM. Um arquivo que não é indicado a\n\
         partir de / é procurado ao lado deste."),
    Key::new(
        "http.client_certificate",
        Takes::Text,
        InProject::Never,
        "",
        "A file with a certificate of your own, those above it, and its private key, in PEM, for servers that ask for one.",
    ).in_portuguese("Um arquivo com um certificado seu, os que estão acima dele e a chave privada, em PEM, para servidores que pedem um."),
    Key::new(
        "http.first_byte",
        Takes::Whole(1, 86_400),
        InProject::Trusted,
        "120",
        "Seconds that the first piece of a reply may take. A model that is being loaded and a long prompt need some.",
    ).in_portuguese("Segundos que o primeiro pedaço de uma resposta pode levar. Um modelo que está sendo carregado e um pedido longo precisam de\n\
         alguns."),
    Key::new(
        "http.between",
        Takes::Whole(1, 86_400),
        InProject::Trusted,
        "60",
        "Seconds that every further piece of a reply may take.",
    ).in_portuguese("Segundos que cada pedaço seguinte de uma resposta pode levar."),
    Key::new(
        "http.retries",
        Takes::Whole(0, 100),
        InProject::Trusted,
        "3",
        "How often a server is asked again that is busy or has a trouble of its own. Never once a reply has begun.",
    ).in_portuguese("Quantas vezes se tenta de novo com um servidor que está ocupado ou tem um problema próprio. Nunca depois que uma resposta\n\
         começou."),
];

/// How results are written for the model. What the model is told is the person's business.
const RESULTS: &[Key] = &[
    Key::new(
        "results.format",
        Takes::Choice(&["text", "json"]),
        InProject::Trusted,
        "\"text\"",
        "How a result is written for the model: text, a header and the output as it is, which a model reads best; json, one\n\
         object. `coder exec` and `coder pipe` write it so too.",
    )
    .in_portuguese(
        "Como um resultado é escrito para o modelo: text, um cabeçalho e a saída como ela é, que um modelo lê melhor; json, um\n\
         objeto. `coder exec` e `coder pipe` também o escrevem assim.",
    ),
    Key::new(
        "results.data",
        Takes::Choice(&["off", "on"]),
        InProject::Trusted,
        "\"off\"",
        "Whether the model is told the data of a result too, such as the diff of a change. The output says what it needs most,\n\
         and a diff costs ten times that. `coder exec --json` and the line result of the pipe always have it.",
    )
    .in_portuguese(
        "Se o modelo também recebe os dados de um resultado, como o diff de uma mudança. A saída diz o que ele mais precisa,\n\
         e um diff custa dez vezes isso. `coder exec --json` e a linha result do pipe sempre os têm.",
    ),
    Key::new(
        "results.nonce",
        Takes::Choice(&["off", "on"]),
        InProject::Trusted,
        "\"off\"",
        "Whether each result carries a word that the model cannot guess, which is another one in each run: so a host knows\n\
         real results from copies.",
    )
    .in_portuguese(
        "Se cada resultado leva uma palavra que o modelo não pode adivinhar, outra a cada execução: assim um programa distingue\n\
         resultados verdadeiros de cópias.",
    ),
    Key::new(
        "results.break_tokens",
        Takes::Choice(&["off", "on"]),
        InProject::Trusted,
        "\"off\"",
        "Whether tokens of chat templates such as <|im_end|> are broken by a space in results, for a backend whose template\n\
         would end the message there.",
    )
    .in_portuguese(
        "Se tokens de modelos de chat, como <|im_end|>, são quebrados por um espaço nos resultados, para um backend cujo modelo\n\
         terminaria a mensagem ali.",
    ),
];

/// What is around every command, and what is kept of it. A persona may tighten them too.
const SANDBOX: &[Key] = &[
    Key::new(
        "sandbox.mode",
        Takes::Choice(&["off", "container", "project-write", "read-only"]),
        InProject::Stricter,
        "\"project-write\"",
        "What the sandbox around a command leaves writable. `coder doctor` shows which sandbox is available here.\n\
         project-write: the project, but for what is blocked and for repositories.\n\
         read-only: nothing but what is private to the command.\n\
         container: as project-write, and only in the container of sandbox.container.\n\
         off: there is no sandbox, and what only the sandbox holds asks.",
    ).in_portuguese("O que o sandbox em torno de um comando deixa gravável. `coder doctor` mostra qual sandbox está disponível aqui.\n\
         project-write: o projeto, menos o que está bloqueado e os repositórios.\n\
         read-only: só o que é privado do comando.\n\
         container: como project-write, e só no container de sandbox.container.\n\
         off: não há sandbox, e o que só o sandbox segura pergunta."),
    Key::new(
        "sandbox.network",
        Takes::Choice(&["on", "off"]),
        InProject::Stricter,
        "\"off\"",
        "Whether every command may use the network. Where it is off, a command can ask for it, and you are asked.\n\
         on: a sandbox with an open network does not count as holding, so what only the sandbox holds asks.",
    ).in_portuguese("Se todo comando pode usar a rede. Com off, um comando pode pedi-la, e você é consultado.\n\
         on: um sandbox com a rede aberta não conta como um que resiste, por isso o que só o sandbox segura pergunta."),
    Key::new(
        "sandbox.memory",
        Takes::Whole(1, 1 << 24),
        InProject::Stricter,
        "8192",
        "MiB of memory that a command may use with all it starts, with the sandbox or without. What uses more is ended.\n\
         Where nothing is set it is half of the machine's memory, and 8192 at the most. Files in its private folders, such\n\
         as /tmp, may take half as much again.",
    ).in_portuguese("MiB de memória que um comando pode usar com tudo o que ele inicia, com o sandbox ou sem. O que usa mais é encerrado. Sem isto,\n\
         é metade da memória da máquina, e 8192 no máximo. Arquivos nas pastas privadas dele, como /tmp, podem ocupar mais a\n\
         metade disso."),
];

/// What a container is, no project may say.
const CONTAINER: &[Key] = &[
    Key::new(
        "sandbox.container",
        Takes::Choice(&["off", "podman", "docker"]),
        InProject::Never,
        "\"off\"",
        "Whose container is around every command in the place of a sandbox of our own. Where it is not there, no command runs.",
    ).in_portuguese("De quem é o container em torno de cada comando, no lugar do nosso sandbox. Se ele não está instalado, nenhum comando roda."),
    Key::new(
        "sandbox.image",
        Takes::Text,
        InProject::Never,
        "",
        "The image of that container. It needs bash and must be there: nothing is fetched.",
    ).in_portuguese("A imagem desse container. Ela precisa de bash e tem de estar na máquina: nada é baixado."),
];

/// Who looks at changes. A checker of files is for the person alone to name: it runs by itself around every change, and trust in
/// a file does not see a script change that the file names.
const CHECKS: &[Key] = &[
    Key::new(
        "checks.commands",
        Takes::Checks,
        InProject::Trusted,
        "[]",
        "Command lines that look at the whole project, such as \"cargo check\" or \"pnpm typecheck\". They run inside the sandbox,\n\
         once before the first change and once after the changes of each reply. New errors are reported to the model.\n\
         { command = \"cargo check\", new_errors = \"roll_back\" } also rolls back the changes that the tools for files made in\n\
         a reply with new errors.",
    ).in_portuguese("Linhas de comando que examinam o projeto inteiro, como \"cargo check\" ou \"pnpm typecheck\". Elas rodam dentro do sandbox, uma\n\
         vez antes da primeira mudança e uma vez depois das mudanças de cada resposta. Erros novos são informados ao modelo.\n\
         { command = \"cargo check\", new_errors = \"roll_back\" } também desfaz as mudanças que as ferramentas de arquivos\n\
         fizeram em uma resposta com erros novos."),
    Key::new(
        "checks.checkers",
        Takes::Checkers,
        InProject::Never,
        "[]",
        "Programs of your own that say whether a change breaks a file; they are asked before those that are built in.\n\
         They run without network in a sandbox that holds, where they cannot write in the project, and nowhere else.\n\
         { files = [\"*.lua\"], command = [\"luac\", \"-p\", \"-\"] } gets the new text on stdin, before it is written.\n\
         Status 0 means that nothing is wrong; else it prints lines such as `stdin:3: words` or `<stdin>:3:5: words`.\n\
         { files = [\"*.x\"], command = [\"xlint\", \"{folder}\"], reads = \"project:xlint.json\" } is asked before a change and\n\
         after it, in a project: {folder} is the nearest folder above that holds this file. It prints `src/a.x:3:5: words`.",
    )
    .in_portuguese(
        "Programas seus que dizem se uma mudança estraga um arquivo; são consultados antes dos embutidos.\n\
         Eles rodam sem rede em um sandbox que resiste, onde não podem escrever no projeto, e em nenhum outro lugar.\n\
         { files = [\"*.lua\"], command = [\"luac\", \"-p\", \"-\"] } recebe o texto novo na entrada padrão, antes da gravação.\n\
         O status 0 quer dizer que nada está errado; senão ele mostra linhas como `stdin:3: palavras` ou\n\
         `<stdin>:3:5: palavras`.\n\
         { files = [\"*.x\"], command = [\"xlint\", \"{folder}\"], reads = \"project:xlint.json\" } é consultado antes de uma mudança\n\
         e depois dela, em um projeto: {folder} é a pasta mais próxima acima que contém este arquivo. Ele mostra\n\
         `src/a.x:3:5: palavras`.",
    ),
];

/// What is kept of changes. How much is the person's business: a project could only fill a disk with it.
const UNDO: &[Key] = &[
    Key::new(
        "undo.journal",
        Takes::Choice(&["off", "on"]),
        InProject::Stricter,
        "\"on\"",
        "Whether what a turn changes is kept below $XDG_STATE_HOME/toolfence, so that `coder undo` can take it back.",
    )
    .in_portuguese(
        "Se o que um turno muda é guardado abaixo de $XDG_STATE_HOME/toolfence, para que `coder undo` possa desfazer.",
    ),
    Key::new(
        "undo.turns",
        Takes::Whole(1, 10_000),
        InProject::Never,
        "100",
        "The newest turns that are kept of a project.",
    )
    .in_portuguese("Os turnos mais novos de um projeto que são guardados."),
    Key::new(
        "undo.megabytes",
        Takes::Whole(1, 1 << 20),
        InProject::Never,
        "512",
        "MiB of old contents that are kept of a project; what is more goes with the oldest turns.",
    )
    .in_portuguese(
        "MiB de conteúdos antigos de um projeto que são guardados; o que passa disso sai com os turnos mais velhos.",
    ),
];

/// What is kept of conversations. It is the person's own: a project has no say in it.
const SESSIONS: &[Key] = &[
    Key::new(
        "sessions.transcripts",
        Takes::Choice(&["off", "on"]),
        InProject::Never,
        "\"on\"",
        "Whether conversations are written down below $XDG_STATE_HOME/toolfence, so that they can be resumed and exported.",
    ).in_portuguese("Se conversas são gravadas abaixo de $XDG_STATE_HOME/toolfence, para que possam ser retomadas e exportadas."),
    Key::new(
        "sessions.redact",
        Takes::Choice(&["off", "on"]),
        InProject::Never,
        "\"on\"",
        "Whether secrets are taken out of what is written down. A resumed conversation has them no more.",
    ).in_portuguese("Se segredos são retirados do que é gravado. Uma conversa retomada não os tem mais."),
    Key::new(
        "sessions.keep",
        Takes::Whole(1, 36_500),
        InProject::Never,
        "365",
        "Days that a conversation is kept after something was last said in it.",
    ).in_portuguese("Dias que uma conversa é guardada depois da última coisa dita nela."),
];

/// Every key a file may hold, in the order they are explained.
pub(crate) fn all() -> Vec<&'static Key> {
    OWN.iter()
        .chain(TERMINAL)
        .chain(HTTP)
        .chain(KEYS)
        .chain(limit_keys())
        .chain(RESULTS)
        .chain(SANDBOX)
        .chain(CONTAINER)
        .chain(CHECKS)
        .chain(UNDO)
        .chain(SESSIONS)
        .collect()
}

/// The keys of the policy, the limits and the sandbox: all that a persona may hold.
pub(crate) fn of_policy() -> Vec<&'static Key> {
    KEYS.iter().chain(limit_keys()).chain(SANDBOX).collect()
}

/// A key by its name.
pub(crate) fn named(name: &str) -> Option<&'static Key> {
    all().into_iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that is explained in English alone would stand so in the file of whoever reads Portuguese.
    #[test]
    fn every_key_is_explained_in_both_languages() {
        for key in all() {
            assert!(!key.help.is_empty() && !key.portuguese.is_empty() && key.help != key.portuguese, "{}", key.name);
        }
    }
}
