"""The check of the reader's dealing: runs fail, zig-zag passes, nearly does not.

And the colleague's pipeline: what the solution printed, against the engine's cost.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism.arguments import on
from llmserve_lab.parallelism.dealing import zigzag
from llmserve_lab.parallelism.exercise import check, early_and_late, in_runs
from llmserve_lab.parallelism.page.stills import two_of_eight
from tests.conftest import ROOT


def test_the_check_tells_runs_from_the_solution() -> None:
    assert check(in_runs).startswith("not yet") and "36, 100 pairs" in check(in_runs)
    assert check(early_and_late).startswith("well done")


def test_the_solution_is_the_dealing_of_the_ring() -> None:
    for n_tokens, ranks in ((16, 2), (24, 3), (96, 8)):
        dealt = [part.tolist() for part in zigzag(n_tokens, ranks)]
        assert early_and_late(n_tokens, ranks) == dealt


def test_what_is_nearly_right_is_told_so() -> None:
    in_turn = check(lambda n, g: [list(range(i, n, g)) for i in range(g)])
    assert "64, 72 pairs" in in_turn
    lost = check(lambda n, g: [[0]] * g)
    assert "on no rank, or on two" in lost
    uneven = check(
        lambda n, g: [list(range(n - g + 1)), *([i] for i in range(n - g + 1, n))]
    )
    assert "hold 15, 1 tokens" in uneven
    with pytest.raises(ValueError, match="deal must return 2 lists, one a rank, got 0"):
        check(lambda n, g: [])


def printed() -> list[float]:
    """Numbers in what the solution of the colleague's pipeline printed."""
    cells = json.loads((ROOT / "chapters" / "parallelism.ipynb").read_text())["cells"]
    (cell,) = (each for each in cells if each["id"] == "colleague-solved")
    text = "".join("".join(each["text"]) for each in cell["outputs"])
    return [float(each.replace(",", "")) for each in re.findall(r"\d[\d,.]*", text)]


def test_the_colleagues_pipeline_ties_in_time_and_has_the_room() -> None:
    """Weights in eight bits, a cache in sixteen, on two servers of eight."""
    gpu, big = running_example.device(), catalog.model("llama-3.1-405b")
    wide, fp8 = (
        running_example.served_by(big, gpu, tp=8, precision=each)
        for each in ("bf16", "fp8")
    )
    cost = replace(
        fp8, kv_bytes_per_token=wide.kv_bytes_per_token, kv_token_s=wide.kv_token_s
    )
    gpus = 16 * float(on(gpu)["hbm_bytes"])
    rooms = [
        (gpus - copies * cost.weight_bytes) / wide.kv_bytes_per_token
        for copies in (2, 1)
    ]
    lines = [iter(printed())] * 4  # tokens of a user, room, users that run, ms
    pipe = two_of_eight("TP 8 × PP 2")
    ran, times = [], []
    for place, (tokens, room, users, hand_ms) in enumerate(zip(*lines, strict=True)):
        copies = 2 - place % 2
        assert room == pytest.approx(rooms[2 - copies], rel=1e-3)
        # Requests do not move between replicas: as many run as each has room for.
        assert users == min(64, copies * int(rooms[2 - copies] / copies // tokens))
        half = IterationLoad.of(chunk=1, context=int(tokens)).times(int(users) // 2)
        host_s = half.requests * cost.request_s
        whole_s = cost.seconds(half)
        if copies == 1:
            whole_s = whole_s - host_s + 2 * (host_s + pipe.hop_s(int(users) // 2))
        assert 0 < 1 - hand_ms / (1e3 * whole_s) < 0.1
        ran.append(users)
        times.append(whole_s)
    assert ran == [64, 64, 46, 64]
    for replica_s, pipe_s in zip(times[::2], times[1::2], strict=True):
        assert max(replica_s, pipe_s) < 1.245 * min(replica_s, pipe_s)
