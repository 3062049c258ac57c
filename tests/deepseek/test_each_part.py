"""Each part of the chapter's stills and live figures is what it is called."""

from itertools import product
from typing import Any

import pytest

from llmserve_lab.catalog.evidence.deployments import DEPLOYMENTS, SMALL_BATCHES
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served, rate_with
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import evidence, group, playground, stills
from tests.deepseek.twins import twin
from tests.each import live, numbers
from tests.page import drawn, seen

SETTINGS = [*product(group.HELD, group.TARGETS, group.GROUPS)]


def test_a_point_of_the_groups_is_what_the_readouts_say_there() -> None:
    """Every line of the table by its letters; no more requests than fit or may."""
    figure = live("deepseek.group_size")
    menus = [list(m) for m in (group.HELD, group.TARGETS, group.GROUPS)]
    head, *lines = group.csv_lines()
    rows = [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]
    at = {
        tuple(m[int(r[k])] for m, k in zip(menus, "cte", strict=True)): r for r in rows
    }
    for held, target, ep in SETTINGS:
        row = at.get((held, target, ep))
        if row is None:
            continue
        known = figure.values(held=held, target=target, ep_at=ep)
        assert (int(row["g"]), int(row["m"])) == (int(ep), known["gpu_tokens_per_s"])
        assert (row["f"] == "1") == (known["gpu_requests"] == known["batch_fits"])
        step_s = known["gpu_requests"] / known["gpu_tokens_per_s"]
        assert step_s <= float(target.split()[0]) / 1e3 * 1.001
        if row["l"]:
            assert int(row["l"]) <= int(row["m"]) <= int(row["h"])


@pytest.mark.parametrize("ep", ["16", "32", "72"])
def test_the_readouts_of_a_group_are_those_of_its_faster_schedule(ep: str) -> None:
    """Batch by batch with both; the bars by the errors of runs that stood alike."""
    known = live("deepseek.group_size").values(ep_at=ep)
    place, made = setup("h100-sxm", int(ep)), {}
    for way in ("halves", "none"):
        one = twin(place, overlap=way)
        fits = fits_as_served(one, 4000.0)
        steps = [float(one.step_s(batch=n, context=4000.0)) for n in range(1, fits + 1)]
        most = max(n for n, step in enumerate(steps, 1) if step <= 0.05)
        made[way] = (most / steps[most - 1], most, fits)
    faster = max(made, key=lambda way: made[way])
    names = ("gpu_tokens_per_s", "gpu_requests", "batch_fits")
    assert [known[n] for n in names] == pytest.approx(made[faster], abs=0.51)
    assert known["one_batch"] == (faster == "none")
    at: Any = {"context": 4000.0, "tpot_s": 0.05}
    across = [error for run, error in scored() if run.across]
    ends = [rate_with("h100-sxm", int(ep), **at, error=e)
            for e in (min(across), max(across))]  # fmt: skip
    (row,) = (
        line.split(",")
        for line in group.csv_lines()
        if line.startswith(f"0,1,{list(group.GROUPS).index(ep)},")
    )
    assert [float(each) for each in row[-2:]] == pytest.approx(sorted(ends), abs=0.51)


def test_a_point_is_square_where_memory_is_full_and_the_looser_target_lies_higher() -> (
    None
):
    figure = live("deepseek.group_size")
    words = [m for m in drawn.marks(figure, "text") if m.get("text") in group.TARGETS]
    order = [m["text"] for m in sorted(words, key=lambda mark: mark["y"])]
    assert order == ["100 ms", "50 ms", "33 ms"]
    points = [
        m for m in drawn.marks(figure, "symbol") if m["ink"] and m.get("size", 0) < 300
    ]
    full = sum(
        figure.values(target=t, ep_at=ep)["gpu_requests"]
        == figure.values(target=t, ep_at=ep)["batch_fits"]
        for t, ep in product(group.TARGETS, group.GROUPS)
        if group.at(group.OPENS, t, ep)
    )
    shapes = [m.get("shape") or "circle" for m in points]
    assert shapes.count("square") == full > 0


