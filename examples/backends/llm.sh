#!/usr/bin/env bash
# Datasette's llm (https://llm.datasette.io) answers, and keeps the conversation by itself. Settings:
#
#   backend = "command"
#   command = "~/bin/llm.sh"
#   command_conversation = "own"
#   model = "gpt-4o-mini"            # as `llm models` names it; without it llm takes its default
#
# Without this script `command = "llm -m gpt-4o-mini"` works too: llm then gets the whole conversation each time.
set -euo pipefail

# A database for each session: `llm -c` continues the last conversation in it, whatever else you ask llm meanwhile.
folder=${XDG_STATE_HOME:-$HOME/.local/state}/toolfence-llm
mkdir -p "$folder"
database=$folder/$TOOLFENCE_SESSION.db

if [ "$TOOLFENCE_FIRST" = 1 ]; then
    rm -f "$database"
    exec llm prompt ${TOOLFENCE_MODEL:+-m "$TOOLFENCE_MODEL"} -d "$database"
elif [ -e "$database" ]; then
    exec llm prompt -c -d "$database"
fi
# After a failure the next message has TOOLFENCE_FIRST=1 and the whole conversation.
echo "$database is gone; your next message begins another conversation with all messages" >&2
exit 1
