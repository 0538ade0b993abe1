//! Wrappers, each with the options that stand before the command it runs.

use super::wrappers::{Adds, Inner};
use crate::shell::expand::Word;
use std::collections::HashMap;
use std::sync::LazyLock;

/// How a program leads to the command it runs. Lists are names apart by blanks.
pub(crate) struct Wrapper {
    names: &'static str,
    /// Short options without a value.
    short: &'static str,
    /// Short options with one, attached or next.
    short_value: &'static str,
    long: &'static str,
    long_value: &'static str,
    /// Options that make it do more than is known.
    asks: &'static str,
    /// Options whose value is the folder the command runs in.
    folder: &'static str,
    /// Options whose value stands for input in the words of the command.
    replace: &'static str,
    /// Words between the options and the command.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    pub(crate) assigns: bool,
    /// Whether it adds nothing to what the command does.
    transparent: bool,
    /// Whether `-5` is an option.
    number: bool,
}

const fn wraps(names: &'static str) -> Wrapper {
    Wrapper {
        names,
        short: "",
        short_value: "",
        long: "",
        long_value: "",
        asks: "",
        folder: "",
        replace: "",
        operands: 0,
        assigns: false,
        transparent: false,
        number: false,
    }
}

const WRAPPERS: &[Wrapper] = &[
    wraps("command builtin").short("p").transparent(),
    wraps("exec").short("cl").value("a"),
    wraps("nohup setsid catchsegv fakeroot linux32 linux64 unbuffer dbus-run-session xvfb-run torsocks tsocks proxychains caffeinate")
        .short("wfctq")
        .long("fork wait ctty"),
    wraps("ionice").short("t").value("cnpPu").long("ignore").long_value("class classdata pid pgid uid"),
    wraps("nice").value("n").long_value("adjustment").number().transparent(),
    wraps("timeout")
        .short("v")
        .value("sk")
        .long("preserve-status foreground verbose")
        .long_value("signal kill-after")
        .operands(1)
        .transparent(),
    wraps("env")
        .short("i0v-")
        .value("uC")
        .long("ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling")
        .long_value("unset chdir block-signal default-signal ignore-signal")
        .asks("i 0 v - u C ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling unset chdir")
        .folder("C chdir")
        .assigns()
        .transparent(),
    wraps("sudo")
        .short("AbBEHiKknPSs")
        .value("CDghpRrTtuU")
        .long("background preserve-env set-home login non-interactive shell stdin reset-timestamp remove-timestamp")
        .long_value("user group host prompt chdir chroot role type close-from preserve-env")
        .folder("D chdir R chroot")
        .assigns(),
    wraps("doas").short("Lns").value("Cu"),
    wraps("pkexec").long("disable-internal-agent keep-cwd").long_value("user"),
    wraps("runuser").short("lmp").value("ugG").long("login").long_value("user group"),
    wraps("chroot").long_value("groups userspec").operands(1),
    wraps("stdbuf").value("ioe").long_value("input output error"),
    wraps("time")
        .short("pvaqV")
        .value("fo")
        .long("portability verbose append quiet")
        .long_value("format output"),
    wraps("xargs")
        .short("0rtxpoi")
        .value("adEILnPs")
        .long("null no-run-if-empty verbose exit interactive open-tty replace")
        .long_value("arg-file delimiter max-lines max-args max-procs max-chars replace")
        .asks("P max-procs a arg-file p interactive o open-tty E d delimiter")
        .replace("I i replace")
        .transparent(),
    wraps("strace ltrace")
        .short("cCdDfhiknqrtTvVwxyzZ")
        .value("abeEIoOpPsSuUX")
        .long("follow-forks quiet")
        .long_value("output trace"),
    wraps("busybox toybox"),
    wraps("unshare nsenter").short("mUipnufrCT").value("tSG").long("map-root-user user fork mount pid net ipc uts"),
    wraps("taskset chrt").short("acpbfior").operands(1),
    wraps("flock").short("nsxuoF").value("wE").long("nonblock shared exclusive close").operands(1),
    wraps("setarch").short("RZvB").operands(1),
    wraps("systemd-run").short("tPGqd").value("pEu").long("user pty pipe wait collect scope quiet"),
    wraps("rlwrap").short("aceEhiInNoprRuUvWXA").value("bCDefgHlMmOPqsStwz").long(
        "always-readline ansi-colour-aware complete-filenames case-insensitive pass-sigint-as-sigterm no-children \
         one-shot multi-line no-warnings remember renice version polling",
    ),
    wraps("ld.so")
        .long("list verify inhibit-cache list-tunables list-diagnostics help version")
        .long_value("library-path glibc-hwcaps-prepend glibc-hwcaps-mask inhibit-rpath audit preload argv0"),
    wraps("setpriv numactl prlimit firejail proot cgexec cpulimit trickle eatmydata uclampset ccache sccache distcc corepack")
        .long("quiet noprofile clear-groups keep-groups init-groups no-new-privs")
        .long_value("reuid regid groups inh-caps bounding-set cpunodebind membind physcpubind interleave"),
    wraps("tini dumb-init chronic retry heaptrack aa-exec ssh-agent dbus-launch").short("svgcdw"),
    wraps("gosu su-exec faketime").operands(1),
    wraps("parallel")
        .short("0kqtuvXmrp")
        .value("aCdIjLlnNPsS")
        .long(
            "keep-order verbose dry-run bar progress eta ungroup group line-buffer lb no-notice will-cite null xargs tag \
             halt-on-error resume shuf semaphore fg bg pipe quote plus no-run-if-empty",
        )
        .long_value(
            "jobs arg-file colsep delimiter max-args max-replace-args max-procs joblog results timeout delay retries halt \
             tmpdir workdir wd tagstring env memfree load sshlogin sshloginfile basefile block recstart recend id",
        ),
    wraps("valgrind").short("qv").long_value("leak-check tool log-file"),
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Wrapper>> = LazyLock::new(|| {
    let names = |wrapper: &'static Wrapper| wrapper.names.split_ascii_whitespace().map(move |name| (name, wrapper));
    WRAPPERS.iter().flat_map(names).collect()
});

/// The wrapper of this name.
pub(crate) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    BY_NAME.get(program).copied()
}

