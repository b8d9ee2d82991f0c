#!/usr/bin/env bash
# Puts the releases of SGLang that the tests drive into DIR/sglang-VERSION, without their dependencies.
# Usage: PIP="pip" fetch_sglang.sh DIR
set -euo pipefail
dir=$1
$PIP install --no-deps xgrammar==0.2.7
for version in 0.5.23 0.5.15; do
  target="$dir/sglang-$version"
  [ -d "$target/sglang" ] && continue
  tmp=$(mktemp -d)
  $PIP download --no-deps "sglang==$version" -d "$tmp"
  "$dir/bin/python" -m zipfile -e "$tmp"/sglang-"$version"-*.whl "$target"
  rm -rf "$tmp"
done
