"""The live figure says what the engine says; steps show what was executed."""

import re
from itertools import product

import numpy as np
import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.catalog.evidence import quantization as papers
from llmserve_lab.quantization import (
    decision,
    kv_eviction,
    measured,
    outliers,
    tables,
)
from llmserve_lab.quantization.page import (
    charts,
    figures,
    forgetting,
    playground,
    steps,
    stills,
)
from llmserve_lab.quantization.page.controls import (
    BATCHES,
    CACHE_NAMES,
    CONTEXTS,
    DEVICES,
    SERVED,
    WEIGHTS,
)
from llmserve_lab.quantization.speed import (
    Bits,
    decode_s,
    fits,
    multiplies_in,
    served,
)
from llmserve_lab.validation.room import working_bytes
from tests.conftest import ROOT
from tests.formula.javascript import evaluate


def test_every_choice_costs_what_the_engine_charges() -> None:
    figure = figures.few_bits()
    for shape, gpu, weights, cache in product(SERVED, DEVICES, WEIGHTS, CACHE_NAMES):
        known = figure.values(
            model=shape.name,
            accelerator=gpu.name,
            weights=WEIGHTS[weights],
            cache=CACHE_NAMES[cache],
            batch=64.0,
            context=2048.0,
        )
        cost = served(Bits(weights, cache), shape, gpu)
        wide = served(Bits(), shape, gpu)
        took, before = (decode_s(c, batch=64, context=2048) for c in (cost, wide))
        assert known["few_bits_step_s"] == pytest.approx(took)
        assert known["few_bits_gain"] == pytest.approx(before / took)
        assert known["stored_bytes"] == pytest.approx(cost.weight_bytes)
        for prefix, each in (("wide_", wide), ("", cost)):
            held = each.weight_bytes + 64 * 2048 * each.kv_bytes_per_token
            held += working_bytes(64, vocab=shape.vocab)  # as an engine counts
            assert known[f"{prefix}held_bytes"] == pytest.approx(held)
        assert (known["held"] == 0) == (held > 0.92 * cost.hbm_bytes)
        assert (known["multiplied"] == 0) == (multiplies_in(weights, gpu) != "bf16")


def test_the_bar_turns_pale_where_the_text_says_memory_is_full() -> None:
    figure = figures.few_bits()
    for weights, cache in product(("bf16", "fp8", "int4"), ("bf16", "fp8")):
        most = fits(served(Bits(weights, cache)), context=1104)
        names = {"weights": WEIGHTS[weights], "cache": CACHE_NAMES[cache]}
        for batch, held in ((most, True), (most + 1, False)):
            known = figure.values(batch=float(batch), context=1104.0, **names)
            assert bool(known["held"]) == held


def test_fewer_bits_never_take_longer_at_any_stop() -> None:
    figure = figures.few_bits()
    for batch, context in product(BATCHES, CONTEXTS):
        for weights in WEIGHTS.values():
            known = figure.values(batch=batch, context=context, weights=weights)
            assert known["few_bits_gain"] >= 1 - 1e-12


def test_what_a_gpu_does_not_multiply_in_is_told() -> None:
    a100, b200 = ACCELERATORS["a100-80-sxm"], ACCELERATORS["b200-sxm"]
    assert (
        multiplies_in("fp8", a100) == "bf16" and multiplies_in("int8", a100) == "int8"
    )
    assert multiplies_in("nvfp4", ACCELERATORS["h100-sxm"]) == "bf16"
    assert (
        multiplies_in("nvfp4", b200) == "fp4" and multiplies_in("int4", b200) == "bf16"
    )


@pytest.mark.parametrize("name", steps.LOGS)
def test_the_group_shown_is_what_a_hand_would_write(name: str) -> None:
    group = np.array(steps.LOGS[name])
    scale = np.abs(group).max() / 7
    log = steps.group_quantized().logs[name]
    assert f"{scale:.2f}" in log.frames[2].sentence
    codes = [row["text"] for row in log.tables["cells"] if row["y"] == 2]
    assert codes == [steps.number(x, 0) for x in np.rint(group / scale)]
    worst = np.abs(group - scale * np.rint(group / scale)).max()
    assert f"{worst:.2f}" in log.frames[-1].sentence and worst <= scale / 2 + 1e-9


