//! Programs that run code of the project, or settings of it that name programs: tests, builds, checks. Only options that
//! change which of it runs and how much is told: none that names another program or a place to write to.

use super::{Operands, Profile, runs};

const fn cargo(names: &'static str) -> Profile {
    runs(names)
        .short("vqr")
        .long(
            "all workspace all-targets lib bins examples tests benches bin example test bench all-features \
             no-default-features release locked offline frozen verbose quiet no-run no-fail-fast doc keep-going no-deps \
             document-private-items timings future-incompat-report",
        )
        .long_value("package exclude features profile target jobs message-format color bin example test bench target-dir")
        .value("pjFZ")
        .outputs("target-dir")
        .nothing()
        .passes()
}

/// A script of `package.json`, with the words it is given.
const fn script(names: &'static str) -> Profile {
    runs(names)
        .short("rs")
        .value("w")
        .long("silent if-present workspaces recursive parallel")
        .long_value("workspace filter")
        .text()
        .passes()
}

const fn go(names: &'static str) -> Profile {
    runs(names)
        .one_dash()
        .long("v race short failfast json cover benchmem x n a trimpath msan asan e deps test compiled find")
        .long_value(
            "run count timeout parallel bench benchtime covermode coverpkg tags p cpu skip shuffle list vet f mod o coverprofile \
             cpuprofile memprofile blockprofile mutexprofile outputdir",
        )
        .outputs("o coverprofile cpuprofile memprofile blockprofile mutexprofile outputdir")
}

