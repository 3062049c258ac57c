"""Symptom of drafts: speculative decoding that slows down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from llmserve_lab.engine import Acceptance, Chunked, Report, Speculation
from llmserve_lab.kv_memory.machine import BLOCK
from llmserve_lab.speculative.machine import SMALL, draft_cost, fits, usual
from llmserve_lab.symptoms.case import Cause, Remedy, Sign, Symptom, Watchable
from llmserve_lab.symptoms.cases.latency import MACHINE, SECOND
from llmserve_lab.symptoms.dashboard import steady_tokens_per_s
from llmserve_lab.symptoms.served import (
    BUDGET,
    ROUNDS,
    SLOTS,
    WatchedRun,
    backlog,
    changed,
    server,
    with_clients,
)
from llmserve_lab.workloads import Always

DRAFTS, SHORTER = 9, 3
TEXT, WRITTEN = 200, 400  # tokens of a prompt and its answer
Law = Callable[[], Acceptance]  # looked up when it is needed


def poor() -> Acceptance:
    """The law of drafts on a text that the draft model does not know."""
    return Acceptance(0.35)


def _blocks() -> int:
    """Blocks that fit beside the draft model."""
    return fits(SMALL) * -(-1200 // BLOCK)


def _speculating(n_draft: int, law: Acceptance, seed: int) -> Speculation:
    return Speculation(n_draft, law, draft_cost(SMALL), seed=seed)


def _drafted(served: WatchedRun, report: Report) -> Mapping[str, float]:
    """Accepted over proposed drafts, and the rate over that of a run without drafts."""
    speculation = served.pool.speculation
    plain = replace(served, deployment=replace(served.pool, speculation=None))
    gain = steady_tokens_per_s(report) / steady_tokens_per_s(plain.report())
    if speculation is None:
        return {"gain": gain}
    passes = report.gaps.count
    accepted = float(report.output_len.sum()) - report.num_requests - passes
    return {"gain": gain, "acceptance": accepted / passes / speculation.n_draft}


def _drafts(law: Law, clients: int, many: int) -> Callable[[int], Watchable]:
    def build(seed: int) -> Watchable:
        pool = server(
            Chunked(BUDGET, SLOTS),
            kv_blocks=_blocks(),
            speculation=_speculating(DRAFTS, law(), seed),
        )
        requests = backlog(
            many=many, seed=seed, prompt=Always(TEXT), answer=Always(WRITTEN)
        )
        return WatchedRun(requests, pool, clients=clients, more=_drafted)

    return build


def _drafting(n_draft: int, law: Law | None = None) -> Callable[[Watchable], Watchable]:
    """The remedy that drafts another number of tokens, or with another law."""

    def change(setup: Watchable) -> Watchable:
        assert isinstance(setup, WatchedRun)
        now = setup.pool.speculation
        assert now is not None
        other = replace(
            now, n_draft=n_draft, acceptance=law() if law else now.acceptance
        )
        return replace(setup, deployment=replace(setup.pool, speculation=other))

    return change


FEWER = Remedy(
    f"{SHORTER} drafts instead of {DRAFTS}",
    True,
    _drafting(SHORTER),
    "speculative_decoding",
    "num_speculative_tokens",
)
SPECULATION = Symptom(
    key="speculation",
    title="Speculative decoding that slows down",
    symptom="With drafts, an answer is written no faster than without.",
    alarm=Sign("gain", most=1.0),
    goal="gain",
    rising=True,
    question="What share of the drafts is accepted?",
    machine=MACHINE + f", {DRAFTS} drafts of Llama-3.2-1B",
    healthy=_drafts(usual, 4, 48),
    healthy_load="4 clients, 200 + 400 tokens",
    causes=(
        Cause(
            "drafts are rejected",
            "4 clients, 200 + 400 tokens, text that the draft model does not know",
            _drafts(poor, 4, 48),
            (Sign("acceptance", most=0.25),),
            (
                Remedy(
                    "a draft model that knows the text",
                    True,
                    _drafting(DRAFTS, usual),
                    "speculative_decoding",
                ),
                FEWER,
                Remedy("fewer clients", False, with_clients(1), "speculative_decoding"),
            ),
        ),
        Cause(
            "a large batch",
            "256 clients, 200 + 400 tokens",
            _drafts(usual, 256, ROUNDS * 256),
            (Sign("acceptance", least=0.25),),
            (
                FEWER,
                Remedy(
                    "no drafts in large batches",
                    True,
                    changed(speculation=None),
                    "speculative_decoding",
                    "num_speculative_tokens_per_batch_size",
                ),
                SECOND,
            ),
        ),
    ),
)
