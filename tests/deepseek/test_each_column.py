"""Each column of the chapter's tables holds what its heading says, row by row."""

import re
from functools import cache
from statistics import fmean

import pytest

from llmserve_lab.catalog.evidence import deployments as d
from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.deepseek.calibration.host_time import GROUPS, leave_one_out
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.deepseek.evaluation.bands import scored
from llmserve_lab.deepseek.evaluation.worked_example import PLACE
from llmserve_lab.deepseek.executed import mla
from llmserve_lab.deepseek.model.elementwise_kernels import row_traffic
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import (
    answers,
    blind_table,
    caveat_tables,
    pool_table,
    tables,
)
from tests.deepseek.twins import twin
from tests.each import agrees, numbers, rows, stored

LAYERS, SPARSE = 61, 58  # of DeepSeek-V3; those with experts


def unnoted(name: str) -> str:
    return re.sub(r" \[\d+\]$", "", name)


@cache
def points() -> list[dict[str, str]]:
    return rows(tables.points(book_assumptions()))


TAKEN = {  # by the words of a row: what the twin computes with, and its unit
    "memory": ("", 1e9),
    "weights read": ("read_rate", 1e12),
    "caches read": ("cache_rate", 1e12),
    "FP8 products": ("gemm_rate", 1e12),
    "attention": ("attn_rate", 1e12),
    "link in node": ("near_rate", 1e9),
    "port": ("far_rate", 1e9),
}


def test_what_is_taken_of_a_gpu_is_what_the_twin_computes_with() -> None:
    groups = {"taken": "h100-sxm", "taken 4": "gb200-nvl72"}
    shown = rows(tables.inputs())
    assert len(shown) == len(TAKEN)
    for row in shown:
        (name, unit), *_ = (
            t for words, t in TAKEN.items() if row["what"].startswith(words)
        )
        for head, key in groups.items():
            one = twin(setup(key, 72))
            made = (
                float(one.machine[name])
                if name
                else 0.835 * float(one.setup.accelerator.usable_bytes)
            )
            assert numbers(row[head])[0] == pytest.approx(made / unit, rel=6e-3), row


def test_kernels_and_bytes_of_a_layer_are_those_of_a_step() -> None:
    """All rows together, over the layers in which they are: what the twin sums up."""
    traffic = row_traffic(PLACE, "absorbed")
    attn, home, copy = rows(tables.elementwise(PLACE))
    launched = {"attn": LAYERS * numbers(attn["kernels"])[0]}
    launched["moe"] = SPARSE * sum(numbers(r["kernels"])[0] for r in (home, copy))
    for name, many in launched.items():
        assert many == traffic[f"{name}_launches"]
    of = {"where": "", "kernels": "", "kB in GEMMs": "gemm_", "kB elementwise": "",
          "most of it": ""}  # fmt: skip
    assert set(attn) == set(of)
    gemm = [("attn_gemm_row", attn, LAYERS), ("moe_gemm_row", home, SPARSE),
            ("moe_gemm_copy", copy, SPARSE)]  # fmt: skip
    for name, row, layers in gemm:
        kb = traffic[f"{name}_bytes"] / layers / 1e3
        assert numbers(row["kB in GEMMs"])[0] == pytest.approx(kb, rel=1e-3)
        kb = traffic[f"{name.replace('gemm_', '')}_bytes"] / layers / 1e3
        assert numbers(row["kB elementwise"])[0] == pytest.approx(kb, rel=1e-3)


def test_flops_of_both_forms_are_those_of_the_passes_in_their_row() -> None:
    asked = ((1, 64), (16, 0))
    for (n, context), row in zip(asked, rows(tables.two_forms(mla.compare(*asked))),
                                 strict=True):  # fmt: skip
        assert row["new rows on cached"] == f"{n} on {context}"
        for head, form in (
            ("FLOPs, plain", "vanilla"),
            ("FLOPs, absorbed", "absorbed"),
        ):
            ran = mla.execute(form, n_rows=n, context=context)
            assert numbers(row[head])[0] == pytest.approx(ran.flops, rel=1e-3)
        assert row["equal outputs"] == "yes"