def test_gptq_ends_with_less_error_than_rounding_to_nearest() -> None:
    last = {
        name: float(str(log.frames[-1].counters[1]).rstrip("%"))
        for name, log in steps.gptq_columns().logs.items()
    }
    assert last["GPTQ"] < 0.5 * last["round to nearest"]
    sums = {
        name: [
            abs(float(row["text"].replace("−", "-")))
            for row in log.tables["cells"]
            if row["ink"] == "other" and row["until"] == steps.INPUTS + 1
        ]
        for name, log in steps.gptq_columns().logs.items()
    }
    assert sum(sums["GPTQ"]) < 0.5 * sum(sums["round to nearest"])
    gains = steps.gptq_gains()
    assert np.median(gains) > 1.2 and sum(gain < 1 for gain in gains) < 10


def test_marked_weights_are_those_that_the_two_ways_round_apart() -> None:
    logs = steps.gptq_columns().logs
    end = {
        name: {
            (row["x"], row["y"]): (row["text"], row["ink"])
            for row in log.tables["cells"]
            if row["until"] == steps.INPUTS + 1
        }
        for name, log in logs.items()
    }
    pushed, nearest = end["GPTQ"], end["round to nearest"]
    weights = [place for place in pushed if place[1] < steps.OUTPUTS]
    assert len(weights) == 18
    for place in weights:
        apart = pushed[place][0] != nearest[place][0]
        assert (pushed[place][1] == "B") == (nearest[place][1] == "B") == apart
    for cells in (pushed, nearest):  # each row adds up at the printed digits
        for row in range(4, 7):
            moves = [_plain(cells[x, row][0]) for x in range(steps.INPUTS)]
            assert sum(moves) == pytest.approx(_plain(cells[steps.TOTAL, row][0]))
    for row in range(4, 7):
        sums = [abs(_plain(c[steps.TOTAL, row][0])) for c in (pushed, nearest)]
        assert sums[0] < 0.2 * sums[1]
        assert pushed[steps.OTHER_SUM, row][0] == nearest[steps.TOTAL, row][0]


def _plain(text: str) -> float:
    return float(text.replace("−", "-"))


def test_the_goal_needs_products_in_few_bits() -> None:
    figure = figures.few_bits()
    assert figure.goal is not None
    found = {
        (weights, cache): figure.goal.met(
            figure.values(batch=256.0, weights=weights, cache=cache)
        )
        for weights, cache in product(WEIGHTS.values(), CACHE_NAMES.values())
    }
    passed = {weights for (weights, _), ok in found.items() if ok}
    assert passed == {"FP8", "INT8"} and not found["FP8", "BF16"]


def test_the_bench_goal_is_met_by_one_format_alone() -> None:
    """Four bits, groups of 32: fewer bits than INT4 needs in groups of 16."""
    least = {
        name: min(
            4 + 16 / int(group)
            for group in playground.GROUPS
            if playground.errors(name, group, 8, 50)[1] < 0.5
        )
        for name in ("INT4", "FP4 E2M1")
    }
    assert least == {"INT4": 5.0, "FP4 E2M1": 4.5}


def test_the_table_of_decisions_says_what_the_prices_and_papers_say() -> None:
    rows = decision.choices()
    assert len(rows) == 7 == len(decision.decision_table().rows)
    assert all(
        re.search(r"Llama-[23][.\d]*-\d+B, one [AHB]\d00", row.load) for row in rows
    )
    measured_on = {row.load.split(", ")[1] for row in rows[:3] if row.measured}
    assert measured_on == {"one H200"}  # the published runs are of no other GPU
    slower, faster = rows[4:6]
    for row in (slower, faster):
        rates = papers.A100_RATES[row.load.split(",")[0]]
        published = float(rates["w8a8"]) / float(rates["fp16"])
        assert row.measured == (published,) and not row.by_formula
    assert slower.measured[0] < 1 < faster.measured[0]
    figure = figures.few_bits()
    known = figure.values(batch=256.0, weights="FP8", cache="FP8")
    assert rows[1].by_formula == pytest.approx((known["few_bits_gain"],))
    assert rows[1].measured == ()
    for row, key, batches in ((rows[0], "fp8", (1, 8, 64)), (rows[2], "int4", (1,))):
        both = [[float(papers.RATES[k][b]) for k in (key, "bf16")] for b in batches]
        assert row.measured == pytest.approx([few / wide for few, wide in both])


def test_the_format_tried_first_is_the_fastest_that_was_measured() -> None:
    """FP8 beats INT4 weights in every run; each formula is of the run beside it."""
    rows = decision.choices()
    assert rows[0].first == "FP8"
    for batch in papers.RATES["bf16"]:
        seen = {key: measured.rate_gain(key, batch)[0] for key in ("fp8", "int4")}
        assert seen["fp8"] > seen["int4"]
    for row, key, batches in ((0, "fp8", (1, 8, 64)), (2, "int4", (1,))):
        gains = [measured.rate_gain(key, batch) for batch in batches]
        assert rows[row].measured == tuple(gain for gain, _ in gains)
        assert rows[row].by_formula == tuple(gain for _, gain in gains)
    assert decision.one_for_two("int4", 64) < 0.5 < decision.one_for_two("fp8", 64)
    assert 0.85 < 2 * decision.one_for_two("int4", 64) < 0.9  # a GPU, nearly level


