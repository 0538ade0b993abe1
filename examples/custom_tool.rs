//! A tool of your own: its spec says what it is, `run` does it. The policy, the checks of arguments, the instructions and
//! the grammar come from the spec.

use toolfence::policy::{NoFacts, Policy, Verdict};
use toolfence::toolbox::{BoxFuture, NoProgress, Permit, Progress, Tool, ToolError, Toolbox};
use toolfence::{Effect, ErrorCode, Output, Param, ParamKind, Result, ToolFailure, ToolSpec, format, parse, prompt};

/// Knows how far it is from one town to another.
struct Distance {
    spec: ToolSpec,
    towns: Vec<(&'static str, u32)>,
}

impl Distance {
    fn new() -> Distance {
        let town = |name| Param::new(name, ParamKind::Text { content: false }, "the name of a town").required();
        let spec = ToolSpec::new("distance", "Kilometres between two towns.")
            .param(town("from"))
            .param(town("to").aliases(["destination"]))
            .effect(|_| Effect::Read); // without this every call is asked about
        Distance { spec, towns: vec![("Ulm", 0), ("Augsburg", 84), ("Munich", 153)] }
    }

    /// A failure is written for the model: what failed, on what, why, and what to do next.
    fn place(&self, name: &str) -> std::result::Result<u32, ToolFailure> {
        let known = self.towns.iter().find(|(town, _)| *town == name);
        known.map(|(_, at)| *at).ok_or_else(|| {
            let names: Vec<&str> = self.towns.iter().map(|(town, _)| *town).collect();
            let message = format!("There is no town {name:?} on the map. It has {}.", names.join(", "));
            ToolFailure::new(ErrorCode::NotFound, message).suggest(toolfence::close_names(name, names))
        })
    }
}

impl Tool for Distance {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        permit: Permit<'a>,
        _: &'a dyn Progress,
    ) -> BoxFuture<'a, std::result::Result<Output, ToolError>> {
        Box::pin(async move {
            // The arguments are there and are strings: they were checked against the spec.
            let [from, to] = ["from", "to"].map(|name| permit.text(name).unwrap_or_default());
            let (from, to) = (self.place(from)?, self.place(to)?);
            Ok(Output::text(format!("{} km", from.abs_diff(to))))
        })
    }
}

async fn answers(reply: &str) -> Result<String> {
    let toolbox = Toolbox::new().with(Distance::new());
    let (policy, catalog) = (Policy::default(), toolbox.catalog());
    let mut results = Vec::new();
    let parsed = parse::parse(reply);
    for call in parsed.calls {
        results.push(match policy.review(call, &catalog, &NoFacts) {
            Verdict::Cleared(cleared) => toolbox.run(cleared, &NoProgress).await?,
            Verdict::Ask(pending) => pending.deny("No approval is possible here."),
            Verdict::Denied(refusal) => refusal,
        });
    }
    let mut message = format::results(&results, &format::Format::default());
    for error in &parsed.malformed {
        message.push_str(&format!("\n{}\n", error.answer()));
    }
    Ok(message)
}

fn main() -> Result<()> {
    let told = prompt::instructions(&Toolbox::new().with(Distance::new()).catalog(), toolfence::Language::English);
    println!("{told}\n---");
    let reply = "Let me see.\n\
                 ```tool\n{\"name\": \"distance\", \"args\": {\"from\": \"Ulm\", \"destination\": \"Munich\"}}\n```\n\
                 ```tool\n{\"name\": \"distance\", \"args\": {\"from\": \"Ulm\", \"to\": \"Munic\"}}\n```\n";
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| toolfence::Error::because("start tokio", error))?;
    println!("{}", runtime.block_on(answers(reply))?);
    Ok(())
}
