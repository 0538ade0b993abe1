#!/usr/bin/env python3
# Draws docs/images/turn.svg: a turn of `coder` with a recorded model, on a terminal of 90 columns, in the colours of the program.
# Needs the Python package pyte, a terminal emulator.
#
#     .ci/turn.py CODER
import fcntl
import html
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

import pyte

COLUMNS, ROWS = 90, 60
PATIENCE = 30
CODE = 'def median(numbers):\n    """The number in the middle."""\n    ordered = sorted(numbers)\n    return ordered[len(ordered) // 2]\n'
TEST = "from stats import median\n\nassert median([9, 1, 5]) == 5\nassert median([10, 4, 1, 8]) == 6\nprint(\"2 checks pass\")\n"
REPLIES = """\
%%% reply
```tool
{"name": "read_file", "args": {"path": "stats.py"}}
```
%%% reply
`median` takes the **upper** of two middle numbers. It should take their mean:

```tool
{"name": "replace_text", "args": {"path": "stats.py", "old": "<<OLD", "new": "<<NEW"}}
    return ordered[len(ordered) // 2]
OLD
    middle = len(ordered) // 2
    if len(ordered) % 2 == 0:
        return (ordered[middle - 1] + ordered[middle]) / 2
    return ordered[middle]
NEW
```

```tool
{"name": "bash", "args": {"command": "python3 -B test_stats.py"}}
```
%%% reply
The checks pass: an even count now gives the mean of the two middle numbers.
"""


class Screen(pyte.Screen):
    """A screen that sends its responses to the program, which queries the position of the cursor."""

    def write_process_input(self, data):
        os.write(self.terminal, data.encode())


def run(coder, folder):
    """Runs the turn and returns the screen after it."""
    project = folder / "project"
    project.mkdir()
    (project / "stats.py").write_text(CODE)
    (project / "test_stats.py").write_text(TEST)
    (folder / "replies").write_text(REPLIES)
    env = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "c"), "XDG_STATE_HOME": str(folder / "s")}
    env |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "TOOLFENCE_LOCAL_SERVERS": ""}
    env.pop("NO_COLOR", None)
    terminal, program = pty.openpty()
    fcntl.ioctl(program, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = ["setsid", "--ctty", coder, "--backend", "replay", "--replies", str(folder / "replies")]
    child = subprocess.Popen(command, cwd=project, env=env, stdin=program, stdout=program, stderr=program)
    screen = Screen(COLUMNS, ROWS)
    screen.terminal = terminal
    stream = pyte.ByteStream(screen)

    def wait(text):
        late = time.monotonic() + PATIENCE
        while not any(text in row for row in screen.display):
            if time.monotonic() > late:
                sys.exit(f"timed out waiting for: {text}\n" + "\n".join(row.rstrip() for row in screen.display))
            if select.select([terminal], [], [], 0.1)[0]:
                # pyte does not support dim characters, so they become bright black.
                stream.feed(os.read(terminal, 4096).replace(b"\x1b[2m", b"\x1b[90m"))

    try:
        for text, keys in TURN:
            wait(text)
            os.write(terminal, keys.encode())
        return screen
    finally:
        child.kill()
        child.wait()


TURN = [
    ("> ", "The test of the median fails. Fix it.\r"),
    ("Run it?", "y\r"),
    ("The checks pass:", ""),
]

# The colours of the image by pyte's names.
COLOURS = {
    "default": "#d4d7dd", "black": "#6b7280", "brightblack": "#8b93a1", "red": "#ff7b72", "green": "#5fd38d", "brown": "#e3b341",
    "blue": "#79b8ff", "magenta": "#d2a8ff", "cyan": "#56d4dd", "white": "#ffffff",
}
WIDTH, HEIGHT, MARGIN, BAR = 8.4, 19, 18, 30


def draw(screen):
    """Returns the rows from the prompt to the last one as an SVG image."""
    rows = [[screen.buffer[row][column] for column in range(COLUMNS)] for row in range(ROWS)]
    text = lambda cells: "".join(cell.data for cell in cells)
    first = next(at for at, cells in enumerate(rows) if text(cells).startswith("> "))
    last = max(at for at, cells in enumerate(rows) if text(cells).strip(" >"))
    width, height = round(2 * MARGIN + COLUMNS * WIDTH), round(2 * MARGIN + BAR + (last - first + 1) * HEIGHT)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        "<title>A turn of coder in a terminal</title>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#15181e" stroke="#3a404c"/>',
        *(f'<circle cx="{MARGIN + 6 + 20 * at}" cy="22" r="6" fill="#4a5160"/>' for at in range(3)),
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14">',
    ]
    for row, cells in enumerate(rows[first:last + 1], 1):
        begin = 0
        look = lambda cell: (cell.fg, cell.bold, cell.italics, cell.underscore)
        for end in range(1, COLUMNS + 1):
            if end < COLUMNS and look(cells[end]) == look(cells[begin]):
                continue
            piece, (colour, bold, italic, underlined) = text(cells[begin:end]), look(cells[begin])
            start = begin + len(piece) - len(piece.lstrip())
            # Viewers collapse consecutive spaces, but not no-break spaces.
            begin, piece = end, piece.strip().replace(" ", "\xa0")
            if not piece:
                continue
            style = f' fill="{COLOURS.get(colour, "#" + colour)}"' + ' font-weight="bold"' * bold + ' font-style="italic"' * italic
            style += ' text-decoration="underline"' * underlined
            x, y = MARGIN + start * WIDTH, MARGIN + BAR + row * HEIGHT - 5
            lines.append(f'<text x="{x:.1f}" y="{y}" textLength="{len(piece) * WIDTH:.1f}"{style}>{html.escape(piece)}</text>')
    return "\n".join([*lines, "</g>", "</svg>", ""])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        screen = run(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
    images = pathlib.Path(__file__).parent.parent / "docs/images"
    images.mkdir(exist_ok=True)
    (images / "turn.svg").write_text(draw(screen))