impl Wrapper {
    const fn short(mut self, options: &'static str) -> Wrapper {
        self.short = options;
        self
    }

    const fn value(mut self, options: &'static str) -> Wrapper {
        self.short_value = options;
        self
    }

    const fn long(mut self, options: &'static str) -> Wrapper {
        self.long = options;
        self
    }

    const fn long_value(mut self, options: &'static str) -> Wrapper {
        self.long_value = options;
        self
    }

    const fn asks(mut self, options: &'static str) -> Wrapper {
        self.asks = options;
        self
    }

    const fn folder(mut self, options: &'static str) -> Wrapper {
        self.folder = options;
        self
    }

    const fn replace(mut self, options: &'static str) -> Wrapper {
        self.replace = options;
        self
    }

    const fn operands(mut self, count: usize) -> Wrapper {
        self.operands = count;
        self
    }

    const fn assigns(mut self) -> Wrapper {
        self.assigns = true;
        self
    }

    const fn transparent(mut self) -> Wrapper {
        self.transparent = true;
        self
    }

    const fn number(mut self) -> Wrapper {
        self.number = true;
        self
    }

    /// Where the options end; `None` where one is not known.
    pub(crate) fn options(&self, argv: &[Word]) -> Option<Options> {
        let mut read = Options { from: 1, transparent: self.transparent, folder: None, replace: None };
        while let Some(text) = argv.get(read.from).and_then(Word::guess) {
            if text == "--" {
                read.from += 1;
                break;
            }
            let Some(count) = self.option(text, argv.get(read.from + 1), &mut read)? else { break };
            read.from += count;
        }
        read.from += self.operands;
        Some(read)
    }

    /// How many words an option takes, or none where it is no option; `None` where it is not known.
    fn option(&self, text: &str, next: Option<&Word>, read: &mut Options) -> Option<Option<usize>> {
        if let Some(long) = text.strip_prefix("--") {
            let (name, attached) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let takes = has(self.long_value, name);
            if !takes && !has(self.long, name) {
                return None;
            }
            let next = (takes && attached.is_none() && !has(self.long, name)).then_some(next).flatten();
            self.seen(name, attached.or_else(|| next.and_then(Word::guess)), read);
            return Some(Some(1 + usize::from(next.is_some())));
        }
        let Some(cluster) = text.strip_prefix('-') else { return Some(None) };
        if self.number && cluster.bytes().all(|byte| byte.is_ascii_digit()) && !cluster.is_empty() {
            return Some(Some(1));
        }
        if cluster.is_empty() {
            self.seen("-", None, read);
            return Some(self.short.contains('-').then_some(1));
        }
        self.cluster(cluster, next, read).map(Some)
    }

