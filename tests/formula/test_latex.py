"""On the page: the equation in teaching form, and the same with numbers and units."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab import notation as q
from llmserve_lab.catalog import Cited
from llmserve_lab.roofline import formulas as f
from tests.formula.example import make

NUMBERS: dict[str, Any] = {"bytes_weight": 2, "params_read": 6.74e9}


def test_the_worked_substitution_has_three_lines() -> None:
    symbols, numbers, result = f.WEIGHT_BYTES.worked(**NUMBERS).latex.split(r"\\")
    assert r"w_b P_{\mathrm{read}}" in symbols
    assert r"2\,\mathrm{B/parameter} \cdot 6.74 \times 10^{9}\,\mathrm{par" in numbers
    assert r"&= \mathbf{13.5\,\mathrm{GB}}" in result
    assert (
        f.WEIGHT_BYTES.worked(**NUMBERS)
        ._repr_html_()
        .startswith('<div class="worked">')
    )


def test_more_digits_on_request() -> None:
    assert repr(f.WEIGHT_BYTES.worked(digits=4, **NUMBERS)) == "weight_bytes = 13.48 GB"


def test_records_may_be_worked_with() -> None:
    peak = Cited(1.0, "PFLOP/s", "datasheet", "somebody")
    shares: dict[str, Any] = {"eff_compute": 1, "eff_mem": 0.5}
    worked = f.RIDGE.worked(peak_flops=peak, hbm_bw=2e12, **shares)
    assert worked.value == pytest.approx(1000.0)
    assert r"1\,\mathrm{PFLOP/s}" in worked.latex


def test_an_intermediate_result_may_be_given_at_any_depth() -> None:
    at: dict[str, Any] = NUMBERS | {"kv_bytes_per_token": 1e5, "context": 100}
    flops: dict[str, Any] = {"linear_flops": 3e12, "attn_flops": 1e12}
    worked = f.INTENSITY.worked(**at, **flops, batch=10)
    assert r"4\,\mathrm{TFLOP}" in worked.latex
    assert worked.value == pytest.approx(4e12 / (2 * 6.74e9 + 1e8))


def test_an_array_cannot_be_worked() -> None:
    message = r"worked needs one number for each argument of n_rows, got .* \(2,\)"
    with pytest.raises(TypeError, match=message):
        f.N_ROWS.worked(batch=np.ones(2), chunk=1)


def test_a_substituted_number_stands_in_brackets_before_its_power() -> None:
    square = make(q.batch_fits, lambda own_row, n_rows: (n_rows / own_row) ** 2)
    latex = square.worked(n_rows=3).latex
    assert r"\left(3\,\mathrm{tokens}\right)^{2}" in latex


def test_terms_stand_in_the_order_of_the_notation() -> None:
    assert f.LINEAR_FLOPS.latex == r"F_{\mathrm{lin}} = 2 P_{\mathrm{act}} n"
    assert f.ITERATION_BYTES.latex == r"Q = Q_w + Q_{\mathrm{kv}}"


def test_a_coefficient_is_a_plain_number_and_a_one_is_not_printed() -> None:
    flops = f.LINEAR_FLOPS.worked(params_active=6.6e9, batch=1, chunk=1).latex
    assert r"= 2 \cdot 6.6 \times 10^{9}" in flops
    at: dict[str, Any] = {"batch": 4, "context": 100, "chunk": 8}
    pairs = f.ATTN_PAIRS.worked(**at).latex
    assert "request/token" not in pairs.split(r"\\")[1].replace("tokens/request", "")
    assert "1 \\cdot" not in pairs
    other = f.LINEAR_FLOPS.worked(
        params_active=6.6e9, batch=1, chunk=1, flops_per_param=3
    )
    assert r"= 3 \cdot" in other.latex


def test_the_legend_says_letter_meaning_and_unit_of_every_term() -> None:
    html = f.KV_BYTES_PER_TOKEN._repr_html_()
    assert html.startswith('<div class="formula" id="eq-kv_bytes_per_token">')
    legend = html.partition('<p class="legend">')[2]
    entries = legend.removesuffix("</p>\n</div>").split("; ")
    assert [entry.partition("</span> ")[2] for entry in entries] == [
        "KV bytes per token, whole model (B/token)",
        "layers (layer)",
        "key–value heads (head/layer)",
        "width of one head (element)",
        "bytes per cached number (B/element)",
        "one key and one value",
    ]
    assert r"\(h_{\mathrm{kv}}\)" in entries[2] and r"\(2\)" in entries[-1]


def test_a_legend_after_another_formula_tells_only_new_letters() -> None:
    """The result is told again; a formula after itself tells nothing else."""

    def told(shown: Any) -> list[str]:
        legend = shown._repr_html_().partition('<p class="legend">')[2]
        entries = legend.removesuffix("</p>\n</div>").split("; ")
        return [entry.partition("</span> ")[2] for entry in entries]

    whole, alone = f.KV_READ_BYTES, f.KV_READ_BYTES.after()
    assert told(alone) == told(whole) and repr(alone) == repr(whole)
    after = told(f.KV_READ_BYTES.after(f.KV_BYTES_PER_TOKEN))
    assert "KV bytes per token, whole model (B/token)" in told(whole)
    assert after == [
        each for each in told(whole) if not each.startswith("KV bytes per token")
    ]
    assert told(whole.after(whole)) == told(whole)[:1]
    assert "eq-kv_read_bytes" in whole.after(whole)._repr_html_()


def test_a_legend_has_no_word_for_what_is_not_printed() -> None:
    assert "own_row" in f.ATTN_PAIRS.terms
    assert "a row sees itself" not in f.ATTN_PAIRS._repr_html_()
