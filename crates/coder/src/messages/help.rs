//! The help of the command line in Portuguese: each text beside the English one, which `args.rs` says in a comment.

/// English and Portuguese. What is no text of `args.rs` is one of clap's.
pub(crate) const PORTUGUESE_HELP: &[(&str, &str)] = &[
    ("Who answers", "Quem responde"),
    (
        "How the answer to -p is printed: text, one JSON object, or a JSON line for everything that happens, as `coder pipe` tells it [default: text]",
        "Como a resposta de -p é impressa: texto, um objeto JSON ou uma linha JSON para tudo o que acontece, como `coder pipe` conta [padrão: text]",
    ),
    (
        "Print each event of the answer as a line of JSON, as --output-format stream-json does",
        "Escreve cada evento da resposta como uma linha de JSON, como faz --output-format stream-json",
    ),
    ("The prose on stdout, the work on stderr", "A prosa na saída padrão, o trabalho na saída de erros"),
    (
        "One JSON object: {\"v\":1,\"event\":\"answer\",\"answer\":..,\"reason\":..,\"session\":..,\"tokens\":{\"input\":..,\"output\":..}}",
        "Um objeto JSON: {\"v\":1,\"event\":\"answer\",\"answer\":..,\"reason\":..,\"session\":..,\"tokens\":{\"input\":..,\"output\":..}}",
    ),
    (
        "{\"v\":1,\"event\":..} for everything that happens, with the events of `coder pipe`, up to \"stop\"",
        "{\"v\":1,\"event\":..} para tudo o que acontece, com os eventos de `coder pipe`, até \"stop\"",
    ),
    (
        "Begin the conversation with this message; where there is no terminal, answer it once as -p does",
        "Começa a conversa com esta mensagem; onde não há terminal, responde uma vez como -p",
    ),
    ("What the model is told", "O que o modelo recebe"),
    ("How replies are written and read", "Como as respostas são escritas e lidas"),
    ("The conversation", "A conversa"),
    (
        "Completions of the command line, for a shell to read",
        "Preenchimento automático da linha de comando, para o shell ler",
    ),
    (
        "The manual: the page of coder, or with --output a page for each command",
        "O manual: a página do coder ou, com --output, uma página para cada comando",
    ),
    ("The shell", "O shell"),
    ("Write all pages into this folder", "Escreve todas as páginas nesta pasta"),
    (
        "Examples:\n  coder completions bash >~/.local/share/bash-completion/completions/coder\n  coder completions zsh \
         >~/.zfunc/_coder\n  coder completions fish >~/.config/fish/completions/coder.fish",
        "Exemplos:\n  coder completions bash >~/.local/share/bash-completion/completions/coder\n  coder completions zsh \
         >~/.zfunc/_coder\n  coder completions fish >~/.config/fish/completions/coder.fish",
    ),
    (
        "Examples:\n  coder man | man -l -\n  coder man --output ~/.local/share/man/man1",
        "Exemplos:\n  coder man | man -l -\n  coder man --output ~/.local/share/man/man1",
    ),
    (
        "A coding agent for chat models that can only talk",
        "Um agente de programação para modelos de chat que só sabem conversar",
    ),
    (
        "A coding agent for chat models that can only talk.\n\nWithout a command it talks with you; with -p it \
         answers once.",
        "Um agente de programação para modelos de chat que só sabem conversar.\n\nSem um comando ele conversa com \
         você; com -p responde uma vez.",
    ),
    (
        "A provider that is known by the model's name, with its key in its usual variable",
        "Um provedor reconhecido pelo nome do modelo, com a chave na variável de costume",
    ),
    (
        "A line {\"role\":..,\"content\":..} for each message",
        "Uma linha {\"role\":..,\"content\":..} para cada mensagem",
    ),
    (
        "The program of --command: a bridge to a web chat, llm, ollama run, a script",
        "O programa de --command: uma ponte para um chat da web, llm, ollama run, um script",
    ),
    (
        "The program of the command backend with its arguments, such as \"llm -m gpt-4o-mini\": it reads the conversation on its \
         stdin and prints the answer, outside of the sandbox. No shell reads the line",
        "O programa do backend command com os argumentos dele, como \"llm -m gpt-4o-mini\": ele lê a conversa na entrada stdin e \
         escreve a resposta, fora do sandbox. Nenhum shell lê a linha",
    ),
    (
        "What that program is sent: the whole conversation, or only what is new, where it keeps its own [default: whole]",
        "O que esse programa recebe: a conversa inteira ou só o que é novo, se ele guarda a própria [padrão: whole]",
    ),
    ("How it is sent [default: text]", "Em que formato ele o recebe [padrão: text]"),
    ("All of the conversation", "A conversa inteira"),
    (
        "What is new: the program keeps the conversation by itself",
        "O que é novo: o programa guarda a conversa por conta própria",
    ),
    (
        "As text, with a line above each message that says whose it is",
        "Como texto, com uma linha acima de cada mensagem que diz de quem ela é",
    ),
    (
        "A recorded model shows calls, a repair, a refusal, the sandbox and undo",
        "Um modelo gravado mostra chamadas, um reparo, uma recusa, o sandbox e como desfazer",
    ),
    (
        "A session for a chat client in any language: JSON lines in, JSON lines out",
        "Uma sessão para um cliente de chat em qualquer linguagem: entram linhas JSON, saem linhas JSON",
    ),
    ("Accept no repair", "Não aceita nenhum reparo"),
    (
        "An OpenAI-shaped server: llama.cpp, vLLM, Ollama, LM Studio, a gateway",
        "Um servidor no formato da OpenAI: llama.cpp, vLLM, Ollama, LM Studio, um gateway",
    ),
    (
        "Answer this once and end; what is piped in on stdin is put below it",
        "Responde a isto uma vez e termina; o que chega por stdin é posto abaixo",
    ),
    (
        "Show the model this image with -p: PNG, JPEG, GIF or WebP, up to 10 MiB; may be given up to eight times",
        "Mostra esta imagem ao modelo com -p: PNG, JPEG, GIF ou WebP, até 10 MiB; pode ser dada até oito vezes",
    ),
    ("A name, or a file", "Um nome ou um arquivo"),
    (
        "As one JSON object: {\"v\":1,\"sessions\":..,\"turns\":..,\"rounds\":..,\"tokens\":{\"replies\":..,\"estimated_replies\":..,\"input\":.., \
         \"cached\":..,\"output\":..,\"price\":..?},\"models\":{..},\"tools\":{NAME:{\"calls\":..,\"failed\":..,\"ms\":{\"count\":..,\"p50\":..,\"p90\":.., \
         \"most\":..}}},\"failures\":{..},\"decisions\":{..},\"asked\":..,\"answers\":{..},\"repairs\":{..},\"unreadable_blocks\":..,\"times\":{\"model\": \
         {..},\"first_byte\":{..},\"tools\":{..},\"person\":{..}}}",
        "Como um objeto JSON: {\"v\":1,\"sessions\":..,\"turns\":..,\"rounds\":..,\"tokens\":{\"replies\":..,\"estimated_replies\":..,\"input\":.., \
         \"cached\":..,\"output\":..,\"price\":..?},\"models\":{..},\"tools\":{NAME:{\"calls\":..,\"failed\":..,\"ms\":{\"count\":..,\"p50\":..,\"p90\":.., \
         \"most\":..}}},\"failures\":{..},\"decisions\":{..},\"asked\":..,\"answers\":{..},\"repairs\":{..},\"unreadable_blocks\":..,\"times\":{\"model\": \
         {..},\"first_byte\":{..},\"tools\":{..},\"person\":{..}}}",
    ),
    (
        "One conversation, or the beginning of its name [default: all about this project]",
        "Uma conversa, ou o começo do nome dela [padrão: todas sobre este projeto]",
    ),
    (
        "What conversations cost, which calls were made in them, and what became of those",
        "Quanto as conversas custam, que chamadas foram feitas nelas e o que foi feito delas",
    ),
    ("As one JSON object", "Como um objeto JSON"),
    (
        "As one JSON object: \
         {\"v\":1,\"personas\":[{\"name\":..,\"place\":\"built_in|own|project\",\"file\":..?,\"description\":..,\"languages\":[..], \
         \"tools\":[..]?,\"model\":..?,\"tightens\":[..],\"error\":..?}]}",
        "Como um objeto JSON: \
         {\"v\":1,\"personas\":[{\"name\":..,\"place\":\"built_in|own|project\",\"file\":..?,\"description\":..,\"languages\":[..], \
         \"tools\":[..]?,\"model\":..?,\"tightens\":[..],\"error\":..?}]}",
    ),
    (
        "In the folder .toolfence/personas of the project instead of your own",
        "Na pasta .toolfence/personas do projeto em vez da sua",
    ),
    ("One of them as it is written, in the language that is set", "Uma delas como está escrita, no idioma definido"),
    ("Tell the model nothing of AGENTS.md and its kin", "Não informa ao modelo nada de AGENTS.md e semelhantes"),
    ("The file", "O arquivo"),
    ("What it is called", "Como se chama"),
    (
        "Whether a file is a persona that can be used, and what it asks for",
        "Se um arquivo é uma persona que pode ser usada, e o que ela pede",
    ),
    ("Who the model can be: the personas that there are", "Quem o modelo pode ser: as personas que existem"),
    (
        "Write a persona with everything explained, for you to change; an existing one is left alone",
        "Escreve uma persona com tudo explicado, para você alterar; uma que já existe é deixada como está",
    ),
    (
        "As one JSON object: \
         {\"v\":1,\"kind\":\"namespaces|landlock|nothing\",\"holds\":..,\"why\":[..],\"helper\":..,\"kernel\":.., \
         \"user\":..,\"findings\":[{\"barrier\":..,\"attempt\":..,\"result\":\"yes|no|open|unknown\",\"said\":..,\"advice\":..}],\"advice\":[..], \
         \"checks\":{\"programs\":[{\"files\":[..],\"program\":..,\"found\":..,\"asked\":..,\"reads\":\"text|project:FILE\",\"built_in\":.., \
         \"without\":[..]}],\"in_process\":[{\"language\":..,\"files\":[..]}]}}; with --backend {\"v\":1,\"base_url\":..,\"model\":.., \
         \"requests\":..,\"answers\":{\"stream\":{\"answer\":..},\"protocol\":{..},\"reasoning\":{..},\"text\":{..},\"grammar\":{..}}, \
         \"kept\":..}",
        "Como um objeto JSON: \
         {\"v\":1,\"kind\":\"namespaces|landlock|nothing\",\"holds\":..,\"why\":[..],\"helper\":..,\"kernel\":.., \
         \"user\":..,\"findings\":[{\"barrier\":..,\"attempt\":..,\"result\":\"yes|no|open|unknown\",\"said\":..,\"advice\":..}],\"advice\":[..], \
         \"checks\":{\"programs\":[{\"files\":[..],\"program\":..,\"found\":..,\"asked\":..,\"reads\":\"text|project:FILE\",\"built_in\":.., \
         \"without\":[..]}],\"in_process\":[{\"language\":..,\"files\":[..]}]}}; com --backend {\"v\":1,\"base_url\":..,\"model\":.., \
         \"requests\":..,\"answers\":{\"stream\":{\"answer\":..},\"protocol\":{..},\"reasoning\":{..},\"text\":{..},\"grammar\":{..}}, \
         \"kept\":..}",
    ),
    (
        "As one JSON object: \
         {\"v\":1,\"profiles\":[{\"v\":1,\"base_url\":..,\"model\":..,\"dialect\":{\"value\":..,\"at\":..,\"how\":..}?, \
         \"reasoning\":{..}?,\"grammar\":{..}?, \
         \"reasons_beside_grammar\":{..}?,\"system\":{..}?}]}",
        "Como um objeto JSON: \
         {\"v\":1,\"profiles\":[{\"v\":1,\"base_url\":..,\"model\":..,\"dialect\":{\"value\":..,\"at\":..,\"how\":..}?, \
         \"reasoning\":{..}?,\"grammar\":{..}?, \
         \"reasons_beside_grammar\":{..}?,\"system\":{..}?}]}",
    ),
    (
        "As one JSON object: \
         {\"v\":1,\"values\":[{\"key\":..,\"value\":..,\"origin\":{\"layer\":..,\"name\":..,\"line\":..}}],..}",
        "Como um objeto JSON: \
         {\"v\":1,\"values\":[{\"key\":..,\"value\":..,\"origin\":{\"layer\":..,\"name\":..,\"line\":..}}],..}",
    ),
    (
        "As project-write, in the container that the settings name",
        "Como project-write, no contêiner que as configurações indicam",
    ),
    (
        "Ask for nothing: run whatever is not denied, as --ask never does",
        "Não pergunta nada: executa o que não for negado, como --ask never",
    ),
    (
        "Always, in the form that the server was seen to obey, or in that of llama.cpp",
        "Sempre, na forma a que se viu o servidor obedecer, ou na do llama.cpp",
    ),
    ("At the backend's length limit", "No limite de tamanho do backend"),
    ("Brazilian Portuguese", "Português do Brasil"),
    ("By itself", "Por si mesma"),
    (
        "Calls, results and path decisions as JSON lines on stderr",
        "Chamadas, resultados e decisões sobre caminhos, em linhas JSON na saída stderr",
    ),
    ("English", "Inglês"),
    (
        "Every backend and model there is a profile of, in place of the one that the settings name",
        "Todo backend e modelo de que há um perfil, em vez daquele que as configurações indicam",
    ),
    ("Every turn that can be undone", "Todos os turnos que podem ser desfeitos"),
    ("Every value that counts, with the place it comes from", "Cada valor que vale, com o lugar de onde vem"),
    ("Everything asks", "Tudo é perguntado"),
    (
        "Exit status:\n  0    done; for exec: every call succeeded\n  1    something that was asked for did not \
         succeed: a call, a turn, a line of\n       a batch, a step of the demo; or you said no to config trust\n       \
         or to commit\n  2    \
         wrong use: arguments, files, settings\n  3    the backend or the machine failed\n  130  interrupted by \
         Ctrl-C\n  129  the terminal went away, 143 terminated: what ran was ended first",
        "Status de saída:\n  0    feito; em exec: todas as chamadas deram certo\n  1    algo que foi pedido não deu \
         certo: uma chamada, um turno,\n       uma linha de um lote, uma etapa da demo; ou você disse não a config \
         trust\n       ou a commit\n  2    uso errado: argumentos, arquivos, configurações\n  3    o backend ou a máquina falhou\n  130  \
         interrompido por Ctrl-C\n  129  o terminal se foi, 143 terminado: o que rodava foi encerrado antes",
    ),
    (
        "Commit with a message that the model proposes and you confirm",
        "Faz um commit com uma mensagem que o modelo propõe e você confirma",
    ),
    (
        "The model reads the staged diff, without secrets and without the contents of blocked files. You see the message and can edit it; git then commits as you, with your hooks. --yes commits without a question. If there is no terminal to ask on, the message is printed, nothing is committed, and the exit status is 1.",
        "O modelo lê o diff do que está no stage, sem segredos e sem o conteúdo de arquivos bloqueados. Você vê a mensagem e pode editá-la; depois o git faz o commit em seu nome, com os seus hooks. Com --yes o commit é feito sem pergunta. Se não houver terminal onde perguntar, a mensagem é impressa, nenhum commit é feito e o status de saída é 1.",
    ),
    (
        "Commit all changes in tracked files, as `git commit --all` does",
        "Faz o commit de todas as alterações em arquivos rastreados, como `git commit --all`",
    ),
    ("Print the message and commit nothing", "Imprime a mensagem e não faz nenhum commit"),
    (
        "Feed the reply in pieces of N bytes, never splitting a character",
        "Entrega a resposta em pedaços de N bytes, sem nunca dividir um caractere",
    ),
    (
        "For people: what was found, every repair by its name, the dialect of each call, and why a call does not count",
        "Para pessoas: o que foi encontrado, cada reparo pelo nome, o dialeto de cada chamada e por que uma chamada não conta",
    ),
    (
        "For a model that is known to write this dialect: the calls in the instructions are in its form",
        "Para um modelo que sabidamente escreve este dialeto: as chamadas nas instruções têm a forma dele",
    ),
    (
        "Calls in these dialects are read besides the blocks of the protocol (--dialects NAMES, or the key `dialects`); shell_block and \
         search_replace only if they are named, as in all,shell_block. A single name is the dialect that the model is known to \
         write:",
        "Chamadas nestes dialetos são lidas além dos blocos do protocolo (--dialects NAMES ou a chave `dialects`); shell_block e \
         search_replace só se forem nomeados, como em all,shell_block. Um nome só é o do dialeto que o modelo sabidamente \
         escreve:",
    ),
    (
        "Instructions can be written for these (--dialect NAME):",
        "É possível escrever instruções para estes (--dialect NAME):",
    ),
    (
        "The sampling temperature, from 0 to 2 [default: the server decides]",
        "A temperatura da amostragem, de 0 a 2 [padrão: o servidor decide]",
    ),
    (
        "The most tokens of a reply [default: the server decides]",
        "O máximo de tokens de uma resposta [padrão: o servidor decide]",
    ),
    ("For programs", "Para programas"),
    ("For whom it is written", "Para quem ela é escrita"),
    ("Forget it", "Esquece"),
    (
        "Function calling for a model that can only talk: an OpenAI-shaped server in front of another one",
        "Chamada de funções para um modelo que só sabe conversar: um servidor no formato da OpenAI diante de outro",
    ),
    (
        "How much there may be of something, such as rounds=40 or command_seconds=60; `coder config show` lists all limits. \
         May be given several times",
        "Quanto pode haver de algo, como rounds=40 ou command_seconds=60; `coder config show` lista todos os limites. Pode ser \
         usada várias vezes",
    ),
    (
        "How results are written for the model: text or json, data=on, nonce=on, break_tokens=on; may be given several times \
         [default: text]",
        "Como os resultados são escritos para o modelo: text ou json, data=on, nonce=on, break_tokens=on; pode ser usada várias \
         vezes [padrão: text]",
    ),
    (
        "A web page that may use this server with its token, such as https://chat.example; may be given again",
        "Uma página web que pode usar este servidor com o token dele, como https://chat.example; pode ser repetida",
    ),
    (
        "A web page that may use the proxy, such as https://chat.example; may be given several times",
        "Uma página web que pode usar o proxy, como https://chat.example; pode ser usada várias vezes",
    ),
    ("How large a request may be, in MiB", "O tamanho máximo de uma requisição, em MiB"),
    (
        "How long it may be silent within its answer, in seconds",
        "Quanto tempo ele pode ficar em silêncio durante a resposta, em segundos",
    ),
    (
        "How long it may take to begin its answer, in seconds; without streaming it begins when the model is done",
        "Quanto tempo ele pode levar para começar a resposta, em segundos; sem streaming ela começa quando o modelo \
         termina",
    ),
    (
        "How long the upstream may take to be reached, in seconds",
        "Quanto tempo pode levar a conexão com o upstream, em segundos",
    ),
    ("How the model learns the tools of a client", "Como o modelo conhece as ferramentas de um cliente"),
    ("How the reply ended", "Como a resposta terminou"),
    ("In pipes too", "Também em pipes"),
    ("It has both tags in the reply, or none", "Ele tem as duas tags na resposta, ou nenhuma"),
    (
        "It is not: a closing tag by itself closes what the template opened, and no call before it counts",
        "Não se sabe: uma tag de fechamento sozinha fecha o que o template abriu, e nenhuma chamada antes dela vale",
    ),
    (
        "JSON Schema of one bare call, for backends with structured output",
        "JSON Schema de uma chamada sem bloco, para backends com saída estruturada",
    ),
    (
        "JSON lines in, {\"id\":..,\"command\":..} or {\"id\":..,\"tool\":..,\"args\":..}, and the JSON above with \
         the id out, or {\"v\":1,\"id\":..,\"error\":..}",
        "Entram linhas JSON, {\"id\":..,\"command\":..} ou {\"id\":..,\"tool\":..,\"args\":..}, e sai o JSON acima \
         com o id, ou {\"v\":1,\"id\":..,\"error\":..}",
    ),
    (
        "JSON lines in, {\"id\":..,\"text\":..,\"chunk\":..?,\"finish\":..?,\"dialects\":..?,\"tools\":[..]?}, and \
         {\"v\":1,\"id\":..,\"events\":[..]} out, or {\"v\":1,\"id\":..,\"error\":..} for a line that is wrong. \
         Records of a transcript are read too: its replies",
        "Entram linhas JSON, {\"id\":..,\"text\":..,\"chunk\":..?,\"finish\":..?,\"dialects\":..?,\"tools\":[..]?}, \
         e sai {\"v\":1,\"id\":..,\"events\":[..]}, ou {\"v\":1,\"id\":..,\"error\":..} para uma linha errada. \
         Registros de uma transcrição também são lidos: as respostas dela",
    ),
    ("Judge a call of this tool instead of a command", "Julga uma chamada desta ferramenta em vez de um comando"),
    (
        "Keys, from the environment:\n  TOOLFENCE_PROXY_KEY  clients must send it: Authorization: Bearer KEY.\n                       \
         It goes no further\n  TOOLFENCE_API_KEY    sent to the upstream, where the client sends no key or\n                       \
         sends the proxy's; without it, the key that the settings\n                       name. The settings also \
         say which headers, proxy and\n                       certificates the upstream gets\n\nExample:\n  llama-server -m model.gguf --port 8080\n  coder proxy --upstream \
         http://127.0.0.1:8080/v1\n  OPENAI_BASE_URL=http://127.0.0.1:4141/v1 OPENAI_API_KEY=none python3 my_agent.py",
        "Chaves, do ambiente:\n  TOOLFENCE_PROXY_KEY  os clientes devem enviá-la: Authorization: Bearer KEY.\n                       \
         Ela não vai além\n  TOOLFENCE_API_KEY    enviada ao upstream, onde o cliente não envia chave ou\n                       \
         envia a do proxy; sem ela, a chave que as configurações\n                       indicam. Elas também dizem \
         quais cabeçalhos, proxy e\n                       certificados o upstream recebe\n\nExemplo:\n  llama-server -m model.gguf --port 8080\n  coder proxy --upstream \
         http://127.0.0.1:8080/v1\n  OPENAI_BASE_URL=http://127.0.0.1:4141/v1 OPENAI_API_KEY=none python3 my_agent.py",
    ),
    ("Let every command use the network", "Deixa todo comando usar a rede"),
    (
        "Model text in on stdin, its calls run, their results out as chat text",
        "Texto do modelo por stdin, execução das chamadas, resultados na saída como texto de chat",
    ),
    ("Never", "Nunca"),
    ("Never open files of this name", "Nunca abre arquivos com este nome"),
    ("Open no files but those of these names", "Só abre arquivos com estes nomes"),
    ("Never run commands that begin with these words", "Nunca executa comandos que começam com estas palavras"),
    ("Nothing asks, and whatever is not denied runs", "Nada é perguntado, e o que não for negado é executado"),
    ("Nothing but what is private to the command", "Nada além do que é privado do comando"),
    ("Nowhere", "Em lugar nenhum"),
    (
        "On stderr, for people: what was found in the text, every repair by its name, what ran and why the rest did \
         not",
        "Na saída stderr, para pessoas: o que foi encontrado no texto, cada reparo pelo nome, o que foi executado e \
         por que o resto não foi",
    ),
    ("One line for each tool; the model asks for the rest", "Uma linha por ferramenta; o modelo pede o resto"),
    ("The whole description of each tool", "A descrição completa de cada ferramenta"),
    ("`short` if the instructions would have more than 8 KiB", "`short` se as instruções tivessem mais de 8 KiB"),
    ("One JSON line a name", "Uma linha JSON por nome"),
    ("One JSON line a turn", "Uma linha JSON por turno"),
    (
        "One line a result instead of chat text: \
         {\"v\":1,\"event\":\"result\",\"tool\":..,\"success\":..,\"output\":..,..}, or \
         {\"v\":1,\"event\":\"ignored\",\"message\":..} where no call counts that was meant to",
        "Uma linha por resultado em vez de texto de chat: \
         {\"v\":1,\"event\":\"result\",\"tool\":..,\"success\":..,\"output\":..,..}, ou \
         {\"v\":1,\"event\":\"ignored\",\"message\":..} onde não vale nenhuma chamada que se pretendia",
    ),
    (
        "Only this tool; may be given several times. Without it all tools are allowed",
        "Só esta ferramenta; pode ser dado várias vezes. Sem isto todas as ferramentas são permitidas",
    ),
    (
        "Open files of this name although the built-in list blocks them",
        "Abre arquivos com este nome, embora a lista interna os bloqueie",
    ),
    ("Options everywhere", "Opções para todos os comandos"),
    (
        "Persona and instructions as text, to paste into a web chat",
        "Persona e instruções como texto, para colar em um chat na web",
    ),
    ("Print help (see a summary with '-h')", "Mostra a ajuda (resumida com '-h')"),
    ("Print help (see more with '--help')", "Mostra a ajuda (mais completa com '--help')"),
    ("Print the JSON Schema of the lines of --debug, and end", "Mostra o JSON Schema das linhas de --debug e termina"),
    ("Print the JSON Schema of all lines, and end", "Imprime o JSON Schema de todas as linhas e termina"),
    (
        "Print this message or the help of the given subcommand(s)",
        "Mostra esta mensagem ou a ajuda dos comandos indicados",
    ),
    ("Print version", "Mostra a versão"),
    (
        "Recorded replies from --replies; the tools run for real",
        "Respostas gravadas de --replies; as ferramentas são executadas de verdade",
    ),
    (
        "Replies from the trigger \"```tool\" on, for grammars that only begin there",
        "Respostas a partir do gatilho \"```tool\", para gramáticas que só começam ali",
    ),
    (
        "Run commands that begin with these words without a question; may be given several times",
        "Executa sem perguntar comandos que começam com estas palavras; pode ser dado várias vezes",
    ),
    (
        "Run no commands but those that begin with one of these",
        "Não executa comandos além dos que começam com uma destas",
    ),
    ("Say what would be done, and change nothing", "Diz o que seria feito e não altera nada"),
    (
        "Show the project's file and its commands, and trust them as they are: then the file may also choose backend and \
         model. What is changed is untrusted again",
        "Mostra o arquivo do projeto e os comandos dele, e confia neles como estão: então o arquivo também pode escolher \
         backend e modelo. O que é alterado deixa de ser confiável",
    ),
    (
        "Their names alone, one a line, as the completions of the shells ask for them",
        "Só os nomes, um por linha, como os pedem os complementos dos shells",
    ),
    ("So many turns together", "Tantos turnos juntos"),
    ("So many, the last one first", "Tantos, o último primeiro"),
    (
        "List the output of commands that is not in the project, or put it there",
        "Lista a saída de comandos que não está no projeto, ou a põe nele",
    ),
    (
        "The folder or file of output, or a folder above it, relative to the project; without it, all are listed",
        "A pasta ou o arquivo de saída, ou uma pasta acima, relativa ao projeto; sem ela, todas são listadas",
    ),
    (
        "Take back what the last turn changed in the project's files",
        "Desfaz o que o último turno alterou nos arquivos do projeto",
    ),
    ("Take the last undo back", "Refaz o que foi desfeito por último"),
    ("The arguments of that call, as a JSON object", "Os argumentos dessa chamada, como um objeto JSON"),
    (
        "The files of settings: what they hold, and what counts",
        "Os arquivos de configuração: o que contêm, e o que vale",
    ),
    (
        "The forms in which calls are read beside the blocks that the instructions teach: all, none, or names with \
         commas between them [default: all]",
        "As formas em que chamadas são lidas além dos blocos que as instruções ensinam: all, none, ou nomes \
         separados por vírgulas [padrão: all]",
    ),
    (
        "The language of what you and the model are told [default: that of LC_ALL, LC_MESSAGES or LANG, or else en]",
        "A língua do que você e o modelo leem [padrão: a de LC_ALL, LC_MESSAGES ou LANG, ou então en]",
    ),
    ("The model, as the backend names it", "O modelo, como o backend o chama"),
    (
        "The project, but for what is blocked and for hooks and settings of git",
        "O projeto, exceto o que está bloqueado e os hooks e configurações do git",
    ),
    ("The project: tools see nothing outside of it", "O projeto: as ferramentas não veem nada fora dele"),
    ("The provisional events too: started and progress", "Também os eventos provisórios: started e progress"),
    (
        "The recorded replies of the replay backend: each below a line `%%% reply`, behind which `finish=length` or `finish=cut` may \
         stand",
        "As respostas gravadas do backend replay: cada uma abaixo de uma linha `%%% reply`, seguida ou não de `finish=length` ou \
         `finish=cut`",
    ),
    (
        "The rules that match a command, or any call, and what happens in each mode",
        "As regras que correspondem a um comando, ou a qualquer chamada, e o que acontece em cada modo",
    ),
    ("The shell command to judge", "O comando de shell a julgar"),
    ("The stream broke off", "O stream foi interrompido"),
    ("The template opens it: a reply begins in reasoning", "O template o abre: uma resposta começa em raciocínio"),
    (
        "The text is what stands inside a tool block: its object, and the bodies below it",
        "O texto é o que fica dentro de um bloco de ferramenta: o objeto, e os corpos abaixo dele",
    ),
    ("The text itself, or a JSON object with its parts", "O próprio texto, ou um objeto JSON com as partes"),
    ("The tools on offer, with their signatures", "As ferramentas oferecidas, com as assinaturas"),
    (
        "The tools on offer: a file with an array of function definitions, as the API of OpenAI has them [default: \
         those of coder]",
        "As ferramentas oferecidas: um arquivo com uma lista de definições de funções, como as da API da OpenAI \
         [padrão: as do coder]",
    ),
    ("The turns there are, the newest first", "Os turnos que há, os mais novos primeiro"),
    (
        "The number of one turn, as --list prints it; without it, the newest",
        "O número de um turno, como --list o mostra; sem ele, o mais novo",
    ),
    ("There is none, and what only the sandbox holds asks", "Não há nenhum, e o que só o sandbox contém é perguntado"),
    ("They are the first message", "Elas são a primeira mensagem"),
    ("They were pasted into the backend: nothing is sent", "Elas foram coladas no backend: nada é enviado"),
    ("To copy", "Para copiar"),
    ("Trust it no more", "Deixa de confiar nele"),
    (
        "As one JSON object: \
         {\"v\":1,\"servers\":[{\"name\":..,\"command\":[..],\"origin\":..,\"state\":\"trusted|untrusted|failed\",\"error\":..?, \
         \"sandboxed\":..?,\"tools\":[{\"name\":..,\"signature\":..,\"purpose\":..}]?,\"notes\":[..]?}]}",
        "Como um objeto JSON: \
         {\"v\":1,\"servers\":[{\"name\":..,\"command\":[..],\"origin\":..,\"state\":\"trusted|untrusted|failed\",\"error\":..?, \
         \"sandboxed\":..?,\"tools\":[{\"name\":..,\"signature\":..,\"purpose\":..}]?,\"notes\":[..]?}]}",
    ),
    (
        "The servers of MCP, the Model Context Protocol, whose tools join the others: which there are, and whether you trust them",
        "Os servidores de MCP, o Model Context Protocol, cujas ferramentas se juntam às outras: quais há e se você confia neles",
    ),
    (
        "Start the servers of the settings, and show what became of each and which tools it has",
        "Inicia os servidores das configurações e mostra o que foi feito de cada um e que ferramentas ele tem",
    ),
    (
        "Show what a server says of its tools, and trust exactly that: without it the model is not told of them",
        "Mostra o que um servidor diz das ferramentas dele e confia exatamente nisso: sem isso o modelo não fica sabendo delas",
    ),
    (
        "The server, by its name in the settings; all of them without it",
        "O servidor, pelo nome nas configurações; sem ele, todos",
    ),
    (
        "Try to break each barrier of the sandbox, to see which hold here; and what checks changed files. With \
         --backend: ask the backend what it does to texts, and keep what it shows",
        "Tenta romper cada barreira do sandbox, para ver quais resistem aqui; e o que verifica arquivos alterados. \
         Com --backend: pergunta ao backend o que ele faz com os textos e guarda o que se viu",
    ),
    (
        "What a backend that constrains decoding needs, so that the model can write no malformed call",
        "O que um backend que restringe a decodificação precisa, para que o modelo não possa escrever nenhuma \
         chamada malformada",
    ),
    (
        "What is known to be harmless runs, everything else asks",
        "O que se sabe ser inofensivo é executado, todo o resto é perguntado",
    ),
    ("What may run, besides the files of settings", "O que pode ser executado, além dos arquivos de configuração"),
    (
        "What replies and `coder doctor --backend` have shown of the backend and its model, which is kept; or forget it",
        "O que as respostas e `coder doctor --backend` mostraram do backend e do modelo dele, que fica guardado; ou o \
         esquece",
    ),
    (
        "Where the server was seen to obey one, and takes no reasoning from the model",
        "Onde se viu o servidor obedecer a uma, sem tirar do modelo o raciocínio",
    ),
    (
        "Whether the server is held to the grammar of the tools: auto where `coder doctor --backend` saw that it obeys one \
         [default: auto]",
        "Se o servidor é preso à gramática das ferramentas: auto onde `coder doctor --backend` viu que ele obedece a uma \
         [padrão: auto]",
    ),
    ("What the last turn changed", "O que o último turno alterou"),
    (
        "What the parser sees in a reply on stdin, as JSON lines",
        "O que o parser vê em uma resposta por stdin, em linhas JSON",
    ),
    ("What the policy says to a call", "O que a política diz de uma chamada"),
    (
        "What the sandbox around a command fully holds runs too",
        "O que o sandbox em volta de um comando contém por completo também é executado",
    ),
    (
        "What the sandbox around a command leaves writable [default: project-write]",
        "O que o sandbox em volta de um comando deixa gravável [padrão: project-write]",
    ),
    ("When you are asked [default: risky]", "Quando você é perguntado [padrão: risky]"),
    ("Where a terminal shows them and NO_COLOR is not set", "Onde um terminal as mostra e NO_COLOR não está definida"),
    (
        "Turns and tools over HTTP, for a client in any language: JSON, or a stream of events",
        "Turnos e ferramentas por HTTP, para um cliente em qualquer linguagem: JSON, ou um fluxo de eventos",
    ),
    (
        "Where clients find the server; port 0 takes a free one",
        "Onde os clientes encontram o servidor; a porta 0 escolhe uma livre",
    ),
    (
        "Another name of this server, such as that of a reverse proxy in front of it; may be given again",
        "Outro nome deste servidor, como o de um proxy reverso à frente dele; pode ser repetido",
    ),
    (
        "How many turns may run at a time; more are refused",
        "Quantos turnos podem estar em andamento ao mesmo tempo; outros são recusados",
    ),
    ("How long a turn may take, in seconds", "Quanto tempo um turno pode levar, em segundos"),
    (
        "How long an approval is waited for, in seconds; then the call does not run",
        "Quanto tempo se espera por uma aprovação, em segundos; depois a chamada não é executada",
    ),
    (
        "Key, from the environment:\n  TOOLFENCE_SERVE_TOKEN  clients must send it: Authorization: Bearer TOKEN.\n                         \
         Without it a new one is printed at each start\n\nExample:\n  coder serve --base-url http://127.0.0.1:8080/v1\n  curl \
         http://127.0.0.1:8765/api/agent -H \"Authorization: Bearer $TOKEN\" \\\n    -H \"Content-Type: application/json\" -d \
         '{\"prompt\": \"What is this project?\"}'",
        "Chave, do ambiente:\n  TOOLFENCE_SERVE_TOKEN  os clientes a enviam: Authorization: Bearer TOKEN.\n                         \
         Sem ela, uma nova é impressa a cada início\n\nExemplo:\n  coder serve --base-url http://127.0.0.1:8080/v1\n  curl \
         http://127.0.0.1:8765/api/agent -H \"Authorization: Bearer $TOKEN\" \\\n    -H \"Content-Type: application/json\" -d \
         '{\"prompt\": \"O que é este projeto?\"}'",
    ),
    (
        "Where clients find the proxy; port 0 takes a free one",
        "Onde os clientes encontram o proxy; a porta 0 escolhe uma livre",
    ),
    (
        "Where the OpenAI-shaped server is; its key, if it wants one, comes from TOOLFENCE_API_KEY [default: a server that \
         answers at its usual address on this machine]",
        "Onde está o servidor no formato da OpenAI; a chave, se ele quiser uma, vem de TOOLFENCE_API_KEY [padrão: um servidor \
         que responda no endereço de costume nesta máquina]",
    ),
    (
        "The providers that are known by name, with the variables of their keys; and the servers that answer on this machine",
        "Os provedores conhecidos pelo nome, com as variáveis das suas chaves; e os servidores que respondem nesta máquina",
    ),
    (
        "As one JSON object: \
         {\"v\":1,\"providers\":[{\"name\":..,\"base_url\":..,\"key_variable\":..,\"key_set\":..,\"models\":[..]}], \
         \"local\":[{\"kind\":..,\"base_url\":..,\"models\":[{\"name\":..,\"loaded\":..}],\"loads\":..}]}",
        "Como um objeto JSON: \
         {\"v\":1,\"providers\":[{\"name\":..,\"base_url\":..,\"key_variable\":..,\"key_set\":..,\"models\":[..]}], \
         \"local\":[{\"kind\":..,\"base_url\":..,\"models\":[{\"name\":..,\"loaded\":..}],\"loads\":..}]}",
    ),
    ("Where the files are", "Onde estão os arquivos"),
    (
        "Whether persona and instructions are sent: external where they are pasted into the backend already \
         [default: inline]",
        "Se persona e instruções são enviadas: external onde já estão coladas no backend [padrão: inline]",
    ),
    (
        "Whether the backend's template opens the model's reasoning, so that a reply has only the closing tag \
         [default: unknown]",
        "Se o template do backend abre o raciocínio do modelo, de modo que uma resposta só tem a tag de fechamento \
         [padrão: unknown]",
    ),
    (
        "Whether there are colours: auto where a terminal shows them and NO_COLOR is not set [default: auto]",
        "Se há cores: auto onde um terminal as mostra e NO_COLOR não está definida [padrão: auto]",
    ),
    ("Who answers [default: http]", "Quem responde [padrão: http]"),
    (
        "Who answers: the base URL of an OpenAI-shaped server, such as http://127.0.0.1:8080/v1",
        "Quem responde: a URL base de um servidor no formato da OpenAI, como http://127.0.0.1:8080/v1",
    ),
    (
        "Who the model is: coder, explainer, reviewer, small, another that `coder personas` lists, or a file [default: coder]",
        "Quem o modelo é: coder, explainer, reviewer, small, outra que `coder personas` lista ou um arquivo [padrão: coder]",
    ),
    (
        "Whole replies for llama.cpp: prose and tool blocks",
        "Respostas inteiras para o llama.cpp: prosa e blocos de ferramenta",
    ),
    (
        "Write your own file with every key explained and none set; an existing one is left alone",
        "Escreve o seu próprio arquivo com cada chave explicada e nenhuma definida; um que já existe é deixado como \
         está",
    ),
    (
        "{\"v\":1,\"verdict\":..,\"effective\":..,\"rule\":..,\"reason\":..,\"commands\":[..],\"met\":[..],\"marks\":[[..]],\"modes\":{..},\"always\":[..]}: \
         `effective` is what happens now, `modes` what happens in each mode, `marks` the bytes of what is not allowed, \
         `always` what that answer would store, or `not_always` why it stores nothing",
        "{\"v\":1,\"verdict\":..,\"effective\":..,\"rule\":..,\"reason\":..,\"commands\":[..],\"met\":[..],\"marks\":[[..]],\"modes\":{..},\"always\":[..]}: \
         `effective` é o que acontece agora, `modes` o que acontece em cada modo, `marks` os bytes do que não é permitido, \
         `always` o que essa resposta guardaria, ou `not_always` por que não guarda nada",
    ),
    (
        "Below each turn, on stderr: what the replies cost in tokens, and by the prices of the settings",
        "Abaixo de cada turno, na saída stderr: quanto as respostas custam em tokens, e pelos preços das \
         configurações",
    ),
    ("Answer this once and end", "Responde a isto uma vez e termina"),
    ("Go on in a new conversation that has everything of this one", "Continua em uma nova conversa que tem tudo desta"),
    (
        "Go on in a new conversation that has everything up to this message; `coder export` shows their numbers",
        "Continua em uma nova conversa que tem tudo até esta mensagem; `coder export` mostra os números delas",
    ),
    (
        "Go on with a conversation, or with a copy of it up to one of its messages; with -p answer once",
        "Continua uma conversa, ou uma cópia dela até uma das mensagens; com -p responde uma vez",
    ),
    ("Go on with the last conversation about this project", "Continua a última conversa sobre este projeto"),
    (
        "One JSON line a conversation: \
         {\"v\":1,\"event\":\"session\",\"id\":..,\"began\":..,\"changed\":..,\"turns\":..,\"title\":..,\"root\":.., \
         \"path\":..}",
        "Uma linha JSON por conversa: \
         {\"v\":1,\"event\":\"session\",\"id\":..,\"began\":..,\"changed\":..,\"turns\":..,\"title\":..,\"root\":.., \
         \"path\":..}",
    ),
    ("Only those in which all these words were said", "Só aquelas em que todas estas palavras foram ditas"),
    (
        "The conversation, or the beginning of its name; without it you choose",
        "A conversa, ou o começo do nome dela; sem isto você escolhe",
    ),
    (
        "The conversations that were written down, the last one first",
        "As conversas que foram gravadas, a última primeiro",
    ),
    ("Those about other projects too", "Também as de outros projetos"),
    (
        "Tokens that the model can read: at 80 % of them the conversation is compacted [default: what the server \
         tells, or once it refuses]",
        "Tokens que o modelo consegue ler: a 80 % deles a conversa é compactada [padrão: o que o servidor informa, \
         ou assim que ele recusa]",
    ),
    ("Write no transcript of this conversation", "Não grava esta conversa"),
    (
        "A conversation as Markdown, as JSON lines, or as a page for a browser",
        "Uma conversa como Markdown, como linhas JSON ou como página para um navegador",
    ),
    ("The log of decisions and results", "O log de decisões e resultados"),
    ("The conversation, or the beginning of its name", "A conversa, ou o começo do nome dela"),
    ("md and html are for people, json has the records", "md e html são para pessoas, json tem os registros"),
    ("Write it to this file", "Grava neste arquivo"),
    ("What the model thought too", "Também o que o modelo pensou"),
    ("How much of what tools gave back", "Quanto do que as ferramentas devolveram"),
    ("From this message on", "A partir desta mensagem"),
    ("Up to this message", "Até esta mensagem"),
    (
        "Whether secrets are taken out, those of the environment too",
        "Se os segredos são retirados, também os do ambiente",
    ),
    ("Print the JSON Schema of a record, and end", "Mostra o JSON Schema de um registro e termina"),
    ("What is not older than this: 90s, 30m, 2h, 7d", "O que não é mais antigo que isto: 90s, 30m, 2h, 7d"),
    (
        "Of the session whose name begins so: `coder sessions` shows it",
        "Da sessão cujo nome começa assim: `coder sessions` o mostra",
    ),
    ("What was denied", "O que foi negado"),
    ("What a person was asked", "O que foi perguntado a uma pessoa"),
    ("What did not succeed", "O que não deu certo"),
    ("Calls of this tool", "Chamadas desta ferramenta"),
    ("The lines as they are", "As linhas como estão"),
    ("Go on with what is added", "Continua com o que for acrescentado"),
    ("Markdown in which nothing is a call", "Markdown em que nada é uma chamada"),
    ("The records, one JSON object a line", "Os registros, um objeto JSON por linha"),
    ("One page that needs nothing else", "Uma página que não precisa de mais nada"),
    ("All that was kept", "Tudo o que foi guardado"),
    ("The first lines", "As primeiras linhas"),
    ("Only whether it went well", "Só se deu certo"),
    ("It is", "Sim"),
    ("It is not", "Não"),
    (
        "The session of the project that handles the reply. A session knows which files the model has read and what you always allowed, and keeps background jobs; it ends after 12 hours without a reply",
        "A sessão do projeto que trata a resposta. Uma sessão sabe quais arquivos o modelo leu e o que você permitiu sempre, e mantém os processos em segundo plano; ela termina depois de 12 horas sem resposta",
    ),
    (
        "Keep nothing between replies, and leave no process: for scripts",
        "Não guarda nada entre as respostas e não deixa nenhum processo: para scripts",
    ),
    ("End the session and its background jobs", "Encerra a sessão e seus processos em segundo plano"),
    (
        "Be the process that keeps the session: for the program itself",
        "É o processo que mantém a sessão: para o próprio programa",
    ),
    ("For a model whose replies this command handles", "Para um modelo cujas respostas este comando trata"),
    ("`coder exec` and `coder clip`", "`coder exec` e `coder clip`"),
    (
        "Leave out background jobs, for `coder exec --no-session`",
        "Omite os processos em segundo plano, para `coder exec --no-session`",
    ),
    (
        "Watch the clipboard: run the calls of each reply that you copy, and put their results there",
        "Observa a área de transferência: executa as chamadas de cada resposta que você copia e coloca os resultados ali",
    ),
    (
        "Watch the clipboard: run the calls of each reply that you copy, and put their results there\n\nTexts without a call are left alone: they are not stored, sent or printed. Questions are asked in this terminal. What is in the clipboard when this command starts does not count as a reply.",
        "Observa a área de transferência: executa as chamadas de cada resposta que você copia e coloca os resultados ali\n\nTextos sem chamada são ignorados: não são guardados, enviados nem impressos. As perguntas são feitas neste terminal. O que está na área de transferência quando este comando começa não conta como resposta.",
    ),
    (
        "The clipboard [default: that of the desktop, or else of tmux]",
        "A área de transferência [padrão: a do ambiente gráfico ou, se não houver, a do tmux]",
    ),
    (
        "Split results into numbered parts of so many characters, at least 200: Enter puts the next part into the clipboard [default: do not split]",
        "Divide os resultados em partes numeradas com este número de caracteres, no mínimo 200: Enter coloca a próxima parte na área de transferência [padrão: não dividir]",
    ),
    ("With wl-paste and wl-copy, from the package wl-clipboard", "Com wl-paste e wl-copy, do pacote wl-clipboard"),
    ("With xclip", "Com xclip"),
    ("With pbpaste and pbcopy", "Com pbpaste e pbcopy"),
    ("The last buffer of tmux", "O último buffer do tmux"),
];
