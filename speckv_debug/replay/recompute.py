"""What the bundled kernels make of recorded inputs: NumPy arrays in, NumPy arrays out.

This module and `shadow.py` are the only ones of the replay that call kernels, but for the arithmetic of `kernels.reserve`, which
needs no torch; torch is imported at the first call. All arrays are int64 unless said otherwise. Requests go through in chunks, so memory beside the arguments and the
results is bounded; on the CPU in one thread, since torch's threads wait for each other longer than so
small a chunk takes. Rows are local to a request here, `[0, w)`, where the kernels count them over the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from speckv_debug.errors import UsageError
from speckv_debug.replay.ragged import Int64s, Mask

CHUNKS = {"cpu": 16_384, "cuda": 262_144}
"""Requests that go through a kernel at once: as many as a core's cache holds, or enough to keep a GPU busy."""


USUAL = 64
"""Values of one request that such a chunk has room for; of requests with more, fewer go through at once."""


class Walks(NamedTuple):
    """What a verify accepts, by request.

    Attributes:
        predict: `[bs, w]` the output token behind each accepted row, the bonus on the last; 0 elsewhere.
        path: `[bs, W]` accepted local rows, root first, then -1.
        lens: `[bs]` accepted rows.
    """

    predict: Int64s
    path: Int64s
    lens: Int64s


def require_device(device: str) -> None:
    """Make sure that kernels can run on a GPU if that is asked for; torch is not imported for `cpu`.

    Raises:
        UsageError: There is none that torch and Triton can use.
    """
    if device == "cpu":
        return
    if (why := Kernels(device).missing or _unusable(device)) is not None:
        raise UsageError(
            f"the kernels can't run on --device {device}: {why}",
            "Say --device cpu, or --replay off to judge by the laws alone.",
        )


def _unusable(device: str) -> str | None:
    """Why a device can't be used, None if it can."""
    import torch

    if find_spec("triton") is None:
        return "triton is not installed"
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: a torch that was built without CUDA
        return str(error).partition("\n")[0]
    return None


