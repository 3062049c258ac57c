"""The step figure tells what the four ranks did, copy by copy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab.moe import toy
from llmserve_lab.moe.page import dispatch
from llmserve_lab.moe.parallel import row_bytes

WIDTH = 16
ROW = WIDTH * 8  # bytes


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_the_copies_are_those_on_the_ledger(name: str) -> None:
    """A copy and its answer are a row each; the ledger knows nothing of the figure."""
    run = toy.executed(*dispatch.LOGS[name])
    assert row_bytes(run.ledger, WIDTH) == 2 * dispatch.sent(run) * ROW
    frames = dispatch.dispatch_and_combine().logs[name].frames
    found = [frame.counters[0] for frame in frames]
    there, back = dispatch.sent(run), row_bytes(run.ledger, WIDTH) / ROW
    assert found == [0, 0, there, there, back, back]


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_the_choices_are_counted_as_soon_as_the_router_has_made_them(name: str) -> None:
    _, popular = dispatch.LOGS[name]
    chosen, _ = toy.layer(popular).route(np.concatenate(toy.tokens()))
    homes = [toy.home(expert) for expert in chosen.ravel().tolist()]
    busiest = max(homes.count(gpu) for gpu in range(toy.GPUS))
    frames = dispatch.dispatch_and_combine().logs[name].frames
    found = [frame.counters[1] for frame in frames]
    assert found == ["not yet", *[busiest] * 5]


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_what_was_sent_is_what_came(name: str) -> None:
    """Senders' parcels against the gates that each rank was handed."""
    run = toy.executed(*dispatch.LOGS[name])
    for gpu, log in enumerate(run.exchanges):
        sent = [asked for _, _, there, asked in dispatch.parcels(run) if there == gpu]
        came = [np.flatnonzero(gates).tolist() for gates in log.arrived]
        assert sent == came
        assert all(toy.home(expert) == gpu for asked in came for expert in asked)
        assert sum(log.came) == len(came)


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_every_choice_of_the_router_reaches_its_expert_once(name: str) -> None:
    copies, popular = dispatch.LOGS[name]
    chosen, _ = toy.layer(popular).route(np.concatenate(toy.tokens()))
    wanted = sorted(
        (int(e), *divmod(t, 2)) for t, row in enumerate(chosen) for e in row
    )
    queues = dispatch.queues(toy.executed(copies, popular))
    assert wanted == sorted(
        (e, *who) for e, queue in enumerate(queues) for who in queue
    )


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_the_sums_are_those_of_one_gpu(name: str) -> None:
    copies, popular = dispatch.LOGS[name]
    expected = toy.layer(popular).dense(np.concatenate(toy.tokens()))
    assert np.allclose(toy.executed(copies, popular).rows, expected)


def test_one_copy_for_each_gpu_saves_those_of_shared_homes() -> None:
    each, fewer = (toy.executed(copies) for copies in ("expert", "rank"))
    chosen, _ = toy.layer().route(np.concatenate(toy.tokens()))
    shared = sum(len({toy.home(e) for e in row}) < len(row) for row in chosen.tolist())
    assert len(dispatch.parcels(each)) - len(dispatch.parcels(fewer)) == shared > 0
    assert dispatch.loads(each) == dispatch.loads(fewer)


def test_favourites_crowd_one_gpu() -> None:
    loads = dispatch.loads(toy.executed("expert", True))
    assert max(loads) == loads[0] > max(dispatch.loads(toy.executed()))
    assert sum(loads) == toy.GPUS * toy.TOKENS * toy.TOP_K


@pytest.mark.parametrize("name", dispatch.LOGS)
def test_a_weight_is_written_at_its_expert(name: str) -> None:
    """Beside each token when it is routed, and again in the sum of its answers."""
    _, popular = dispatch.LOGS[name]
    layer, rows = toy.layer(popular), np.concatenate(toy.tokens())
    chosen, weights = layer.route(rows)
    scores = rows @ layer.weights["router"]
    texts = [
        str(row["text"])
        for row in dispatch.dispatch_and_combine().logs[name].tables["routes"]
    ]
    told = [text for text in texts if not text.startswith("=")]
    summed = [text for text in texts if text.startswith("=")]
    routes = [dict(re.findall(r"E(\d) (\.\d+)", text)) for text in told]
    sums = [{e: w for w, e in re.findall(r"(\.\d+) E(\d)", text)} for text in summed]
    assert routes == sums and len(routes) == len(rows)
    for route, experts, given in zip(routes, chosen, weights, strict=True):
        want = {str(e): f"{w:.2f}"[1:] for e, w in zip(experts, given, strict=True)}
        assert route == want
    for route, row in zip(routes, scores, strict=True) if not popular else ():
        order = sorted(route, key=lambda each: -row[int(each)])
        assert float(route[order[0]]) >= float(route[order[-1]])  # the better one
