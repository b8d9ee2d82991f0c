"""The entry point: inert without the variable, in the right process, once."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import types

import pytest

from speckv_debug.collectors.sglang import plugin
from speckv_debug.collectors.sglang.awaiting import when_imported

INERT = """
import sys
from speckv_debug.collectors.sglang.plugin import register
register()
heavy = {"torch", "sglang", "pyarrow", "numpy"} & set(sys.modules)
assert not heavy, heavy
assert not any("awaiting" in name for name in sys.modules)
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(plugin, "_waiting", False)
    monkeypatch.setattr(plugin, "_current", None)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))


def registry(monkeypatch):
    """SGLang's hook registry, as far as the plugin uses it."""
    registered: list[tuple[str, str]] = []

    class HookRegistry:
        @staticmethod
        def register(target, hook, kind):
            registered.append((target, kind))

        @staticmethod
        def apply_hooks():
            registered.append(("applied", ""))

    module = types.ModuleType("sglang.srt.plugins.hook_registry")
    module.HookRegistry, module.HookType = HookRegistry, types.SimpleNamespace(AROUND="around")
    for name in ("sglang", "sglang.srt", "sglang.srt.plugins"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return registered


def test_without_the_variable_it_imports_nothing():
    environment = {"PATH": "/usr/bin"}
    subprocess.run([sys.executable, "-c", INERT], env=environment, check=True, timeout=60)


def test_a_launcher_that_has_no_scheduler_yet_only_waits(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECKV_DEBUG_OUT", str(tmp_path / "x"))
    registered = registry(monkeypatch)
    plugin.register()
    plugin.register()
    assert registered == []
    assert not (tmp_path / "x").exists()
    assert sum(type(finder).__name__ == "_Watch" for finder in sys.meta_path) == 1


def test_a_scheduler_process_hooks_the_constructor_through_the_registry(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECKV_DEBUG_OUT", str(tmp_path / "x"))
    registered = registry(monkeypatch)

    def run_scheduler_process():
        plugin.register()

    run_scheduler_process()
    assert registered == [("sglang.srt.managers.scheduler.Scheduler.__init__", "around")]


def test_a_constructor_that_raises_is_noted_and_raises(monkeypatch, tmp_path):
    monkeypatch.setenv("SPECKV_DEBUG_OUT", str(tmp_path / "x.speckv"))

    def construct(self, server_args):
        raise MemoryError("too small")

    with pytest.raises(MemoryError):
        plugin._construct(construct, object(), "arguments")
    collector = plugin._current
    collector.detach()
    from speckv_debug.recording.reader import Recording

    (process,) = Recording.open(tmp_path / "x.speckv").processes
    texts = [event.text for event in process.events() if event.table == "note"]
    assert texts == ["the scheduler could not be built: MemoryError: too small"]


def test_a_recorder_that_can_not_begin_does_not_stop_the_engine(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SPECKV_DEBUG_OUT", str(tmp_path / "file" / "x"))
    assert plugin._construct(lambda self: "built", object()) == "built"


@pytest.fixture
def late_module(tmp_path, monkeypatch):
    """A module that nobody has imported yet; gives its file."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "late_module.py"
    sys.modules.pop("late_module", None)


def test_the_action_runs_right_behind_the_module(late_module):
    late_module.write_text("value = 1\n")
    seen = []
    when_imported("late_module", lambda: seen.append(sys.modules["late_module"].value))
    importlib.import_module("late_module")
    assert seen == [1]
    assert sys.modules["late_module"].__spec__.loader.__class__.__name__ == "SourceFileLoader"
    importlib.reload(sys.modules["late_module"])
    assert seen == [1]


def test_an_action_that_raises_does_not_break_the_import(late_module, caplog):
    late_module.write_text("value = 1\n")
    when_imported("late_module", lambda: 1 / 0)
    assert importlib.import_module("late_module").value == 1
    assert "recording could not begin" in caplog.text


def test_a_look_up_and_an_import_that_fails_are_waited_out(late_module):
    late_module.write_text("raise RuntimeError\n")
    seen = []
    when_imported("late_module", lambda: seen.append(1))
    spec = importlib.util.find_spec("late_module")
    assert spec.loader.get_filename("late_module") == str(late_module), "a spec as without us"
    with pytest.raises(RuntimeError):
        importlib.import_module("late_module")
    assert seen == []
    late_module.write_text("value = 10\n")
    importlib.invalidate_caches()
    importlib.import_module("late_module")
    assert seen == [1]


def test_a_module_that_another_finder_knows_is_found(late_module):
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            known = name == "late_module"
            return importlib.util.spec_from_file_location(name, elsewhere) if known else None

    elsewhere = late_module.with_name("elsewhere.py")
    elsewhere.write_text("value = 2\n")
    sys.meta_path.append(Finder)
    seen = []
    when_imported("late_module", lambda: seen.append(sys.modules["late_module"].value))
    importlib.import_module("late_module")
    assert seen == [2]


def test_a_registry_that_is_not_there_does_not_stop_the_engine(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("SPECKV_DEBUG_OUT", str(tmp_path / "x"))
    monkeypatch.setitem(sys.modules, "sglang", types.ModuleType("sglang"))

    def run_scheduler_process():
        plugin.register()

    run_scheduler_process()
    assert "recording could not begin" in caplog.text


def test_an_engine_that_is_not_there_is_a_usage_error(tmp_path, monkeypatch):
    from speckv_debug import attach
    from speckv_debug.errors import UsageError

    monkeypatch.delenv("SPECKV_DEBUG_OUT", raising=False)
    with pytest.raises(UsageError, match="no recording to write"):
        attach("sglang")
    with pytest.raises(UsageError, match="can't be recorded"):
        attach("no-such-engine", out=tmp_path / "x")