/// Subcommands, as `program:name`.
pub(super) const SUBCOMMANDS: &[Profile] = &[
    cargo("cargo:check cargo:c cargo:build cargo:b cargo:clippy cargo:doc cargo:d"),
    cargo("cargo:test cargo:t cargo:bench cargo:run cargo:r").text(),
    runs("cargo:fmt")
        .short("vq")
        .value("p")
        .long("all check verbose quiet")
        .long_value("package message-format")
        .needs("check")
        .nothing()
        .passes(),
    // It asks the registry, which the sandbox keeps from it, and writes nothing.
    runs("cargo:update")
        .short("vqw")
        .value("p")
        .long("dry-run workspace recursive locked offline frozen verbose quiet")
        .long_value("package precise color")
        .needs("dry-run")
        .text(),
    runs("cargo:tree")
        .short("d")
        .value("pief")
        .long("all-features no-default-features duplicates workspace locked offline no-dedupe")
        .long_value("package invert edges features depth prefix format target charset")
        .nothing(),
    runs("cargo:metadata cargo:verify-project cargo:locate-project cargo:pkgid")
        .short("q")
        .long("no-deps all-features offline locked workspace quiet")
        .long_value("format-version features message-format")
        .nothing(),
    runs(
        "cargo:deny cargo:audit cargo:machete cargo:udeps cargo:miri cargo:llvm-cov cargo:hack cargo:semver-checks cargo:expand \
         cargo:geiger cargo:bloat cargo:tarpaulin",
    )
    .short("vqr")
    .value("pjFZ")
    .checked(is_plain_goal)
    .passes(),
    runs("cargo:nextest")
        .value("pE")
        .long("workspace all-features no-fail-fast release locked offline no-capture")
        .long_value("package features profile retries")
        .text()
        .passes(),
    go("go:test go:vet go:build"),
    runs("go:generate").one_dash().long("v n x").long_value("run skip tags mod"),
    go("go:list").long("m u versions retracted test deps json find e compiled export"),
    runs("go:env").one_dash().long("json changed").text(),
    runs("go:doc").one_dash().long("all src short u c cmd").text(),
    runs("go:mod").one_dash().long("m v vendor json").verb("graph why verify"),
    runs("go:tool").one_dash().long_value("func").verb("cover nm objdump"),
    go("go:run").operands(Operands::Program),
    runs("go:version").nothing(),
    runs("npm:ls npm:list npm:ll npm:la npm:explain npm:why npm:root npm:bin npm:prefix")
        .short("a")
        .value("w")
        .long("all json long parseable silent")
        .long_value("depth workspace omit include")
        .text(),
    runs("npm:pkg").long("json workspaces").verb("get"),
    runs("pnpm:list pnpm:ls pnpm:ll pnpm:why pnpm:root pnpm:bin yarn:list yarn:why yarn:workspaces")
        .short("rPDg")
        .long("recursive json long parseable prod dev only-projects")
        .long_value("depth pattern filter")
        .text(),
    runs("pip:list pip:show pip:freeze pip:check pip3:list pip3:show pip3:freeze pip3:check")
        .short("lvqef")
        .long("local verbose quiet files format not-required user all exclude-editable disable-pip-version-check")
        .long_value("format exclude")
        .text(),
    runs("poetry:show poetry:check poetry:about").short("vqtToal").long("tree top-level lock").text(),
    runs("ruff:rule ruff:linter").long("all").long_value("output-format").text(),
    runs("rustup:show rustup:which").short("v").long("verbose").text(),
    runs("rustup:toolchain rustup:target rustup:component").short("v").long("verbose installed quiet").verb("list"),
    runs("playwright:test")
        .short("x")
        .value("gj")
        .long("headed list")
        .long_value("project grep grep-invert workers retries reporter shard timeout max-failures repeat-each"),
    script("npm:test npm:t npm:tst npm:run npm:run-script npm:start"),
    script("pnpm:test pnpm:t pnpm:run pnpm:build pnpm:lint pnpm:typecheck pnpm:check pnpm:start"),
    script("yarn:test yarn:run yarn:build yarn:lint yarn:typecheck yarn:check yarn:start bun:run"),
    runs("bun:test").value("t").long("bail todo coverage").long_value("timeout test-name-pattern rerun-each"),
    runs("deno:test deno:check deno:lint").long("json quiet fail-fast no-run doc no-remote").long_value("filter"),
    runs("deno:fmt").long("check").needs("check"),
    runs("ruff:check")
        .short("qvn")
        .long("quiet verbose no-cache statistics preview diff no-fix")
        .long_value("select ignore extend-select output-format line-length target-version"),
    runs("ruff:format").short("qv").long("check diff quiet no-cache").long_value("line-length").needs("check diff"),
    runs("dotnet:test dotnet:build")
        .value("cfv")
        .long("no-build no-restore nologo")
        .long_value("configuration framework filter verbosity"),
    runs("mix:test mix:compile").long("trace stale failed cover warnings-as-errors").long_value("only exclude seed"),
    runs("swift:test swift:build")
        .short("v")
        .value("c")
        .long("parallel verbose list-tests")
        .long_value("filter skip configuration")
        .nothing(),
    runs("zig:build zig:test").long_value("summary color test-filter"),
    runs("bazel:test bazel:build").short("k").long("keep_going").long_value("test_output test_filter config").text(),
    runs("meson:test meson:compile")
        .short("vq")
        .value("Cj")
        .long("verbose quiet print-errorlogs no-rebuild")
        .long_value("suite")
        .paths("C")
        .text(),
    runs("composer:test composer:run composer:validate").short("vqn").text().passes(),
    runs("coverage:run").short("ap").value("m").long("append branch parallel-mode").text().passes(),
    runs("coverage:report")
        .short("mi")
        .long("show-missing skip-covered skip-empty ignore-errors no-skip-covered")
        .long_value("fail-under precision sort include omit format")
        .text(),
    runs("golangci-lint:run").short("v").long("fast new verbose").long_value("timeout"),
    runs("vitest:run").value("t").long("coverage silent bail changed").long_value("reporter project testNamePattern"),
    runs("terraform:validate").one_dash().long("json no-color").nothing(),
];

