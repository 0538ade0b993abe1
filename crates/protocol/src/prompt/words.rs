//! What is said in each language. Models copy what they see, so the examples between these sentences are made from the
//! catalog and are valid calls.

use crate::Language;
use crate::ToolSpec;

/// The sentences of one language.
pub(super) struct Words {
    /// Before the first example.
    pub(super) call: &'static str,
    /// After it.
    pub(super) fields: &'static str,
    /// After it, where a tool of ours does more than read.
    pub(super) fields_with_reason: &'static str,
    /// The mark behind the purpose of a tool that usually asks.
    pub(super) asks_first: &'static str,
    /// What that mark means.
    pub(super) asking: &'static str,
    /// Before the example of a verbatim body.
    pub(super) verbatim: &'static str,
    /// The text of that body.
    pub(super) sample: &'static str,
    /// Before the first example of a call in a dialect.
    pub(super) call_in: &'static str,
    /// The first rule: several calls, each in its block.
    pub(super) several: &'static str,
    /// The first rule where calls are in a dialect.
    pub(super) several_in: &'static str,
    /// What else to do and what to leave.
    pub(super) rules: &'static str,
    /// What becomes of the others when a call fails; where the session runs them.
    pub(super) cancelled: &'static str,
    /// How a call is shown.
    pub(super) quoting: &'static str,
    /// How a call in a dialect is shown.
    pub(super) quoting_in: &'static str,
    /// What ends the purpose of a tool that is best called with a body.
    pub(super) below: &'static str,
    /// What paths mean, where a tool takes one.
    pub(super) paths: &'static str,
    /// Before the list of tools.
    pub(super) tools: &'static str,
    /// After a reply that went wrong.
    pub(super) reminder: &'static str,
    /// Purposes by the name of the tool; the others have the words of their spec.
    purposes: &'static [(&'static str, &'static str)],
}

impl Words {
    pub(super) fn purpose<'a>(&self, spec: &'a ToolSpec) -> &'a str {
        let own = self.purposes.iter().find(|(name, _)| *name == spec.name && !spec.is_foreign());
        own.map_or(&spec.purpose, |(_, purpose)| purpose)
    }
}

pub(super) fn of(language: Language) -> &'static Words {
    match language {
        Language::English => &ENGLISH,
        Language::Portuguese => &PORTUGUESE,
    }
}

static ENGLISH: Words = Words {
    call: "# Tools\nYou have tools. To call one, write a fenced block with the info word `tool` at the left margin, holding one JSON object:",
    fields: "`args` holds the tool's arguments. You may add `\"reason\"`: why you call it.",
    fields_with_reason: "`args` holds the tool's arguments. To a call that changes or runs something add `\"reason\"` beside them: why you call it.",
    asks_first: " (asks first)",
    asking: "\n- Before a tool marked `(asks first)` runs, a person is usually asked. A no comes with a reason: follow it, and do not try the same in another way.",
    verbatim: "Text of several lines needs no escaping: give `\"<<EOF\"` as the value, write the text below the object as it is, and end it with a line that is EOF alone. If the text contains `<<EOF`, take another word in capitals.",
    sample: "# Notes\nIn here \"quotes\", \\ and ``` are plain text.",
    call_in: "# Tools\nYou have tools. To call one, write it in exactly this form, at the beginning of a line and in no code block:",
    several: "\
Rules:
- Several calls in a reply are fine, each in its own block; they run in order. After the last one stop and wait.",
    several_in: "\
Rules:
- Several calls in a reply are fine, each in this form; they run in order. After the last one stop and wait.",
    rules: "
- Results come back from the host in `tool_result` blocks. Never write such a block, and never guess a result.
- When a call fails, read the message, then mend the call or go another way.",
    cancelled: " After a failed change or command the later ones of that reply are cancelled.",
    quoting_in: "\n- To show a call without running it, put it inside a code block.",
    below: " Long content goes below the object.",
    quoting: "\n- To show a call without running it, put it inside a longer fence (````).",
    paths: "\n- Paths are relative to the project root.",
    tools: "The tools (`?` marks what may be left out):",
    reminder: "\
No call was run: none of your blocks could be read as one. A call is a fenced block at the left margin with the info word `tool`, holding one JSON object:

```tool
{\"name\": \"TOOL\", \"args\": {}}
```

Write the call again in this form, or answer without a call.",
    purposes: &[],
};

