"""Rows of req_to_token: handed out, given back, and written by the pool's own `write`."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang.requests import request_id, row_of
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import stage


class TableHooks:
    """The row pool."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._freeing = False

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield from ()

    def methods(self) -> Iterator[Methods]:
        cls = type(self._scene.engine.table)
        yield Methods("row_alloc", cls, ("alloc",), self.row_alloc, ("reqs",))
        yield Methods("row_free", cls, ("free",), self.row_free, ("req",))
        yield Methods("row_write", cls, ("write",), self.write, ("indices", "values"))

    def row_alloc(self, call: Call) -> Steps:
        """alloc(reqs): a request that holds a row keeps it and its epoch."""
        new = [req for req in call["reqs"] if row_of(req) is None]
        yield
        for req in new:
            row = row_of(req)
            if row is not None and self._scene.rows.holder(row) is not req:
                epoch = self._scene.rows.hand_out(row, req)
                self._scene.journal.emit("row_alloc", row=row, epoch=epoch, request=request_id(req))

    def row_free(self, call: Call) -> Steps:
        """free(req): a class of the pool may call its base's; a row that is given back twice is told twice."""
        if self._freeing:
            yield
            return
        identity = self._scene.rows.identity(call["req"])
        self._freeing = True
        try:
            yield
        finally:
            self._freeing = False
        if identity.row is not None:
            self._scene.rows.take_back(identity.row)
            self._scene.journal.emit("row_free", **identity.columns())

    def write(self, call: Call) -> Steps:
        """write((row, slice), values)."""
        indices, values = call["indices"], call["values"]
        yield
        if self._scene.activity.rows_covered or not isinstance(indices, tuple):
            return
        row, part = indices
        if isinstance(part, slice) and values.numel():
            place = {
                "row": int(row),
                "epoch": self._scene.rows.epoch(int(row)),
                "start": int(part.start or 0),
            }
            self._scene.journal.emit("table_write", **place, slots=stage(values))
