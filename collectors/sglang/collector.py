"""Records one SGLang scheduler process: binds to the scheduler, installs the hooks, says what is recorded."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from speckv_debug.collectors.base import Capabilities, handshake, level_from_env
from speckv_debug.collectors.hooking import Patches
from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.accept import AcceptHooks
from speckv_debug.collectors.sglang.activity import Activity
from speckv_debug.collectors.sglang.cache import CacheHooks
from speckv_debug.collectors.sglang.chain_accept import ChainAcceptHooks
from speckv_debug.collectors.sglang.compressors import CompressorHooks
from speckv_debug.collectors.sglang.coverage import BEHIND_ENCODER, recorded_tables, untaken_tables
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.forwards import ForwardHooks
from speckv_debug.collectors.sglang.growth import GrowthHooks
from speckv_debug.collectors.sglang.handoff import HandoffHooks
from speckv_debug.collectors.sglang.host_cache import HostCacheHooks
from speckv_debug.collectors.sglang.journal import Journal, Sink
from speckv_debug.collectors.sglang.lengths import LengthHooks
from speckv_debug.collectors.sglang.levels import hooked
from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps
from speckv_debug.collectors.sglang.moves import MoveHooks
from speckv_debug.collectors.sglang.notices import NoticeHooks
from speckv_debug.collectors.sglang.pages import PageHooks
from speckv_debug.collectors.sglang.recurrent import RecurrentHooks
from speckv_debug.collectors.sglang.recurrent_slots import RecurrentSlotHooks
from speckv_debug.collectors.sglang.references import ReferenceHooks
from speckv_debug.collectors.sglang.release import ReleaseHooks
from speckv_debug.collectors.sglang.releases import tier
from speckv_debug.collectors.sglang.requests import Rows
from speckv_debug.collectors.sglang.rings import RingHooks
from speckv_debug.collectors.sglang.scene import HookGroup, Scene
from speckv_debug.collectors.sglang.sessions import SessionHooks
from speckv_debug.collectors.sglang.table import TableHooks
from speckv_debug.collectors.sglang.uno import UnoHooks
from speckv_debug.collectors.sglang.v1_workers import V1Hooks
from speckv_debug.collectors.staging import prepare, send

ENGINE = "sglang"
FLUSH_S = 0.4
"""How often what waits goes to the spool: rarely, so that it goes in few large calls, and yet within a second."""
log = logging.getLogger("speckv_debug")


class SglangCollector:
    """One scheduler process.

    Args:
        sink: The recorder, or None to make one when the scheduler is being built.
        out: The recording, if `sink` is None.
        level: How much is recorded, 1 to 3; what `record --level` told if None.
    """

    def __init__(self, out: Path | None = None, sink: Sink | None = None, level: int | None = None) -> None:
        self._out, self._sink = out, sink
        self._level = level_from_env() if level is None else level
        self._of_level: dict[int, Patches] = {}
        self._interrupted = False
        self._scene: Scene | None = None
        self._patches: Patches | None = None
        self._waiting: Patches | None = None
        self._withdrawn: set[str] = set()
        self._from_start = False
        self._ended = False

    @property
    def capabilities(self) -> Capabilities:
        """What is recorded; nothing before the scheduler is built."""
        if self._scene is None or self._patches is None:
            return Capabilities()
        engine, patches = self._scene.engine, self._patches
        return Capabilities(
            tables=tuple(
                table for table in self._whole_tables(engine, patches) if table not in self._withdrawn
            ),
            hooks={
                name: None if name in patches.broken else to for name, to in sorted(patches.resolved.items())
            },
            pools=describe.pools(engine),
            settings=describe.settings(engine) | {"level": self._level},
            from_start=self._from_start,
        )

    def _whole_tables(self, engine: Engine, patches: Patches) -> tuple[str, ...]:
        if self._interrupted:
            return ("note", "drop")
        return recorded_tables(engine, patches.resolved, patches.broken, self._level)

    def wait_with(self, patches: Patches) -> None:
        """Patches that wait for a scheduler: `detach` undoes them too."""
        self._waiting = patches

    def announce(self, arguments: Mapping[str, Any]) -> None:
        """Report to the recording that a scheduler is being built, with its constructor's arguments."""
        if self._sink is None and self._out is not None and not self._ended:
            self._sink = _recorder(self._out, describe.ranks(arguments))

    def bind(self, scheduler: Any) -> None:
        """Record this scheduler from now on; the first one counts, and none after `detach`.

        What can't be hooked is said in the recording, and never raised into the engine.
        """
        if self._scene is not None or self._ended:
            return
        try:
            self.announce({})
            if self._sink is not None:
                self._bind(scheduler, self._sink)
        except Exception as error:
            log.exception("speckv-debug: recording could not begin")
            self._give_up(error)

    def _bind(self, scheduler: Any, sink: Sink) -> None:
        engine = Engine(scheduler)
        journal = Journal(sink, untaken_tables(engine, self._level))
        self._scene = Scene(engine, journal, Activity(), Rows(), self._withdraw, self._level, self._let_go)
        self._from_start = engine.is_untouched()
        journal.overlap, journal.bound = engine.overlaps, True
        prepare(engine.table.req_to_token.device)
        loop = self._install(self._scene)
        sink.update_process(**self.capabilities.as_fields())
        if why := self._scene.engine.bypass:
            sink.note(f"what is verified, moved and reserved may pass the hooks by: {why}", level="warning")
        if self.capabilities.settings.get("c128_draft_clear") == "not performed":
            sink.note("the engine's clear of rejected C128 draft states is empty here: not performed")
        if engine.has_encoder:
            sink.note(f"rows begin with an encoder's slots: {', '.join(BEHIND_ENCODER)} are left out")
        loop.pool_stat()

    def _let_go(self) -> None:
        """The recording has ended by itself: from the next step on the engine runs as without it."""
        if self._patches is not None:
            self._patches.lift()

    def set_level(self, level: int) -> None:
        """Record more or less from here on, or nothing at all (0); between two functions of the scheduler's loop.

        A recording that was interrupted claims no table and no start: what came between is not in it.
        """
        if self._scene is None or self._patches is None or self._sink is None:
            raise RuntimeError("there is no scheduler yet")
        send()
        self._patches.lift()
        self._scene.rows.forget()
        if not self._interrupted:
            self._interrupted, self._from_start = True, False
            self._sink.note("the level is changed while recording: no table is whole", level="warning")
            self._sink.update_process(**self.capabilities.as_fields())
        if level:
            self._level = level
            self._scene = replace(self._scene, level=level)
            self._scene.journal.muted = untaken_tables(self._scene.engine, level)
            if level in self._of_level:
                self._patches = self._of_level[level]
                self._patches.replace()
            else:
                self._install(self._scene)

    def _give_up(self, error: Exception) -> None:
        """Binding failed: nothing is recorded of this scheduler, and the recording says why."""
        if self._patches is not None:
            self._patches.undo()
        if self._sink is not None:
            what = f"{type(error).__name__}: {error}"
            self._sink.note(f"recording could not begin: {what}", level="error")
            self._sink.update_process(**Capabilities().as_fields())

    def failed_to_build(self, error: BaseException) -> None:
        """The scheduler's constructor raised."""
        if self._sink is not None:
            self._sink.note(
                f"the scheduler could not be built: {type(error).__name__}: {error}", level="error"
            )

    @property
    def level(self) -> int:
        """How much is recorded, 1 to 3."""
        return self._level

    @property
    def has_ended(self) -> bool:
        """Whether `detach` was called."""
        return self._ended

    def detach(self) -> None:
        """Put the engine's functions back and close the recording; may be called again."""
        self._ended = True
        for patches in (self._waiting, self._patches):
            if patches is not None:
                patches.undo()
        if self._sink is not None:
            send()
            self._sink.close()

    def _install(self, scene: Scene) -> LoopHooks:
        """Put the hooks of the scene's level in place."""
        patches = Patches(self._failed)
        self._patches = self._of_level[scene.level] = patches
        results = ResultSteps()
        loop = LoopHooks(scene, results)
        groups: list[HookGroup] = [loop, LengthHooks(scene, results), *_groups(scene)]
        for group in groups:
            for target, hook in group.functions():
                if hooked(target.name, scene.level):
                    patches.install(target, hook)
            for methods in group.methods():
                if hooked(methods.name, scene.level):
                    patches.install_methods(methods)
        return loop

    def _withdraw(self, table: str, why: str) -> None:
        """A table is no longer recorded whole: said once."""
        if self._sink is not None and table not in self._withdrawn:
            self._withdrawn.add(table)
            self._sink.note(f"table {table} is not recorded whole from here on: {why}", level="warning")
            self._sink.update_process(tables=list(self.capabilities.tables))

    def _failed(self, name: str, error: BaseException) -> None:
        """A hook was switched off: say so, and no longer claim what it recorded."""
        if self._sink is not None:
            what = f"{type(error).__name__}: {error}"
            self._sink.note(f"hook {name} failed and was switched off: {what}", level="error")
            self._sink.update_process(**self.capabilities.as_fields())


def _groups(scene: Scene) -> Iterator[HookGroup]:
    yield GrowthHooks(scene)
    yield PageHooks(scene)
    yield TableHooks(scene)
    yield ReleaseHooks(scene)
    yield ReferenceHooks(scene)
    yield RingHooks(scene)
    yield CompressorHooks(scene)
    yield RecurrentHooks(scene)
    yield RecurrentSlotHooks(scene)
    yield CacheHooks(scene)
    yield SessionHooks(scene)
    yield NoticeHooks(scene)
    yield HostCacheHooks(scene)
    yield HandoffHooks(scene)
    yield ForwardHooks(scene)
    yield AcceptHooks(scene)
    yield ChainAcceptHooks(scene)
    yield UnoHooks(scene)
    yield V1Hooks(scene)
    yield MoveHooks(scene)


def _recorder(out: Path, rank: Mapping[str, int | None]) -> Sink:
    from speckv_debug.recording.recorder import Limits, Recorder

    release = describe.release()
    reported = handshake(ENGINE, release, rank, Capabilities(), tier(release))
    return Recorder(out, reported, limits=Limits.from_env(), flush_s=FLUSH_S)
