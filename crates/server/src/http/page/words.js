// What the page says, in English and Portuguese.

export const WORDS = {
  en: {
    log: "Conversation", prompt: "What shall be done?", tool: "Tool", persona: "Persona", send: "Send", stop: "Stop", past: "Conversations",
    undo: "Undo", redo: "Redo", fresh: "New", every: "all tools",
    entry: "This server wants its token", token: "The token that coder serve printed", enter: "Enter", close: "Close",
    choices: { call: { yes: "Run it", no: "Deny", allowed: "You let it run.", refused: "You denied it." },
      changes: { yes: "Keep", no: "Discard", allowed: "You kept the changes.", refused: "You discarded the changes." },
      output: { yes: "Put it there", no: "Leave it out", allowed: "You put the output into the project.", refused: "You left the output out." },
      network: { yes: "Run it again", no: "Deny", allowed: "You let it run again.", refused: "You denied it." } },
    always: "Always in this turn", project: "All changes in this project", project_means: "kept unasked in this turn; Undo takes them back", why: "Why not? (for the model)", cut: "truncated", thought: "Thought",
    window: "Context", running: "running", done: "done", failed: "failed", denied: "The token is wrong.", gone: "The server cannot be reached.",
    stopped: "Stopped.", asks: "May this run?", none: "There is no conversation yet.", arguments: "Arguments", result: "Result",
    change: "Change", files: "Files", all: "Show all", further: "Show more",
    earlier: "Show earlier messages", loading: "Loading ...", thinking: "The model is asked ...", writing: "The model writes ...",
    waiting: "A call waits for your answer.", works: "A tool runs:", empty: "Ask for a change, or about the project.",
    forgets: "Conversations are not written down here. The page remembers this one until it is closed.",
    lost: "The connection is lost. Trying again ...", gap: "Some of this turn is shown only when it has ended.",
    ends_turn: "A turn is running here. Shall it end?",
    code: "Code", table: "Table", options: "Tool and persona", lines: "Show all lines:", kept: "It was not sent; your text is still in the box.",
    ends: { empty: "The reply was empty.", unfinished: "The answer broke off.", format_errors: "No call could be read.",
      round_limit: "The rounds are used up.", loop: "The model repeats itself.", cancelled: "Cancelled.", failed: "The turn failed." },
  },
  pt: {
    log: "Conversa", prompt: "O que deve ser feito?", tool: "Ferramenta", persona: "Persona", send: "Enviar", stop: "Parar", past: "Conversas",
    undo: "Desfazer", redo: "Refazer", fresh: "Nova", every: "todas",
    entry: "Este servidor exige o seu token", token: "O token que coder serve imprimiu", enter: "Entrar", close: "Fechar",
    choices: { call: { yes: "Executar", no: "Negar", allowed: "Você deixou executar.", refused: "Você negou." },
      changes: { yes: "Manter", no: "Descartar", allowed: "Você manteve as mudanças.", refused: "Você descartou as mudanças." },
      output: { yes: "Colocar", no: "Deixar fora", allowed: "Você colocou a saída no projeto.", refused: "Você deixou a saída fora." },
      network: { yes: "Executar de novo", no: "Negar", allowed: "Você deixou executar de novo.", refused: "Você negou." } },
    always: "Sempre neste turno", project: "Todas as mudanças neste projeto", project_means: "mantidas sem pergunta neste turno; Desfazer as reverte", why: "Por que não? (para o modelo)", cut: "truncado", thought: "Pensamento",
    window: "Contexto", running: "em execução", done: "concluída", failed: "falhou", denied: "O token está errado.", gone: "Não é possível alcançar o servidor.",
    stopped: "Parado.", asks: "Isto pode ser executado?", none: "Ainda não há conversas.", arguments: "Argumentos", result: "Resultado",
    change: "Mudança", files: "Arquivos", all: "Mostrar tudo", further: "Mostrar mais",
    earlier: "Mostrar mensagens anteriores", loading: "Carregando ...", thinking: "O modelo foi consultado ...", writing: "O modelo escreve ...",
    waiting: "Uma chamada espera a sua resposta.", works: "Uma ferramenta executa:", empty: "Peça uma mudança, ou pergunte sobre o projeto.",
    forgets: "Aqui as conversas não são gravadas. A página se lembra desta até ser fechada.",
    lost: "A conexão caiu. Tentando de novo ...", gap: "Parte deste turno só será mostrada quando ele terminar.",
    ends_turn: "Um turno está em execução aqui. Deve terminar?",
    code: "Código", table: "Tabela", options: "Ferramenta e persona", lines: "Mostrar todas as linhas:", kept: "Nada foi enviado; o seu texto continua na caixa.",
    ends: { empty: "A resposta veio vazia.", unfinished: "A resposta foi interrompida.", format_errors: "Nenhuma chamada pôde ser lida.",
      round_limit: "As rodadas se esgotaram.", loop: "O modelo se repete.", cancelled: "Cancelado.", failed: "O turno falhou." },
  },
};

export const language = (globalThis.navigator?.language ?? "en").startsWith("pt") ? "pt" : "en";
export const words = WORDS[language];
