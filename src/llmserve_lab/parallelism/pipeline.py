"""Pipeline parallelism: microbatches go through stages, and each stage is a rank.

A microbatch is a group of requests that is in one forward pass. Its tokens are known
(a prompt, or a chunk of one), or they are what the last stage chose for the group
before: then the first stage has to wait for them. That is all the difference between
the bubble of prefill and that of decode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llmserve_lab.checks import MOST_PLAYED, whole
from llmserve_lab.collectives import ClusterRun, Rank, run
from llmserve_lab.parallelism.stages import PipelineStage, layers_of
from llmserve_lab.transformer import Transformer, cumulative, next_token
from llmserve_lab.transformer.arithmetic import Array

Prompts = Sequence[Sequence[int]]  # token ids of the requests of one group


@dataclass(frozen=True)
class Microbatch:
    """A forward pass of one ``group`` of requests.

    ``tokens`` are those of each request; None asks for one new token of each, which
    the last stage chose in the group's pass before.
    """

    group: int
    tokens: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class StagePass:
    """What a stage did with one microbatch, and which stage it had to wait for."""

    microbatch: int
    group: int
    n_layers: int
    n_rows: int
    waited_for: tuple[int, int] | None  # (stage, microbatch) that had to be done first


@dataclass(frozen=True)
class StageOutput:
    """The log of one stage; the last one also has the logits of each microbatch."""

    passes: tuple[StagePass, ...]
    logits: tuple[Array, ...]


def prefill_plan(groups: Sequence[Prompts]) -> tuple[Microbatch, ...]:
    """One pass for the prompts of each group.

    Raises:
        ValueError: there is no group, or one has no request.
    """
    if not groups:
        raise ValueError("groups must hold at least 1 microbatch, got none")
    if not all(groups):
        raise ValueError("groups must have at least 1 request each, got an empty one")
    return tuple(
        Microbatch(place, tuple(tuple(tokens) for tokens in prompts))
        for place, prompts in enumerate(groups)
    )


def chunked_plan(prompt: Sequence[int], chunk: int) -> tuple[Microbatch, ...]:
    """One pass for each chunk of a single prompt: a stage's cache links them.

    Raises:
        ValueError: a chunk has no token, or the prompt has none.
    """
    whole(of="token", chunk=chunk, prompt=len(prompt))
    starts = range(0, len(prompt), chunk)
    return tuple(Microbatch(0, (tuple(prompt[i : i + chunk]),)) for i in starts)


def decode_plan(groups: Sequence[Prompts], num_tokens: int) -> tuple[Microbatch, ...]:
    """The prompts' passes, then every group in turn for its next token, and again.

    Raises:
        ValueError: there is no group, an empty one, or no token is wanted.
    """
    whole(of="token", most=MOST_PLAYED, num_tokens=num_tokens)
    first = prefill_plan(groups)
    turns = [Microbatch(each.group) for each in first]
    return first + tuple(turns) * (num_tokens - 1)


def links(plan: Sequence[Microbatch]) -> dict[int, int]:
    """Microbatch → the one whose result it waits for: same group, its pass before.

    Raises:
        ValueError: a group wants a next token before it had a prompt.
    """
    found: dict[int, int] = {}
    seen: dict[int, int] = {}
    for place, batch in enumerate(plan):
        if batch.tokens is None:
            if batch.group not in seen:
                raise ValueError(
                    f"plan must begin group {batch.group} with a prompt, got a decode "
                    f"pass at microbatch {place}"
                )
            found[place] = seen[batch.group]
        seen[batch.group] = place
    return found


class _Runner:
    """One stage at work: its caches, its log, and the tokens that come back to it."""

    def __init__(
        self, rank: Rank, model: Transformer, plan: Sequence[Microbatch]
    ) -> None:
        self.rank, self.plan, self.after = rank, plan, links(plan)
        self.stage = PipelineStage(model, rank.index, rank.num_ranks)
        self.returning = iter(sorted(self.after.values()))
        self.chosen: dict[int, Sequence[int]] = {}
        self.caches = {
            batch.group: [self.stage.new_cache(_capacity(plan)) for _ in batch.tokens]
            for batch in plan
            if batch.tokens is not None
        }
        self.passes: list[StagePass] = []
        self.logits: list[Array] = []

    def do(self, place: int) -> None:
        """Take a microbatch in, run it through the layers, hand it on."""
        batch = self.plan[place]
        caches = self.caches[batch.group]
        lengths = (
            [len(one) for one in batch.tokens] if batch.tokens else [1] * len(caches)
        )
        rows, waited_for = self._rows_in(place)
        rows = self.stage(rows, cumulative(lengths), caches)
        self.passes.append(
            StagePass(place, batch.group, len(self.stage.layers), len(rows), waited_for)
        )
        if self.stage.is_last:
            self._choose(place, rows, lengths)
        else:
            self.rank.send(rows, dst=self.rank.index + 1)

    def _rows_in(self, place: int) -> tuple[Array, tuple[int, int] | None]:
        """Rows [n, d] of a microbatch, and the pass of another stage that made them."""
        if not self.stage.is_first:
            before = self.rank.index - 1
            return self.rank.recv(src=before), (before, place)
        if (given := self.plan[place].tokens) is not None:
            return self.stage.embed([token for one in given for token in one]), None
        wanted = self.after[place]
        while wanted not in self.chosen:
            came = self.rank.recv(src=self.rank.num_ranks - 1)
            self.chosen[next(self.returning)] = came.tolist()
        return self.stage.embed(self.chosen[wanted]), (self.rank.num_ranks - 1, wanted)

    def _choose(self, place: int, rows: Array, lengths: Sequence[int]) -> None:
        """Logits of a microbatch; the next tokens go back to the first stage."""
        self.logits.append(self.stage.model.logits(rows))
        if place not in self.after.values():
            return
        ends = np.cumsum(lengths) - 1
        chosen = [next_token(one) for one in self.logits[-1][ends]]
        if self.stage.is_first:
            self.chosen[place] = chosen
        else:
            self.rank.send(np.array(chosen), dst=0)


def _capacity(plan: Sequence[Microbatch]) -> int:
    """Tokens that no request of the plan exceeds."""
    return sum(max(map(len, batch.tokens)) if batch.tokens else 1 for batch in plan)


def on_stage(rank: Rank, model: Transformer, plan: Sequence[Microbatch]) -> StageOutput:
    """Do this stage's part of every microbatch of the plan, in its order."""
    runner = _Runner(rank, model, plan)
    for place in range(len(plan)):
        runner.do(place)
    return StageOutput(tuple(runner.passes), tuple(runner.logits))


def pipelined(
    model: Transformer,
    plan: Sequence[Microbatch],
    num_stages: int,
    *,
    backend: Literal["lockstep", "mpi"] = "lockstep",
) -> ClusterRun[StageOutput]:
    """Run a plan on ``num_stages`` ranks: logs, logits (on the last), and the ledger.

    Raises:
        ValueError: there is no microbatch, or there are more stages than layers.
    """
    if not plan:
        raise ValueError("plan must hold at least 1 microbatch, got none")
    layers_of(0, num_stages, model.shape.n_layers)
    return run(on_stage, num_stages, model, tuple(plan), backend=backend)
