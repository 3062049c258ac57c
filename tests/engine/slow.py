"""The engine once more, on SimPy: every token, every row, every layer of its own.

It shares nothing with the engine but what it is told, and sums nothing in closed form;
told fractions, it rounds nothing. It is slow.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

import simpy

from llmserve_lab.engine import Request
from tests.engine.slow_orders import last_out

Process = Generator[simpy.Event, Any, None]
HOPS = 6  # from a server's end over the link to another, all in no time


@dataclass(eq=False)
class Life:
    """One request and all that has happened to it."""

    request: Request
    arrived_s: float
    cached: int = 0
    blocks: int = 0
    decodes: bool = False
    scheduled_s: float = -1.0
    answered_s: float = -1.0
    preemptions: int = 0
    token_times_s: list[float] = field(default_factory=list)

    @property
    def known(self) -> int:
        return self.request.prompt_len + len(self.token_times_s)

    @property
    def wants(self) -> int:
        return self.request.output_len - len(self.token_times_s)


def iteration_s(cost: Any, rows: list[tuple[int, int]]) -> Any:
    """Seconds of an iteration of (new rows, cached before), row after row."""
    compute, memory = 0, cost.weights_s
    sent = cost.collective_s
    for new, cached in rows:
        memory += cached * cost.kv_token_s
        for row in range(new):
            compute += cost.row_s + (cached + row + 1) * cost.pair_s
            sent += cost.collective_row_s
    hidden = cost.overlap * min(compute, memory)
    return compute + memory - hidden + sent + cost.overhead_s


class Server:
    """A process that runs one iteration after the other, and sleeps when it cannot."""

    def __init__(self, env: Any, cost: Any, policy: Any, blocks: int) -> None:
        self.env, self.cost, self.policy = env, cost, policy
        self.size, self.free = 16, blocks
        self.swap_s: Any = None  # seconds to copy a token, or nothing is swapped
        self.copy_s: Any = 0
        self.waiting: list[Life] = []
        self.batch: list[Life] = []
        self.done: list[Life] = []
        self.busy_for = 0
        self.link: Link | None = None
        self.on_answer: Callable[[Life], None] = lambda life: None
        self.bell = env.event()
        env.process(self.work())

    def ring(self) -> None:
        if not self.bell.triggered:
            self.bell.succeed()

    def put(self, life: Life) -> None:
        self.waiting.append(life)
        self.busy_for += 1
        self.ring()

    def admit(self, life: Life, *, tokens: int) -> bool:
        """Give it blocks for so many tokens, if there are enough."""
        need = (tokens + self.size - 1) // self.size
        if need > self.free:
            return False
        self.free -= need
        life.blocks = need
        self.waiting.remove(life)
        self.batch.append(life)
        if life.preemptions and self.swap_s is not None:
            self.copy_s += life.cached * self.swap_s
        if life.scheduled_s < 0:
            life.scheduled_s = self.env.now
        return True

    def work(self) -> Process:
        while True:
            for _ in range(HOPS):  # let everybody come who comes now
                yield self.env.timeout(0)
            plan = self.policy.rows(self)
            if not plan:
                self.bell = self.env.event()
                yield self.bell
                continue
            carried = self.policy.padded(self, plan)
            length_s = iteration_s(self.cost, carried) + self.copy_s
            self.copy_s = 0
            if self.link is not None:
                self.link.watch(plan, length_s)
            yield self.env.timeout(length_s)
            self.account(plan)

    def account(self, plan: list[tuple[Life, int]]) -> None:
        spoke = []
        for life, rows in plan:
            life.cached += rows
            if life.cached == life.known:
                life.token_times_s.append(self.env.now)
                spoke.append(life)
        for life in [life for life in spoke if life.wants == 0]:
            self.batch.remove(life)
            self.done.append(life)
        if not (self.policy.static_batch and self.batch):
            for life in self.done:
                self.answer(life)
            self.done.clear()
        for life in [life for life in spoke if life.wants]:
            life.decodes = True
            if self.link is not None:
                self.batch.remove(life)
                self.busy_for -= 1
                self.link.hand_over(life)
        if not self.policy.reserve_output:
            self.grow([life for life in self.batch if life in spoke])

    def answer(self, life: Life) -> None:
        self.free += life.blocks
        self.busy_for -= 1
        life.answered_s = self.env.now
        self.on_answer(life)

    def grow(self, spoke: list[Life]) -> None:
        """From the oldest on, one block where one is full; the victims pay."""
        for life in spoke:
            while life in self.batch and life.blocks * self.size < life.known:
                if self.free:
                    self.free -= 1
                    life.blocks += 1
                else:
                    self.preempt(last_out(self.policy.order, self))

    def preempt(self, life: Life) -> None:
        self.batch.remove(life)
        self.waiting.insert(0, life)
        self.free += life.blocks
        life.blocks = 0
        if self.swap_s is None:
            life.cached = 0
        else:
            self.copy_s += life.cached * self.swap_s
        life.decodes = False
        life.preemptions += 1


class Link:
    """A process that sends one piece after the other, each when it is ready."""

    def __init__(
        self,
        server: Server,
        arrive: Callable[[Life], None],
        *,
        token_s: Any,
        latency_s: Any,
        layers: int,
        streamed: bool,
    ) -> None:
        self.server, self.arrive, self.env = server, arrive, server.env
        self.token_s, self.latency_s = token_s, latency_s
        self.layers, self.streamed = layers, streamed
        self.pieces, server.link = simpy.Store(self.env), self
        self.env.process(self.send())

    def watch(self, plan: list[tuple[Life, int]], length_s: float) -> None:
        """An iteration begins: each layer will be ready in its turn."""
        for life, rows in plan if self.streamed else []:
            for layer in range(1, self.layers + 1):
                ready_s = self.env.now + length_s * layer / self.layers
                self.pieces.put((ready_s, rows * self.token_s / self.layers, None))
            if life.cached + rows == life.known and life.wants > 1:
                self.pieces.put((0, 0, life))

    def hand_over(self, life: Life) -> None:
        """The prompt is through; when all of it has been sent, it arrives."""
        if not self.streamed:
            self.pieces.put((0, life.cached * self.token_s, life))

    def send(self) -> Process:
        while True:
            ready_s, takes_s, last_of = yield self.pieces.get()
            yield self.env.timeout(max(0, ready_s - self.env.now) + takes_s)
            if last_of is not None:
                self.env.process(self.land(last_of))

    def land(self, life: Life) -> Process:
        yield self.env.timeout(self.latency_s)
        self.server.free += life.blocks
        self.server.ring()
        self.arrive(life)
