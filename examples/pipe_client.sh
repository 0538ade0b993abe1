#!/usr/bin/env bash
# A shell script gains tools through `coder pipe`, with jq. It answers one reply and prints the next message to the model.
#
#     pipe_client.sh CODER FOLDER < REPLY
#
# Every question is denied; see pipe_client.py for a client that asks.
set -euo pipefail
coder=$1 root=$2

coproc pipe { exec "$coder" pipe --root "$root"; }
hear() { IFS= read -r line <&"${pipe[0]}"; }
say() { printf '%s\n' "$1" >&"${pipe[1]}"; }

hear # ready: its instructions are for the model's system message
say "$(jq -cRs '{type: "chunk", text: .}')"
say '{"type": "end"}'
while hear; do
    case $(jq -r .event <<<"$line") in
        ask) say "$(jq -c '{type: "deny", id, reason: "No user is here to ask."}' <<<"$line")" ;;
        results) jq -r .text <<<"$line"; break ;;
        stop) jq -r '"[\(.reason)]"' <<<"$line"; break ;;
        error) jq -r .message <<<"$line" >&2; exit 1 ;;
    esac
done
