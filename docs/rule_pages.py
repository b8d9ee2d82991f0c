"""Write docs/rules/: one page a rule, from the rule object and its recordings: `python docs/rule_pages.py`.

A page holds the law, its legitimate exceptions, what it needs, and a worked example: tests/recordings/rules/ID/fail.jsonl and
what `check` prints about it. tests/integration/test_rule_pages.py holds the pages up to date.
"""

from __future__ import annotations

import inspect
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # this tree's rules, whatever is installed

from speckv_debug.checks import RULES
from speckv_debug.checks.rule import Rule
from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.terminal import text

FOLDER = ROOT / "docs" / "rules"
RECORDINGS = "tests/recordings/rules"
FAMILIES = {
    "ACC": "Accept result",
    "LOC": "Addresses written and read",
    "MOV": "Relocation and compaction",
    "LEN": "Lengths, commit, tokens",
    "OWN": "Pages, holders, reclaim",
    "ST": "State beside KV",
    "TRC": "The recording itself",
    "RPL": "Replay by the bundled kernels",
}


def main() -> None:
    """Write every page and the list of them, and remove pages of rules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for name, page in wanted.items():
        (FOLDER / name).write_text(page, encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    print(f"wrote {len(wanted)} pages to {FOLDER.relative_to(ROOT)}")


def pages() -> dict[str, str]:
    """File name → what it holds."""
    return {"README.md": index(), **{f"{id}.md": page(rule) for id, rule in RULES.items()}}


def index() -> str:
    """The list of all rules by family."""
    lines = [
        "# Rules",
        "",
        f"{len(RULES)} rules; each page has a worked example. Written by `docs/rule_pages.py`.",
    ]
    for family in dict.fromkeys(id.partition("-")[0] for id in RULES):
        lines += [
            "",
            f"## {FAMILIES.get(family, family)}",
            "",
            "| rule | severity | law |",
            "| --- | --- | --- |",
        ]
        own = (rule for id, rule in RULES.items() if id.partition("-")[0] == family)
        lines += [f"| [{r.id}]({r.id}.md) | {r.severity} | {_cell(r.law)} |" for r in own]
    return "\n".join([*lines, ""])


def page(rule: Rule) -> str:
    """The page of one rule."""
    return "\n".join([*_head(rule), *_example(rule), *_unknown(rule), ""])


def _head(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.id}", "", f"> {_plain(rule.law)}", "")
    if rule.doc:
        yield from (_plain(inspect.cleandoc(rule.doc)), "")
    yield from ("| | |", "| --- | --- |")
    yield f"| family | {FAMILIES.get(rule.id.partition('-')[0], rule.id.partition('-')[0])} |"
    yield f"| severity | {rule.severity} |"
    needs = ", ".join(f"`{need}`" for need in rule.needs)
    yield f"| needs | {needs or 'whatever tables there are'}; without them, and across gaps: unknown |"
    if rule.look_at:
        yield f"| look at | {_cell(rule.look_at)} |"
    if rule.follows:
        others = ", ".join(f"[{id}]({id}.md)" if id in RULES else id for id in rule.follows)
        yield f"| may follow from | {others} |"


def _example(rule: Rule) -> Iterator[str]:
    source = f"{RECORDINGS}/{rule.id}/fail.jsonl"
    yield from ("", "## An engine that breaks it", "", f"[{source}](../../{source}):", "", "```json")
    yield (ROOT / source).read_text(encoding="utf-8").rstrip("\n")
    yield from ("```", "", "```")
    yield f"$ speckv-debug import {source} -o {rule.id}.speckv"
    yield f"$ speckv-debug check {rule.id}.speckv --rule {rule.id}"
    yield from (_checked(rule, "fail")[1].rstrip("\n"), "```")


def _unknown(rule: Rule) -> Iterator[str]:
    kept, open_ = (f"{RECORDINGS}/{rule.id}/{kind}.jsonl" for kind in ("pass", "unknown"))
    whys = _checked(rule, "unknown")[0]
    yield from ("", "## Beside it", "", f"- Kept: [{kept}](../../{kept}).")
    yield f"- Can't be judged: [{open_}](../../{open_}): {'; '.join(map(_plain, whys))}."


def _checked(rule: Rule, kind: str) -> tuple[list[str], str]:
    """Why instances of the rule are unknown in one of its recordings, and what `check` prints about it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{rule.id}.speckv"
        import_jsonl(ROOT / RECORDINGS / rule.id / f"{kind}.jsonl", out)
        recording, shown = Recording.open(out), io.StringIO()
        result = check(recording, only=[rule.id])
        text.render(result, recording, shown)
    return [unknown.why for unknown in result.unknown if unknown.rule == rule.id], shown.getvalue()


def _plain(said: str) -> str:
    """Text whose `<` is no markup."""
    return said.replace("<", "&lt;")


def _cell(said: str) -> str:
    """The same in a table."""
    return _plain(said).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
