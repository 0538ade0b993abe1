#!/usr/bin/env python3
"""Validates `/openapi.json` of a running `coder serve`, generates a client from it, and uses the client for whole turns, an approval, a
denial, direct calls, conversations, undo and errors.

usage: .ci/openapi.py CODER     needs the packages of .ci/requirements.txt
"""
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator, validate

TOKEN = "a-token-for-generated-clients"


def call(name, args):
    return "So.\n```tool\n" + json.dumps({"name": name, "args": args}) + "\n```\n"


REPLIES = [
    call("read_file", {"path": "seen.txt"}),
    call("write_file", {"path": "Makefile", "content": "all:\n"}),
    "Both are done.",
    call("bash", {"command": "rm Makefile"}),
    "Then not.",
    "A new conversation.",
    "It continues.",
    "One tool.",
]


def generated(url, folder):
    """Returns the description, and the package that the generator makes from it. A warning of the generator is a failure."""
    request = urllib.request.Request(url + "/openapi.json", headers={"Authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request, timeout=60) as answer:
        described = json.load(answer)
    validate(described, cls=OpenAPIV31SpecValidator)
    with open(folder + "/openapi.json", "w", encoding="utf-8") as file:
        json.dump(described, file)
    with open(folder + "/config.yaml", "w", encoding="utf-8") as file:
        file.write("post_hooks: []\n")
    generator = os.path.join(os.path.dirname(sys.executable), "openapi-python-client")
    subprocess.run(
        [generator, "generate", "--fail-on-warning", "--meta", "none", "--path", folder + "/openapi.json",
         "--config", folder + "/config.yaml", "--output-path", folder + "/generated_client"],
        check=True,
    )
    sys.path.insert(0, folder)
    return described, importlib.import_module("generated_client")


def main(coder):
    with tempfile.TemporaryDirectory() as home:
        project = home + "/project"
        os.mkdir(project)
        with open(project + "/seen.txt", "w", encoding="utf-8") as file:
            file.write("let x = 1;\n")
        with open(home + "/replies", "w", encoding="utf-8") as file:
            file.write("".join(f"%%% reply\n{reply}\n" for reply in REPLIES))
        environment = os.environ | {
            "TOOLFENCE_SERVE_TOKEN": TOKEN, "TOOLFENCE_LOCAL_SERVERS": "", "HOME": home,
            "XDG_CONFIG_HOME": home + "/config", "XDG_STATE_HOME": home + "/state",
        }
        command = [coder, "serve", "--root", project, "--listen", "127.0.0.1:0", "--backend", "replay", "--replies", home + "/replies"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                url = re.search(r"http://[0-9.:]+", server.stdout.readline())[0]
                used(url, project, *generated(url, home))
            finally:
                server.terminate()
        assert server.returncode == 143, server.returncode


def used(url, project, described, package):
    api = importlib.import_module("generated_client.api.default")
    models = importlib.import_module("generated_client.models")
    client = package.AuthenticatedClient(base_url=url, token=TOKEN, timeout=60, raise_on_unexpected_status=True)
    operations = {one["operationId"] for path in described["paths"].values() for one in path.values()}
    called = set()

    def ask(operation, status, *names, client=client, **fields):
        """Calls an operation and returns the response, parsed by the model that the description has for its status."""
        called.add(operation)
        module = importlib.import_module(f"{api.__name__}.{operation}")
        answer = module.sync_detailed(*names, client=client, **fields)
        assert answer.status_code == status, (operation, answer.status_code, answer.content)
        kind = type(answer.parsed).__name__
        print(f"{operation}: {status} {kind} {getattr(answer.parsed, 'message', '')}")
        return answer.parsed

    anonymous = package.Client(base_url=url, timeout=60)
    assert ask("health", 200, client=anonymous).data.status == "ok"
    refused = ask("list_tools", 401, client=anonymous)
    assert isinstance(refused, models.Refusal) and refused.error.code == "unauthorized"
    ask("login", 200, body=models.LoginRequest(token=TOKEN), client=anonymous)
    assert ask("login", 401, body=models.LoginRequest(token="wrong"), client=anonymous).error.code == "unauthorized"
    tools = ask("list_tools", 200).data.tools
    assert "read_file" in [tool.name for tool in tools]

    html = ask("render_markdown", 200, body=models.MarkdownRequest(text="**a** <b>")).data.html
    assert html == '<p><strong>a</strong> &lt;b&gt;</p>\n', html

    assert os.path.basename(ask("describe_project", 200).data.folder) == os.path.basename(project)
    assert "seen.txt" in ask("complete_path", 200, prefix="se").data.files

    personas = ask("list_personas", 200).data
    assert personas.chosen == "coder" and "write_file" not in next(one for one in personas.personas if one.name == "reviewer").tools
    assert ask("read_output", 404, "0").error.code == "not_found"

    # Turns with a call that needs approval: one is approved, one is denied.
    earlier = models.Context(timestamp="2026-01-31T10:00:00Z", prompt="List the files.", result="There is one.")
    waits = ask("run_turn", 202, body=models.ModelRequest(prompt="go", context_history=[earlier] * 21))
    assert not waits.success and waits.data.stop is None and waits.data.context_dropped == 1
    assert [(one.tool, one.args["path"], one.success) for one in waits.data.calls] == [("read_file", "seen.txt", True)]
    pending = waits.data.pending
    assert (pending.tool, pending.args["path"]) == ("write_file", "Makefile") and not os.path.exists(project + "/Makefile")
    over = ask("answer_approval", 200, pending.approval, body=models.Approval(decision="approve"))
    assert isinstance(over, models.AgentAnswer) and over.success and over.data.answer == "Both are done.", over
    assert [one.tool for one in over.data.calls] == ["read_file", "write_file"] and over.data.usage.output > 0
    assert os.path.exists(project + "/Makefile")
    gone = ask("answer_approval", 404, pending.approval, body=models.Approval(decision="approve"))
    assert gone.error.code == "not_found"
    waits = ask("run_turn", 202, body=models.ModelRequest(prompt="go", tool_type="auto"))
    over = ask("answer_approval", 200, waits.data.pending.approval, body=models.Denial(decision="deny", reason="Not today."))
    removal = over.data.calls[-1]
    assert removal.output.startswith("[Not kept: Makefile: ") and "Not today." in removal.output, removal
    assert os.path.exists(project + "/Makefile")

    # A direct call without a model, and invalid requests.
    def direct(**args):
        named = models.Args()
        named.additional_properties = args
        return models.DirectRequest(direct=True, tool_type="readFile", args=named)

    read = ask("run_turn", 200, body=direct(path="seen.txt"))
    assert read.success and read.data.answer is None and "let x = 1;" in read.data.calls[0].output
    missing = ask("run_turn", 200, body=direct(path="nowhere.txt"))
    assert not missing.success and missing.error.code == "not_found"
    for body, field in [
        (models.ModelRequest(prompt=" "), "prompt"),
        (models.ModelRequest(prompt="x", tool_type="nothing"), "tool_type"),
        (models.ModelRequest(prompt="x" * 200_001), "prompt"),
    ]:
        wrong = ask("run_turn", 400, body=body)
        assert isinstance(wrong, models.Refusal) and (wrong.error.code, wrong.error.field) == ("invalid_argument", field)

    # Conversations.
    first = ask("run_session_turn", 200, "new", body=models.TurnRequest(prompt="Hello."))
    name = first.data.session
    again = ask("run_session_turn", 200, name, body=models.TurnRequest(prompt="More."))
    assert (first.data.answer, again.data.answer, again.data.session) == ("A new conversation.", "It continues.", name)
    listed = ask("list_sessions", 200, limit=1).data
    assert listed.total == 1 and listed.sessions[0].id == name and listed.sessions[0].title == "Hello."
    assert ask("get_session", 200, name).data.session.turns == 2
    messages = ask("list_messages", 200, name).data.messages
    assert [one["content"] for one in messages if one["role"] == "user"] == ["Hello.", "More."], messages
    assert ask("get_session", 404, "zzz").error.code == "not_found"
    assert ask("list_sessions", 400, limit=0).error.field == "limit"

    # The events of the last turn are still available. If no turn runs, nothing is cancelled.
    assert "event: stop" in ask("follow_turn", 200, name)
    assert ask("cancel_turn", 200, name, body=models.CancelRequest()).data.cancelled is False

    # Replies of a model that only the client can reach.
    instructions = ask("show_instructions", 200, "new").data.text
    assert "read_file" in instructions
    piece, rest = call("read_file", {"path": "seen.txt"})[:20], call("read_file", {"path": "seen.txt"})[20:]
    begun = ask("read_reply", 202, "new", body=models.ReplyRequest(text=piece, more=True))
    assert begun.success and not begun.data.pending
    chat = begun.data.session
    read = ask("read_reply", 200, chat, body=models.ReplyRequest(text=rest))
    assert not read.data.stop and "let x = 1;" in read.data.results and read.data.calls[0].tool == "read_file"
    waits = ask("read_reply", 202, chat, body=models.ReplyRequest(text=call("write_file", {"path": "Chatfile", "content": "x\n"})))
    over = ask("answer_approval", 200, waits.data.pending.approval, body=models.Approval(decision="approve"))
    assert "Created Chatfile" in over.data.results and os.path.exists(project + "/Chatfile")
    assert ask("undo", 200, body=models.UndoRequest()).data.undone is not None and not os.path.exists(project + "/Chatfile")
    last = ask("read_reply", 200, chat, body=models.ReplyRequest(text="It was made.", finish=models.ReplyRequestFinish("stop")))
    assert "undone changes" in last.data.results, last

    # Undo and redo.
    undone = ask("undo", 200, body=models.UndoRequest()).data.undone
    assert undone is not None and not os.path.exists(project + "/Makefile"), undone
    assert ask("redo", 200, body=models.UndoRequest()).data.undone is not None and os.path.exists(project + "/Makefile")

    ask("description", 200)
    assert called == operations, f"not called: {operations - called}"


main(sys.argv[1])