def test_the_older_engine_has_int4_ahead_for_few_requests_alone() -> None:
    """The measured crossover is earlier than that of the formula, and no one number."""
    four, eight = (papers.OLD_GAINS[key] for key in ("int4", "fp8"))
    assert float(four[2]) > float(eight[2])
    for batch in (32, 64):
        assert 1 < float(four[batch]) < float(eight[batch])
    both = [measured.w4a8_gain(batch) for batch in papers.RATES["bf16"]]
    assert [round(gain, 2) for gain in both] == [1.38, 1.0, 1.15]
    for batch, gain in zip(papers.RATES["bf16"], both, strict=True):
        assert gain > measured.rate_gain("int4", batch)[0]


def test_smaller_groups_cost_up_to_one_bit_more() -> None:
    rows = outliers.matrix().shape[1]
    bits = [4 + 16 / group for group in (rows, *stills.GROUP_SIZES)]
    assert bits == sorted(bits) and 0.9 < bits[-1] - bits[0] <= 1
    clean, loud = (outliers.by_group(outliers.matrix(num_outliers=n)) for n in (0, 4))
    assert clean["groups of 128"] < 0.2 < 0.5 < loud["groups of 128"]
    fp8 = [outliers.by_scheme("fp8", num_outliers=n)[1] for n in (0, 4)]
    assert fp8[0] == pytest.approx(fp8[1], rel=0.02)


@pytest.mark.long
def test_the_tiny_model_is_rounded_in_five_formats() -> None:
    page = (ROOT / "chapters/quantization.ipynb").read_text("utf8")
    assert len(tables.errors_table().rows) == 5
    assert "a whole tiny model in five formats" in page


def test_what_the_figure_forgets_is_gone() -> None:
    head = forgetting.small_head()
    for name, kept in kv_eviction.kept_by(head, forgetting.KEEP).items():
        log = forgetting.forgetting().logs[name]
        gone = [row for row in log.tables["cells"] if row["ink"] == "idle"]
        assert len(gone) == forgetting.PLACES - len(kept)
        strips = [row for row in log.tables["cells"] if row["y2"] % 1]
        lost = {0, *head.facts} - set(kept.tolist())
        at = {int(r["x"] + forgetting.COLUMNS * r["y"]) for r in strips}
        assert at == lost and all(row["since"] == 1 for row in strips)
        last = [r for r in log.tables["cells"] if r.get("since") == 2 and r["text"]]
        assert sum(int(row["text"]) for row in last) == pytest.approx(100, abs=5)
        assert f"{head.error(kept):.0%}" in log.frames[-1].sentence


def test_the_sums_of_a_step_close_as_printed() -> None:
    for bits, batch in tables.STEPS[:4]:
        left, total = tables.step_line(bits, batch).split(" = ")
        terms = [float(each.strip("()")) for each in left.split(" + ")]
        assert sum(terms) == pytest.approx(float(total), abs=1e-9)


def test_the_stills_say_what_they_draw() -> None:
    said = {name: getattr(stills, name)().sentence for name in ("groups", "forgotten")}
    assert re.search(r"outlier columns .* from 100% to 23%", said["groups"])
    assert re.search(r"Without outliers .* from 19% to 9%", said["groups"])
    assert re.search(r"observed attention \d%\.", said["forgotten"])


def test_layouts_show_every_format_once() -> None:
    svg = stills.layouts().svg
    for word in ("FP8 E4M3", "FP4 E2M1", "sign", "exponent", "mantissa"):
        assert word in svg or word in re.sub("<!--|-->", "", svg)


def test_the_models_are_those_of_the_catalog() -> None:
    assert all(MODELS[shape.key] is shape for shape in SERVED)


def test_a_lane_turns_pale_where_its_own_step_does_not_fit() -> None:
    """In few bits a batch still fits that is too large for 16."""
    most = fits(served(Bits()), context=1104)
    known = figures.few_bits().values(
        batch=float(most + 1), context=1104.0, weights=WEIGHTS["int4"], cache="BF16"
    )
    full = {name: evaluate(of, **known) for name, (_, of) in charts.LANES.items()}
    assert full == {"16 bits": True, "as chosen": False}
