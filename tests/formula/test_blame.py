"""An error about what lies between says the arguments that the caller gave."""

import re
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import notation as q
from llmserve_lab.formula.evaluate import BLOCK
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.quantity import Quantity
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as f
from tests.formula.example import make
from tests.formula.test_gates import samples

EXTREME = st.sampled_from([0.0, 0.5, -1.0, 1e-308, 1e200, 1e308, float(2**63)])
ANY = st.floats(-9, 9) | st.sampled_from([np.nan, np.inf, -np.inf])


def words_of(formula: Formula, values: dict[str, Any]) -> str:
    """What the formula objects to; empty if nothing."""
    try:
        formula(**values)
    except ValueError as error:
        return str(error)
    return ""


@given(st.sampled_from(formulas()), st.data())
def test_every_refusal_names_an_argument_with_its_value(
    formula: Formula, data: Any
) -> None:
    usual = samples(formula)[0][0]
    name = data.draw(st.sampled_from(sorted(usual)))
    value = data.draw(EXTREME)
    words = words_of(formula, usual | {name: value})
    told = "|".join(map(re.escape, usual))
    assert not words or re.search(rf"\b({told})(=| must be)", words), words
    said = re.search(rf"\b{name}=([^,;]+)", words)
    assert not said or float(said[1]) == value


@given(st.lists(ANY, min_size=1), ANY, ANY, st.booleans(), st.booleans())
def test_the_mask_is_what_is_refused_one_by_one(
    values: list[float], one: float, other: float, whole: bool, positive: bool
) -> None:
    least, most = (x if np.isfinite(x) else 0.0 for x in sorted((one, other)))
    kind: dict[str, Any] = {"whole": whole, "positive": positive, "name": "thing"}
    thing = Quantity("x", "byte", "a thing", least, most, **kind)

    def is_refused(value: float) -> bool:
        try:
            thing.checked(value)
        except ValueError:
            return True
        return False

    assert thing.refuses(np.array(values)).tolist() == [*map(is_refused, values)]


def test_of_an_array_the_element_is_shown_that_is_wrong() -> None:
    at = {"batch": [1.0, 2.0, 1e308], "chunk": [[1.0], [64.0]]}
    assert "from batch=1e+308, chunk=64;" in words_of(f.N_ROWS, at)
    long = np.ones(2 * BLOCK)
    long[-3] = 1e300
    assert "from batch=1e+300, chunk=1e+10;" in words_of(
        f.N_ROWS, {"batch": long, "chunk": 1e10}
    )


def test_only_what_the_wrong_result_is_made_of_is_listed() -> None:
    at = {"params_read": 1e308, "bytes_weight": 2.0, "params_active": 1.0,
          "kv_bytes_per_token": 1.0, "attn_flops_per_pair": 1.0,
          "batch": 1.0, "context": 3.0, "chunk": 1.0}  # fmt: skip
    start = "weight_bytes must be finite, got inf, from bytes_weight=2, "
    words = words_of(f.INTENSITY, at)
    assert words.startswith(start + "params_read=1e+308; weight_bytes holds for: ")


def test_an_order_that_is_broken_below_says_what_it_was_made_of() -> None:
    """Where both were given, they are named already."""
    rows = make(q.n_rows, lambda batch, chunk: batch * chunk)
    few = make(q.batch_fits, lambda n_rows, one_request: n_rows / one_request,
               uses=(rows,), ordered=(("n_rows", "one_request"),))  # fmt: skip
    words = words_of(few, {"batch": 3, "chunk": [1, 2], "one_request": 5})
    assert words == (
        "n_rows must be at most one_request, got 6 with one_request = 5, "
        "from batch=3, chunk=2"
    )
    assert words_of(few, {"n_rows": 6, "one_request": 5}).endswith("one_request = 5")
