"""Numbers that cells of the chapter on capacity print, computed again.

The plan of a model of one's own is read row by row: its columns are sizes of a server,
priced by the fitted step and by the rules that stand beside the table.
"""

import math
import re
from functools import cache

import numpy as np
import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity import exercise as market
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.engine import IterationCost
from llmserve_lab.validation.room import working_bytes
from tests.page.cells import says
from tests.page.messages_loops import looks
from tests.page.test_printed_runs import says as printed_says
from tests.page.test_solutions_said import CELLS

PROMPT, ANSWER, RATE = 1000, 200, 10
STEPS, MEAN = ANSWER - 1, PROMPT + (ANSWER - 2) / 2  # decodes, and tokens that they see
TTFT_S, TPOT_S = 1.0, 0.05
SIZES = (1, 2, 4, 8)
QWEN = catalog.model("qwen3-32b")


@cache
def cost(tp: int) -> IterationCost:
    gpu = catalog.accelerator("h100-sxm")
    return running_example.served_by(QWEN, gpu, tp=tp, precision="bf16")


@cache
def plan() -> dict[str, tuple[str, ...]]:
    """Rows of the printed plan by their names; an error stands behind its row."""
    (text,) = (
        each.printed
        for each in CELLS.values()
        if each.at.startswith("capacity ") and each.printed.startswith("Qwen3-32B on")
    )
    found, last = dict[str, tuple[str, ...]](), ""
    for line in text.splitlines():
        name, *cells = re.split(r"\s{2,}", line.strip())
        if len(cells) == len(SIZES):
            last = f"error of {last}" if name == "error" else name
            last = re.sub(r"^most .*", "most at once", last)
            found[last] = tuple(cells)
    return found


def step_s(tp: int, batch: float, prompt: int = 0) -> float:
    """Time of a step of so many mean decodes, a whole prompt beside them or none."""
    one, rows = cost(tp), batch + prompt
    low, high = sorted((rows * one.row_s, one.weights_s))
    pairs = prompt * (prompt + 1) / 2 + batch * (MEAN + 1)
    cached = batch * MEAN
    seen = pairs * one.pair_s + cached * one.kv_token_s
    host = (batch + bool(prompt)) * one.request_s + (one.prompt_s if prompt else 0)
    sent = one.overhead_s + rows * one.collective_row_s
    return high + (1 - one.overlap) * low + seen + host + sent


def tpot_s(tp: int, batch: float) -> float:
    """Mean gap: each answer meets as many prompts as there are others at its side."""
    with_it = step_s(tp, max(1.0, batch), PROMPT)
    alone = step_s(tp, max(1.0, batch))
    return alone + batch / STEPS * (with_it - alone)


def rate(tp: int, batch: float) -> float:
    return batch / (STEPS * tpot_s(tp, batch))


def wait_s(tp: int, batch: float) -> float:
    """An M/D/1 queue of prompts, and half of the step that runs."""
    batch = max(1.0, batch)
    busy_s = step_s(tp, batch, PROMPT)
    used = rate(tp, batch) * busy_s
    return used * busy_s / 2 / (1 - used) + step_s(tp, batch) / 2


def ttft_s(tp: int, batch: float) -> float:
    return wait_s(tp, batch) + step_s(tp, max(1.0, batch), PROMPT)


def at_its_rate(tp: int, share: float) -> float:
    """Requests at once at which a server carries a rate."""
    tenths = np.arange(1, 4000) / 20
    return float(np.interp(share, [rate(tp, each) for each in tenths], tenths))


def cell(row: str, place: int) -> float:
    return float(plan()[row][place].split()[0].replace(",", ""))


@pytest.mark.parametrize(("place", "tp"), [*enumerate(SIZES)])
def test_a_server_of_a_plan_is_sized_by_its_memory(place: int, tp: int) -> None:
    rows, weights = plan(), 2 * float(QWEN.params_total)
    assert says(rows["weights"][place], weights)
    room = 1e9 * cell("room for cache", place)
    request = 75 * 16 * 2 * 2 * 64 * 8 * 128  # blocks, tokens of one, and its bytes
    fits = cell("requests that fit", place)
    working = tp * working_bytes(int(fits), vocab=QWEN.vocab, n_gpus=tp)
    left = float(MEMORY_SHARE) * cost(tp).hbm_bytes - weights - working
    assert says(rows["room for cache"][place], left)
    assert says(rows["working space"][place], working)
    assert abs(room / request - fits - 0.5) < 0.5 + 0.6e9 / request / 1.5


