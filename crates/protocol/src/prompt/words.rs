//! The sentences of the instructions in each language. Example calls are built from the catalog and valid, because
//! models copy them.

use crate::Language;
use crate::ToolSpec;

/// The sentences of one language.
pub(super) struct Words {
    /// Introduces the first example call.
    pub(super) call: &'static str,
    /// Introduces the result of that call.
    pub(super) result: &'static str,
    /// The output in that result and the model's answer to it, for `read_file`.
    pub(super) worked: (&'static str, &'static str),
    /// The answer to a result of any other tool.
    pub(super) answer: &'static str,
    /// Describes the fields of a call.
    pub(super) fields: &'static str,
    /// Describes the fields of a call, if a built-in tool does more than read.
    pub(super) fields_with_reason: &'static str,
    /// The mark after the purpose of a tool that usually asks.
    pub(super) asks_first: &'static str,
    /// The meaning of that mark.
    pub(super) asking: &'static str,
    /// Explains what happens to the changes of a command that runs on a private copy of the project.
    pub(super) on_private_copy: &'static str,
    /// Explains that the project is read-only for commands.
    pub(super) read_only: &'static str,
    /// Introduces the example of a verbatim body.
    pub(super) verbatim: &'static str,
    /// The text of that body.
    pub(super) sample: &'static str,
    /// Introduces the first example of a call in a dialect.
    pub(super) call_in: &'static str,
    /// The first rule: announce an action and call the tool in the same reply; write each of several calls in its own
    /// block.
    pub(super) several: &'static str,
    /// The first rule if calls are in a dialect.
    pub(super) several_in: &'static str,
    /// Rules about results.
    pub(super) rules: &'static str,
    /// The effect of a failed call on later calls, if the session runs them.
    pub(super) cancelled: &'static str,
    /// How to quote a call.
    pub(super) quoting: &'static str,
    /// How to quote a call in a dialect.
    pub(super) quoting_in: &'static str,
    /// The suffix of the purpose of a tool that is best called with a body.
    pub(super) below: &'static str,
    /// Explains paths, if a tool takes one.
    pub(super) paths: &'static str,
    /// Introduces the list of tools.
    pub(super) tools: &'static str,
    /// The reminder after a reply whose call could not be read; a block replaces `@CALL@`.
    pub(super) reminder: &'static str,
    /// The tool name in the reminder if the model's own is not known.
    pub(super) placeholder: &'static str,
    /// Translated purposes by tool name; other tools have the purpose of their spec.
    purposes: &'static [(&'static str, &'static str)],
}

impl Words {
    pub(super) fn purpose<'a>(&self, spec: &'a ToolSpec) -> &'a str {
        let own = self.purposes.iter().find(|(name, _)| *name == spec.name && !spec.is_foreign());
        own.map_or(&spec.purpose, |(_, purpose)| purpose)
    }
}

pub(super) fn for_language(language: Language) -> &'static Words {
    match language {
        Language::English => &ENGLISH,
        Language::Portuguese => &PORTUGUESE,
    }
}

static ENGLISH: Words = Words {
    call: "# Tools\nYou have tools. To call one, start a line with ```` ```tool ````, write one JSON object, and close the block:",
    result: "The result is in the next message:",
    worked: ("     1\tRelease: Friday\n", "Then answer (\"The release is on Friday.\") or make the next call."),
    answer: "Then answer or make the next call.",
    fields: "`args` holds the tool's arguments. An optional `\"reason\"` says why you make the call.",
    fields_with_reason: "`args` holds the tool's arguments. Add `\"reason\"` next to them if the call changes or runs something: why you make it.",
    asks_first: " (asks first)",
    asking: "\n- The user is usually asked before a tool marked `(asks first)` runs. A no has a reason: follow it, and do not try the same in another way.",
    on_private_copy: "\n- Commands run on a private copy of the project. Their changes reach it only once accepted; the result begins with `[Kept: ...]` or `[Not kept: ...]`.",
    read_only: "\n- The project is read-only for commands, except for build folders that git ignores. A command that is to change other files needs `\"write\": true`, and the user may be asked.",
    verbatim: "Text of several lines needs no escaping: set the value to `\"<<EOF\"`, write the text below the object as it is, and end it with a line that is EOF alone. If the text contains `<<EOF`, use another word in capitals.",
    sample: "# Notes\nIn here \"quotes\", \\ and ``` are plain text.",
    call_in: "# Tools\nYou have tools. To call one, write it in exactly this form, at the start of a line and outside of code blocks:",
    several: "\
Rules:
- If you say that you will do something, write its call in the same reply. Several calls, each in its own block, run in order. Stop after the last one and wait.",
    several_in: "\
Rules:
- If you say that you will do something, write its call in the same reply. Several calls, each in this form, run in order. Stop after the last one and wait.",
    rules: "
- Only the host writes `tool_result` blocks. Never write one, and never guess a result.
- If a call fails, read the message, then correct the call or try another way.",
    cancelled: " After a failed change or command, later ones of that reply are cancelled.",
    quoting_in: "\n- To show a call without running it, put it inside a code block.",
    below: " Long content goes below the object.",
    quoting: "\n- To show a call without running it, put it inside a longer fence (````).",
    paths: "\n- Paths are relative to the project root.",
    tools: "The tools (`?` marks optional arguments):",
    reminder: "\
No call was run: none of your blocks is a call. A call is a line that starts with ```` ```tool ````, one JSON object, and a closing fence:

@CALL@

Write the call again in this form, or answer without a call.",
    placeholder: "TOOL",
    purposes: &[],
};

