//! What the model is asked by a probe, and what the person is told of it.

// What the model is asked.
toolfence_protocol::texts! { "probe"
    count_question() {
        en: "Count from 1 to 40, one number on each line, and write nothing else.",
        pt: "Conte de 1 a 40, um número por linha, e não escreva mais nada.",
    }
    code_word_told(word) {
        en: "The code word is {word}. Whoever asks for the code word is answered with it and nothing else.",
        pt: "A palavra-código é {word}. Quem pergunta pela palavra-código recebe só essa palavra como resposta.",
    }
    code_word_question() {
        en: "What is the code word?",
        pt: "Qual é a palavra-código?",
    }
    call_question() {
        en: "List the files of the folder src with the tool. Write the call and nothing else.",
        pt: "Liste os arquivos da pasta src com a ferramenta. Escreva a chamada e mais nada.",
    }
    echo_question(begin, end) {
        en: "Repeat exactly what stands from the line {begin} to the line {end}, both lines included: every character, every blank, \
             every empty line as it is. Add no code block around it, correct nothing, explain nothing, run nothing.",
        pt: "Repita exatamente o que está entre a linha {begin} e a linha {end}, incluindo as duas linhas: cada caractere, cada \
             espaço, cada linha vazia como está. Não acrescente um bloco de código em volta, não corrija nada, não explique nada, \
             não execute nada.",
    }
    size_question(word) {
        en: "This text has one word in capital letters at its beginning and one at its end. Read it all, then answer with the two \
             words and nothing else. The first word is {word}.",
        pt: "Este texto tem uma palavra em letras maiúsculas no começo e uma no fim. Leia tudo e depois responda com as duas \
             palavras e mais nada. A primeira palavra é {word}.",
    }
    size_question_end(word) {
        en: "The last word is {word}.",
        pt: "A última palavra é {word}.",
    }
    hello_question() {
        en: "Say hello.",
        pt: "Diga olá.",
    }
}

// What is being asked about.
toolfence_protocol::texts! { "probe"
    about_stream() {
        en: "whether it answers, and in pieces",
        pt: "se responde, e em partes",
    }
    about_system() {
        en: "whether a system message reaches the model",
        pt: "se uma mensagem de sistema chega ao modelo",
    }
    about_calls() {
        en: "how the model calls a tool",
        pt: "como o modelo chama uma ferramenta",
    }
    about_texts() {
        en: "what happens to texts on their way",
        pt: "o que acontece com os textos no caminho",
    }
    about_size(bytes) {
        en: "whether a message of {bytes} bytes is read whole",
        pt: "se uma mensagem de {bytes} bytes é lida por inteiro",
    }
    about_grammar(member) {
        en: "whether the server obeys `{member}`",
        pt: "se o servidor obedece a `{member}`",
    }
    about_grammar_of_tools(member) {
        en: "whether it takes the grammar of all tools as `{member}`",
        pt: "se aceita a gramática de todas as ferramentas como `{member}`",
    }
}

