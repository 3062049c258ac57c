"""The table to choose from, and the rule by which a layout is ahead of another."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism.arguments import MODEL
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.leads import close, crosses
from llmserve_lab.parallelism.page import choices, stills
from llmserve_lab.parallelism.page.stills import SHOWN, first_ms, layout

SIZES = ("-tp", "-pp", "-dp")


FEW, MANY, PREFILL, FIRST, ROOM = range(2, 7)
LEADS, TIES = True, False
# What the page says of eight GPUs, and of sixteen: the better one, another, a column.
EIGHT: tuple[tuple[str, str, int, bool], ...] = (
    ("TP 8", "TP 4 × DP 2", MANY, TIES),
    ("TP 8", "TP 4 × PP 2", MANY, TIES),
    ("TP 4 × DP 2", "TP 4 × PP 2", MANY, TIES),
    *((name, "TP 8", PREFILL, LEADS) for name in SHOWN if name != "TP 8"),
    ("PP 8", "TP 2 × DP 4", PREFILL, TIES),
    ("PP 8", "TP 2 × PP 4", PREFILL, TIES),
    ("TP 4 × PP 2", "TP 4 × DP 2", FIRST, LEADS),
    ("TP 4 × PP 2", "TP 2 × DP 4", FIRST, LEADS),
    ("TP 4 × PP 2", "PP 8", FIRST, LEADS),
    ("TP 4 × PP 2", "TP 8", FIRST, LEADS),
    ("TP 2 × PP 4", "TP 4 × PP 2", FIRST, TIES),
    ("TP 4 × DP 2", "TP 2 × DP 4", MANY, LEADS),
    *((name, "PP 8", MANY, LEADS) for name in SHOWN if name != "PP 8"),
)
SIXTEEN: tuple[tuple[str, str, int, bool], ...] = (
    *(("TP 8 × DP 2", name, MANY, LEADS) for name in ("TP 4 × DP 4", "TP 2 × DP 8")),
    ("TP 8 × DP 2", "TP 8 × PP 2", MANY, TIES),
    ("TP 8 × PP 2", "TP 16", PREFILL, LEADS),
)


def printed(count: int) -> dict[str, list[str]]:
    """Lines of the table for eight GPUs or for sixteen, by the layout."""
    lines = [
        [str(cell).replace("\u00a0", " ") for cell in row]
        for row in choices.table().rows
    ]
    sizes = {"TP", "PP", "DP", "CP"}
    return {
        line[0]: line
        for line in lines
        if np.prod([int(w) for w in line[0].split() if w not in {*sizes, "×"}]) == count
    }


def number(cell: str) -> float:
    return float(cell.split()[0].split("\u2013")[0].replace(",", ""))


@pytest.mark.parametrize(("count", "claims"), [(8, EIGHT), (16, SIXTEEN)])
def test_one_rule_for_whatever_the_page_calls_ahead_or_close(
    count: int, claims: tuple[tuple[str, str, int, bool], ...]
) -> None:
    """From printed cells: ahead by a fifth at least, else close."""
    lines = printed(count)
    for better, other, place, found in claims:
        one, two = (number(lines[name][place]) for name in (better, other))
        ratio = one / two if place == PREFILL else two / one
        assert (ratio > 1.2) is found, (better, other, place)
        assert found or ratio > 1 / 1.2


def test_a_model_for_two_servers_is_read_faster_by_a_pipeline() -> None:
    """With many requests its tokens are close to the group's, with few behind."""
    group, pipe = map(stills.two_of_eight, ("TP 16", "TP 8 × PP 2"))
    assert pipe.prefill_rate(2048) > 1.2 * group.prefill_rate(2048)
    for requests, found in ((8, False), (64, True), (256, True)):
        times = [each.decode(requests, 1000).token_s for each in (group, pipe)]
        assert close(*times) is found
    few = [each.decode(8, 1000).token_s for each in (group, pipe)]
    assert few[0] < few[1]