def test_a_point_has_the_context_the_rate_and_the_use_of_its_record() -> None:
    told = {each.name: each for each in d.DEPLOYMENTS}
    blind, found = {}, list[str]()
    for each in blind_runs.blind():
        blind[f"{each.run.ep} H100, batch {each.requests:.4g}"] = each
    for row in points():
        name, _, size = unnoted(row["run"]).partition(", batch ")
        if record := told.get(name):
            found.append(name)
            assert row["the run was"] == record.status.kind, name
            context, rate = float(record.context), float(record.gpu_tokens_per_s)
            assert agrees(row["measured"], rate), name
            assert numbers(row["context"])[0] == pytest.approx(context, abs=0.51)
            if record.batch is not None:
                assert float(size) == pytest.approx(float(record.batch), rel=1e-3)
        elif row["the run was"] == "blind":
            run = blind[f"{name.removeprefix('InferenceX, ')}, batch {size}"]
            rate = run.requests / run.measured_s
            assert numbers(row["measured"])[0] == pytest.approx(rate, rel=6e-3)
            found.append(name)
    assert len(found) >= 18


def test_a_group_left_out_has_the_scores_of_its_own_runs() -> None:
    """Of rates, which are one over the times; a bias is never above the mean."""
    found = {(by, str(each.group)): each for by in GROUPS
             for each in leave_one_out(book_assumptions(), by)}  # fmt: skip
    shown = rows(tables.left_out(book_assumptions()))
    assert len(shown) == len(found)
    for row in shown:
        each = found[row["left out"], row["which"]]
        own = [
            r for r in DECODE_RUNS if str(getattr(r, row["left out"])) == row["which"]
        ]
        assert int(row["runs"]) == len(own) == len(each.errors)
        off = [100 * (1 / (1 + error) - 1) for error in each.errors]
        assert numbers(row["bias"])[0] == pytest.approx(fmean(off), abs=0.051)
        size = fmean(map(abs, off))
        assert numbers(row["mean error, rate"])[0] == pytest.approx(size, abs=0.051)
        assert row["host, of the others"].endswith(" ms")
        assert agrees(row["host, of the others"], 1e3 * each.host_s)


def test_a_trip_has_the_time_that_was_measured_for_it_and_its_own_error() -> None:
    table = tables.transfers(book_assumptions())
    assert table.caption.endswith("in µs")
    for row, run in zip(rows(table), ALL_TO_ALL, strict=True):
        assert row["group"] == f"EP {run.ep}"
        trips = (("dispatch", "of the time", run.dispatch_s),
                 ("combine", "of its time", run.combine_s))  # fmt: skip
        for head, error, seconds in trips:
            made, real = numbers(row[head])
            assert real == pytest.approx(1e6 * float(seconds), rel=5e-3)
            off = 100 * (made / real - 1)
            assert numbers(row[error])[0] == pytest.approx(off, abs=1.1), row


def test_the_last_rung_of_the_ladder_has_the_errors_of_the_points() -> None:
    table = caveat_tables.ladder()
    last = rows(table)[-1]
    errors = {unnoted(row["run"]).split(", batch")[0]: row["error"] for row in points()}
    makers = ("DeepSeek", "SGLang")
    for head in table.columns[1:]:
        (error,) = [
            errors[n] for maker in makers if (n := f"{maker}, {head}") in errors
        ]
        assert last[head] == error, head


def test_a_gain_is_published_for_the_change_in_its_row() -> None:
    shown = {
        row["change"]: row for row in rows(caveat_tables.ablated(book_assumptions()))
    }
    two = "two batches in flight"
    published = {f"{two}, {n} requests": [by] for n, by in d.OVERLAP_GAINS.items()}
    published[f"{two}, 128 requests, drafts simulated"] = [d.DRAFTED_OVERLAP_GAIN]
    published[f"{two}, prefill"] = [*d.PREFILL_OVERLAP_GAINS]
    for of, by in d.REBALANCING_GAINS.items():
        published[f"experts rebalanced, {of}"] = [by]
    assert set(shown) == set(published)
    for change, gains in published.items():
        want = [100 * (float(gain) - 1) for gain in gains]
        assert numbers(shown[change]["measured"]) == pytest.approx(want, abs=0.51)
        (made,) = numbers(shown[change]["predicted"])
        assert made != pytest.approx(want[0], abs=0.4), "no column stands twice"


def test_a_swing_stands_under_its_batch() -> None:
    """The schedule that a batch runs already changes nothing there."""
    table = caveat_tables.swings(PLACE, batches=(32.0, 256.0), context=2000.0)
    shown = {row["change"]: row for row in rows(table)}
    few, many = table.columns[1:]
    assert (few, many) == ("32 requests", "256 requests")
    zero = {"+0\N{NO-BREAK SPACE}%", "−0\N{NO-BREAK SPACE}%", "+0 %", "0 %"}
    assert shown["always one after another"][few] in zero
    assert shown["always two halves"][many] in zero
    assert numbers(shown["nothing on the host"][few]) > numbers(
        shown["nothing on the host"][many]
    )