/// Programs without subcommands.
pub(super) const PROGRAMS: &[Profile] = &[
    runs("cargo rustc npm yarn pnpm deno bun tsc eslint prettier ruff black mypy pytest terraform mvn gradle sbt dotnet swift mix")
        .short("vV")
        .long("version")
        .needs("version V v")
        .nothing(),
    runs("rustc").long_value("explain print").long("verbose version").short("vV").needs("explain print").nothing(),
    runs("pytest py.test")
        .short("qvxsl")
        .value("kmnrpW")
        .long(
            "quiet verbose exitfirst lf last-failed ff failed-first nf stepwise collect-only no-header no-summary no-cov \
             strict-markers showlocals disable-warnings setup-show cov full-trace no-cov-on-fail cov-append cov-branch \
             fixtures markers co sw no-showlocals",
        )
        .long_value(
            "tb maxfail durations color capture cov cov-report cov-fail-under cov-config deselect ignore timeout verbosity \
             log-level show-capture rootdir ignore-glob dist junitxml junit-xml log-file basetemp durations-min",
        )
        .paths("ignore cov-config rootdir")
        .outputs("junitxml junit-xml log-file basetemp cov-report"),
    runs("unittest")
        .short("vfbcq")
        .value("kstp")
        .long("verbose failfast buffer")
        .long_value("start-directory pattern")
        .text(),
    runs("mypy")
        .value("pm")
        .long(
            "strict ignore-missing-imports no-error-summary pretty show-error-codes no-incremental check-untyped-defs \
             verbose",
        )
        .long_value("python-version exclude follow-imports package module"),
    runs("py_compile compileall doctest").short("qfvo"),
    runs("json.tool").long("sort-keys no-indent compact").long_value("indent").operands(Operands::One),
    runs("flake8 pylint pyflakes pycodestyle pydocstyle vulture bandit")
        .short("vqErE")
        .value("j")
        .long("verbose quiet statistics count")
        .long_value("max-line-length select ignore extend-ignore disable enable exclude output-format jobs"),
    runs("black")
        .short("qvC")
        .value("l")
        .long("check diff quiet verbose color")
        .long_value("line-length target-version exclude")
        .needs("check diff"),
    runs("isort")
        .short("cqv")
        .long("check check-only diff quiet")
        .long_value("profile line-length")
        .needs("check check-only c diff"),
    runs("pyright basedpyright")
        .value("p")
        .long("outputjson stats warnings verbose")
        .long_value("project pythonversion level")
        .paths("p project"),
    runs("tox nox")
        .short("qvr")
        .value("esk")
        .long("parallel quiet verbose reuse-existing-virtualenvs")
        .long_value("env sessions")
        .nothing()
        .passes(),
    runs("gofmt").short("lde"),
    runs("staticcheck govet errcheck").one_dash().long("tests").long_value("checks f go"),
    runs("make gmake")
        .short("nkBsiqpe")
        .value("CfjlI")
        .long(
            "dry-run just-print keep-going always-make silent quiet question print-data-base no-print-directory \
             warn-undefined-variables",
        )
        .long_value("directory file jobs makefile load-average output-sync")
        .paths("C f I directory file makefile")
        .checked(is_target),
    runs("just task rake invoke").short("lnsqv").long("list dry-run summary verbose quiet").checked(is_target),
    runs("ctest")
        .short("VNQ")
        .value("RELj")
        .long("output-on-failure verbose quiet rerun-failed stop-on-failure show-only progress")
        .long_value("test-dir timeout parallel repeat tests-regex")
        .paths("test-dir")
        .nothing(),
    runs("cmake")
        .short("v")
        .value("tj")
        .long("verbose clean-first")
        .long_value("build target parallel config preset")
        .paths("build")
        .needs("build")
        .nothing()
        .passes(),
    // What is written to is a folder of the build, which the sandbox holds; what is built comes from the project.
    runs("cmake").value("BSG").paths("B S").outputs("B").needs("B").nothing(),
    runs("ninja").short("nv").value("Cjk").long("verbose quiet").paths("C").checked(is_target),
    runs("mvn gradle sbt ant")
        .short("qeoXBU")
        .value("pxT")
        .long("quiet offline info stacktrace batch-mode no-daemon fail-fast continue dry-run parallel build-cache")
        .long_value("tests console projects")
        .paths("p")
        .checked(is_goal),
    runs("rspec minitest")
        .short("fbcp")
        .value("et")
        .long("no-color color fail-fast backtrace profile")
        .long_value("format example tag seed order"),
    runs("rubocop standardrb")
        .short("DPlq")
        .long("parallel display-cop-names lint fail-fast")
        .long_value("format only except"),
    runs("phpunit phpstan psalm pest")
        .short("v")
        .long("testdox colors no-progress verbose stop-on-failure no-coverage")
        .long_value("filter testsuite group level error-format memory-limit colors")
        .text(),
    runs("tsc vue-tsc svelte-check")
        .one_dash()
        .long("noEmit pretty strict skipLibCheck build b incremental listFiles showConfig")
        .long_value("p project pretty target module")
        .paths("p project"),
    runs("eslint")
        .long("quiet no-color color cache no-cache no-error-on-unmatched-pattern")
        .value("c")
        .long_value("ext max-warnings report-unused-disable-directives config print-config format")
        .paths("c config print-config"),
    runs("prettier")
        .short("clu")
        .long("check list-different no-color ignore-unknown")
        .long_value("log-level config")
        .paths("config")
        .needs("check list-different c l"),
    runs("stylelint oxlint standard").short("q").long("quiet").long_value("formatter max-warnings"),
    runs("jest mocha ava vitest tap")
        .short("bi")
        .value("tgj")
        .long(
            "ci silent verbose coverage runInBand bail passWithNoTests listTests no-color color detectOpenHandles \
             forceExit exit findRelatedTests onlyChanged",
        )
        .long_value(
            "testNamePattern testPathPattern testTimeout maxWorkers reporter reporters grep timeout project projects shard \
             retries coverage bail ci config",
        )
        .paths("config"),
    runs("node nodejs")
        .short("c")
        .long("test check no-warnings trace-warnings experimental-strip-types")
        .long_value("test-name-pattern test-reporter test-timeout")
        .needs("test check c"),
    runs("node nodejs")
        .long("no-warnings trace-warnings experimental-strip-types enable-source-maps")
        .long_value("max-old-space-size")
        .operands(Operands::Program),
    runs("python python3 python2 pypy3").short("uBOEsSI").value("WX").operands(Operands::Program),
    runs("ruby perl php lua luajit Rscript julia tclsh").short("w").operands(Operands::Program),
    runs("tsx ts-node").operands(Operands::Program),
    runs("shellcheck").short("xa").value("sfeS").long("external-sources").long_value("shell format exclude severity color"),
    runs("rustfmt").short("qvl").long("check quiet verbose").long_value("edition color").needs("check"),
    runs("clang-format").short("n").long("dry-run Werror").long_value("style").needs("dry-run n"),
    runs("hadolint yamllint markdownlint actionlint typos codespell").short("sqv").long("strict no-color quiet"),
];

/// A target of a build file: no assignment that could name a program.
fn is_target(word: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+".contains(&byte);
    let flag = word.split_once('=').is_some_and(|(key, value)| {
        matches!(key, "V" | "VERBOSE" | "DEBUG" | "TEST" | "TESTS" | "NAME") && value.bytes().all(name)
    });
    !word.starts_with('/') && !word.contains("..") && (flag || word.bytes().all(name))
}

/// A word that asks for a look, and for no change of the project and nothing outside.
fn is_plain_goal(word: &str) -> bool {
    is_goal(word) && super::super::held::option(word)
}

/// A target that is no publication.
fn is_goal(word: &str) -> bool {
    let places = ["deploy", "publish", "upload", "release"];
    is_target(word) && !places.iter().any(|name| word.contains(name))
}
