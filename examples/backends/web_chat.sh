#!/usr/bin/env bash
# A bridge to a chat that keeps its own conversations, to be filled in: what any such program does. Settings:
#
#   backend = "command"
#   command = "~/bin/web_chat.sh"
#   command_conversation = "own"
#
# `new_chat` prints the name of a new chat, `say CHAT` sends its stdin as a message to a chat and prints the answer while it comes.
# Here both only pretend, with files.
set -euo pipefail

chats=${XDG_STATE_HOME:-$HOME/.local/state}/toolfence-web-chat
mkdir -p "$chats"

new_chat() {
    mktemp "$chats/XXXXXXXX"
}

say() {
    cat >>"$1"
    echo "This chat has $(wc -l <"$1") lines."
}

if [ "$TOOLFENCE_FIRST" = 1 ]; then
    chat=$(new_chat)
else
    # What this script wrote to its descriptor 3 with the last answer.
    chat=$(sed -E 's/.*"chat": *"([^"]*)".*/\1/' <<<"$TOOLFENCE_STATE")
    if [ ! -e "$chat" ]; then
        # It is started again then, with TOOLFENCE_FIRST=1 and the whole conversation.
        echo '{"lost": true}' >&3
        exit 0
    fi
fi
printf '{"chat": "%s"}\n' "$chat" >&3
say "$chat"
