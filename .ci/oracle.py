"""Compares the tool fences of this repository's parser in the documents of a JSON Lines file with those of cmark.

usage: python3 oracle.py FILE. cmark is the reference implementation in C; the package paka.cmark contains it.
"""

import json
import re
import sys

from paka.cmark import lowlevel as cmark

WORDS = ("tool", "tool_call", "tool_code")


def differs(text):
    """Whether the text has something that cmark is known to read differently from the specification.

    In places cmark treats vertical tabs and form feeds as blanks. It counts a tab before a fence in a list item as one
    column when it removes the fence's indentation from the content, accepts CDATA in any letter case, and keeps an empty
    list item open at a line of blanks.
    """
    return re.search(r"(?i)[\v\f]|<!\[cdata\[|(^|[\r\n])[^`~\r\n]*\t[ \t]*(```|~~~)|[-*+.)][ \t]*(\r\n?|\n)[ \t]", text)


def is_tool(fence):
    marks = b"~" if fence.startswith(b"~") else b"`"
    info = fence.lstrip(marks).lstrip(b" \t")
    return re.split(rb"[ \t]", info)[0].decode(errors="replace") in WORDS


def is_quoted(node):
    while node:
        if cmark.node_get_type(node) == cmark.NODE_BLOCK_QUOTE:
            return True
        node = cmark.node_parent(node)
    return False


def blocks(text):
    data = text.encode()
    lines = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))  # columns do not count the mark
    root = cmark.parse_document(data, len(data), cmark.OPT_DEFAULT)
    walk = cmark.iter_new(root)
    found = []
    while (event := cmark.iter_next(walk)) != cmark.EVENT_DONE:
        node = cmark.iter_get_node(walk)
        if event != cmark.EVENT_ENTER or cmark.node_get_type(node) != cmark.NODE_CODE_BLOCK or is_quoted(node):
            continue
        info = cmark.text_from_c(cmark.node_get_fence_info(node))
        line, column = cmark.node_get_start_line(node), cmark.node_get_start_column(node)
        if info and is_tool(lines[line - 1][column - 1 :]):
            content = cmark.text_from_c(cmark.node_get_literal(node))
            found.append([line, re.sub(r"\r\n?", "\n", content)])
    cmark.iter_free(walk)
    cmark.node_free(root)
    return found


def main():
    count = with_blocks = known = 0
    wrong = []
    for line in open(sys.argv[1], encoding="utf-8"):
        document = json.loads(line)
        count += 1
        with_blocks += bool(document["blocks"])
        theirs = blocks(document["text"])
        if theirs == document["blocks"]:
            continue
        if differs(document["text"]):
            known += 1
        else:
            wrong.append(json.dumps(document | {"theirs": theirs}))
    for line in sorted(wrong, key=len)[:9]:
        print(line, file=sys.stderr)
    print(f"cmark: {count} documents, {with_blocks} with tool fences, {known} known, {len(wrong)} unknown differences")
    sys.exit(bool(wrong))


main()
