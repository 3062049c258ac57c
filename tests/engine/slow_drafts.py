"""Speculative decoding once more, on SimPy: drafts, rows and tokens one by one."""

from types import SimpleNamespace
from typing import Any

import simpy

from llmserve_lab.engine import Pool, Speculation
from tests.engine.scenarios import Scenario, least_busy
from tests.engine.slow import Life, Process, Server, iteration_s
from tests.engine.slow_policies import Rows, slow_policy


class DraftingServer(Server):
    """A server whose decodes verify drafts before they speak."""

    speculation: Speculation

    def work(self) -> Process:
        while True:
            yield self.env.timeout(0)
            plan = self.planned()
            if not plan:
                self.bell = self.env.event()
                yield self.bell
                continue
            yield self.env.timeout(self.seconds(plan))
            kept = {life: self.kept(life) for life, _ in plan if life.decodes}
            for life, drafts in kept.items():
                life.cached += drafts
                life.token_times_s += [self.env.now] * drafts
            self.account(plan)

    def planned(self) -> Rows:
        """The policy sees every draft as a row; it plans one row for a decode."""
        budget = getattr(self.policy, "budget", None)
        decodes = sum(life.decodes for life in self.batch)
        if budget is not None:
            self.policy.budget = budget - decodes * self.speculation.n_draft
        plan: Rows = self.policy.rows(self)
        if budget is not None:
            self.policy.budget = budget
        return plan

    def seconds(self, plan: Rows) -> Any:
        drafts = self.speculation.n_draft
        verified = [
            (rows + drafts if life.decodes else rows, life.cached)
            for life, rows in plan
        ]
        total = iteration_s(self.cost, verified)
        model = self.speculation.draft
        if model is not None:
            prompts = [(n, life.cached) for life, n in plan if not life.decodes]
            asked = [life.cached for life, _ in plan if life.decodes]
            for number in range(drafts if asked else 1):
                rows = [(1, cached + number) for cached in asked]
                total += iteration_s(model, rows + (prompts if number == 0 else []))
        return total

    def kept(self, life: Life) -> int:
        """What the same dice give, but never more than the request wants."""
        said = len(life.token_times_s)
        return min(self.speculation.kept(life.request.id, said), life.wants - 1)


def slow_drafts(scenario: Scenario, pool: Pool) -> dict[int, Life]:
    """Play an open workload out on servers that verify drafts."""
    assert pool.speculation is not None
    env, lives = simpy.Environment(), dict[int, Life]()
    cost = SimpleNamespace(**vars(pool.cost))
    servers = []
    for _ in range(pool.replicas):
        server = DraftingServer(env, cost, slow_policy(pool.policy, float), 0)
        server.free, server.speculation = pool.num_blocks, pool.speculation
        servers.append(server)

    def arrive() -> Process:
        for request in scenario.requests:
            yield env.timeout(request.arrival_s - env.now)
            life = lives[request.id] = Life(request, env.now)
            least_busy(list(servers)).put(life)

    env.process(arrive())
    env.run()
    return lives