static PORTUGUESE: Words = Words {
    call: "# Ferramentas\nVocê tem ferramentas. Para chamar uma, escreva um bloco cercado com a palavra `tool`, na margem esquerda, com um objeto JSON:",
    fields: "`args` traz os argumentos da ferramenta. Você pode acrescentar `\"reason\"`: por que a chama.",
    fields_with_reason: "`args` traz os argumentos da ferramenta. A uma chamada que muda ou executa algo, acrescente `\"reason\"` ao lado deles: por que a chama.",
    asks_first: " (pergunta antes)",
    asking: "\n- Antes de rodar uma ferramenta com a marca `(pergunta antes)`, em geral uma pessoa é consultada. Um não vem com um motivo: siga-o e não tente o mesmo de outro jeito.",
    verbatim: "Texto de várias linhas dispensa escapes: dê `\"<<EOF\"` como valor, escreva o texto abaixo do objeto tal como é e termine com uma linha só com EOF. Se o texto contém `<<EOF`, use outra palavra em maiúsculas.",
    sample: "# Notas\nAqui \"aspas\", \\ e ``` são texto comum.",
    call_in: "# Ferramentas\nVocê tem ferramentas. Para chamar uma, escreva exatamente nesta forma, no início de uma linha e fora de blocos de código:",
    several: "\
Regras:
- Uma resposta pode ter várias chamadas, cada uma em seu bloco; elas rodam em ordem. Depois da última, pare e espere.",
    several_in: "\
Regras:
- Uma resposta pode ter várias chamadas, cada uma nesta forma; elas rodam em ordem. Depois da última, pare e espere.",
    rules: "
- Os resultados vêm do sistema em blocos `tool_result`. Nunca escreva um bloco desses nem invente um resultado.
- Se uma chamada falhar, leia a mensagem e corrija a chamada ou tente de outro jeito.",
    cancelled: " Após uma mudança ou comando que falha, os seguintes dessa resposta são cancelados.",
    quoting_in: "\n- Para mostrar uma chamada sem executá-la, ponha-a em um bloco de código.",
    below: " Conteúdo longo vai abaixo do objeto.",
    quoting: "\n- Para mostrar uma chamada sem executá-la, ponha-a em uma cerca mais longa (````).",
    paths: "\n- Os caminhos são relativos à raiz do projeto.",
    tools: "As ferramentas (`?` marca o que pode faltar):",
    reminder: "\
Nenhuma chamada foi executada: nenhum dos seus blocos pôde ser lido como chamada. Uma chamada é um bloco cercado na margem esquerda com a palavra `tool`, com um objeto JSON:

```tool
{\"name\": \"FERRAMENTA\", \"args\": {}}
```

Escreva a chamada de novo nesta forma ou responda sem chamada.",
    purposes: &[
        ("read_file", "Lê um arquivo de texto ou um intervalo de linhas (a partir de 1, inclusivo)."),
        ("list_files", "Lista arquivos e pastas abaixo de uma pasta, com tipo e tamanho."),
        ("search", "Busca no conteúdo dos arquivos; responde arquivo:linha:trecho."),
        ("write_file", "Escreve um arquivo inteiro; cria as pastas. Conteúdo longo vai abaixo do objeto."),
        ("edit_file", "Troca intervalos de linhas de um arquivo, todos ou nenhum; end_line = start_line - 1 insere."),
        ("replace_text", "Troca um trecho que ocorre exatamente uma vez no arquivo."),
        ("apply_patch", "Aplica um diff unificado ou um texto *** Begin Patch; todos os arquivos ou nenhum."),
        ("bash", "Roda um comando de shell; sem terminal e sem stdin."),
        ("run_python", "Roda um arquivo Python do projeto."),
        ("job", "Consulta, escreve para ou encerra um trabalho em segundo plano."),
        ("plan", "Guarda o plano de uma tarefa longa: todos os passos a cada vez, no máximo um deles ativo."),
    ],
};
