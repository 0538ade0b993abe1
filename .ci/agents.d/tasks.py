"""Ten small tasks, written as calls to the tools of Codex and of Claude Code."""
import json


class Codex:
    """The tools of Codex, which does everything with shell commands."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, command):
        return "exec_command", {"cmd": command}

    def read(self, path):
        return self.run(f"cat {path}")

    def write(self, path, text):
        return self.run(f"mkdir -p $(dirname {path}) && cat > {path} <<'END'\n{text}END")

    def edit(self, path, old, new):
        code = f"p={path!r}; t=open(p).read(); assert t.count({old!r})==1; open(p,'w').write(t.replace({old!r},{new!r}))"
        return self.run(f"python3 -c {json.dumps(code)}")


class Claude:
    """The tools of Claude Code, which has one for each operation."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, command):
        return "Bash", {"command": command, "description": "Runs a command"}

    def read(self, path):
        return "Read", {"file_path": f"{self.folder}/{path}"}

    def write(self, path, text):
        return "Write", {"file_path": f"{self.folder}/{path}", "content": text}

    def edit(self, path, old, new):
        return "Edit", {"file_path": f"{self.folder}/{path}", "old_string": old, "new_string": new}


FILES = {"a.txt": "one\ntwo\nthree\n", "src/lib.py": "def double(x):\n    return x + x\n",
         "src/main.py": "from lib import double\nprint(double(4))\n", "data.json": '{"port": 80}\n'}

# The name of each task, its steps for a client, and the files that must exist at its end.
TASKS = [
    ("read", lambda do: [[do.read("a.txt")], "It has three lines."], {"a.txt": FILES["a.txt"]}),
    ("edit", lambda do: [[do.read("a.txt")], [do.edit("a.txt", "two", "2")], "Changed."], {"a.txt": "one\n2\nthree\n"}),
    ("create", lambda do: [[do.write("docs/new.md", "# New\n\n```sh\nls \"$HOME\"\n```\n")], "Written."],
     {"docs/new.md": "# New\n\n```sh\nls \"$HOME\"\n```\n"}),
    ("run", lambda do: [[do.run("python3 src/main.py > out.txt")], [do.read("out.txt")], "It prints 8."], {"out.txt": "8\n"}),
    ("two reads at once", lambda do: [[do.read("src/lib.py"), do.read("src/main.py")],
                                      [do.edit("src/main.py", "double(4)", "double(5)")], "Changed."],
     {"src/main.py": "from lib import double\nprint(double(5))\n"}),
    ("several files", lambda do: [[do.read("src/lib.py"), do.read("src/main.py")], [do.edit("src/lib.py", "double", "twice")],
                                  [do.edit("src/main.py", "import double", "import twice")],
                                  [do.edit("src/main.py", "double(4)", "twice(4)")], [do.run("python3 src/main.py > out.txt")], "Renamed."],
     {"src/lib.py": "def twice(x):\n    return x + x\n", "out.txt": "8\n"}),
    ("an error in between", lambda do: [[do.read("missing.txt")], [do.read("a.txt")], [do.edit("a.txt", "three", "3")], "Found it."],
     {"a.txt": "one\ntwo\n3\n"}),
    ("a failing command", lambda do: [[do.run("python3 src/nothing.py")], [do.run("python3 src/main.py > out.txt")], "It was another file."],
     {"out.txt": "8\n"}),
    ("quotes and fences", lambda do: [[do.write("q.txt", "\"a\" 'b' \\n {\"name\": \"x\"}\n~~~tool\n{}\n~~~\n")], "Written."],
     {"q.txt": "\"a\" 'b' \\n {\"name\": \"x\"}\n~~~tool\n{}\n~~~\n"}),
    ("many steps", lambda do: [[do.read("data.json")], [do.edit("data.json", "80", "8080")], [do.run("cat data.json > copy.json")],
                               [do.read("copy.json")], [do.write("log.txt", "done\n")], "All done."],
     {"copy.json": '{"port": 8080}\n', "log.txt": "done\n"}),
]
