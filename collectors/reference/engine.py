"""The engine: its parts put together, and its loop, with or without overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import torch

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.batch import Batch, Chunk, Result, Round
from speckv_debug.collectors.reference.compressor import SideWeights
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.drafter import Drafter
from speckv_debug.collectors.reference.growing import Growing
from speckv_debug.collectors.reference.indexer import IndexPool
from speckv_debug.collectors.reference.model import Transformer, Weights
from speckv_debug.collectors.reference.observe import Emitter, Observer
from speckv_debug.collectors.reference.pool import KVPool
from speckv_debug.collectors.reference.prefilling import Prefilling
from speckv_debug.collectors.reference.prefix_tree import PrefixTree
from speckv_debug.collectors.reference.releasing import Releasing
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.results import Results
from speckv_debug.collectors.reference.sessions import Sessions
from speckv_debug.collectors.reference.states import StatefulPool, States
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.collectors.reference.target import Target
from speckv_debug.collectors.reference.verifier import Verifier
from speckv_debug.collectors.reference.window import HybridPool, WindowPeers
from speckv_debug.collectors.reference.workload import Job
from speckv_debug.kernels.accept import draw

SESSION_ROWS = 2
DRAFT_SEED = 7


class Engine:
    """Runs jobs to their end (SGLang's scheduler with an EAGLE worker, in one process)."""

    def __init__(self, config: EngineConfig, emitter: Emitter | None = None) -> None:
        """Build everything from the seed; events go to `emitter`."""
        self.config = config
        self.observer = Observer(emitter, overlap=config.overlap)
        weights = Weights(config.shape, config.seed)
        positions = config.context_len + config.reserve + config.page_size
        side = (
            SideWeights.draw(config.shape, config.seed, recurrent=config.recurrent, indexed=config.indexed)
            if config.compressed
            else None
        )
        self.model = Transformer(weights, positions, config.window, side)
        draft_weights = weights.with_noise(config.draft_noise, config.seed + DRAFT_SEED)
        draft = Transformer(draft_weights, positions, config.window if config.compressed else None)
        coins = torch.Generator().manual_seed(config.seed)
        self._coins = coins

        size = config.slots + config.page_size
        paged = (config.slots, config.page_size, self.observer)
        self.peers = WindowPeers(*paged) if config.window else None
        self.table = RequestTable(config.max_running + SESSION_ROWS, config.row_width, self.observer)
        self.states: States | None = None
        self.pool = self._target_pool(size)
        self.draft_pool = KVPool("draft", size, config.shape, self.observer)
        self.allocator = PageAllocator(*paged, self.peers)
        self.tree = PrefixTree(self.allocator, self.observer, config.window, config.tree_page, self.states)

        self.target = Target(self.model, self.pool, self.table, self.observer)
        self.drafter = Drafter(config, draft, self.draft_pool, self.table, self.observer, coins)
        self.verifier = Verifier(config, self.target, self.observer, coins)
        memory = (self.allocator, self.tree, self.table)
        self.sessions = Sessions(*memory, self.observer)
        self.releasing = Releasing(self.pool, *memory, self.sessions, self.observer)
        self.prefilling = Prefilling(config, *memory, self.sessions, self.observer)
        self.growing = Growing(config, *memory, self.releasing, self.observer)
        self.results = Results(self.allocator, self.prefilling, self.releasing, self.observer)

        self.running: list[Request] = []
        self.requests: dict[str, Request] = {}
        self._in_flight: deque[Result] = deque()

    def _target_pool(self, size: int) -> KVPool:
        memory = ("full", size, self.config.shape, self.observer)
        if self.peers is None:
            return KVPool(*memory)
        if self.model.side is None:
            return HybridPool(*memory, self.peers)
        pool = StatefulPool(*memory, self.peers)
        pool.states = self.states = States(
            self.config, self.model.side, self.table, self.peers, self.observer
        )
        if indexer := self.model.side.indexer:
            pool.index_pool = IndexPool(size, indexer.width, self.observer)
            pool.index = pool.index_pool.memory
        return pool

    def run(self, jobs: Iterable[Job]) -> dict[str, Request]:
        """Serve all jobs; returns the requests by id, in order of arrival.

        Tensors are tiny: torch works on one thread meanwhile.
        """
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return self._serve(jobs)
        finally:
            torch.set_num_threads(threads)

    def _serve(self, jobs: Iterable[Job]) -> dict[str, Request]:
        coming = sorted(jobs, key=lambda job: job.arrival)
        aborts = [(job.abort_at, job.id) for job in coming if job.abort_at is not None]
        tick = 0
        self._report_pools()
        while coming or self.is_busy:
            for job in [job for job in coming if job.arrival <= tick and self._may_come(job)]:
                coming.remove(job)
                self.receive(job)
            for at, id in aborts:
                if at == tick and id in self.requests:
                    self._abort(self.requests[id])
            self.iterate()
            tick += 1
        self.sessions.close_all()
        self._report_pools()
        return self.requests

    @property
    def is_busy(self) -> bool:
        """A request waits or runs, or a result is on its way."""
        return bool(self.prefilling.waiting or self.prefilling.chunked or self.running or self._in_flight)

    def iterate(self) -> None:
        """One turn of the event loop: launch a batch, process the result that is due."""
        self.observer.step += 1
        batch = self._next_batch()
        if batch:
            self._report_pools()
            with self.observer.forward_lane():
                self._in_flight.append(self._launch(batch))
        elif self._in_flight:
            self.observer.step -= 1
        else:
            with self.observer.forward_lane():
                self.target.idle(self.config.num_draft_tokens)
        lag = 1 if self.config.overlap and batch else 0
        while len(self._in_flight) > lag:
            self.results.process(self._in_flight.popleft())
        self.running = [request for request in self.running if request.ended is None]

    def _next_batch(self) -> Batch | None:
        if prefill := self.prefilling.batch(len(self.running)):
            self.running += [chunk.request for chunk in prefill.chunks if chunk.last]
            return prefill
        if not self.running:
            return None
        for request in self.growing.grow(self.running):
            self.prefilling.waiting.insert(0, request)
        return Batch(kind="verify", requests=list(self.running), chunks=[])

    def _launch(self, batch: Batch) -> Result:
        if batch.kind == "prefill":
            tokens = [self._extend(chunk) for chunk in batch.chunks]
            return Result(step=self.observer.step, batch=batch, tokens=tokens, accept_lens=[])
        round_ = Round(batch.requests)
        verified = self.verifier.verify(round_, self.drafter.draft(round_))
        self.drafter.follow(round_, verified.tokens, verified.features, verified.lens)
        lens = verified.lens.tolist()
        tokens = [row[:n] for row, n in zip(verified.tokens.tolist(), lens, strict=True)]
        return Result(step=self.observer.step, batch=batch, tokens=tokens, accept_lens=lens)

    def _extend(self, chunk: Chunk) -> list[int]:
        """Compute a chunk in both models; returns the token sampled behind the last one."""
        request, known = chunk.request, chunk.request.tokens
        features, logits = self.target.extend(chunk)
        sampled = [self._sample(logits)] if chunk.last else []
        self.target.report_extend(chunk, sampled[0] if sampled else None)
        following = (known[chunk.start + 1 : chunk.end + 1] + sampled)[: chunk.end - chunk.start]
        request.device = self.drafter.prefill(chunk, following, features)
        return sampled

    def _sample(self, logits: torch.Tensor) -> int:
        if self.config.sampling == "greedy":
            return int(logits.argmax())
        coin = torch.rand((), generator=self._coins, dtype=torch.float64)
        return int(draw((logits / self.config.temperature).softmax(-1), coin))

    def _may_come(self, job: Job) -> bool:
        """What the job continues has been said."""
        return job.follows is None or self.requests[job.follows].ended is not None

    def receive(self, job: Job) -> None:
        """A client's request arrives and waits.

        Raises:
            ValueError: It may grow beyond the context length.
        """
        prompt = list(job.prompt)
        if job.follows:
            earlier = self.requests[job.follows]
            prompt = earlier.prompt + earlier.text + prompt
        longest = len(prompt) + job.max_new_tokens
        if longest > self.config.context_len:
            raise ValueError(f"{job.id} may reach {longest} tokens, context_len is {self.config.context_len}")
        request = Request(
            id=job.id,
            prompt=prompt,
            max_new_tokens=job.max_new_tokens,
            stop_token=job.stop_token,
            session=None if self.states else job.session,  # a row's state can't be rewound to the text
            last_turn=job.last_turn,
        )
        self.requests[job.id] = request
        self.prefilling.waiting.append(request)

    def _abort(self, request: Request) -> None:
        if request in self.prefilling.waiting:
            self.prefilling.waiting.remove(request)
            request.ended = "abort"
            self.observer.emit("note", level="info", text=f"abort of request {request.id} while it waits")
        elif request.ended is None:
            request.aborting = True

    def _report_pools(self) -> None:
        evictable, protected = self.tree.sizes()
        self.observer.emit(
            "pool_stat",
            pool="full",
            available=self.allocator.available,
            evictable=evictable,
            protected=protected,
            session=self.sessions.held,
            total=self.config.slots,
        )
        if self.peers:
            total = self.peers.slots
            self.observer.emit("pool_stat", pool="swa", available=self.peers.available, total=total)
        if self.states:
            available, total = self.states.sidecar.sizes()
            self.observer.emit("pool_stat", pool="c128", available=available, total=total)
