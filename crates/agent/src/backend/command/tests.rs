use super::*;

/// A received reply.
#[derive(Debug, Default)]
struct Received {
    text: String,
    kept: Option<String>,
    why: Option<String>,
    /// Breaks after this many bytes.
    most: Option<usize>,
}

impl Sink for Received {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        match chunk {
            Chunk::Text(text) => self.text.push_str(text),
            Chunk::Kept(kept) => self.kept = Some(kept.to_owned()),
            Chunk::BrokeOff(why) => self.why = Some(why.to_string()),
            _ => {}
        }
        match self.most {
            Some(most) if self.text.len() >= most => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn script(script: &str) -> CommandOptions {
    CommandOptions::new(["sh", "-c", script])
}

async fn run(options: CommandOptions) -> (Result<FinishReason, String>, Received) {
    run_with(options, Received::default()).await
}

async fn run_with(options: CommandOptions, mut received: Received) -> (Result<FinishReason, String>, Received) {
    let messages = [Message::new(Role::System, "Be brief."), Message::new(Role::User, "Hello.")];
    let command = Command::new(options).unwrap();
    let finish = command.stream(&messages, &mut received).await.map_err(|error| error.to_string());
    (finish, received)
}

#[tokio::test]
async fn the_program_reads_the_conversation_and_prints_the_reply() {
    let mut options = script("cat; printf '%s %s %s' \"$TOOLFENCE_FIRST\" \"$TERM\" \"$0\"");
    options.words.push("{turn}-{model}{session}-{other".into());
    options.model = Some("m {turn}".into());
    let (finish, received) = run(options).await;
    assert_eq!(finish, Ok(FinishReason::Stop));
    assert_eq!(received.text, "Be brief.\n\nHello.\n1 dumb 1-m {turn}-{other");
    assert_eq!((received.kept, received.why), (None, None));
}

#[tokio::test]
async fn errors_give_advice() {
    let failed = async |options| run(options).await.0.unwrap_err();
    let message = failed(script("echo 'no \u{1b}[1mkey' >&2; exit 7")).await;
    assert!(message.contains("status 7") && message.ends_with("Its stderr: no key"), "{message}");
    let message = failed(script("kill -9 $$")).await;
    assert!(message.contains("signal 9"), "{message}");
    let message = failed(script("exit 0")).await;
    assert!(message.contains("without writing anything"), "{message}");
    let message = failed(CommandOptions::new(["toolfence-is-not-there"])).await;
    assert!(message.contains("toolfence-is-not-there") && message.contains("Install it"), "{message}");
    let mut options = script("printf '\\033[K'; sleep 30");
    options.first_byte = Duration::from_millis(100);
    let message = failed(options).await;
    assert!(message.contains("nothing to its stdout for 0.1 s"), "{message}");
    assert!(CommandOptions::parse("llm 'x").unwrap_err().to_string().contains("llm 'x"));
    assert!(Command::new(CommandOptions::parse(" ").unwrap()).is_err());
}

#[tokio::test]
async fn a_reply_that_breaks_off_is_cut() {
    let (finish, received) = run(script("echo half; echo gone >&2; exit 3")).await;
    assert_eq!((finish, received.text.as_str()), (Ok(FinishReason::Cut), "half\n"));
    assert_eq!(received.why.as_deref(), Some("the program ended with status 3: gone"));
    let mut options = script("echo half; sleep 30");
    options.between = Duration::from_millis(100);
    let (finish, received) = run(options).await;
    assert_eq!((finish, received.text.as_str()), (Ok(FinishReason::Cut), "half\n"));
    assert!(received.why.is_some_and(|why| why.contains("nothing more for 0.1 s")));
    // A program that has closed its stdout has completed its reply.
    let mut options = script("echo all; exec >&-; sleep 30");
    options.between = Duration::from_millis(100);
    let (finish, received) = run(options).await;
    assert_eq!((finish, received.text.as_str(), received.why), (Ok(FinishReason::Stop), "all\n", None));
}

#[tokio::test]
async fn an_endless_reply_is_ended() {
    let mut options = script("yes");
    options.most_bytes = 1001;
    let (finish, received) = run(options).await;
    assert_eq!((finish, received.text.len()), (Ok(FinishReason::Length), 1001));
    let (finish, received) = run_with(script("yes"), Received { most: Some(10), ..Received::default() }).await;
    assert_eq!(finish, Ok(FinishReason::Cut));
    assert!(received.text.len() < 1 << 20);
}

#[tokio::test]
async fn a_program_that_failed_is_not_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = script("echo run >>runs; exit 1");
    options.folder = Some(folder.path().to_owned());
    assert!(run(options).await.0.is_err());
    assert_eq!(std::fs::read_to_string(folder.path().join("runs")).unwrap(), "run\n");
}

#[tokio::test]
async fn invalid_utf_8_is_replaced() {
    let (finish, received) = run(script("printf 'a\\377b\\303'")).await;
    assert_eq!((finish, received.text.as_str()), (Ok(FinishReason::Stop), "a\u{FFFD}b\u{FFFD}"));
}

#[tokio::test]
async fn a_conversation_of_another_program_is_sent_again() {
    let messages = [(Role::User, "One."), (Role::Assistant, "1"), (Role::User, "Two.")];
    let messages = messages.map(|(role, text)| Message::new(role, text));
    let ask = async |words: &str, kept: &str| {
        let mut options = script(&format!("{words} cat; echo \"$TOOLFENCE_FIRST\""));
        options.own_conversation = true;
        let mut request = Request::new(&messages);
        (request.known, request.state) = (2, kept);
        let mut received = Received::default();
        Command::new(options).unwrap().answer(request, &mut received).await.unwrap();
        (received.text, received.kept.unwrap())
    };
    let all = "--- user ---\nOne.\n\n--- assistant ---\n1\n\n--- user ---\nTwo.\n1\n";
    let (text, kept) = ask("", "").await;
    assert_eq!(text, all);
    assert_eq!(ask("", &kept).await.0, "Two.\n0\n");
    assert_eq!(ask(":;", &kept).await.0, all, "it is another program");
}