def test_a_note_says_what_crosses_and_the_largest_room_is_a_pipeline_s() -> None:
    assert {name for name in SHOWN if crosses(layout(name))} == {
        name for name in SHOWN if "DP" not in name
    }
    served = {n: line for n, line in printed(16).items() if n != "CP 2 × TP 8"}
    rooms = {name: number(line[ROOM]) for name, line in served.items()}
    slowest = {name: number(line[MANY]) for name, line in served.items()}
    assert max(rooms, key=rooms.__getitem__) == "TP 8 × PP 2"
    assert max(slowest, key=slowest.__getitem__) == "TP 2 × DP 8"


def test_options_of_a_layout_ask_for_all_gpus_once() -> None:
    """In each of two servers the same line; or one service over both."""
    for gpus, group in zip((8, 16), choices.groups(), strict=True):
        for made in group.values():
            words = choices.options(made).removesuffix(choices.BOTH).split()
            asked = np.prod([int(each) for each in words[1::2]])
            assert asked == (gpus if crosses(made) else gpus // 2)
            assert made.tp * made.stages * made.replicas == gpus


def test_commands_of_two_servers_find_each_other_and_use_all_gpus_once() -> None:
    """The variables differ by the rank and ``--headless`` alone; eight GPUs each."""
    lines = choices.commands().replace("\\\n", "").splitlines()
    first, second = (
        line.split('"')[1].split()
        for line in lines
        if line.startswith(("FIRST=", "SECOND="))
    )
    assert set(first) ^ set(second) == {"0", "1", "--headless"}
    served = [
        line.split("#")[0].split() for line in lines if line.startswith("vllm serve")
    ]
    for words in served:
        sizes = [int(words[i + 1]) for i, each in enumerate(words) if each in SIZES]
        assert np.prod(sizes) == (8 if {"$FIRST", "$SECOND", "8"} & set(words) else 4)
        dealt = int(words[words.index("-dcp") + 1]) if "-dcp" in words else 1
        assert dealt <= sizes[0]
    (load,) = (line.split('"')[1].split() for line in lines if line[:5] == "LOAD=")
    slots = int(load[load.index("--max-num-seqs") + 1])
    plain = [words for words in served if "--enable-expert-parallel" not in words]
    assert [words[4:-1] if "-pp" in words else words[4:] for words in plain] == [
        ["$LONGEST", "-tp", "4"],
        *[["$LONGEST", "-tp", "4", "-pp", "2"]] * 2,
    ]  # the layouts that the steps choose
    for stages in (1, 2):  # each has room for its slots, and for the longest request
        held = GpuLayout(tp=4, stages=stages, level=False).held_tokens()
        assert held > max(slots * 1000, MODEL.max_context or 0)
    pair = GpuLayout(tp=2).held_tokens()
    assert pair < slots * 1000  # the smallest group would not
    assert choices.LONGEST < pair < (MODEL.max_context or 0)
    (shared,) = (words for words in served if "-dcp" in words)
    assert "--kv-cache-dtype" not in shared


def test_sixteen_ranks_keep_the_cache_twice() -> None:
    _, more = choices.groups()
    assert more["TP 16"].cost().kv_copies == 2
    rooms = [more[name].held_tokens() for name in ("TP 8 × PP 2", "TP 16")]
    assert rooms[0] == pytest.approx(2 * rooms[1], abs=2)


def test_a_token_by_hand_is_the_engine_s_less_products_and_all_reduces() -> None:
    """Of groups in a server, with 64 requests dealt to all of eight GPUs."""
    for tp, most in ((2, 0.03), (4, 0.07), (8, 0.15)):
        whole = GpuLayout(tp=tp, replicas=8 // tp).decode(64, 1000).token_s
        assert 0 < 1 - stills.about_s(tp, 8 * tp) / whole < most


def test_a_prompt_by_hand_is_that_of_the_picture() -> None:
    """Four growing ticks, of which the last passes eight stages."""
    made = layout("PP 8")
    ticks = [
        made.cost().seconds(IterationLoad.of(chunk=2048, context=done)) / 8
        + made.hop_s(2048)
        for done in range(0, 8192, 2048)
    ]
    assert 1e3 * (sum(ticks[:3]) + 8 * ticks[3]) == pytest.approx(first_ms("PP 8"))
