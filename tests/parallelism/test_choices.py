"""The table to choose from, and the rule by which a layout leads another."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.long_context import LONG_PREFILLS
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.leads import crosses
from llmserve_lab.parallelism.page import choices, stills
from llmserve_lab.parallelism.page.stills import PANELS, SHOWN, first_ms, layout

SIZES = ("-tp", "-pp", "-dp")


def led(times: dict[str, float], far: set[str]) -> set[str]:
    """Names that another leads, pair by pair: by a tenth, or from afar by a third."""
    longer = (
        float(LONG_PREFILLS[-1].seconds) / published.predict(LONG_PREFILLS[-1]).seconds
    )
    assert 1.32 < longer < 1.35
    return {
        name
        for name, other in permutations(times, 2)
        if times[other] * (longer if other in far else 1.1) < times[name]
    }


def test_pale_is_what_another_layout_leads() -> None:
    """A layout whose rows leave a server must be the better by a third."""
    far = {name for name in SHOWN if "DP" not in name}
    assert {name for name in SHOWN if crosses(layout(name))} == far
    dark = [stills.leading(value, long_is_good=long) for _, value, _, long in PANELS]
    assert dark == [
        ("TP 8", "TP 4 × DP 2", "TP 4 × PP 2"),
        ("TP 2 × DP 4", "TP 2 × PP 4", "PP 8"),
        ("TP 4 × PP 2", "TP 2 × PP 4"),
    ]
    for names, (_, value, _, long) in zip(dark, PANELS, strict=True):
        times = {name: value(name) ** (-1 if long else 1) for name in SHOWN}
        assert set(SHOWN) - led(times, far) == set(names)


def test_the_table_marks_what_no_other_layout_leads() -> None:
    """Every column, from the printed cells of eight GPUs, and of sixteen."""
    lines = [
        [str(cell).replace("\u00a0", " ") for cell in row]
        for row in choices.table().rows
    ]
    ring = next(i for i, line in enumerate(lines) if line[0] == choices.RING)
    for group in (lines[:ring], lines[ring + 1 :]):
        far = {line[0] for line in group if "$BOTH" in line[1]}
        for place, rises in ((2, 0), (3, 0), (4, 1), (5, 0)):
            cells = {
                line[0]: float(line[place].split()[0].replace(",", ""))
                for line in group
            }
            times = {name: 1 / v if rises else v for name, v in cells.items()}
            marked = {line[0] for line in group if choices.LEADS.strip() in line[place]}
            assert marked == set(times) - led(times, far)
        room = [float(line[6].split()[0].replace(",", "")) for line in group]
        full = [choices.LEADS.strip() in line[6] for line in group]
        assert full == [each == max(room) for each in room]


def test_options_of_a_layout_ask_for_all_gpus_once() -> None:
    """In each of two servers the same line; or one service over both."""
    for gpus, group in zip((8, 16), choices.groups(), strict=True):
        for made in group.values():
            words = choices.options(made).replace("$BOTH", "").split()
            asked = np.prod([int(each) for each in words[1::2]])
            assert asked == (gpus if crosses(made) else gpus // 2)
            assert made.tp * made.stages * made.replicas == gpus


def test_commands_of_two_servers_find_each_other_and_use_all_gpus_once() -> None:
    """The variables differ by the rank and ``--headless`` alone; eight GPUs each."""
    lines = choices.commands().replace("\\\n", "").splitlines()
    first, second = (
        line.split("#")[0].split('"')[1].split()
        for line in lines
        if line.startswith("BOTH=")
    )
    assert set(first) ^ set(second) == {"0", "1", "--headless"}
    served = [
        line.split("#")[0].split() for line in lines if line.startswith("vllm serve")
    ]
    for words in served:
        sizes = [int(words[i + 1]) for i, each in enumerate(words) if each in SIZES]
        assert np.prod(sizes) == (8 if {"$BOTH", "8"} & set(words) else 4)
    experts = served[-1]
    local = int(experts[experts.index("--data-parallel-size-local") + 1])
    assert f"--data-parallel-start-rank {local} --headless" in choices.commands()
    assert 2 * local == int(experts[experts.index("-dp") + 1])


def test_sixteen_ranks_keep_the_cache_twice_and_lead_nowhere() -> None:
    _, more = choices.groups()
    assert all("TP 16" not in choices.leading(more, place) for place in range(5))
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
