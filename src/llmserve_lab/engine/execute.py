"""Execution on a real transformer of what the scheduler decides, row by row.

Every iteration of the simulated engine becomes one forward pass over one stack of rows:
chunks of prompts and single tokens. The policy decides when a row is run and beside
which others; the tokens must not depend on it. Padding is not run, only simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Protocol

import numpy as np

from llmserve_lab.engine.arrivals import OpenLoop
from llmserve_lab.engine.deployment import Disaggregated, Pool
from llmserve_lab.engine.metrics.iteration_record import ScheduledTokens
from llmserve_lab.engine.metrics.report import Report, report_of
from llmserve_lab.engine.metrics.request_log import RequestLog
from llmserve_lab.engine.replica import Replica
from llmserve_lab.engine.scheduler.request import Request
from llmserve_lab.engine.system import System


class Cache(Protocol):
    """The KV cache of one request."""

    length: int

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""


class Model(Protocol):
    """What is asked of a transformer, as the book's own gives it."""

    def new_cache(self, capacity_tokens: int) -> Any:
        """An empty cache for one request."""

    def forward_packed(
        self, tokens: Any, cu_seqlens: Sequence[int], caches: Sequence[Any] | None
    ) -> Any:
        """Token ids [n] of several requests → logits [n, V]; caches grow by theirs."""


@dataclass(frozen=True)
class ExecutedRun:
    """Token ids by request, the passes that they came from, and the simulated times."""

    tokens: Mapping[int, tuple[int, ...]]
    passes: Sequence[tuple[ScheduledTokens, ...]]
    report: Report


@dataclass
class ModelRunner:
    """Holds the text and the cache of every request, and runs what it is told to."""

    model: Model
    texts: dict[int, list[int]]
    room_tokens: dict[int, int]
    caches: dict[int, Any] = field(default_factory=dict)
    passes: list[tuple[ScheduledTokens, ...]] = field(default_factory=list)
    draft: Model | None = None
    kept: dict[int, int] = field(default_factory=dict)

    def keep(self, request_id: int, _emitted: int) -> int:
        """Drafts that the last pass kept, as it was run."""
        return self.kept[request_id]

    def perform(self, replica: Replica) -> None:
        """Run the iteration that ``replica`` has just simulated."""
        slices = tuple(replica.scheduled())
        for each in slices:
            if each.context == 0:  # a new request, or one that was preempted
                room = self.room_tokens[each.id] + replica.decode_rows - 1
                self.caches[each.id] = self.model.new_cache(room)
            held = self.caches[each.id].length
            if held != each.context:
                raise RuntimeError(f"{each} must continue its cache, which has {held}")
        self._forward(slices)
        self.passes.append(slices)

    def _forward(self, slices: Sequence[ScheduledTokens]) -> None:
        """One pass; a request with nothing pending after it has its next token."""
        parts = [self._rows(each) for each in slices]
        bounds = list(accumulate((each.rows for each in slices), initial=0))
        stack = np.array([token for part in parts for token in part])
        caches = [self.caches[each.id] for each in slices]
        logits = self.model.forward_packed(stack, bounds, caches)
        for each, part, end in zip(slices, parts, bounds[1:], strict=True):
            said = [
                int(token) for token in logits[end - each.rows : end].argmax(axis=1)
            ]
            self._read(each, part, said)

    def _rows(self, each: ScheduledTokens) -> list[int]:
        """The tokens of a slice; where the text ends before it, drafts are added."""
        text = self.texts[each.id]
        known = text[each.context : each.context + each.rows]
        if len(known) == each.rows:
            return known
        assert self.draft is not None
        drafted = list(text)
        while len(drafted) < each.context + each.rows:
            logits = self.draft.forward_packed(drafted, (0, len(drafted)), None)
            drafted.append(int(np.argmax(logits[-1])))
        return drafted[each.context :]

    def _read(self, each: ScheduledTokens, part: list[int], said: list[int]) -> None:
        """Take the tokens that a slice yields: drafts that are right, and one more."""
        text = self.texts[each.id]
        drafts = part[len(text) - each.context :]
        if each.context + each.rows < len(text):
            return
        said = said[len(said) - len(drafts) - 1 :]
        kept = 0
        while kept < len(drafts) and drafts[kept] == said[kept]:
            kept += 1
        if drafts:
            self.kept[each.id] = kept
            self.caches[each.id].rewind(len(text) + kept)
        room = self.room_tokens[each.id]
        self.texts[each.id] = (text + drafts[:kept] + [said[kept]])[:room]


def execute(
    model: Model,
    requests: Sequence[Request],
    prompts: Mapping[int, Sequence[int]],
    deployment: Pool | Disaggregated,
    *,
    draft: Model | None = None,
) -> ExecutedRun:
    """Serve ``requests``, whose ``prompts`` are given by id, for real; greedy decoding.

    Where the deployment speculates, ``draft`` guesses the tokens, and what is kept is
    what ``model`` says too, not what the law of acceptance draws.

    Raises:
        ValueError: two requests have one id, a prompt is missing or not as long as its
            request says, the deployment shares prefixes, which have no cache here, or
            it speculates and there is no draft.
    """
    _check(requests, prompts)
    system, record = System(deployment, leap=False, log=True), RequestLog()
    runner = ModelRunner(
        model,
        texts={each.id: list(prompts[each.id]) for each in requests},
        room_tokens={each.id: each.prompt_len + each.output_len for each in requests},
        draft=draft,
    )
    for replica in system.replicas:
        if replica.prefix_cache is not None or replica.memory is not None:
            raise ValueError("deployment must not share prefixes, got one that does")
        replica.perform = runner.perform
        if replica.speculation is not None:
            if draft is None:
                raise ValueError("draft must be a model to speculate with, got None")
            replica.keep = runner.keep
    system.serve(OpenLoop(requests), record, stop=None)
    said = {each.id: runner.texts[each.id][each.prompt_len :] for each in requests}
    tokens = {number: tuple(text) for number, text in said.items()}
    return ExecutedRun(tokens, runner.passes, report_of(system, record, stopped=False))


def _check(requests: Sequence[Request], prompts: Mapping[int, Sequence[int]]) -> None:
    """Refuse requests that share an id, and prompts that are not theirs."""
    if len({each.id for each in requests}) < len(requests):
        raise ValueError("requests must have an id each, got one of them twice")
    for request in requests:
        if request.id not in prompts:
            raise ValueError(f"prompts must hold one for request {request.id}")
        length, told = len(prompts[request.id]), request.prompt_len
        if length != told:
            raise ValueError(
                f"prompt of request {request.id} must have {told} tokens, got {length}"
            )
