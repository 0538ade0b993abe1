#!/usr/bin/env bash
# Adds tools to a shell script through `coder pipe`, with jq. It answers one reply and prints the next message to the model.
#
#     pipe_client.sh CODER FOLDER < REPLY
#
# It denies every question; pipe_client.py asks the user.
set -euo pipefail
coder=$1 root=$2

coproc pipe { exec "$coder" pipe --root "$root"; }
hear() { IFS= read -r line <&"${pipe[0]}"; }
say() { printf '%s\n' "$1" >&"${pipe[1]}"; }

hear # the event `ready`, which has the instructions for the model's system message
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
