"""The figures say what ran, and the map what the ranks sent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.page.palette import INK
from llmserve_lab.parallelism import map as axes
from llmserve_lab.parallelism.arguments import MODEL, sizes_of
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.dealing import zigzag
from llmserve_lab.parallelism.deployments import eight
from llmserve_lab.parallelism.model import PROMPT, SMALL
from llmserve_lab.parallelism.online import KEYS, QUERIES, TOKENS, VALUES, play
from llmserve_lab.parallelism.page import (
    charts,
    figures,
    pipe_steps,
    ring_steps,
    stills,
)
from llmserve_lab.parallelism.page import questions as module
from llmserve_lab.parallelism.pipeline import pipelined, prefill_plan
from llmserve_lab.parallelism.rows import (
    data_parallel_attention,
    sequence_parallel,
    tensor_parallel,
)
from llmserve_lab.parallelism.timeline import timeline
from llmserve_lab.transformer import Transformer
from tests.page import drawn


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_the_running_softmax_ends_where_one_gpu_ends(ranks: int) -> None:
    for rank, steps in enumerate(play(ranks)):
        last = zigzag(TOKENS, ranks)[rank][-1]
        scores = QUERIES[last] * np.array(KEYS[: last + 1])
        weights = np.exp(scores - scores.max())
        assert steps[-1].largest == scores.max()
        assert steps[-1].total == pytest.approx(weights.sum())
        mixed = weights @ np.array(VALUES[: last + 1]) / weights.sum()
        assert steps[-1].mixed == pytest.approx(mixed)
        told = [score for held in steps for score in held.scores if score is not None]
        assert sorted(told) == sorted(scores)


def test_every_cell_of_the_pipeline_is_a_pass_or_idle() -> None:
    for name, log in figures.pipeline().logs.items():
        cells = log.tables["cells"]
        line = pipe_steps.played(name)
        idle = [cell for cell in cells if cell["ink"] == "idle"]
        assert len(cells) == 4 * line.makespan
        assert len(idle) / len(cells) == pytest.approx(line.bubble)
        assert len(log.frames) == line.makespan


def test_a_hop_sends_the_keys_and_the_values_of_one_gpu() -> None:
    """Numbers, counted in the lists that the toy attends to, each of width one."""
    (log,) = figures.ring().logs.values()
    held = (len(KEYS) + len(VALUES)) / len(play(ring_steps.GPUS))
    for hops, frame in enumerate(log.frames):
        assert frame.counters[:2] == (hops, hops * held)
    pairs = TOKENS * (TOKENS + 1) / 2  # of queries with their own and earlier keys
    assert log.frames[-1].counters[2] == pairs / ring_steps.GPUS


def test_the_map_has_the_bytes_of_runs() -> None:
    """Of a small model and two ranks, in the proportions that the map has for eight."""
    model, n = Transformer(SMALL), len(PROMPT)
    tensor = tensor_parallel(model, PROMPT, 2).ledger.sent_bytes()
    assert sequence_parallel(model, PROMPT, 2).ledger.sent_bytes() == tensor
    halves = [[PROMPT[: n // 2]], [PROMPT[n // 2 :]]]
    assert 2 * data_parallel_attention(model, halves).ledger.sent_bytes() == tensor
    pipe = pipelined(model, prefill_plan([[PROMPT]]), 2).ledger.sent_bytes()
    ring = context_parallel(model, [ContextTurn(PROMPT)], 2).ledger.sent_bytes()
    assert ring == SMALL.kv_bytes_per_token(8) * n
    sent = {name: axes.sent_bytes(name) for name in axes.AXES}
    names = list(axes.AXES)
    assert sent[names[0]] == sent[names[1]] == 2 * sent[names[5]]
    assert sent[names[4]] == 0
    big = MODEL
    assert sent[names[0]] / sent[names[2]] == pytest.approx(4 * big.n_layers)
    assert tensor / pipe == 4 * SMALL.n_layers
    kv = big.kv_bytes_per_token(2) * axes.ROWS
    assert sent[names[3]] == pytest.approx((axes.GPUS - 1) * kv)


def test_the_questions_come_true_in_runs() -> None:
    model = Transformer(SMALL)
    twelve = pipelined(model, prefill_plan([[(1,)]] * 12), 4)
    assert module.bubble.right == pytest.approx(timeline(twelve.results).bubble)
    assert module.FASTER[int(module.predict_alone.right)] == "not faster at all"
    assert module.even.right * 1 * 192_512 == pytest.approx(7 * 13.4e9)


def test_a_pipe_fills_before_it_empties() -> None:
    """Told by whether more stages work in this pass than in the one before."""
    for name, log in pipe_steps.pipeline_steps().logs.items():
        if not name.startswith("prefill"):
            continue
        line = pipe_steps.played(name)
        work = [sum(s.end == frame.at for s in line.spans) for frame in log.frames]
        told = [(n, frame.sentence) for n, frame in enumerate(log.frames)]
        fills = [work[n] for n, said in told if "The pipe fills" in said]
        empties = [work[n] for n, said in told if "The pipe empties" in said]
        assert fills == sorted(fills) and len(set(fills)) == len(fills) > 1
        assert empties == sorted(empties, reverse=True) and len(set(empties)) > 1


@pytest.mark.parametrize(
    ("word", "name"),
    [("dp", "TP 4 × DP 2"), ("mix", "TP 4 × PP 2"), ("pp", "PP 8"), ("tp", "TP 8")],
)
def test_a_number_of_the_text_is_of_the_layout_it_names(word: str, name: str) -> None:
    """Asked of the deployment itself, at the load that the page names."""
    made, said = eight(name, catalog.link("infiniband-ndr"), nics=4), stills.numbers()
    step_ms = 1e3 * made.decode(64, 1000).token_s
    first_ms = 1e3 * made.first_token_s(8192, 2048)
    assert said[f"ms_{word}"] == f"{step_ms:.1f} ms"
    assert said[f"first_{word}"] == f"{first_ms:.0f} ms"
    assert said[f"rate_{word}"] == f"{made.prefill_rate(2048):,.0f}"


def test_replicas_hold_less_by_the_weights_of_one_more_copy() -> None:
    """Two copies of the weights on eight GPUs in place of one: less room for caches."""
    said = stills.numbers()
    more, less = (float(said[f"hold_{word}"].replace(",", "")) for word in ("tp", "dp"))
    copy = said["weights_tp"][0] * 8
    token = float(sizes_of(MODEL)["kv_bytes_per_token"])
    assert (more - less) * token == pytest.approx(copy, abs=1000 * token)


@pytest.mark.parametrize("requests", [64, 256, 1000])
def test_a_pipeline_falls_behind_replicas_by_the_time_of_its_requests(
    requests: int,
) -> None:
    """Paid in both stages; hops explain less than a tenth; the head comes on top."""
    link = catalog.link("infiniband-ndr")
    copies, pipe = (eight(f"TP 4 × {two} 2", link, nics=4) for two in ("DP", "PP"))
    level, after_s = replace(pipe, level=True), copies.decode(requests, 1000).token_s
    late_s = level.decode(requests, 1000).token_s - after_s
    paid_s = requests / 2 * copies.cost().request_s
    assert (
        0.9 * late_s < paid_s < late_s < pipe.decode(requests, 1000).token_s - after_s
    )
    room = [made.held_tokens() // 1000 for made in (copies, pipe)]
    assert room[0] < 1000 < room[1]


def test_counters_of_the_pipeline_are_the_cells_up_to_that_pass() -> None:
    """A batch has left when its cell in the last row is over: never before it could."""
    figure = pipe_steps.pipeline_steps()
    labels = [each.label for each in figure.counters]
    for log in figure.logs.values():
        for frame in log.frames:
            assert frame.at is not None
            known = dict(zip(labels, frame.counters, strict=True))
            over = [c for c in log.tables["cells"] if c["end"] <= frame.at]
            works = [cell["slot"] for cell in over if cell["ink"] != "idle"]
            left = known["batches that have left stage 4"]
            assert left == works.count("stage 4")
            assert left == 0 or frame.at >= pipe_steps.STAGES
            assert known["places used"] == len(works)
            idle = known["places idle so far"]
            assert idle == len(over) - len(works)


@pytest.mark.parametrize("batches", charts.IN_FLIGHT)
def test_the_framed_bar_is_that_of_the_batches_in_flight(batches: int) -> None:
    """Bars stand in the order of their numbers; other sliders do not move the frame."""
    figure = figures.pipe_rate()
    (stages,) = (each for each in figure.sliders if each.name == "n_stages")
    for n in (stages.stops[0], stages.stops[-1]):
        bars = drawn.marks(figure, "rect", n_batches=float(batches), n_stages=n)
        middles = {round(bar["x"] + bar["width"] / 2) for bar in bars}
        framed = [bar for bar in bars if bar["ink"] == INK.name]
        assert len(middles) == len(charts.IN_FLIGHT) and len(framed) == 1
        at = sorted(middles).index(round(framed[0]["x"] + framed[0]["width"] / 2))
        assert charts.IN_FLIGHT[at] == batches