def test_a_block_of_the_cache_is_as_high_as_its_numbers_are_many() -> None:
    """All are equally wide; what a label adds or multiplies is the number it ends with.

    Grey are heads, green is the latent.
    """
    (panel,) = drawn.panels(stills.cached_of_a_token)
    (width,) = {round(bar.get_width(), 9) for bar in panel.patches}
    assert width > 0
    sizes = []
    for bar, label in zip(panel.patches, panel.texts, strict=True):
        text = label.get_text()
        *_, first, second, size = numbers(text)
        assert size == (first * second if "×" in text else first + second)
        sizes.append((bar.get_height(), size))
        assert bar.get_x() < label.get_position()[0] < bar.get_x() + width
        assert seen._name(bar.get_facecolor()) == (
            "green" if "latent" in text else "idle"
        )
    high, many = sizes[0]
    for height, size in sizes:
        assert height / high == pytest.approx(size / many)


def test_the_blue_gpu_is_the_one_that_all_copies_leave() -> None:
    (panel,) = drawn.panels(lambda: stills.copies_of_a_row(worked.PLACE))
    (own,) = (p for p in panel.patches if seen._name(p.get_facecolor()) == "blue")
    box = own.get_path().get_extents()
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    for paths in drawn.lines(panel).values():
        for path in paths:
            assert all(at == pytest.approx(middle) for at in path[::2])
    nodes = [text.get_text() for text in panel.texts]
    assert nodes == ["node 1", *map(str, range(2, int(worked.PLACE.n_nodes) + 1))]


def test_words_beside_a_run_point_at_that_run() -> None:
    """By the GPUs of its record and the error of its rates; a legend holds its kind."""
    (panel,) = drawn.panels(evidence.predicted_and_measured)
    asked = {  # from the words: GPUs, and how many of a kind there are
        "a day's prefill": 32, "DeepSeek's day": 144, "DeepSeek's profile": 128,
        "opening's run": 72, "SGLang, drafts": 72, "Kimi K2": 96,
        "16 H100s, blind": 16,
    }  # fmt: skip
    runs = evidence.runs()
    for text in panel.texts:
        said, (gpus, error) = text.get_text(), text.xy
        assert numbers(said)[-1] == pytest.approx(error, abs=0.51), said
        if want := [n for words, n in asked.items() if said.startswith(words)]:
            assert gpus == want[0], said
        if "2 requests each" in said:
            mine = [r for r in runs if r.n_gpus == gpus
                    and 100 * r.error == pytest.approx(error)]  # fmt: skip
            assert ("blind" in said) == (mine[0].status == "blind"), said
    known = {record.name for record in (*DEPLOYMENTS, *SMALL_BATCHES)}
    assert {record.name for record, *_ in evidence.NAMED} <= known
    marks = {
        line.get_label(): line for line in panel.lines if line.get_label()[0] != "_"
    }
    assert set(marks) == set(evidence.MARKS)
    for kind, line in marks.items():
        own = sorted((r.n_gpus, 100 * r.error) for r in runs
                     if (r.status == "blind") == (kind == evidence.BLIND)
                     and (kind == evidence.BLIND or r.kind == kind))  # fmt: skip
        assert sorted(map(tuple, line.get_xydata())) == [pytest.approx(o) for o in own]
        assert (line.get_markerfacecolor() == "none") == (kind == evidence.BLIND)


KNOBS = {
    "device": "GPU", "n_gpus": "GPUs in the group", "network": "network",
    "model": "model",
    "batch": "requests on a GPU", "context": "tokens in cache", "overlap": "overlap",
    "kernels": "shares of the peaks", "balance": "balancedness",
    "n_redundant": "redundant experts", "n_draft": "tokens drafted",
    "kept": "each kept if",
}  # fmt: skip


def test_a_knob_of_the_bench_is_called_after_what_it_turns() -> None:
    knobs = playground.bench().knobs
    assert set(knobs) == set(KNOBS)
    assert all(knob.label.startswith(KNOBS[name]) for name, knob in knobs.items())