// What came of it.
toolfence_protocol::texts! { "probe"
    took_too_long(seconds) {
        en: "The answer took longer than {seconds} s.",
        pt: "A resposta demorou mais de {seconds} s.",
    }
    time_is_over() {
        en: "The time for all questions is over.",
        pt: "O tempo de todas as perguntas acabou.",
    }
    no_answer(why) {
        en: "There is no answer. {why}",
        pt: "Não há resposta. {why}",
    }
    empty_answer() {
        en: "The answer is empty.",
        pt: "A resposta está vazia.",
    }
    look_at_the_server() {
        en: "Look at what the server or the bridge writes about the request.",
        pt: "Veja o que o servidor ou a ponte registra sobre o pedido.",
    }
    answers_after(milliseconds) {
        en: "It answers; the first piece came after {milliseconds} ms.",
        pt: "Responde; a primeira parte chegou depois de {milliseconds} ms.",
    }
    streams(pieces) {
        en: "The reply comes in pieces: {pieces} of them.",
        pt: "A resposta chega em partes: {pieces}.",
    }
    streams_at(pieces, speed) {
        en: "The reply comes in pieces: {pieces} of them, {speed} bytes a second.",
        pt: "A resposta chega em partes: {pieces}, {speed} bytes por segundo.",
    }
    comes_at_once(pieces) {
        en: "The reply does not stream: it came in {pieces} {pieces|piece|pieces}.",
        pt: "A resposta não chega aos poucos: veio em {pieces} {pieces|parte|partes}.",
    }
    nothing_to_see_meanwhile() {
        en: "Nothing is shown until a reply is whole; raise the time that a first piece may take where replies are long.",
        pt: "Nada aparece até a resposta estar completa; aumente o tempo de espera da primeira parte se as respostas forem longas.",
    }
    too_short_to_say() {
        en: "The reply was too short to tell whether replies stream.",
        pt: "A resposta foi curta demais para saber se as respostas chegam aos poucos.",
    }
    system_reaches() {
        en: "A system message reaches the model.",
        pt: "Uma mensagem de sistema chega ao modelo.",
    }
    system_refused(why) {
        en: "A system message is refused: {why}",
        pt: "Uma mensagem de sistema é recusada: {why}",
    }
    system_lost() {
        en: "A system message does not reach the model.",
        pt: "Uma mensagem de sistema não chega ao modelo.",
    }
    system_goes_with_the_first_message() {
        en: "The instructions go with your first message from now on.",
        pt: "A partir de agora as instruções vão com a sua primeira mensagem.",
    }
    model_did_not_answer() {
        en: "The model did not answer the question in either place.",
        pt: "O modelo não respondeu à pergunta em nenhum dos dois lugares.",
    }
    calls_as_taught() {
        en: "The model calls as it is taught: in a block of the protocol.",
        pt: "O modelo chama como foi ensinado: em um bloco do protocolo.",
    }
    calls_in(dialect) {
        en: "The model calls in a dialect of its own: {dialect}.",
        pt: "O modelo chama em um dialeto próprio: {dialect}.",
    }
    dialect_is_read() {
        en: "These calls are read; from now on calls in other dialects are doubtful.",
        pt: "Essas chamadas são lidas; a partir de agora chamadas em outros dialetos são duvidosas.",
    }
    calls_natively() {
        en: "Calls come in the server's own channel for calls, not in the text.",
        pt: "As chamadas vêm pelo canal de chamadas do servidor, não no texto.",
    }
    calls_unreadably() {
        en: "The model wrote a call that cannot be read or does not count.",
        pt: "O modelo escreveu uma chamada que não pode ser lida ou não conta.",
    }
    does_not_call() {
        en: "The model wrote no call.",
        pt: "O modelo não escreveu nenhuma chamada.",
    }
    see_what_it_wrote() {
        en: "Ask it for something in `coder` and read its reply with `coder parse --explain`.",
        pt: "Peça alguma coisa no `coder` e leia a resposta com `coder parse --explain`.",
    }
    text_did_not_come_back() {
        en: "The model did not repeat a text twice, so what happens to texts on their way is not all known.",
        pt: "O modelo não repetiu um texto nas duas tentativas, então não se sabe tudo o que acontece com os textos no caminho.",
    }
    texts_come_back() {
        en: "Texts come back as they were: backslashes, fences, quotes, blanks, empty lines, Unicode, long lines.",
        pt: "Os textos voltam como eram: barras invertidas, cercas de código, aspas, espaços, linhas vazias, Unicode, linhas longas.",
    }
    too_few_replies() {
        en: "There were too few replies to tell how reasoning comes.",
        pt: "Houve poucas respostas para saber como vem o raciocínio.",
    }
    reasoning_none() {
        en: "No reply shows reasoning.",
        pt: "Nenhuma resposta mostra raciocínio.",
    }
    reasoning_in_tags() {
        en: "Reasoning comes between two tags.",
        pt: "O raciocínio vem entre duas marcas.",
    }
    reasoning_opened() {
        en: "The template opens the reasoning: a reply has the closing tag alone. Replies are read so from now on.",
        pt: "O modelo de conversa abre o raciocínio: a resposta só tem a marca de fechamento. As respostas passam a ser lidas assim.",
    }
    reasoning_in_a_field() {
        en: "Reasoning comes in a field of its own.",
        pt: "O raciocínio vem em um campo próprio.",
    }
    window_is(tokens) {
        en: "The server tells a window of {tokens} tokens.",
        pt: "O servidor informa uma janela de {tokens} tokens.",
    }
    read_whole(bytes) {
        en: "A message of {bytes} bytes is read whole; longer ones were not tried.",
        pt: "Uma mensagem de {bytes} bytes é lida por inteiro; mensagens maiores não foram testadas.",
    }
    size_not_known() {
        en: "The model did not find both words of a long message, so what happens to long messages is not known.",
        pt: "O modelo não encontrou as duas palavras de uma mensagem longa, então não se sabe o que acontece com mensagens longas.",
    }
    no_grammar_can_be_sent() {
        en: "This backend takes no further members with a request, so no grammar can be sent.",
        pt: "Este backend não aceita outros membros no pedido, então nenhuma gramática pode ser enviada.",
    }
    obeys_grammar(member) {
        en: "The server holds the model to a grammar: `{member}`.",
        pt: "O servidor restringe o modelo a uma gramática: `{member}`.",
    }
    obeys_no_grammar() {
        en: "The server takes no grammar, or does not obey it.",
        pt: "O servidor não aceita uma gramática, ou não a obedece.",
    }
    obeys_schema() {
        en: "The server holds the model to a JSON Schema: `response_format`.",
        pt: "O servidor restringe o modelo a um JSON Schema: `response_format`.",
    }
    large_grammar_fails(member, why) {
        en: "The server obeys `{member}`, but fails with the grammar of all tools: {why}",
        pt: "O servidor obedece a `{member}`, mas falha com a gramática de todas as ferramentas: {why}",
    }
    grammar_is_sent() {
        en: "The grammar of the tools goes with each request from now on; `--grammar off` leaves it out.",
        pt: "A partir de agora a gramática das ferramentas vai com cada pedido; `--grammar off` a deixa de fora.",
    }
    grammar_would_take_reasoning() {
        en: "It is not sent, for it would take the model's reasoning away, or that is not known; `--grammar on` sends it.",
        pt: "Ela não é enviada, pois tiraria do modelo o raciocínio, ou não se sabe se tiraria; `--grammar on` a envia.",
    }
    grammar_is_not_sent() {
        en: "No grammar is sent.",
        pt: "Nenhuma gramática é enviada.",
    }
}

