#!/usr/bin/env bash
# `ollama run` answers. It keeps no conversation, so it is sent all of it each time. Settings:
#
#   backend = "command"
#   command = "~/bin/ollama.sh"
#   model = "qwen2.5-coder"
#   command_first_byte = 600         # a large model takes its time to be loaded
#
# The server of Ollama also speaks HTTP: `coder --base-url http://127.0.0.1:11434/v1 --model qwen2.5-coder` needs no script, tells
# the messages of a conversation apart, and counts tokens. This is for where only the program can be reached, through ssh, say. Written
# after the help of the program.
set -euo pipefail

# Its spinner goes to stderr. What a model thinks would be mixed with the answer.
exec ollama run "${TOOLFENCE_MODEL:?name a model}" --hidethinking --nowordwrap
