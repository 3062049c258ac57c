"""The figures of time: bars of an iteration, and tokens for all against each."""

from dataclasses import replace

import pytest

from llmserve_lab.roofline import bare, measured
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.roofline.machine import bound_s, prompt_params
from llmserve_lab.roofline.page import charts, figures, measured_roof
from llmserve_lab.running_example import device, model
from tests.page import drawn

H100, LLAMA = device(), model()


def test_the_bars_of_an_iteration_add_up() -> None:
    known = figures.iteration_time().values(batch=64.0, context=8192.0)
    reading = known["weights_s"] + known["decode_kv_s"]
    assert known["decode_iteration_s"] == pytest.approx(reading)
    assert known["decode_linear_s"] < known["weights_s"]
    assert known["decode_pairs_s"] < known["decode_kv_s"]
    computing = known["prefill_linear_s"] + known["prefill_pairs_s"]
    assert known["prefill_iteration_s"] == pytest.approx(computing)
    assert known["prefill_linear_s"] > known["weights_s"] and known["prefill_kv_s"] == 0
    large = figures.iteration_time().values(batch=512.0, context=128.0)
    assert large["decode_linear_s"] > large["weights_s"]
    assert large["decode_iteration_s"] == pytest.approx(
        large["decode_linear_s"] + large["decode_kv_s"]
    )


def test_a_prompt_skips_the_lm_head_but_for_its_last_row() -> None:
    known = figures.iteration_time().values(chunk=1000.0)
    bill = walk(LLAMA, batch=1, context=0, chunk=1000, last_scored=True)
    computing = (bill.linear_flops + bill.attn_flops) / float(H100.peak("bf16"))
    assert known["prefill_iteration_s"] == pytest.approx(computing, rel=1e-3)
    assert known["prefill_iteration_s"] == pytest.approx(14.4e-3, abs=5e-5)
    head = walk(LLAMA, batch=1, context=0, chunk=1).weight_bytes - 2 * prompt_params(
        LLAMA
    )
    assert head / float(H100.hbm_bw) == pytest.approx(0.31e-3, abs=5e-6)
    tied = replace(LLAMA, tied=True)
    assert prompt_params(tied) == prompt_params(LLAMA)


def test_the_trade_states_the_ends_of_its_lines() -> None:
    picture = measured_roof.trade()
    assert "From 8 to 128 requests the server goes from 1,100 to" in picture.sentence
    assert "to 6,600 tokens a second" in picture.sentence
    for each in measured.served():
        assert each.row.tpot_s > bare.alone_s(each.row.clients)  # it reads prompts
    for batch in bare.batches():
        assert bound_s(batch) < bare.alone_s(batch) < 1.4 * bound_s(batch)
    batches = [1, 8, 32, 104, 294, 296, 478]
    rates = [batch / bound_s(batch) for batch in batches]
    assert rates == sorted(rates)  # more for all
    assert rates[-1] == pytest.approx(rates[-2], rel=1e-3)  # from the ridge on no more
    assert [bound_s(b) for b in batches] == sorted(bound_s(b) for b in batches)
    for each in measured.served():
        assert each.row.clients / each.row.tpot_s < each.row.clients / each.bound.value


@pytest.mark.parametrize(
    ("batch", "context"), [(1.0, 1100.0), (32.0, 1100.0), (512.0, 128.0)]
)
def test_attention_is_drawn_from_the_rule_on_that_says_where_it_begins(
    batch: float, context: float
) -> None:
    """It stands where the longer bar of the products ends, and attention begins."""
    figure, size = figures.iteration_time(), {"batch": batch, "context": context}
    bars = drawn.marks(figure, "rect", **size)
    rules = [
        each for each in drawn.marks(figure, "rule", **size) if "strokeDash" in each
    ]
    assert len(rules) == 2 and len(bars) == 8
    for rule in rules:
        own = [each for each in bars if rule["y"] < each["y"] < rule["y2"]]
        later = [each["x"] for each in own if each["ink"] in ("green", "grey")]
        ends = [b["x"] + b["width"] for b in own if b["ink"] in ("blue", "gold")]
        assert [rule["x"]] * 2 == pytest.approx(later)
        assert rule["x"] == pytest.approx(max(ends))
        assert max(ends) > 1.2 * min(ends)


@pytest.mark.parametrize("batch", [1.0, 512.0])
def test_the_phase_whose_caches_do_not_fit_is_called_impossible(batch: float) -> None:
    """Prefill runs one prompt: its caches always fit beside these weights."""
    figure, context = figures.roofline(), 8192.0
    held = LLAMA.weight_bytes() + batch * context * LLAMA.kv_bytes_per_token()
    full = float(held) > float(H100.hbm_bytes)
    size = {"batch": batch, "context": context}
    names = [text for text in drawn.texts(figure, **size) if "(memory full)" in text]
    assert names == ["decode (memory full)"] * full
    faint = {
        each["ink"]
        for each in drawn.marks(figure, "symbol", **size)
        if each.get("opacity", 1) < 1
    }
    assert (charts.PHASES.inks["decode"].name in faint) is full
    assert charts.PHASES.inks["prefill"].name not in faint


def test_the_line_that_counts_prompts_lies_beyond_the_decodes_by_their_time() -> None:
    """Two FLOPs a weight and token: as many prompts begin as answers end."""
    (panel,) = drawn.panels(measured_roof.trade)
    (line,) = (each for each in panel.lines if "prompts" in each.get_label())
    share, peak = measured.mean_share(), float(H100.peak("bf16"))
    one_s = 2 * prompt_params(LLAMA) * share * measured.PROMPT_LEN / peak
    servers = sorted(measured.served(), key=lambda each: each.row.clients)
    for each, at_ms in zip(servers, line.get_xdata(), strict=True):
        begin = each.row.clients / (share * measured.OUTPUT_LEN)
        beyond_s = at_ms / 1e3 - each.bound.value
        assert beyond_s == pytest.approx(begin * one_s, rel=0.05)