// What happens to texts.
toolfence_protocol::texts! { "probe"
    backslashes_lost() {
        en: "Backslashes are lost.",
        pt: "Barras invertidas se perdem.",
    }
    backslashes_added() {
        en: "Backslashes are added before marks of Markdown.",
        pt: "Barras invertidas são acrescentadas antes de marcas do Markdown.",
    }
    fences_lost() {
        en: "The lines of backticks around code are lost.",
        pt: "As linhas de crases em volta do código se perdem.",
    }
    fences_changed() {
        en: "The lines of backticks around code become other fences.",
        pt: "As linhas de crases em volta do código viram outras cercas.",
    }
    info_word_lost() {
        en: "The word behind the backticks that open a block is lost.",
        pt: "A palavra depois das crases que abrem um bloco se perde.",
    }
    quotes_changed() {
        en: "Straight quotes become typographic ones.",
        pt: "Aspas retas viram aspas tipográficas.",
    }
    dashes_changed() {
        en: "Two hyphens or three dots become one character.",
        pt: "Dois hifens ou três pontos viram um só caractere.",
    }
    blank_lines_lost() {
        en: "Empty lines are lost.",
        pt: "Linhas vazias se perdem.",
    }
    blank_lines_added() {
        en: "Empty lines are added between lines.",
        pt: "Linhas vazias são acrescentadas entre linhas.",
    }
    lines_joined() {
        en: "Lines are put together.",
        pt: "Linhas são juntadas.",
    }
    lines_wrapped() {
        en: "Long lines are broken.",
        pt: "Linhas longas são quebradas.",
    }
    tabs_lost() {
        en: "Tabs become blanks.",
        pt: "Tabulações viram espaços.",
    }
    blanks_collapsed() {
        en: "Several blanks become one.",
        pt: "Vários espaços viram um só.",
    }
    indentation_lost() {
        en: "The indentation of lines is lost.",
        pt: "O recuo das linhas se perde.",
    }
    trailing_blanks_lost() {
        en: "Blanks at the end of lines are lost.",
        pt: "Espaços no fim das linhas se perdem.",
    }
    unicode_composed() {
        en: "Letters and their accents are put together (NFC).",
        pt: "Letras e acentos são compostos (NFC).",
    }
    non_ascii_lost() {
        en: "Characters beyond ASCII are lost or changed.",
        pt: "Caracteres fora do ASCII se perdem ou mudam.",
    }
    entities_encoded() {
        en: "Characters become entities of HTML, such as `&lt;`.",
        pt: "Caracteres viram entidades de HTML, como `&lt;`.",
    }
    entities_decoded() {
        en: "Entities of HTML such as `&lt;` become characters.",
        pt: "Entidades de HTML como `&lt;` viram caracteres.",
    }
    tags_lost() {
        en: "Tags of HTML are lost.",
        pt: "Marcas de HTML se perdem.",
    }
    markdown_rendered() {
        en: "Markdown is rendered: underscores and asterisks are lost.",
        pt: "O Markdown é renderizado: sublinhados e asteriscos se perdem.",
    }
    links_changed() {
        en: "Addresses become links.",
        pt: "Endereços viram links.",
    }
    prefix_added() {
        en: "The same text stands before every reply.",
        pt: "O mesmo texto vem antes de cada resposta.",
    }
    suffix_added() {
        en: "The same text stands behind every reply.",
        pt: "O mesmo texto vem depois de cada resposta.",
    }
    citations_added() {
        en: "Replies end in sources of a search that nobody asked for.",
        pt: "As respostas terminam com fontes de uma busca que ninguém pediu.",
    }
    native_calls() {
        en: "Replies call tools in the server's own channel that nobody offered.",
        pt: "As respostas chamam, pelo canal do servidor, ferramentas que ninguém ofereceu.",
    }
    question_repeated() {
        en: "A reply repeats the question before the answer.",
        pt: "A resposta repete a pergunta antes de responder.",
    }
    control_sequences() {
        en: "There are control sequences of a terminal in the text.",
        pt: "Há sequências de controle de terminal no texto.",
    }
    long_messages_cut() {
        en: "A long message is cut without a word about it.",
        pt: "Uma mensagem longa é cortada sem aviso.",
    }
    long_messages_refused() {
        en: "A long message is refused.",
        pt: "Uma mensagem longa é recusada.",
    }
}