class Kernels:
    """The kernels on one device.

    Args:
        device: `cpu`, or `cuda` where there is a GPU.
    """

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.chunk = CHUNKS[device]

    def at_once(self, values: int) -> int:
        """How many requests with so many values each go through a kernel at once."""
        return max(1, min(self.chunk, self.chunk * USUAL // max(1, values)))

    def pieces(self, which: Int64s, values: int) -> Iterator[Int64s]:
        """Requests with so many values each, as many at once as go through a kernel."""
        size = self.at_once(values)
        for start in range(0, len(which), size):
            yield which[start : start + size]

    @cached_property
    def missing(self) -> str | None:
        """Why no kernel can be called, None if they can."""
        try:
            import torch  # noqa: F401
        except (ImportError, OSError) as error:  # OSError: one of its shared libraries can't be loaded
            return f"torch can't be imported: {error}"
        return None

    def walk_tree(
        self, tokens: Int64s, next_token: Int64s, next_sibling: Int64s, chosen: Int64s, width: int
    ) -> Walks:
        """`kernels.accept.verify_tree_greedy`; all arguments `[bs, w]`, `chosen` the target's token behind each row."""
        from speckv_debug.kernels.accept import verify_tree_greedy

        def walk(a: Any, b: Any, c: Any, d: Any) -> Any:
            return verify_tree_greedy(a, b, c, d, width)

        return self._walks(walk, width, tokens, next_token, next_sibling, chosen)

    def follow_chain(self, tokens: Int64s, bonus: Int64s, lens: Int64s, width: int) -> Walks:
        """`kernels.accept.accept_from_lens`; tokens `[bs, w]`, bonus and lens `[bs]`."""
        from speckv_debug.kernels.accept import accept_from_lens

        def follow(a: Any, b: Any, c: Any) -> Any:
            return accept_from_lens(a, b, c, width)

        return self._walks(follow, width, tokens, bonus, lens)

    def match_chain(self, tokens: Int64s, chosen: Int64s, widths: Int64s) -> tuple[Int64s, Int64s]:
        """`kernels.accept.match_chain`: accepted rows and bonus token, `[bs]` each.

        Args:
            tokens, chosen: `[bs, w]`.
            widths: `[bs]` rows that were verified at all.
        """
        from speckv_debug.kernels.accept import match_chain

        found = [match_chain(*batch) for batch in self._chunks(tokens, chosen, widths)]
        return _joined([match.lens for match in found]), _joined([match.bonus for match in found])

    def window(self, table: Int64s, rows: Int64s, starts: Int64s, count: int) -> Int64s:
        """`kernels.locate.row_slots`: slots `[bs, count]` of each request's next positions.

        Args:
            table: `[rows, width]` req_to_token.
            rows, starts: `[bs]`.
        """
        from speckv_debug.kernels.locate import row_slots

        flat = self._tensor(table.reshape(-1))
        chunks = self._chunks(rows, starts)
        return _joined([row_slots(flat, table.shape[1], row, start, count) for row, start in chunks], count)

    def pairs(self, slots: Int64s, path: Int64s, lens: Int64s) -> tuple[Int64s, Int64s]:
        """`kernels.locate.accepted_pairs`: targets and sources of all accepted rows, packed, no padding.

        Args:
            slots: `[bs, w]` out_cache_loc.
            path: `[bs, W]` local rows, the first `lens` of each request valid.
            lens: `[bs]`.
        """
        from speckv_debug.kernels.locate import accepted_pairs

        targets, sources = [], []
        for loc, rows, n in self._chunks(slots, path, lens):
            to, frm = accepted_pairs(loc, self._flat_rows(rows, loc.shape[1]), n)
            real = int(n.sum())
            targets.append(to[:real])
            sources.append(frm[:real])
        return _joined(targets), _joined(sources)

    def bonus(self, predict: Int64s, path: Int64s, lens: Int64s) -> Int64s:
        """`kernels.locate.bonus_tokens` `[bs]` on `predict[accept_index]`, with stride W.

        Args:
            predict: `[bs, w]`.
            path: `[bs, W]` local rows.
            lens: `[bs]`, at least 1.
        """
        from speckv_debug.kernels.locate import bonus_tokens

        found = []
        for values, rows, n in self._chunks(predict, path, lens):
            gathered = values.gather(1, rows.clamp(min=0)).reshape(-1)
            found.append(bonus_tokens(gathered, n, rows.shape[1]))
        return _joined(found)

    def new_lengths(self, seq_lens: Int64s, lens: Int64s) -> Int64s:
        """`kernels.locate.new_lengths`, all `[bs]`."""
        from speckv_debug.kernels.locate import new_lengths

        return _joined([new_lengths(*batch) for batch in self._chunks(seq_lens, lens)])

    def compact(self, values: Int64s, path: Int64s) -> Int64s:
        """`kernels.compact.compact_accepted`: values `[bs, w]` with the accepted rows at the front of each block.

        Args:
            values: `[bs, w]`.
            path: `[bs, W]` local rows, -1 padding, `W <= w`; what stands behind the path is undefined.
        """
        from speckv_debug.kernels.compact import compact_accepted

        found, width = [], values.shape[1]
        for block, rows in self._chunks(values, path):
            front = compact_accepted(block.reshape(-1), self._flat_rows(rows, width), width)
            found.append(front.view(-1, width))
        return _joined(found, width)

    def cleared_rings(self, seq_lens: Int64s, lens: Int64s, ring_size: int, width: int) -> Mask:
        """`kernels.state.clear_unaccepted_rows`: which ring rows `[bs, ring_size]` of each request are emptied."""
        import torch

        from speckv_debug.kernels.state import clear_unaccepted_rows

        found = []
        for before, n in self._chunks(seq_lens, lens):  # the caller bounds requests x ring_size
            state = torch.ones((len(n) * ring_size, 2), device=self.device)
            rows = torch.arange(len(n), device=self.device)
            clear_unaccepted_rows(state, rows, before, n, ring_size=ring_size, num_draft_tokens=width)
            found.append(torch.isneginf(state[:, 1]).view(-1, ring_size))
        return np.asarray(_joined(found, ring_size), dtype=np.bool_)

    def kept_steps(self, path: Int64s, lens: Int64s, width: int) -> Int64s:
        """`kernels.state.commit_steps` `[bs]`: the local row whose recurrent state a request keeps."""
        from speckv_debug.kernels.state import commit_steps

        chunks = self._chunks(path, lens)
        return _joined([commit_steps(self._flat_rows(rows, width), n, width) for rows, n in chunks])

    def _walks(self, kernel: Callable[..., Any], width: int, *batch: Int64s) -> Walks:
        rows, predict, path, lens = batch[0].shape[1], [], [], []
        for chunk in self._chunks(*batch):
            found = kernel(*chunk)
            predict.append(found.predict.view(-1, rows))
            path.append(self._local_rows(found.accept_index, rows))
            lens.append(found.accept_lens)
        return Walks(_joined(predict, rows), _joined(path, width), _joined(lens))

    def _flat_rows(self, path: Any, width: int) -> Any:
        """Local rows as rows of the batch; -1 stays."""
        import torch

        first = torch.arange(len(path), device=path.device)[:, None] * width
        return torch.where(path < 0, path, path + first)

    def _local_rows(self, index: Any, width: int) -> Any:
        import torch

        first = torch.arange(len(index), device=index.device)[:, None] * width
        return torch.where(index < 0, index, index - first)

    def _chunks(self, *arrays: Int64s) -> Iterator[tuple[Any, ...]]:
        with _one_thread():
            size = self.at_once(max(array.size // max(1, len(array)) for array in arrays))
            for start in range(0, len(arrays[0]), size):
                yield tuple(self._tensor(array[start : start + size]) for array in arrays)

    def _tensor(self, array: Int64s) -> Any:
        """On the device; torch takes no array that can't be written."""
        import torch

        return torch.from_numpy(np.require(array, requirements=["C", "W"])).to(self.device)


@contextmanager
def _one_thread() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _joined(tensors: list[Any], columns: int | None = None) -> Int64s:
    """The results of all chunks; `columns` is the shape behind the first axis where there was no chunk."""
    if not tensors:
        return np.empty((0,) if columns is None else (0, columns), dtype=np.int64)
    return np.concatenate([tensor.cpu().numpy() for tensor in tensors])
