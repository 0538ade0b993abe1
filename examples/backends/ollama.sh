#!/usr/bin/env bash
# Uses `ollama run`, which keeps no conversation, so it gets the whole conversation each time. Settings:
#
#   backend = "command"
#   command = "~/bin/ollama.sh"
#   model = "qwen2.5-coder"
#   command_first_byte = 600         # a large model takes long to load
#
# The server of Ollama also speaks HTTP: `coder --base-url http://127.0.0.1:11434/v1 --model qwen2.5-coder` needs no script,
# keeps the messages of a conversation separate, and counts tokens. Use this script if only the program can be reached, for example
# through ssh. This script follows the help of the program.
set -euo pipefail

# The spinner goes to stderr. Reasoning is hidden, because it would be mixed with the answer.
exec ollama run "${TOOLFENCE_MODEL:?name a model}" --hidethinking --nowordwrap
