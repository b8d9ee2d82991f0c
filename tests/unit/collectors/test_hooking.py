"""Wrapping an engine's functions: called once, results and exceptions pass, a broken hook is switched off."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from speckv_debug.collectors.calls import Call, call_site
from speckv_debug.collectors.hooking import Methods, Patches, Steps, Target

ENGINE = """
calls = []

def add(a, b=2, *, c=3):
    calls.append((a, b, c))
    return a + b + c

def fail(a):
    raise KeyError(a)

class Base:
    def free(self, index): return ("base", index)
    @staticmethod
    def size(n): return n

class Pool(Base):
    def free(self, index): return ("pool", super().free(index))

class Kernel:
    def __getitem__(self, grid): return self
kernel = Kernel()
"""


@pytest.fixture
def engine() -> Iterator[types.ModuleType]:
    module, importer = types.ModuleType("toy_engine"), types.ModuleType("toy_importer")
    exec(ENGINE, module.__dict__)  # noqa: S102 (the toy engine above)
    importer.add = module.add
    sys.modules |= {"toy_engine": module, "toy_importer": importer}
    yield module
    del sys.modules["toy_engine"], sys.modules["toy_importer"]


class Watcher:
    """A hook that remembers, and may raise before or behind the engine's function."""

    def __init__(self, before: bool = False, after: bool = False) -> None:
        self.before, self.after = before, after
        self.seen: list[Any] = []
        self.failures: list[tuple[str, str]] = []

    def hook(self, call: Call) -> Steps:
        if self.before:
            raise ValueError("before")
        self.seen.append({name: call.get(name) for name in ("a", "b", "c")})
        try:
            result = yield
        except KeyError as error:
            self.seen.append(error)
            raise
        if self.after:
            raise ValueError("after")
        self.seen.append(result)

    def failed(self, name: str, error: BaseException) -> None:
        self.failures.append((name, str(error)))


def patched(watcher: Watcher, *candidates: str) -> Patches:
    patches = Patches(watcher.failed)
    patches.install(Target("hook", candidates), watcher.hook)
    return patches


def test_arguments_are_known_by_name_and_the_result_passes(engine):
    watcher = Watcher()
    patches = patched(watcher, "toy_engine:add")
    assert engine.add(1, c=5) == 8
    assert watcher.seen == [{"a": 1, "b": None, "c": 5}, 8]
    assert engine.calls == [(1, 2, 5)]
    assert patches.resolved == {"hook": "toy_engine:add"}


def test_who_imported_the_function_gets_the_wrapper_and_undo_takes_it_back(engine):
    watcher, original = Watcher(), engine.add
    patches = patched(watcher, "toy_engine:add")
    assert sys.modules["toy_importer"].add(1) == 6
    assert len(watcher.seen) == 2
    patches.undo()
    assert engine.add is original
    assert sys.modules["toy_importer"].add is original


def test_the_first_candidate_that_is_loaded_is_taken(engine):
    patches = patched(
        Watcher(), "never_loaded:add", "toy_engine:subtract", "toy_engine:add", "toy_engine:fail"
    )
    assert patches.resolved == {"hook": "toy_engine:add"}
    assert "never_loaded" not in sys.modules


def test_a_method_gives_its_object_by_the_name_of_the_functions_parameter(engine):
    seen = []

    def hook(call: Call) -> Steps:
        seen.append((call["pool"], call["index"]))
        yield

    target = Target("hook", ("toy_engine:free", "toy_engine:Pool.free"), ("pool", "index"), bound_as="pool")
    Patches(lambda name, error: None).install(target, hook)
    pool = engine.Pool()
    assert pool.free(3) == ("pool", ("base", 3))
    assert seen == [(pool, 3)]


def test_what_does_not_resolve_is_said(engine):
    assert patched(Watcher(), "toy_engine:kernel", "toy_engine:Pool").resolved == {"hook": None}


def test_an_exception_of_the_engine_passes_and_the_hook_sees_it(engine):
    watcher = Watcher()
    patched(watcher, "toy_engine:fail")
    with pytest.raises(KeyError, match="7"):
        engine.fail(7)
    assert isinstance(watcher.seen[-1], KeyError)
    assert watcher.failures == []


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_hook_that_raises_is_reported_once_and_the_engine_goes_on(engine, place):
    watcher = Watcher(**{place: True})
    patches = patched(watcher, "toy_engine:add")
    assert [engine.add(1), engine.add(2)] == [6, 7]
    assert engine.calls == [(1, 2, 3), (2, 2, 3)]
    assert watcher.failures == [("hook", place)]
    assert patches.broken == {"hook"}