// What to do about it.
toolfence_protocol::texts! { "probe"
    take_it_raw() {
        en: "Let the bridge give the text as the model wrote it, not as a page shows it: its API, or the button that copies the \
             reply. Contents of files are safest in verbatim bodies (<<EOF).",
        pt: "Faça a ponte entregar o texto como o modelo o escreveu, não como a página o mostra: pela API ou pelo botão que copia a \
             resposta. Conteúdos de arquivos ficam mais seguros em corpos literais (<<EOF).",
    }
    fences_are_needed() {
        en: "Calls are not found without their fences. Let the bridge give the source of the reply, or teach the model a form \
             without fences: `coder prompt --dialect hermes` prints the instructions, and `--instructions external` sends no others.",
        pt: "Sem as cercas as chamadas não são encontradas. Faça a ponte entregar o texto-fonte da resposta, ou ensine ao modelo \
             uma forma sem cercas: `coder prompt --dialect hermes` imprime as instruções, e `--instructions external` não envia \
             outras.",
    }
    typography_off() {
        en: "Switch typography off in the bridge (smart quotes, SmartyPants). Quotes around JSON are repaired; quotes in code are not.",
        pt: "Desligue a tipografia na ponte (aspas inteligentes, SmartyPants). Aspas em volta de JSON são reparadas; aspas no código, \
             não.",
    }
    blank_lines_matter() {
        en: "Check new files for their empty lines; edits of passages with empty lines may not fit.",
        pt: "Confira as linhas vazias de arquivos novos; alterações de trechos com linhas vazias podem não se encaixar.",
    }
    wrapping_off() {
        en: "Switch line wrapping off in the bridge: a line that is broken within a string changes it.",
        pt: "Desligue a quebra de linhas na ponte: uma linha quebrada dentro de um texto o altera.",
    }
    tabs_matter() {
        en: "Makefiles and Go files need their tabs: check what is written, and let a formatter mend it.",
        pt: "Makefiles e arquivos Go precisam das tabulações: confira o que é gravado e deixe um formatador corrigir.",
    }
    trailing_blanks_matter() {
        en: "This matters in Markdown and in patches only.",
        pt: "Isso só importa em Markdown e em patches.",
    }
    composed_names() {
        en: "This matters only for files whose names or texts have accents apart.",
        pt: "Isso só importa para arquivos com acentos decompostos no nome ou no texto.",
    }
    encoding_of_the_bridge() {
        en: "Let the bridge read and write UTF-8.",
        pt: "Faça a ponte ler e escrever em UTF-8.",
    }
    take_text_of_the_page() {
        en: "Let the bridge take the text of the page and not its HTML.",
        pt: "Faça a ponte usar o texto da página e não o HTML.",
    }
    affixes_off() {
        en: "Calls are read all the same; let the bridge leave it out, so that answers are clean.",
        pt: "As chamadas são lidas mesmo assim; faça a ponte deixar isso de fora para que as respostas fiquem limpas.",
    }
    own_tools_off() {
        en: "Switch the tools of the service itself off (search, code, canvas): the model then uses those that it is taught.",
        pt: "Desligue as ferramentas do próprio serviço (busca, código, canvas): assim o modelo usa as que lhe são ensinadas.",
    }
    question_off() {
        en: "Let the bridge give the reply alone: calls in examples of the instructions would be taken for the model's own.",
        pt: "Faça a ponte entregar só a resposta: chamadas nos exemplos das instruções seriam tomadas como do modelo.",
    }
    terminal_off() {
        en: "Run the program of the bridge without a terminal, or with NO_COLOR=1 and TERM=dumb.",
        pt: "Execute o programa da ponte sem terminal, ou com NO_COLOR=1 e TERM=dumb.",
    }
    short_messages() {
        en: "Set `window` to what is read whole, so that conversations are compacted in time.",
        pt: "Defina `window` com o que é lido por inteiro, para que as conversas sejam compactadas a tempo.",
    }
}
