#!/usr/bin/env bash
# Puts releases of SGLang into DIR/sglang-VERSION, without their dependencies; what is there is kept.
# Usage: PIP="pip" fetch_sglang.sh DIR VERSION...
set -euo pipefail
dir=$1
shift
for version in "$@"; do
  target="$dir/sglang-$version"
  [ -d "$target/sglang" ] && continue
  tmp=$(mktemp -d)
  $PIP download --no-deps "sglang==$version" -d "$tmp"
  "$dir/bin/python" -m zipfile -e "$tmp"/sglang-"$version"-*.whl "$tmp/unpacked"
  mv "$tmp/unpacked" "$target"
  rm -rf "$tmp"
done