def test_a_report_that_raises_reaches_nobody(engine):
    patches = Patches(lambda name, error: 1 / 0)
    patches.install(Target("hook", ("toy_engine:add",)), Watcher(before=True).hook)
    assert engine.add(1) == 6
    assert patches.silent == {"hook"}


def test_a_hook_runs_only_while_it_is_in_place(engine):
    watcher = Watcher()
    patches = patched(watcher, "toy_engine:add")
    patches.lift()
    engine.add(1)
    patches.replace()
    engine.add(2)
    assert [seen["a"] for seen in watcher.seen if isinstance(seen, dict)] == [2]


def test_methods_are_wrapped_where_the_classes_define_them(engine):
    calls: list[str] = []

    def hook(call: Call) -> Steps:
        calls.append(type(call["self"]).__name__)
        yield

    patches = Patches(lambda name, error: None)
    assert patches.install_methods(Methods("free", engine.Pool, ("free", "absent"), hook))
    assert engine.Pool().free(3) == ("pool", ("base", 3))
    assert calls == ["Pool", "Pool"]
    assert patches.resolved["free"] == "toy_engine:Pool.free, toy_engine:Base.free"
    assert not patches.install_methods(Methods("other", engine.Pool, ("absent",), hook))
    assert patches.resolved["other"] is None


def test_a_static_method_stays_one(engine):
    def hook(call: Call) -> Steps:
        yield

    patches = Patches(lambda name, error: None)
    patches.install_methods(Methods("size", engine.Pool, ("size",), hook))
    assert engine.Pool.size(4) == engine.Pool().size(4) == 4
    patches.undo()
    assert isinstance(vars(engine.Base)["size"], staticmethod)


def test_a_function_is_wrapped_once(engine):
    first, second = Watcher(), Watcher()
    patched(first, "toy_engine:add")
    assert patched(second, "toy_engine:add").resolved == {"hook": None}
    engine.add(1)
    assert len(first.seen) == 2


def test_a_wrapper_that_hides_the_signature_keeps_the_declared_names(engine):
    original = engine.add
    engine.add = lambda *everything, **named: original(*everything, **named)
    watcher = Watcher()
    Patches(watcher.failed).install(Target("hook", ("toy_engine:add",), parameters=("a", "b")), watcher.hook)
    assert engine.add(1, 4) == 8
    assert watcher.seen[0] == {"a": 1, "b": 4, "c": None}


def test_other_names_for_the_same_places(engine):
    free = engine.Pool.free
    engine.Pool.free = lambda pool, slots: free(pool, slots)
    seen = []

    def hook(call: Call) -> Steps:
        seen.append((call["self"], call["index"]))
        yield

    pool = engine.Pool()
    patches = Patches(lambda name, error: None)
    patches.install_methods(Methods("free", engine.Pool, ("free",), hook, ("index",)))
    pool.free(3)
    assert seen == [(pool, 3), (pool, 3)]


def test_a_callable_that_is_no_function_is_wrapped_in_a_module_and_not_in_a_class(engine):
    engine.add = functools.partial(engine.add, 1)
    engine.Pool.free = functools.partial(engine.Pool.free, None)
    assert patched(Watcher(), "toy_engine:add").resolved == {"hook": "toy_engine:add"}
    assert engine.add(2) == 6
    assert patched(Watcher(), "toy_engine:Pool.free").resolved == {"hook": None}


def test_what_others_wrapped_since_stays_and_our_part_falls_silent(engine):
    watcher = Watcher()
    patches = patched(watcher, "toy_engine:add")
    ours = engine.add

    @functools.wraps(ours)
    def foreign(*args: Any, **kwargs: Any) -> Any:
        return 10 * ours(*args, **kwargs)

    engine.add = foreign
    patches.undo()
    assert engine.add is foreign
    assert engine.add(1) == 60
    assert watcher.seen == []


def test_the_call_site_skips_frames_that_stand_between():
    def helper() -> str | None:
        return call_site(lambda frame: frame.f_code.co_name == "helper")

    assert helper() == "test_hooking.py:test_the_call_site_skips_frames_that_stand_between"