static PORTUGUESE: Words = Words {
    call: "# Ferramentas\nPara chamar uma, escreva um bloco de código que começa com ```` ```tool ```` no início da linha e contém um objeto JSON:",
    result: "O resultado vem na mensagem seguinte:",
    worked: ("     1\tLançamento: sexta-feira\n", "Então responda (\"O lançamento é na sexta.\") ou faça a próxima chamada."),
    answer: "Então responda ou faça a próxima chamada.",
    fields: "`args` contém os argumentos da ferramenta. `\"reason\"`, opcional, diz por que você faz a chamada.",
    fields_with_reason: "`args` contém os argumentos. Se a chamada muda ou executa algo, acrescente `\"reason\"` ao lado: o motivo.",
    asks_first: " (pergunta)",
    asking: "\n- Uma ferramenta com `(pergunta)` costuma exigir um sim do usuário. Um não traz um motivo: siga-o e não tente o mesmo de outro jeito.",
    on_private_copy: "\n- Os comandos rodam em uma cópia do projeto. O que muda só entra nele se aceito: `[Mantido: ...]` ou `[Não mantido: ...]` inicia o resultado.",
    read_only: "\n- O projeto é somente leitura para os comandos, exceto pastas de build que o git ignora. Um comando que deve mudar outros arquivos precisa de `\"write\": true`, e o usuário pode ser consultado.",
    verbatim: "Texto de várias linhas não precisa de escapes: use `\"<<EOF\"` como valor, escreva o texto como ele é abaixo do objeto e termine com uma linha só com EOF. Se o texto contém `<<EOF`, use outra palavra em maiúsculas.",
    sample: "# Notas\nAqui \"aspas\", \\ e ``` são texto comum.",
    call_in: "# Ferramentas\nVocê tem ferramentas. Para chamar uma, escreva exatamente nesta forma, no início de uma linha e fora de blocos de código:",
    several: "\
Regras:
- Se disser que vai fazer algo, escreva a chamada na mesma resposta. Várias chamadas, cada uma em seu bloco, rodam em ordem. Depois da última, pare e espere.",
    several_in: "\
Regras:
- Se disser que vai fazer algo, escreva a chamada na mesma resposta. Várias chamadas, cada uma nesta forma, rodam em ordem. Depois da última, pare e espere.",
    rules: "
- Só o sistema escreve blocos `tool_result`. Nunca escreva um nem invente um resultado.
- Se uma chamada falhar, leia a mensagem e corrija a chamada ou tente de outro jeito.",
    cancelled: " Se uma mudança ou comando falhar, os seguintes da resposta são cancelados.",
    quoting_in: "\n- Para mostrar uma chamada sem executá-la, ponha-a em um bloco de código.",
    below: " Conteúdo longo vai abaixo do objeto.",
    quoting: "\n- Para só mostrar uma chamada, ponha-a em um bloco com mais crases (````).",
    paths: "\n- Os caminhos são relativos à raiz do projeto.",
    tools: "As ferramentas (`?` marca argumentos opcionais):",
    reminder: "\
Nenhuma chamada foi executada: nenhum dos seus blocos é uma chamada. Uma chamada é um bloco de código que começa com ```` ```tool ```` no início da linha e contém um objeto JSON:

@CALL@

Escreva a chamada de novo nesta forma ou responda sem chamada.",
    placeholder: "FERRAMENTA",
    purposes: &[
        ("read_file", "Lê um arquivo de texto ou um intervalo de linhas (a partir de 1, inclusivo)."),
        ("list_files", "Lista arquivos e pastas, com tipo e tamanho."),
        ("search", "Busca nos arquivos; responde arquivo:linha:trecho."),
        ("write_file", "Escreve um arquivo inteiro; cria as pastas. Conteúdo longo vai abaixo do objeto."),
        ("edit_file", "Troca intervalos de linhas, tudo ou nada; end_line = start_line - 1 insere."),
        ("replace_text", "Troca um trecho que ocorre uma só vez no arquivo."),
        ("edit_data", "Define ou remove valores de um arquivo JSON, com ou sem comentários; todo o resto fica como está."),
        ("apply_patch", "Aplica um diff unificado ou *** Begin Patch; tudo ou nada."),
        ("bash", "Roda um comando de shell, sem terminal nem stdin."),
        ("run_python", "Roda um arquivo Python do projeto."),
        ("job", "Consulta, escreve para ou encerra um trabalho em segundo plano."),
        ("plan", "Guarda o plano de uma tarefa longa: todos os passos a cada vez, no máximo um deles ativo."),
    ],
};