def test_a_pool_s_ratio_is_that_of_the_nodes_of_its_deployment() -> None:
    """Published: 12 nodes of Kimi K2 decode for 4; SGLang's rates and lengths."""
    shown = {row["deployment, mean tokens in / out"].split(",")[0]: row
             for row in rows(pool_table.pool_table())}  # fmt: skip
    day = (float(d.DAY_OUTPUT) / float(d.DEEPSEEK_DECODE.gpu_tokens_per_s) / 8) / (
        float(d.DAY_INPUT) / float(d.NODE_INPUT_TOKENS)
    )
    known = {
        "SGLang": (500 / 22_282) / (2048 / 54_543),
        "Kimi K2": 12 / 4,
        "DeepSeek": day,
    }
    assert set(shown) == set(known)
    for name, ratio in known.items():
        assert agrees(shown[name]["at measured rates"], ratio), name
        assert shown[name]["by the twin"] != shown[name]["at measured rates"]
        sizes = next(iter(shown[name].values())).split(", ", 2)[-1]
        lengths = {"SGLang": [2048, 500], "DeepSeek": []}.get(name)
        assert lengths is None or numbers(sizes) == lengths


def test_the_first_question_s_rates_follow_from_requests_and_what_a_user_sees() -> None:
    """Twice as fast a user, fewer requests, less of a GPU; brackets by the band."""
    table = answers.opening()
    fast = table.columns[-2]
    speed = 2 * float(d.SGLANG_DECODE.gpu_tokens_per_s) / 256
    assert fast.endswith("twice the speed")
    for row in rows(table):
        made, low, high = numbers(row["GPU makes"])
        requests, user = int(row["requests"]), float(row["user sees"])
        assert made == pytest.approx(requests * user, rel=0.008)
        off = [error for place, error in scored() if place.across]
        assert low == pytest.approx(made * (1 + min(off)), rel=0.01)
        assert high == pytest.approx(made * (1 + max(off)), rel=0.01)
        rate, least, most = numbers(row[fast])
        assert least < rate < min(made, most) and rate / speed < requests


def test_scores_of_blind_runs_stand_under_their_names() -> None:
    errors = {run.run.name: run.rate_error for run in blind_runs.blind()}
    first, *parts = rows(blind_table.blind())
    every = [100 * error for error in errors.values()]
    assert (first["by"], first["which"], int(first["runs"])) == ("all", "", len(every))
    assert numbers(first["bias"])[0] == pytest.approx(fmean(every), abs=0.051)
    low, mean, high = sorted(numbers(first["mean error"]))
    assert numbers(first["mean error"]) == [mean, low, high]
    for row in (first, *parts):
        size, bias, worst = (
            numbers(row[h])[0] for h in ("mean error", "bias", "farthest")
        )
        assert abs(bias) <= size <= abs(worst) + 0.5
    for row in parts:
        found = blind_runs.parts(rates=True)[row["by"]][row["which"]]
        assert numbers(row["mean error"]) == [
            pytest.approx(100 * found.mean_error, abs=0.051)
        ]
        assert numbers(row["bias"])[0] == pytest.approx(100 * found.bias, abs=0.051)


def test_each_column_of_three_models_adds_up_to_its_step() -> None:
    """Errors are those of the rate; twin and splits share all but what is hidden."""
    found = stored("deepseek_twin", "DeepSeek's profile by three")
    lines = [[*row.values()] for row in found]
    shown = {name: cells for name, *cells in lines}
    columns = list(zip(*shown.values(), strict=True))
    assert len(columns) == 3
    for column in columns:
        cell = dict(zip(shown, column, strict=True))
        names = [*shown][: [*shown].index("step, predicted")]
        parts = [numbers(cell[name])[0] for name in names if cell[name] != "left out"]
        step, real = (
            numbers(cell[f"step, {how}"])[0] for how in ("predicted", "measured")
        )
        assert sum(parts) == pytest.approx(step, abs=0.03)
        assert min(parts) == numbers(cell["hidden by overlap"])[0] < 0
        off = numbers(cell["error of the rate"])[0]
        assert off == pytest.approx(100 * (real / step - 1), abs=0.6)
        requests, rate = 128, float(d.PROFILED_DECODE.gpu_tokens_per_s)
        assert real == pytest.approx(1e3 * requests / rate, rel=1e-3)
    ours, theirs = columns[1:]
    differ = {name for name, a, b in zip(shown, ours, theirs, strict=True) if a != b}
    assert differ == {"hidden by overlap", "step, predicted", "error of the rate"}
