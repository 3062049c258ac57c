"""What stands behind a number: followed through cells that were never run."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import running_example
from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog import machine as described
from llmserve_lab.continuous_batching import machine
from llmserve_lab.formula.origin import CellRun, Computed, Evidence
from llmserve_lab.page.assignments import assigned, bare, free
from llmserve_lab.page.derivation import NotebookCells, cells
from llmserve_lab.roofline import formulas as f

H100 = accelerator("h100-sxm")
NAMES: dict[str, Any] = {
    "f": f,
    "gpu": H100,
    "machine": machine,
    "running_example": running_example,
    "known": described(H100),
}


def after(*codes: str, **names: Any) -> NotebookCells:
    """The notebook after its cells, with the names that they would have left."""
    return cells({**NAMES, **names}, [*codes, ""], until=0)


def origin(text: str, *codes: str, **names: Any) -> Any:
    return after(*codes, **names).origin(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text",
    [
        "gpu.hbm_bw",
        "f'{gpu.hbm_bw.value / 1e12:.2f} TB/s'",
        "known['hbm_bw']",
        "(1e-12 * gpu.hbm_bw.value, 'TB/s')",
        "round(float(gpu.hbm_bw))",
        "banded(f'{gpu.hbm_bw.value}', band)",
    ],
)
def test_a_cited_number_is_its_own_source_however_it_is_told(text: str) -> None:
    assert origin(text) is H100.hbm_bw


@pytest.mark.parametrize("call", ["f.RIDGE(**known)", "f.RIDGE.at(known)"])
@pytest.mark.parametrize("told", ["{}", "f'{{{} / 1e3:.0f}}'", "1e3 * {}"])
def test_a_formula_comes_with_what_was_put_in(call: str, told: str) -> None:
    found = origin(told.format(call))
    assert isinstance(found, Computed) and found.formula is f.RIDGE
    assert found.given["hbm_bw"] is H100.hbm_bw
    assert found.value == f.RIDGE.at(NAMES["known"])


def test_a_name_is_followed_to_the_formula_that_made_it() -> None:
    found = origin("f'{ridge:.0f}'", "ridge = f.RIDGE.at(known)", ridge=295.2)
    assert isinstance(found, Computed) and found.formula is f.RIDGE


def test_a_formula_that_is_only_a_part_stands_behind_the_number() -> None:
    found = origin("f.RIDGE.at(known) / 2 + f.RIDGE.at(known)")
    (part,) = found.steps
    assert part.text == "f.RIDGE.at(known)" and part.exact.formula is f.RIDGE


def test_a_number_that_only_changes_its_unit_keeps_its_source() -> None:
    codes = ("rate = float(known['hbm_bw'])", "tera = rate / 1e12")
    assert (
        origin("f'{tera:.2f}'", *codes, rate=1.0, tera=1.0) is NAMES["known"]["hbm_bw"]
    )


def test_a_chain_is_followed_over_cells_the_nearest_first() -> None:
    found = origin(
        "a - b", "c = machine.LONG", "b, a = c / 2, f.RIDGE.at(known)", a=1, b=2, c=3
    )
    assert isinstance(found, CellRun) and found.call == "a - b"
    a, b, c = found.steps
    assert [each.text for each in (a, b, c)] == [
        "a = f.RIDGE.at(known)",
        "b = c / 2",
        "c = machine.LONG",
    ]
    assert isinstance(a.exact, Computed) and a.exact.formula is f.RIDGE
    assert c.does == f"A setting of {machine.__name__}."


def test_a_name_means_what_it_meant_where_it_was_read() -> None:
    found = origin("y", "x = 1", "y = x + 1", "x = 2", x=2, y=2)
    assert found.call == "y = x + 1"
    assert [each.text for each in found.steps] == ["x = 1"]


def test_lines_below_the_number_do_not_count() -> None:
    code = "x = 1\nglue(x=x)\nx = 2"
    found = cells({"x": 2}, [code], until=2).origin(ast.parse("x", mode="eval").body)
    assert isinstance(found, CellRun) and found.call == "x = 1"


def test_a_call_says_what_it_does_and_with_which_arguments() -> None:
    found = origin("running_example.band('tpot', clients=n)", "n = 8", n=8)
    assert found.settings["kind"] == "tpot" and found.settings["clients"] == "8"
    said = (running_example.band.__doc__ or "").replace("`", "").split()
    assert found.does and found.does in " ".join(said)


@pytest.mark.parametrize("name", ["params_active", "kv_elements_per_token"])
def test_a_property_says_what_it_is_whether_it_is_kept_or_not(name: str) -> None:
    shape = running_example.model()
    found = origin(f"shape.{name}", "shape = running_example.model()", shape=shape)
    said = getattr(type(shape), name).__doc__
    assert found.does and said.startswith(found.does)


def test_each_name_of_a_tuple_has_its_own_half() -> None:
    code = "few, many = (machine.rate(n) for n in (8, 128))"
    assert origin("many", code, few=1, many=2).call == "many = machine.rate(128)"


def test_a_cited_number_within_an_expression_is_a_setting_with_its_source() -> None:
    found = origin("gpu.hbm_bw.value * n", "n = 4", n=4)
    assert isinstance(found.settings["gpu.hbm_bw"], Evidence)


def test_nothing_is_run_but_formulas() -> None:
    ran: list[int] = []
    found = origin("count()", count=lambda: ran.append(1))
    assert isinstance(found, CellRun) and not ran


def test_an_expression_that_fails_is_told_as_it_is_written() -> None:
    assert origin("known['nothing'] + gpu.nothing").settings == {}
    assert isinstance(origin("f.RIDGE.at()"), CellRun)
    assert origin("x", "%matplotlib inline", "x = (").call == "x"


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=30))
def test_circles_end_and_no_step_is_told_twice(names: list[str]) -> None:
    codes = [f"{a} = {b} + {a}" for a, b in zip(names, names[::-1], strict=True)]
    found = origin("a + b + c + d + e", *codes, **dict.fromkeys("abcde", 1))
    texts = [each.text for each in found.steps]
    assert len(texts) == len(set(texts)) <= 6


def test_names_of_a_comprehension_are_its_own() -> None:
    node = ast.parse("max(run[k] for k in keys if k != x)", mode="eval").body
    assert free(node) == ["max", "run", "keys", "x"]
    assert ast.unparse(bare(ast.parse("f'{a} of {b}'", mode="eval").body))
    assert [name for _, name, *_ in assigned("for i, j in pairs: k: int = i")] == [
        "i",
        "j",
        "k",
    ]
