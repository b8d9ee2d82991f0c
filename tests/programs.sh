#!/usr/bin/env bash
# The report is opened in Debian's chromium, the inspector in tmux, and SGLang's planner of compressors is compiled: install what is missing.
set -euo pipefail
missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v tmux >/dev/null || missing+=(tmux)
command -v g++ >/dev/null || missing+=(g++)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  apt-get update -qq && apt-get install -y -qq "${missing[@]}" >/dev/null
else
  echo "make test needs ${missing[*]}: run 'sudo apt-get install ${missing[*]}' and type 'make test' again" >&2
  exit 1
fi
