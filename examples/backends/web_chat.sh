#!/usr/bin/env bash
# A template for a bridge to a chat that keeps its own conversations. Settings:
#
#   backend = "command"
#   command = "~/bin/web_chat.sh"
#   command_conversation = "own"
#
# `new_chat` prints the name of a new chat; `say CHAT` sends its stdin as a message to a chat and streams the answer.
# Both only imitate a chat with files: replace them with calls to yours.
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

# The file with the name of this session's chat.
name=$chats/$TOOLFENCE_SESSION.chat
if [ "$TOOLFENCE_FIRST" = 1 ]; then
    new_chat >"$name"
elif [ ! -e "$name" ] || [ ! -e "$(cat "$name")" ]; then
    # After a failure the next message has TOOLFENCE_FIRST=1 and the whole conversation.
    echo "the chat is gone; your next message begins another one with the whole conversation" >&2
    exit 1
fi
say "$(cat "$name")"
