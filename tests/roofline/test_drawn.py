"""Tables and stills, part by part: by a walk over the model, or the stored times."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.catalog import MODELS, ModelShape
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import bare, iteration_count, measured
from llmserve_lab.roofline.iteration_count import IterationCount, walk
from llmserve_lab.roofline.page import measured_roof, one_gpu, stills
from llmserve_lab.running_example import cost, device, model
from llmserve_lab.validation import dense_rows
from tests.page import drawn, seen

RATE, PEAK = float(device().hbm_bw), float(device().peak("bf16"))
KAPPA = 2 * 32 * 8 * 128 * 2  # bytes of a token in the cache


def bill(batch: int, context: int, *, prompt: int = 0) -> IterationCount:
    """Decodes, or one prompt alone."""
    if prompt:
        return walk(model(), batch=1, context=0, chunk=prompt, last_scored=True)
    return walk(model(), batch=batch, context=context, chunk=1)


def least_s(of: IterationCount) -> float:
    """The products or the weights, then the pairs or the caches."""
    products = max(of.weight_bytes / RATE, of.linear_flops / PEAK)
    return products + max(of.kv_read_bytes / RATE, of.attn_flops / PEAK)


@cache
def timed() -> dict[tuple[int, int, int], float]:
    """Mean seconds of decodes, tokens in cache and prompt, as they are stored."""
    table = json.loads(Path(one_h100.DATA).read_text("utf8"))["pass"]
    runs: dict[tuple[int, int, int], list[float]] = {}
    for row in table["rows"]:
        run = dict(zip(table["columns"], row, strict=True))
        if run["precision"] == "bf16" and not run["prefix"]:
            size = run["decodes"], run["context"], run["chunk"]
            runs.setdefault(size, []).append(run["seconds"])
    return {size: sum(found) / len(found) for size, found in runs.items()}


def cells(table: Any) -> list[tuple[str, ...]]:
    return [tuple(getattr(c, "text", None) or str(c) for c in r) for r in table.rows]


def starts(cell: str, number: str) -> bool:
    """Whether a cell is a number, or begins with it and says how far it may be off."""
    return cell.split(" ")[0] == number


# Tables.
def test_each_cell_of_the_iterations_of_one_gpu() -> None:
    table = bare.passes_table()
    assert tuple(table.columns) == ("iteration", "bound", "one GPU", "MBU", "MFU")
    sizes = {"decode of 1": 1, "decode of 32": 32, "decode of 256": 256}
    found = cells(table)
    assert [row[0] for row in found] == [*sizes, "prompt of 1,000"]
    for name, bound, took, mbu, mfu in found:
        batch = sizes.get(name, 0)
        of = bill(batch, 1100, prompt=0 if batch else 1000)
        seconds = timed()[(batch, 1100, 0) if batch else (0, 0, 1000)]
        assert starts(bound, f"{1e3 * least_s(of):.1f}")
        assert took == f"{1e3 * seconds:.1f}"
        assert mbu == f"{of.iteration_bytes / seconds / RATE:.0%}"
        assert mfu == f"{of.iteration_flops / seconds / PEAK:.1%}"
    assert "1,100 tokens" in table.caption and table.caption.startswith("Milliseconds")


def test_each_cell_of_the_measured_servers() -> None:
    """922 tokens of a prompt and 461 of an answer, on average, and 1,152 in cache."""
    table = measured.served_table()
    assert tuple(table.columns) == (
        "requests", "bound", "GPU alone", "server", "MBU", "MFU",
    )  # fmt: skip
    served = {
        row.clients: row.tpot_s
        for row in dense_rows()
        if (row.model, row.system, row.engine) == ("llama-3-8b", "h100-sxm", "trtllm")
        and (row.prompt_len, row.output_len, row.precision) == (1024, 512, "bf16")
        and row.tp == 1
    }
    assert [int(row[0]) for row in cells(table)] == sorted(served)
    for requests, bound, alone, server, mbu, mfu in cells(table):
        batch = int(requests)
        of, began, seconds = bill(batch, 1152), batch / 460.8, served[batch]
        short, long = (timed()[batch, context, 0] for context in (600, 1100))
        gpu = long + 52 / 500 * (long - short) + began * 0.9216 * timed()[0, 0, 1000]
        flops = of.iteration_flops + began * bill(0, 0, prompt=922).iteration_flops
        assert starts(bound, f"{1e3 * least_s(of):.2f}")
        assert float(alone) == pytest.approx(1e3 * gpu, abs=0.011)
        assert server == f"{1e3 * seconds:.2f}"
        assert mbu == f"{of.iteration_bytes / seconds / RATE:.0%}"
        assert mfu == f"{flops / seconds / PEAK:.0%}"
    assert "600 and 1,100 cached tokens" in table.notes[0]


def test_each_cell_of_the_terms_of_a_decode() -> None:
    """The fit's terms by loads that differ in one thing; what is left is computed."""
    batch, context = 32, 1100
    of, fitted = bill(batch, context), cost()

    def seconds(**size: int) -> float:
        return fitted.seconds(IterationLoad.of(**size))

    one = [seconds(chunk=1, context=c) for c in (context, context + 1)]
    token = one[1] - one[0] - fitted.pair_s
    terms = {
        "read the weights": (of.weight_bytes / RATE, fitted.weights_s),
        "read the caches": (of.kv_read_bytes / RATE, batch * context * token),
        "launches and gaps": (0.0, fitted.overhead_s),
        "schedule requests": (0.0, batch * fitted.request_s),
    }
    load = IterationLoad.of(chunk=1, context=context)
    for _ in range(batch - 1):
        load = load.plus(IterationLoad.of(chunk=1, context=context))
    whole = least_s(of), fitted.seconds(load)
    left = whole[1] - sum(b for _, b in terms.values())
    terms["compute, not hidden"] = (0.0, left)
    table = measured.steps()
    assert tuple(table.columns) == ("ms", "bound", "fitted to servers")
    *parts, total = cells(table)
    assert {row[0] for row in parts} == set(terms)
    for name, bound, fit in parts:
        assert float(bound) == pytest.approx(1e3 * terms[name][0], abs=6e-4)
        assert float(fit) == pytest.approx(1e3 * terms[name][1], abs=6e-4)
    assert total[0] == "together"
    for cell, at in zip(total[1:], whole, strict=True):
        assert float(cell.split(" ")[0]) == pytest.approx(1e3 * at, abs=6e-4)
    assert f"{batch} requests with {context:,} tokens" in table.caption


