"""A hundred small workloads, made up from a seed, for the engine and its slow twin."""

from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import simpy

from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    Disaggregated,
    IterationCost,
    Policy,
    Pool,
    Report,
    Request,
    Static,
    simulate,
)
from tests.engine.slow import Life, Link, Process, Server
from tests.engine.slow_policies import slow_policy


@dataclass(frozen=True)
class Scenario:
    """What is asked of whom; with ``clients``, in a closed loop."""

    requests: tuple[Request, ...]
    deployment: Pool | Disaggregated
    clients: int | None = None

    def fast(self, *, leap: bool = True, log: bool = False) -> Report:
        return simulate(
            self.requests, self.deployment, clients=self.clients, leap=leap, log=log
        )


def cost(draw: Random) -> IterationCost:
    """A machine on which computing and reading, short and long, all come to matter."""
    return IterationCost(
        row_s=draw.uniform(1e-4, 2e-3),
        pair_s=draw.uniform(0, 3e-5),
        weights_s=draw.uniform(1e-3, 1e-2),
        kv_token_s=draw.uniform(0, 1e-4),
        collective_s=draw.choice([0.0, 1e-3]),
        collective_row_s=draw.choice([0.0, 1e-5]),
        overhead_s=draw.choice([0.0, 2e-3]),
        overlap=draw.choice([1.0, 1.0, 0.5, 0.0]),
        kv_bytes_per_token=1.0,
        n_layers=draw.randint(1, 5),
    )


def policy(draw: Random, *, frozen: bool) -> Policy:
    max_batch = draw.choice([2, 4, 256])
    return draw.choice(
        [
            *([Static(draw.randint(1, 5))] if frozen else []),
            Continuous(max_batch),
            Continuous(max_batch, mixed=False),
            Continuous(max_batch, reserve_output=True),
            Chunked(draw.randint(3, 40), max_batch),
            ChunkedWithin(draw.uniform(0.005, 0.03), max_batch, least=2),
        ]
    )


def pool(draw: Random, *, replicas: int, frozen: bool = False) -> Pool:
    blocks = draw.choice([8, 12, 40])  # a request needs up to 7: memory is often short
    rules = policy(draw, frozen=frozen)
    return Pool(cost(draw), rules, replicas, kv_blocks=blocks)


def scenario(seed: int) -> Scenario:
    """One in five has two pools, and one in four is a closed loop."""
    draw = Random(seed)
    now_s, requests = 0.0, []
    for number in range(draw.randint(3, 16)):
        now_s += draw.expovariate(draw.choice([5, 30, 1000]))
        prompt, output = draw.randint(1, 70), draw.randint(1, 40)
        requests.append(
            Request(arrival_s=now_s, prompt_len=prompt, output_len=output, id=number)
        )
    clients = draw.randint(1, 6) if draw.random() < 0.25 else None
    deployment: Pool | Disaggregated
    deployment = pool(draw, replicas=draw.choice([1, 1, 2]), frozen=True)
    if seed % 5 == 0:
        deployment = Disaggregated(
            prefill=pool(draw, replicas=draw.randint(1, 2)),
            decode=pool(draw, replicas=draw.randint(1, 2)),
            bytes_per_s=draw.uniform(300, 10_000),
            latency_s=draw.choice([0.0, 3e-3]),
            streamed=draw.random() < 0.5,
        )
    return Scenario(tuple(requests), deployment, clients)


def slow(scenario: Scenario, number: Any = float) -> dict[int, Life]:
    """Play it out on SimPy; what happened to each request, by its id.

    Times are of the kind that ``number`` makes of a float.
    """
    env, deployment = simpy.Environment(number(0.0)), scenario.deployment
    lives: dict[int, Life] = {}

    def servers(of: Pool) -> list[Server]:
        cost = SimpleNamespace(
            **{k: number(v) for k, v in vars(of.cost).items() if v is not None}
        )
        made = [
            Server(env, cost, slow_policy(of.policy, number), of.num_blocks)
            for _ in range(of.replicas)
        ]
        for server in made if of.swap_bytes_per_s else []:
            bytes_per_s = number(of.swap_bytes_per_s)
            server.swap_s = cost.kv_bytes_per_token * cost.kv_copies / bytes_per_s
        return made

    def send(request: Request) -> Life:
        life = lives[request.id] = Life(request, env.now)
        least_busy(front).put(life)
        return life

    def by_themselves() -> Process:
        for request in scenario.requests:
            yield env.timeout(number(request.arrival_s) - env.now)
            send(request)

    def client() -> Process:
        while todo:
            life, answered = send(todo.pop(0)), env.event()
            bells[life.request.id] = answered
            yield answered

    def ring(life: Life) -> None:
        if life.request.id in bells:
            bells[life.request.id].succeed()

    if isinstance(deployment, Disaggregated):
        front, back = servers(deployment.prefill), servers(deployment.decode)
        for server in front:
            connect(server, back, deployment, number)
    else:
        front = back = servers(deployment)
    todo, bells = list(scenario.requests), dict[int, simpy.Event]()
    for server in {*front, *back}:
        server.on_answer = ring
    for _ in range(scenario.clients or 0):
        env.process(client())
    if not scenario.clients:
        env.process(by_themselves())
    env.run()
    return lives


def least_busy(servers: list[Server]) -> Server:
    return min(servers, key=lambda server: server.busy_for)


def connect(
    server: Server, back: list[Server], deployment: Disaggregated, number: Any
) -> None:
    def arrive(life: Life) -> None:
        life.blocks, life.decodes = 0, False
        least_busy(back).put(life)

    Link(
        server,
        arrive,
        token_s=1 / number(deployment.bytes_per_s),
        latency_s=number(deployment.latency_s),
        layers=deployment.prefill.cost.n_layers,
        streamed=deployment.streamed,
    )
