"""A number that rests on the book's model says so: code followed to its predictors."""

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from llmserve_lab import running_example
from llmserve_lab.catalog import accelerator
from llmserve_lab.engine import IterationLoad
from llmserve_lab.formula.band import Limit
from llmserve_lab.formula.origin import CellRun
from llmserve_lab.formula.registry import formulas
from llmserve_lab.page.derivation import cells
from llmserve_lab.page.number_record import Provenance
from llmserve_lab.page.predicted.chain import Chain
from llmserve_lab.page.predicted.code import within
from llmserve_lab.page.predicted.predictors import PREDICTED, PREDICTORS
from llmserve_lab.page.predicted.reach import reaches
from tests.page.records import CHAPTERS, ROOT, notebook_of, records_of

MODULE = """
from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from llmserve_lab.engine import IterationCost, simulate
from llmserve_lab.roofline.formulas import ITERATION_S, RIDGE

if TYPE_CHECKING:
    from llmserve_lab.engine import Report

def run(): return simulate((), None)
@cache
def kept(): return run()
LAWS = {"one": kept}
@dataclass(frozen=True)
class Server:
    cost: IterationCost
    report: Report | None = None
    def step_s(self, load: Any) -> float: return self.cost.seconds(load)
    @cached_property
    def again_s(self) -> float: return self.step_s(None)
    @property
    def held_bytes(self) -> float: return self.cost.weight_bytes
    @property
    def error(self) -> float: return self.again_s / 2 - 1
    @classmethod
    def usual(cls) -> Server: return cls(IterationCost(row_s=1.0))

def nested():
    def inner(): return kept()
    return inner()
def handed(): return [*map(run, ())]
def half(): return partial(run)()
def by_constant(): return LAWS["one"]()
def of_server(server: Server): return server.again_s
def of_each(servers: list[Server]): return [each.step_s(None) for each in servers]
def of_usual(): return Server.usual().again_s
def later():
    from llmserve_lab.engine.simulate import simulate as go
    return go((), None)
def by_formula(known): return ITERATION_S.at(known)
def slower(): return nested() / handed()

def typed(report: Report) -> Report: return report
def imported():
    from llmserve_lab.engine.simulate import simulate
    return 1
def asked(found): return isinstance(found, Server)
def bytes_of(server: Server): return server.held_bytes
def made(): return Server.usual()
def ridge(known): return RIDGE.at(known)
def off(): return run() / 2
def excess(row): return run() / row.measured_s - 1
def run_length(simulate): return len(simulate)
"""
REACH = (
    "run", "kept", "nested", "handed", "half", "by_constant", "of_server", "of_each",
    "of_usual", "later", "by_formula", "slower",
)  # fmt: skip
STAY = (
    "typed", "imported", "asked", "bytes_of", "made", "ridge", "off", "excess",
    "run_length",
)  # fmt: skip


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """A module as if it were one of the package's."""
    path = tmp_path_factory.mktemp("fake") / "fake_chain.py"
    path.write_text(MODULE, "utf8")
    name = "llmserve_lab.fake_chain"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[name]


@pytest.mark.parametrize("name", REACH)
def test_a_call_is_followed_to_the_predictor(fake: ModuleType, name: str) -> None:
    assert reaches(getattr(fake, name))


@pytest.mark.parametrize("name", STAY)
def test_what_is_typed_imported_counted_or_measured_is_no_prediction(
    fake: ModuleType, name: str
) -> None:
    assert not reaches(getattr(fake, name))


@pytest.mark.parametrize(
    ("text", "is_predicted"),
    [
        ("report['ttft']", True),
        ("f'{fast / slow:.1f}'", True),
        ("of_mine()", True),
        ("server.again_s", True),
        ("(server.step_s(1), 's')", True),
        ("cost.seconds(load)", True),
        ("running_example.cost().weights_s", True),
        ("server.held_bytes", False),
        ("server.error", False),
        ("report.prompt_len", False),
        ("cost.weight_bytes", False),
        ("gpu.hbm_bw", False),
        ("running_example.PROMPT", False),
        ("measured_s", False),
        ("fast / measured_s - 1", False),
        ("chosen", False),
        ("before", False),
    ],
)
def test_a_number_of_a_notebook_is_followed_through_its_cells(
    fake: ModuleType, text: str, is_predicted: bool
) -> None:
    codes = [
        "before = report\nbefore = 3",
        "report = fake.kept()\nfast, slow = report, fake.handed()",
        "def of_mine():\n    return fake.run()",
        "server, chosen = fake.Server.usual(), 12\nmeasured_s = report",
        "cost = running_example.cost()\nload = IterationLoad.of(chunk=1)",
        "",
    ]
    cost = running_example.cost()
    names: Mapping[str, Any] = {
        "fake": fake, "running_example": running_example, "server": fake.Server(cost),
        "cost": cost, "report": {"ttft": 1.0}, "fast": 1.0, "slow": 2.0, "chosen": 12,
        "measured_s": 1.0, "before": 3, "gpu": accelerator("h100-sxm"),
        "load": IterationLoad.of(chunk=1), "of_mine": FunctionType(of_mine, {}),
    }  # fmt: skip
    found = Chain(names, cells(names, codes, 0).made, codes)
    assert found.predicts(ast.parse(text, mode="eval").body) is is_predicted


of_mine = compile("0", "<cell>", "eval")


def test_the_record_of_a_prediction_without_a_band_says_so() -> None:
    book, run = Provenance(), CellRun("simulate(…)")
    for predicted, band in ((True, None), (False, None), (True, Limit("upper", "."))):
        book.number(run, f"{predicted} {band is None}", band, predicted=predicted)
    flags = {key: record.get("p") for key, record in book.data["numbers"].items()}
    assert flags == {"True True": 1, "False True": None, "True False": None}


