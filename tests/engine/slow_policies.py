"""The policies once more, as one would write them on a blackboard.

``rows`` returns who runs how many rows in the next iteration, ``padded`` what is really
carried: a (new rows, cached before) for each slot.
"""

from dataclasses import dataclass
from typing import Any

from tests.engine.slow import Life, Server, iteration_s
from tests.engine.slow_orders import first_in

Rows = list[tuple[Life, int]]


class Usual:
    order: Any = None
    static_batch = False
    reserve_output: bool
    max_batch: int

    def padded(self, server: Server, plan: Rows) -> list[tuple[int, int]]:
        return [(rows, life.cached) for life, rows in plan]

    def next_in(self, server: Server) -> Life | None:
        """The first of the queue, if it may come in."""
        if len(server.batch) >= self.max_batch or not server.waiting:
            return None
        life = sorted(server.waiting, key=first_in(self.order, server))[0]
        tokens = life.known + (life.wants - 1 if self.reserve_output else 0)
        return life if server.admit(life, tokens=tokens) else None


@dataclass
class Orca(Usual):
    max_batch: int
    mixed: bool
    reserve_output: bool

    def rows(self, server: Server) -> Rows:
        while self.next_in(server):
            pass
        pending = [(life, life.known - life.cached) for life in server.batch]
        prompts = [(life, n) for life, n in pending if not life.decodes]
        if not self.mixed and any(n > 1 for _, n in prompts):
            return prompts
        return pending


@dataclass
class Sarathi(Usual):
    max_batch: int
    budget: int
    reserve_output: bool = False

    def rows(self, server: Server) -> Rows:
        plan = [(life, 1) for life in server.batch if life.decodes]
        prompts = [life for life in server.batch if not life.decodes]
        while (left := self.budget - sum(n for _, n in plan)) > 0:
            life = prompts.pop(0) if prompts else self.next_in(server)
            if life is None:
                break
            plan.append((life, min(left, life.known - life.cached)))
        return plan


@dataclass
class InTime(Usual):
    max_batch: int
    tbt_s: float
    least: int
    reserve_output: bool = False

    def most(self, server: Server, plan: Rows, cached: int) -> int:
        """Try one row more, and another, until the iteration is too long."""
        before, rows = self.padded(server, plan), 0
        while iteration_s(server.cost, [*before, (rows + 1, cached)]) <= self.tbt_s:
            rows += 1
        return rows

    def rows(self, server: Server) -> Rows:
        plan = [(life, 1) for life in server.batch if life.decodes]
        prompts = [life for life in server.batch if not life.decodes]
        chunks = 0
        while chunks == 0 or self.most(server, plan, 0) > 0:
            life = prompts.pop(0) if prompts else self.next_in(server)
            if life is None:
                break
            most = self.most(server, plan, life.cached)
            rows = min(
                life.known - life.cached, most if chunks else max(most, self.least)
            )
            if rows == 0:
                break
            plan.append((life, rows))
            chunks += 1
        return plan


@dataclass
class Frozen(Usual):
    batch: int
    static_batch = True
    reserve_output: bool = True
    width: int = 0

    def rows(self, server: Server) -> Rows:
        if not server.batch:
            self.open(server)
        return [(life, life.known - life.cached) for life in server.batch]

    def open(self, server: Server) -> None:
        group: list[Life] = []
        queue = sorted(server.waiting, key=first_in(self.order, server))
        for life in queue[: self.batch]:
            if self.room(server, [*group, life]) * (len(group) + 1) > server.free:
                break
            group.append(life)
        self.slots = group
        self.width = max((life.request.prompt_len for life in group), default=0)
        for life in group:
            server.admit(life, tokens=self.room(server, group) * server.size)

    def room(self, server: Server, group: list[Life]) -> int:
        """Blocks for the longest prompt and the longest reply."""
        prompt = max(life.request.prompt_len for life in group)
        reply = max(life.request.output_len for life in group)
        return -(-(prompt + reply - 1) // server.size)

    def padded(self, server: Server, plan: Rows) -> list[tuple[int, int]]:
        said = len(plan[0][0].token_times_s)
        one = (self.width, 0) if said == 0 else (1, self.width + said - 1)
        return [one for _ in self.slots]


def slow_policy(policy: Any, number: Any) -> Usual:
    """The blackboard's version of one of the engine's policies, and of its order."""
    made = _rows_of(policy, number)
    made.order = policy.order
    return made


def _rows_of(policy: Any, number: Any) -> Usual:
    match type(policy).__name__:
        case "Static":
            return Frozen(policy.batch)
        case "Continuous":
            return Orca(policy.max_batch, policy.mixed, policy.reserve_output)
        case "Chunked":
            return Sarathi(policy.max_batch, policy.budget)
        case _:
            return InTime(policy.max_batch, number(policy.tbt_s), policy.least)
