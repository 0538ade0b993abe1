#!/usr/bin/env bash
# Uses Datasette's llm (https://llm.datasette.io), which keeps the conversation itself. Settings:
#
#   backend = "command"
#   command = "~/bin/llm.sh"
#   command_conversation = "own"
#   model = "gpt-4o-mini"            # a name that `llm models` prints; by default llm chooses the model
#
# Without this script `command = "llm -m gpt-4o-mini"` works too: llm then gets the whole conversation each time.
set -euo pipefail

# `llm -c` continues the last conversation of a database. With a database per session, your other uses of llm do not interfere.
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