def test_each_cell_of_one_request_on_eight_gpus() -> None:
    shape, rows = (
        MODELS["llama-2-70b"],
        iter(cells(measured.bound_against_measurement())),
    )
    for name, record in SMALL_BATCH.items():
        gpu = {"a100-80-sxm": (312e12, 2.039e12), "h100-sxm": (PEAK, RATE)}[name]
        peak, rate = (8 * each for each in gpu)
        for what, took, (cached, new) in (
            ("prompt of 512", record.prompt_s, (0, 512)),
            ("one token", record.token_s, (512, 1)),
        ):
            of = walk(shape, batch=1, context=cached, chunk=new)
            least = max(of.iteration_bytes / rate, of.iteration_flops / peak)
            said, bound, measured_, ratio = next(rows)
            assert said.endswith(what) and said.startswith("8 × ")
            assert ("A100" in said) == (name == "a100-80-sxm")
            assert float(bound.split(" ")[0]) == pytest.approx(1e3 * least, rel=6e-3)
            assert bound.endswith(" ms") and measured_.endswith(" ms")
            assert float(measured_.split(" ")[0]) == pytest.approx(1e3 * float(took))
            assert float(ratio) == pytest.approx(float(took) / least, abs=0.06)
    assert next(rows, None) is None


@pytest.mark.parametrize("shape", [MODELS["llama-3-8b"]], ids=["llama-3-8b"])
def test_each_cell_of_closed_forms_beside_the_walk(shape: ModelShape) -> None:
    table = iteration_count.comparison(shape, batch=32, context=1100, chunk=1)
    assert tuple(table.columns) == ("quantity", "closed form", "counted", "ratio")
    of = walk(shape, batch=32, context=1100, chunk=1)
    read = 2 * shape.params_read
    want = {  # the form, and the walk
        "weight bytes read": (read, of.weight_bytes, 1e9),
        "KV bytes read": (32 * 1100 * KAPPA, of.kv_read_bytes, 1e9),
        "FLOPs of the linear": (64 * shape.params_active, of.linear_flops, 1e9),
        "query–key pairs": (32 * 1101, of.attn_pairs, 1),
        "FLOPs of attention": (32 * 1101 * 4 * 32 * 4096, of.attn_flops, 1e9),
        "KV bytes written": (32 * KAPPA, of.kv_write_bytes, 1e6),
    }
    for row, (name, (closed, counted, unit)) in zip(
        cells(table), want.items(), strict=True
    ):
        assert row[0].startswith(name)
        for cell, number in zip(row[1:3], (closed, counted), strict=True):
            shown = float(re.sub(r"[^\d.]", "", cell.split(" ")[0]))
            assert shown == pytest.approx(number / unit, rel=6e-5), name
        assert row[3] == f"{closed / counted:.4f}"


