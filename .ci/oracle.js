// Compares the tool fences of this repository's parser in the documents of a JSON Lines file with those of commonmark.js:
// node oracle.js FILE, with the folder of the package commonmark in NODE_PATH.
const fs = require("fs");
const { Parser } = require("commonmark");

// Whether the text has something that commonmark.js is known to read differently from the specification: it treats vertical
// tabs and form feeds as blanks, and in a fence in a list item it removes all blanks of a line that has only blanks.
const differs = (text) => /[\v\f]/.test(text) || /^[ \t>]*[ \t]$/m.test(text);

const words = ["tool", "tool_call", "tool_code"];

function isTool(fence) {
    const info = fence.replace(fence[0] === "~" ? /^~+/ : /^`+/, "").replace(/^[ \t]+/, "");
    return words.includes(info.split(/[ \t]/)[0]);
}

function isQuoted(node) {
    for (; node; node = node.parent) if (node.type === "block_quote") return true;
    return false;
}

function blocks(text) {
    // commonmark.js reads a byte order mark as text, and a CR at the very end as one more line.
    const plain = text.replace(/^\ufeff/, "").replace(/\r+$/, (ends) => "\n".repeat(ends.length));
    const lines = plain.split(/\r\n|\n|\r/);
    const found = [];
    const walker = new Parser().parse(plain).walker();
    for (let event; (event = walker.next()); ) {
        const node = event.node;
        if (!event.entering || node.type !== "code_block" || !node._isFenced || isQuoted(node)) continue;
        const [line, column] = node.sourcepos[0];
        if (isTool(lines[line - 1].slice(column - 1))) found.push([line, node.literal]);
    }
    return found;
}

let [count, withBlocks, known] = [0, 0, 0];
const wrong = [];
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean)) {
    const { text, blocks: ours } = JSON.parse(line);
    const theirs = blocks(text);
    count += 1;
    withBlocks += ours.length > 0;
    if (JSON.stringify(ours) === JSON.stringify(theirs)) continue;
    if (differs(text)) known += 1;
    else wrong.push(JSON.stringify({ text, ours, theirs }));
}
wrong.sort((a, b) => a.length - b.length);
wrong.slice(0, 9).forEach((line) => console.error(line));
console.log(`commonmark.js: ${count} documents, ${withBlocks} with tool fences, ${known} known, ${wrong.length} unknown differences`);
process.exit(wrong.length > 0 ? 1 : 0);
