"""The list of faults: enough of them, well named, one planting each, cheap to show."""

import re
import subprocess
import sys
from pathlib import Path

from speckv_debug.checks import RULES
from speckv_debug.collectors.reference.faults.catalogue import FAULTS, HARMLESS, fault_named
from speckv_debug.collectors.reference.faults.planting import PLANTS

NO_ENGINE_FAULT = {
    "TRC-GAP",  # a loss of the recording, which no fault may touch
    "ACC-RANK",  # the reference engine has one rank
    "OWN-RACE",  # the reference engine has one stream, and takes no device times
    "OWN-UAF",  # a row that goes on naming freed slots shows first where its request locks others
    "LEN-ORDER",  # follows from a growth or a commit that another law finds first
}


def test_every_rule_that_an_engine_can_break_has_a_fault() -> None:
    assert len(FAULTS) >= 20
    laws = {id for id, rule in RULES.items() if not rule.replays}
    assert laws - {fault.rule for fault in FAULTS} == NO_ENGINE_FAULT


def test_faults_name_rules_that_exist() -> None:
    assert {fault.rule for fault in FAULTS} <= set(RULES)


def test_names_are_unique_plain_words_and_sentences_fit_a_line() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names)
    for fault in FAULTS:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", fault.name)
        assert "\t" not in fault.sentence and "\n" not in fault.sentence
        assert len(fault.sentence) <= 110
        assert fault_named(fault.name) is fault
    assert fault_named("no-such-fault") is None


def test_each_fault_can_be_planted() -> None:
    assert set(PLANTS) == {fault.name for fault in (*FAULTS, *HARMLESS)}


def test_the_catalogue_needs_no_torch() -> None:
    program = (
        "import sys, speckv_debug.collectors.reference.faults.catalogue;"
        "print(sorted({'torch', 'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_documentation_lists_the_same_faults() -> None:
    page = (Path(__file__).parents[4] / "docs" / "demo.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `") and not line.startswith("| `-")]
    assert rows == [f"| `{fault.name}` | {fault.rule} | {fault.sentence} |" for fault in FAULTS]