# Stills.
def test_each_line_of_the_trade() -> None:
    """Time across, tokens of all up: batch over time; and who is measured how."""
    (panel,) = drawn.panels(measured_roof.trade)
    table = {
        int(row[0]): tuple(float(row[i].split(" ")[0]) for i in (2, 3))
        for row in cells(measured.served_table())
    }
    lines = {str(line.get_label()): line for line in panel.lines}
    assert list(lines) == ["bound, prompts counted", "GPU alone", "server"]
    inks = {name: seen._name(line.get_color()) for name, line in lines.items()}
    assert inks == {
        "bound, prompts counted": "idle", "GPU alone": "blue", "server": "#1d2329",
    }  # fmt: skip
    for place, name in enumerate(("GPU alone", "server")):
        for (x, y), (batch, times) in zip(
            lines[name].get_xydata(), table.items(), strict=True
        ):
            assert x == pytest.approx(times[place], abs=0.006)
            assert y == pytest.approx(1e3 * batch / x)
    assert lines["server"].get_linewidth() == 0  # dots: five servers, no curve
    for text in panel.texts:
        batch, (x, y) = int(text.get_text()), text.xy
        assert x == pytest.approx(table[batch][1], abs=0.006)
        assert y == pytest.approx(1e3 * batch / x)
        assert text.get_color() == lines["server"].get_color()
    assert panel.get_xlabel().startswith("milliseconds from token to token, for each")
    assert panel.get_ylabel() == "tokens/s of all"


def test_each_line_of_what_one_gpu_reached() -> None:
    (panel,) = drawn.panels(one_gpu.reached)
    inks = {
        str(line.get_label()): seen._name(line.get_color())
        for line in panel.lines
        if not str(line.get_label()).startswith("_")
    }
    assert inks == {"bound": "idle", "one GPU": "blue"}
    (text,) = panel.texts
    ridge = PEAK / RATE
    assert text.get_text() == "ridge"
    assert text.get_position()[0] == pytest.approx(1.02 * ridge, rel=0.01)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("rows", "ms, all products")
    (bound,) = (line for line in panel.lines if line.get_label() == "bound")
    at, after, last = bound.get_xydata()
    assert at[1] == after[1] < last[1] and after[0] == pytest.approx(ridge, rel=0.01)
    assert last[1] / after[1] == pytest.approx(last[0] / after[0], rel=1e-3)


def test_each_part_of_the_way_of_a_weight() -> None:
    """Names beside their boxes, the slowest memory at the foot, the cores on top."""
    (panel,) = drawn.panels(lambda: stills.hierarchy(device(), model()))
    texts = {t.get_text(): t for t in panel.texts}
    levels = [lv for lv in device().memory_levels if lv.name != "registers"]
    heights = [
        next(t.get_position()[1] for said, t in texts.items() if said.startswith(name))
        for name in ("tensor cores", *(f"{level.name}" for level in levels))
    ]
    assert heights == sorted(heights, reverse=True)
    inks = [(seen._name(patch.get_facecolor()), patch) for patch in panel.patches]
    weights = next(t for said, t in texts.items() if said.startswith("weights: 16.1"))
    assert seen._name(weights.get_color()) == "blue"
    assert [ink for ink, _ in inks].count("blue") == 1
    pipes = [patch for ink, patch in inks if ink == "vermillion"]
    assert len(pipes) == len(levels)
    for pipe, level in zip(pipes, levels[::-1], strict=True):
        shown = stills._shown(level.bandwidth)
        (beside,) = (t for said, t in texts.items() if said in (shown, f"≈ {shown}"))
        middle = pipe.get_y() + pipe.get_height() / 2
        assert beside.get_position()[1] == pytest.approx(middle)
        assert beside.get_text().startswith("≈") == (level.name != "HBM")
