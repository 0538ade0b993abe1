//! Recognises a reply that announces an action without calling a tool, the most common failure of small models.

/// Words that may precede the announcement in its sentence.
const OPENINGS: &[&str] = &[
    "now", "first", "next", "then", "so", "ok", "okay", "sure", "great", "agora", "primeiro", "então", "certo",
    "claro", "bem", "depois",
];

/// How an announcement begins.
const INTENTIONS: &[&str] = &[
    "i will",
    "i'll",
    "i’ll",
    "i am going to",
    "i'm going to",
    "i’m going to",
    "let me",
    "let's",
    "let’s",
    "vou",
    "irei",
    "vamos",
    "deixe-me",
    "deixa eu",
];

/// Words between the intention and its verb.
const FILLERS: &[&str] = &[
    "now",
    "first",
    "then",
    "also",
    "just",
    "quickly",
    "take",
    "a",
    "go ahead and",
    "proceed to",
    "start by",
    "begin by",
    "agora",
    "primeiro",
    "também",
    "dar uma",
];

/// Verbs of actions that need a tool. "I will remember that" and "let me know" contain no such verb.
const ACTIONS: &[&str] = &[
    "analyze",
    "apply",
    "change",
    "check",
    "create",
    "delete",
    "edit",
    "examine",
    "execute",
    "find",
    "fix",
    "inspect",
    "install",
    "list",
    "look",
    "modify",
    "open",
    "read",
    "remove",
    "rename",
    "replace",
    "run",
    "scan",
    "search",
    "see",
    "test",
    "update",
    "view",
    "write",
    "reading",
    "checking",
    "looking",
    "listing",
    "searching",
    "running",
    "abrir",
    "alterar",
    "analisar",
    "aplicar",
    "buscar",
    "checar",
    "conferir",
    "corrigir",
    "criar",
    "editar",
    "escrever",
    "examinar",
    "executar",
    "instalar",
    "ler",
    "listar",
    "modificar",
    "mudar",
    "olhada",
    "olhar",
    "procurar",
    "remover",
    "renomear",
    "rodar",
    "substituir",
    "testar",
    "ver",
    "verificar",
];

/// Words of an answer that only promises something, or waits for the user.
const CONDITIONS: &[&str] = &[
    " if ",
    " once ",
    " when ",
    " after you",
    " as soon as",
    " unless ",
    " from now on",
    " in all ",
    " in future",
    " later",
    " se ",
    " quando ",
    " assim que",
    " depois que",
    " a partir de agora",
    " em todas",
    " mais tarde",
];

/// Words of a paragraph that asks the user for something.
const REQUESTS: &[&str] = &["?", "please ", "tell me", "send me", "let me know", "por favor", "me diga", "me envie"];

/// Returns `true` if the last sentence of a reply without a call announces an action: "I will now read a.txt."
pub(crate) fn announces_action(reply: &str) -> bool {
    let Some(line) = reply.lines().rev().map(str::trim).find(|line| !line.is_empty()) else { return false };
    let line = line.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | ' '));
    let lower = format!(" {} ", line.to_lowercase());
    if REQUESTS.iter().chain(CONDITIONS).any(|words| lower.contains(words)) {
        return false;
    }
    // A dot ends a sentence only before a blank: `a.txt` is one word.
    let line = line.trim_end_matches(['.', '!', ':', '…']);
    let ends = [". ", "! ", "? ", ": "].map(|end| line.rfind(end).map_or(0, |at| at + end.len()));
    begins_with_announcement(&line[ends.into_iter().max().unwrap_or(0)..])
}

fn begins_with_announcement(sentence: &str) -> bool {
    let sentence = sentence.trim().to_lowercase();
    let mut rest = sentence.as_str();
    while let Some(after) = OPENINGS.iter().find_map(|word| after_word(rest, word)) {
        rest = after;
    }
    let Some(mut rest) = INTENTIONS.iter().find_map(|words| after_word(rest, words)) else { return false };
    while let Some(after) = FILLERS.iter().find_map(|word| after_word(rest, word)) {
        rest = after;
    }
    let verb: String = rest.chars().take_while(|c| c.is_alphabetic()).collect();
    ACTIONS.contains(&verb.as_str())
}

/// Returns the rest of a sentence that begins with `word`, without the punctuation and blanks after it.
fn after_word<'a>(sentence: &'a str, word: &str) -> Option<&'a str> {
    let rest = sentence.strip_prefix(word)?;
    rest.starts_with([' ', ',']).then(|| rest.trim_start_matches([' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_recognised() {
        for reply in [
            "I will now read a.txt.",
            "I'll check the tests first:",
            "Sure! Let me look at the file.",
            "The test fails in line 3. Now I will fix it.",
            "**First, I am going to run `cargo test`.**",
            "Found it.\n\nI’ll update src/main.rs…",
            "Let me take a look at it.",
            "Agora vou ler o arquivo a.txt.",
            "Certo, vou rodar os testes:",
            "Deixe-me verificar.",
            "Let me see what is in a.txt.",
            "I'll go ahead and run the tests.",
            "I will now proceed to read a.txt.",
            "Vou dar uma olhada no arquivo.",
        ] {
            assert!(announces_action(reply), "{reply}");
        }
    }

    #[test]
    fn answers_are_not_announcements() {
        for reply in [
            "",
            "Done. Let me know if anything is missing.",
            "I will remember that.",
            "I read a.txt. It has three lines.",
            "Shall I run the tests?",
            "I'll run the tests if you agree. What do you think?",
            "I will read a.txt.\n\nIt has three lines.",
            "Run `make` and I will be happy to help.",
            "Vou lembrar disso.",
            "Letting me run it is fine.",
            "Understood. I will write in English from now on.",
            "Noted. I'll use spaces in all replies.",
            "Ok. I'll make sure to remember that.",
            "Entendido. Vou escrever em português a partir de agora.",
            "I'll add tests if you want.",
            "Please send me the log. Then I will look at it.",
            "If that is fine with you, tell me. I'll apply the change once you confirm.",
            "I'll try to explain.",
        ] {
            assert!(!announces_action(reply), "{reply}");
        }
    }
}
