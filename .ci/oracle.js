// What commonmark.js sees of the documents in a file of JSON lines, beside what we see. Node runs it with
// NODE_PATH holding the package: node oracle.js FILE
const fs = require("fs");
const { Parser } = require("commonmark");

// Where it is known to read otherwise than the specification: it takes a vertical tab and a form feed for blanks, and in a
// fence in a list item it takes every blank from a line that has nothing else.
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
    // It takes a byte order mark for text, and a CR at the very end for one more line.
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
