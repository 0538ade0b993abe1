#!/usr/bin/env bash
# Uses Gemini's web chat through geminiweb (https://github.com/quantmind-br/geminiweb-go), which uses the cookies of your browser.
# This script follows the documentation of geminiweb's command line and is not tested against the web. Settings:
#
#   backend = "command"
#   command = "~/bin/geminiweb.sh"
#   model = "gemini-2.5-pro"
#   command_first_byte = 300
#
# One call of geminiweb is one chat, so it gets the whole conversation each time. It reads the prompt from its stdin, and prints
# plain text if its stdout is not a terminal. It uploads a prompt that is too long for the web as a file.
#
# With a Gem that has the text of `coder prompt`, add `instructions = "external"` to the settings and `--gem NAME` below.
set -euo pipefail

if geminiweb ${TOOLFENCE_MODEL:+-m "$TOOLFENCE_MODEL"}; then
    exit 0
fi
echo "If you are logged out, run: geminiweb auto-login" >&2
exit 1