# --- All chapters, by other means: bytecode, and the texts that are stored. ---

# The last names of the predictors, a second time.
SERVERS = {"simulate", "serve", "recorded", "predict"}
TWIN = {"step_of", "blocks_of", "prefill_s", "prefill_blocks"}
LAYERS = {"rest_parts_s", "layer_s", "products_s"}
COST = {
    "compute_s", "memory_s", "read_s", "exposed_s", "fixed_s", "host_s", "chunk_within",
    "row_s", "pair_s", "weights_s", "kv_token_s",
}  # fmt: skip
ITERATION = {
    "iteration_s", "served_iteration_s", "compute_s", "weights_s", "kv_s", "turn_s",
    "halves_s", "hidden_s", "mla_s", "experts_s", "all_to_all_s", "other_s",
    "attn_elementwise_s", "moe_elementwise_s", "linear_s", "pairs_s",
    "attn_kernel_s", "attn_gemm_s", "expert_read_s", "expert_compute_s",
}  # fmt: skip
JUDGES = re.compile(  # rooms whose numbers stand beside measured ones
    r"llmserve_lab\.(validation|how_wrong|claims|deepseek\.(evaluation|calibration)"
    r"|engine\.timing|running_example|page|catalog)\b"
)
WORD = re.compile(r"measured|published|profiled|real|off|errors?|band")
GIVEN = re.compile(r"\.(prompt_len|output_len|arrival_s|budget|clients|num_requests)\b")
CALL = re.compile(r"((?:[A-Za-z]\w*\.)*[A-Za-z]\w*)\(")


def test_the_predictors_are_those_that_are_named_here() -> None:
    told = {name.rpartition(".")[2] for name in PREDICTORS}
    assert told == SERVERS | TWIN | LAYERS | COST | {"seconds"}
    assert set(PREDICTED) == ITERATION


@cache
def certain(function: Any) -> bool:
    """Whether bytecode calls a server, a twin or a layer: by plain names alone."""
    waiting, seen = [function], set[int]()
    while waiting:
        each = inspect.unwrap(waiting.pop())
        if not isinstance(each, FunctionType) or id(each) in seen:
            continue
        seen.add(id(each))
        if JUDGES.match(each.__module__) or WORD.search(each.__name__):
            continue
        if not each.__module__.startswith("llmserve_lab."):
            continue
        if each.__name__ in SERVERS | TWIN | LAYERS:
            return True
        waiting.extend(called(each.__code__, each.__globals__))
    return False


def called(code: CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    """Functions that a piece of bytecode names, or reads from a module it names."""
    modules = [names[n] for n in code.co_names if isinstance(names.get(n), ModuleType)]
    for name in code.co_names:
        yield names.get(name)
        yield from (getattr(each, name, None) for each in modules)
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from called(each, names)


def imports_of(path: Path) -> dict[str, Any]:
    """What the cells of a chapter import."""
    names: dict[str, Any] = {}
    for cell in notebook_of(path)["cells"]:
        if cell["cell_type"] != "code" or "%" in "".join(cell["source"])[:1]:
            continue
        for node in ast.parse("".join(cell["source"])).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), "<cell>", "exec"), names)
    return names


def texts(record: Mapping[str, Any], steps: Mapping[str, Any]) -> Iterator[str]:
    """The expression of a number, and the assignments behind it."""
    if "run" in record:
        text, *more = record["run"]
        yield text
        keys = more[2] if len(more) > 2 else ()
        yield from (steps[key][0] for key in keys)


@pytest.mark.parametrize("path", [ROOT / "intro.ipynb", *CHAPTERS], ids=str)
def test_a_number_that_rests_on_a_predictor_has_a_band_or_says_that_it_has_none(
    path: Path,
) -> None:
    records, names = records_of(path), imports_of(path)
    steps, by_label = records.get("steps", {}), {f.label: f for f in formulas()}
    glued = glued_in(path)
    silent = []
    for key, record in records.get("numbers", {}).items():
        if key not in glued or record.keys() & {"band", "p", "source"}:
            continue
        if label := record.get("formula"):
            if ITERATION & {step.name for step in by_label[label].steps()}:
                silent.append(key)
            continue
        said = [*texts(record, steps)]
        if any(WORD.search(text) or GIVEN.search(text) for text in said):
            continue
        calls = {call for text in said[:1] for call in CALL.findall(text)}
        if any(certain(within(names, call)) for call in calls):
            silent.append(key)
    assert silent == []


def glued_in(path: Path) -> set[str]:
    """Names of the numbers that a chapter hands to its prose."""
    outputs = [o for c in notebook_of(path)["cells"] for o in c.get("outputs", ())]
    found = [each.get("metadata", {}).get("scrapbook", {}) for each in outputs]
    return {each["name"] for each in found if each}


def test_many_numbers_are_told_as_predictions_and_given_ones_are_not() -> None:
    numbers = {path.stem: records_of(path).get("numbers", {}) for path in CHAPTERS}
    told = {n: sum("p" in r for r in each.values()) for n, each in numbers.items()}
    assert sum(told.values()) > 800 and not told["catalog"] and not told["notation"]
    served = numbers["continuous_batching"]
    for name in ("sat_factor", "hand_ttft", "weights_s", "idle_share", "strip_read"):
        assert served[name].get("p") == 1, name
    for name in ("kv_token", "answer", "sheet_memory", "tpot_error", "timed_whole"):
        assert "p" not in served[name], name