@pytest.mark.parametrize(("place", "tp"), [*enumerate(SIZES)])
def test_a_server_of_a_plan_keeps_what_is_promised(place: int, tp: int) -> None:
    rows = plan()
    assert says(rows["TTFT alone"][place], step_s(tp, 0, PROMPT))
    assert says(rows["TPOT alone"][place], step_s(tp, 1))
    most, fits = cell("most at once", place), cell("requests that fit", place)
    limits = {
        "TPOT": tpot_s(tp, most) <= TPOT_S < tpot_s(tp, most + 1),
        "TTFT": ttft_s(tp, most) <= TTFT_S < ttft_s(tp, most + 1),
        "memory": most == fits,
    }
    assert [name for name, binds in limits.items() if binds] == [
        rows["limited by"][place]
    ]
    carried = cell("requests/s a server", place)
    assert rate(tp, most) - 0.05 <= carried <= rate(tp, most + 1) + 0.05
    servers, gpus = cell("servers", place), cell("GPUs", place)
    assert (servers, gpus) == (math.ceil(RATE / carried), servers * tp)
    low, high = (
        1 + float(each) / 100
        for each in re.findall(
            r"([-+]\d+)", rows["error of requests/s a server"][place]
        )
    )
    ends = {math.ceil(RATE * error / carried) for error in (low, high)}
    assert rows["if the rate errs so"][place] == "-".join(map(str, sorted(ends)))


@pytest.mark.parametrize(("place", "tp"), [*enumerate(SIZES)])
def test_a_server_of_a_plan_waits_at_its_part_of_the_rate(place: int, tp: int) -> None:
    rows = plan()
    batch = at_its_rate(tp, RATE / cell("servers", place))
    waits = {
        "mean wait": wait_s(tp, batch),
        "TTFT with the wait": ttft_s(tp, batch),
    }
    if rows["limited by"][place] == "memory":  # who waits for room is not counted
        assert {rows[name][place] for name in waits} == {"-"}
        waits = {}
    for name, want in (*waits.items(), ("TPOT", tpot_s(tp, batch))):
        assert cell(name, place) == pytest.approx(1e3 * want, rel=0.006), name
        assert rows[name][place].endswith(" ms")


def test_the_choice_of_a_plan_is_the_fewest_gpus_that_keep_nine_in_ten() -> None:
    words = (
        "By means: # servers of # H100 SXM for # requests/s; they carry up to #, "
        "limited by memory. Requests wait for room in memory there, which means do "
        "not count: simulate. Simulated, arrivals and lengths at random: # of the "
        "requests keep both promises with # servers of # H100 SXM. Choice: # server "
        "of # H100 SXM, with which # do."
    )
    pattern = re.escape(words).replace(r"\#", r"(\d[\d.]*)%?")
    (text,) = (
        " ".join(each.printed.split())
        for each in CELLS.values()
        if "Simulated, arrivals and lengths" in each.printed
    )
    found = re.search(pattern.replace(r"\ ", r"\s"), text)
    assert found, text
    few, of, asked, most, share, *again, servers, size, kept = map(
        float, found.groups()
    )
    by_gpus = min(range(4), key=lambda at: (cell("GPUs", at), -cell("servers", at)))
    assert (few, of) == (cell("servers", by_gpus), SIZES[by_gpus])
    assert again == [few, of] and asked == RATE
    assert most == pytest.approx(few * cell("requests/s a server", by_gpus), abs=0.06)
    assert share < 90 <= kept
    assert cell("servers", SIZES.index(int(size))) == servers
    assert few * of < servers * size <= 8


def test_a_search_by_halving_looks_seldom() -> None:
    words = "not yet: right, but up to # simulations; # are enough"
    assert printed_says("capacity", words, looks(market.by_price), 5 * 6)
    words = "well done: the cheapest in every market, with at most # simulations"
    assert printed_says("capacity", words, looks(market.by_halving))
