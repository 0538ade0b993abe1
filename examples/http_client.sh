#!/usr/bin/env bash
# Asks `coder serve` with curl and jq, and answers its questions.
#
#     TOOLFENCE_SERVE_TOKEN=... http_client.sh URL PROMPT
#
# It denies every call that needs approval; http_client.py asks the user.
set -euo pipefail
url=$1 prompt=$2

post() {
    curl --silent --show-error --max-time 1800 "$url$1" --data @- \
        --header "Authorization: Bearer $TOOLFENCE_SERVE_TOKEN" --header "Content-Type: application/json"
}

answer=$(jq -n --arg prompt "$prompt" '{prompt: $prompt}' | post /api/agent)
while approval=$(jq -er .data.pending.approval <<<"$answer"); do
    jq -r '"? \(.data.pending.tool): \(.data.pending.why)"' <<<"$answer" >&2
    answer=$(jq -n '{decision: "deny", reason: "No user is here to ask."}' | post "/api/approvals/$approval")
done
jq -r '.data.calls[]? | "-> \(.tool): \(if .success then "done" else .error.message end)"' <<<"$answer" >&2
jq -r 'if .success then .data.answer else "failed: \(.message)" end' <<<"$answer"