    fn cluster(&self, cluster: &str, next: Option<&Word>, read: &mut Options) -> Option<usize> {
        for (at, c) in cluster.char_indices() {
            let (name, attached) = cluster[at..].split_at(c.len_utf8());
            if self.short_value.contains(c) {
                let value = if attached.is_empty() { next.and_then(Word::guess) } else { Some(attached) };
                self.seen(name, value, read);
                return Some(1 + usize::from(attached.is_empty()));
            }
            if !self.short.contains(c) {
                return None;
            }
            let rest = has(self.replace, name);
            self.seen(name, Some(attached).filter(|text| rest && !text.is_empty()), read);
            if rest {
                return Some(1);
            }
        }
        Some(1)
    }

    fn seen(&self, name: &str, value: Option<&str>, read: &mut Options) {
        read.transparent &= !has(self.asks, name);
        if has(self.folder, name) {
            read.folder = value.map(str::to_owned);
        }
        if has(self.replace, name) {
            read.replace = Some(value.unwrap_or("{}").to_owned()).filter(|mark| !mark.is_empty());
            read.transparent &= read.replace.is_some();
        }
    }
}

/// What the options of a wrapper say.
pub(crate) struct Options {
    /// Where the command begins.
    pub(crate) from: usize,
    pub(crate) transparent: bool,
    pub(crate) folder: Option<String>,
    pub(crate) replace: Option<String>,
}

/// A program that runs what the project has installed: `bundle exec rspec`.
pub(crate) struct Runner {
    program: &'static str,
    /// The words behind it, each of them one of these; empty for none.
    verb: &'static str,
    /// Options that may stand before the command.
    options: &'static str,
    /// Words between the options and the command.
    operands: usize,
}

const fn runs(program: &'static str, verb: &'static str, options: &'static str) -> Runner {
    Runner { program, verb, options, operands: 0 }
}

pub(crate) const RUNNERS: &[Runner] = &[
    runs("npx", "", "--no-install --no --offline"),
    runs("npm", "exec", "--no --offline"),
    runs("npm", "x", "--no --offline"),
    runs("pnpm", "exec", "-r --recursive"),
    runs("yarn", "exec", ""),
    runs("bundle", "exec", ""),
    runs("poetry", "run", ""),
    runs("pipenv", "run", ""),
    runs("uv", "run", "--offline --frozen --no-sync"),
    runs("direnv", "exec", "").operands(1),
    runs("mise", "exec", ""),
    runs("mise", "x", ""),
    runs("rye", "run", ""),
    runs("pdm", "run", ""),
    runs("hatch", "run", ""),
    runs("rbenv", "exec", ""),
    runs("pyenv", "exec", ""),
    runs("rustup", "run", "--install").operands(1),
];

impl Runner {
    const fn operands(mut self, count: usize) -> Runner {
        self.operands = count;
        self
    }

    pub(crate) fn is(&self, program: &str, argv: &[Word]) -> bool {
        self.program == program && (self.verb.is_empty() || argv.get(1).and_then(Word::guess) == Some(self.verb))
    }

    /// What stands behind the options, which are all known.
    pub(crate) fn inner(&self, argv: &[Word]) -> Inner {
        let mut from = 1 + usize::from(!self.verb.is_empty());
        while let Some(text) = argv.get(from).and_then(Word::guess).filter(|text| text.starts_with('-')) {
            if text != "--" && !has(self.options, text) {
                return Inner::Untold;
            }
            from += 1;
        }
        from += self.operands;
        // Names of packages hold versions and addresses: those are fetched.
        let fetched = argv.get(from).and_then(Word::guess).is_none_or(|name| name.contains(['@', ':', '/']));
        let adds = if fetched { Adds::Unknown } else { Adds::Project };
        match from < argv.len() {
            true => Inner::Command { from, adds, folder: None, replace: None },
            false => Inner::Untold,
        }
    }
}

/// Whether the name is in a list of names apart by blanks.
pub(crate) fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
