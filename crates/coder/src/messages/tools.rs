//! What the list of tools tells a person in Portuguese: each text beside the English one, which the tools themselves have.

use toolfence_protocol::Language;

/// The purpose of a tool or the help of an argument in a language; text of another server's tool stays as it is.
pub(crate) fn tool_words(text: &str, language: Language) -> &str {
    let row = PORTUGUESE_TOOLS.iter().find(|(english, _)| *english == text && language == Language::Portuguese);
    row.map_or(text, |(_, portuguese)| portuguese)
}

/// English and Portuguese.
pub(crate) const PORTUGUESE_TOOLS: &[(&str, &str)] = &[
    ("folder that the patch's names are relative to", "pasta à qual os nomes do patch são relativos"),
    (
        "Read a text file, or a 1-based inclusive range of its lines.",
        "Lê um arquivo de texto ou um intervalo de linhas (a partir de 1, inclusivo).",
    ),
    ("the file to read", "o arquivo a ler"),
    ("first line", "a primeira linha"),
    ("last line", "a última linha"),
    ("how many lines from start_line", "quantas linhas a partir de start_line"),
    ("number the lines", "numera as linhas"),
    (
        "count all lines of a file too big to count by default",
        "conta todas as linhas de um arquivo grande demais para isso",
    ),
    (
        "List files and folders below a folder with type and size.",
        "Lista arquivos e pastas abaixo de uma pasta, com tipo e tamanho.",
    ),
    ("where to start", "onde começar"),
    ("a glob such as src/**/*.rs", "um glob como src/**/*.rs"),
    ("how deep to go", "até que profundidade"),
    ("names that begin with a dot too", "também nomes que começam com ponto"),
    ("leave out what git ignores", "omite o que o git ignora"),
    (
        "Search file contents; answers file:line:snippet.",
        "Busca no conteúdo dos arquivos; responde arquivo:linha:trecho.",
    ),
    ("what to find", "o que achar"),
    ("the file or folder to search", "o arquivo ou a pasta em que buscar"),
    ("how to read the pattern", "como ler o padrão"),
    ("only files matching this glob", "só arquivos que correspondem a este glob"),
    ("upper and lower case alike", "sem distinguir maiúsculas de minúsculas"),
    ("lines around each match", "linhas em volta de cada ocorrência"),
    (
        "Write a whole file; folders are made. Long content goes below the object.",
        "Escreve um arquivo inteiro; cria as pastas. Conteúdo longo vai abaixo do objeto.",
    ),
    ("the file to write", "o arquivo a escrever"),
    ("all of its text", "todo o texto dele"),
    (
        "Replace line ranges of one file, all or none; end_line = start_line - 1 inserts.",
        "Troca intervalos de linhas de um arquivo, todos ou nenhum; end_line = start_line - 1 insere.",
    ),
    ("the file to change", "o arquivo a mudar"),
    ("line ranges of the file as last read", "intervalos de linhas do arquivo como foi lido por último"),
    ("show what would change and change nothing", "mostra o que mudaria e não muda nada"),
    ("check the result for new errors", "verifica se o resultado tem erros novos"),
    (
        "Replace a passage that occurs exactly once in a file.",
        "Troca um trecho que ocorre exatamente uma vez no arquivo.",
    ),
    (
        "Set or remove values of a JSON file, with comments or without; all else stays as it is.",
        "Define ou remove valores de um arquivo JSON, com ou sem comentários; todo o resto fica como está.",
    ),
    ("made in order, all or none", "feitas em ordem, todas ou nenhuma"),
    ("the passage as it is", "o trecho como está"),
    ("the passage as it shall be", "o trecho como deve ficar"),
    (
        "Apply a unified diff or a *** Begin Patch text; all files or none.",
        "Aplica um diff unificado ou um texto *** Begin Patch; todos os arquivos ou nenhum.",
    ),
    ("the patch", "o patch"),
    ("Run a shell command; no terminal, no stdin.", "Roda um comando de shell; sem terminal e sem entrada padrão."),
    ("the command", "o comando"),
    ("seconds before it is stopped", "segundos até ser interrompido"),
    ("folder to run in", "a pasta em que roda"),
    ("keep it running as a job", "deixa-o em execução como um trabalho"),
    ("let it use the network; always asks", "deixa-o usar a rede; sempre pergunta"),
    ("run it without the sandbox; always asks", "roda-o sem o sandbox; sempre pergunta"),
    ("Run a Python file of the project.", "Roda um arquivo Python do projeto."),
    ("the Python file", "o arquivo Python"),
    ("its command line", "a linha de comando dele"),
    ("Poll, write to or stop a background job.", "Consulta, escreve para ou encerra um trabalho em segundo plano."),
    ("the job's id", "o id do trabalho"),
    ("what to do", "o que fazer"),
    ("text for its stdin", "texto para a entrada padrão dele"),
    (
        "Keep the plan of a long task: all its steps each time, at most one of them active.",
        "Guarda o plano de uma tarefa longa: todos os passos a cada vez, no máximo um deles ativo.",
    ),
    ("every step with its state", "cada passo com o seu estado"),
];
