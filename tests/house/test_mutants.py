"""Planting defects works: one that matters is caught, one that does not survives."""

import ast
import random
import subprocess
import sys
from pathlib import Path

import pytest

from llmserve_lab.formula.registry import formulas
from planted.catalog import in_catalog, misread
from planted.charts import in_charts
from planted.defect import Defect, planted, python_defect
from planted.formulas import Fate, fate, in_coefficients
from planted.known import known
from planted.nets import NETS, nbval
from planted.sandbox import Sandbox
from planted.slips import Written, changes, written
from tests.counted import load

ROOT = Path(__file__).resolve().parents[2]
TOY = "WIDTH = 12  # ℓ\nUNSEEN = 34\n"
HUNT = """
import sys
from pathlib import Path
from planted import hunt
from planted.defect import Defect
from planted.sandbox import Sandbox

root = Path(sys.argv[1])
hunt._sandbox = Sandbox(root, root.with_name("copy"))
nets = lambda root, defect: [("first", ("tests/test_a.py",)), ("second", ("tests",))]
print(hunt.red_already(nets))
for start in map(int, sys.argv[2:]):
    place = {"file": "src/toy.py", "start": start, "end": start + 1, "line": 0}
    defect = Defect(kind="toy", before="", after="7", **place)
    print(hunt.judge(defect, nets)[1])
"""


def at(start: int, after: str) -> Defect:
    return Defect(
        kind="toy", file="src/toy.py", start=start, end=start + 1, line=1,
        before="", after=after,
    )  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one module, two tests, and a digit that no test looks at."""
    for name, text in {
        "src/toy.py": TOY,
        "tests/conftest.py": "import toy",  # as that of the pages makes all figures
        "tests/test_a.py": "import toy\ndef test_a(): assert toy.WIDTH % 10 == 2",
        "tests/test_b.py": "import toy\ndef test_b(): assert toy.WIDTH // 10 == 1",
    }.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    return tmp_path / "tree"


@pytest.mark.long
def test_a_defect_is_caught_by_its_net_and_an_unseen_one_survives(tree: Path) -> None:
    """What cannot even be loaded is caught, too: the last one."""
    seen = [TOY.encode().index(sign) for sign in (b"2", b"1", b"3", b"=")]
    command = [sys.executable, "-c", HUNT, str(tree), *map(str, seen)]
    paths = {"PYTHONPATH": str(ROOT / "tools"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=paths)
    want = ["[]", "first", "second", "", "first"]
    assert done.stdout.splitlines() == want, done.stderr
    assert (tree / "src/toy.py").read_text("utf8") == TOY


def test_the_copy_is_whole_again_when_the_defect_is_out(tree: Path) -> None:
    box = Sandbox(tree, tree.with_name("copy"))
    path = box.root / "src/toy.py"
    dates = [path.stat().st_mtime]
    for after in "56":
        with box.holding([at(0, "V"), at(8, after)]):
            assert path.read_text("utf8") == "V" + TOY[1:8] + after + TOY[9:]
            dates.append(path.stat().st_mtime)
    assert path.read_text("utf8") == TOY and path.stat().st_mtime == dates[0]
    assert len(set(dates)) == 3


def test_several_defects_do_not_move_each_other() -> None:
    both = [at(0, "xyz"), at(8, "ℓℓ")]
    assert planted(TOY.encode(), both) == planted(TOY.encode(), both[::-1])
    assert planted(TOY.encode(), both).decode() == "xyzIDTH = ℓℓ" + TOY[9:]


@pytest.mark.parametrize("literal", ["8", "0", "1e9", "32_000", "989.4e12", "0.083"])
def test_a_misread_number_is_another_number(literal: str) -> None:
    for seed in range(20):
        changed = misread(literal, random.Random(seed))
        assert ast.literal_eval(changed) != ast.literal_eval(literal)
        assert sum(a != b for a, b in zip(changed, literal, strict=True)) == 1


@pytest.mark.long
def test_every_formula_is_found_where_it_is_typed() -> None:
    assert {of.formula for of in written(ROOT)} == set(formulas())
    for of in written(ROOT):
        assert len(list(changes(of))) >= 1, of.formula.label


@pytest.mark.long
def test_swaps_in_charts_are_of_every_sort_and_change_the_source() -> None:
    swaps = list(in_charts(ROOT))
    assert {swap.label for swap in swaps} == {
        *("names", "sources", "inks", "unit", "title", "factor", "meanings"),
        *("shown", "labels", "verdict", "cases", "derived", "fields"),
        *("answers", "hints", "choices", "prompt"),
    }
    for swap in swaps:
        data = (ROOT / swap.file).read_bytes()
        wrong = planted(data, [swap]).decode()
        assert wrong.encode() != data
        ast.parse(wrong)


@pytest.mark.long
def test_what_was_missed_before_can_still_be_planted() -> None:
    for defect in known(ROOT):
        assert (ROOT / defect.label).is_file()
        assert planted((ROOT / defect.file).read_bytes(), [defect])


def of_label(label: str) -> Written:
    return next(of for of in written(ROOT) if of.formula.label == label)


@pytest.mark.parametrize(
    ("label", "after", "expected"),
    [
        ("n_rows", "batch * chunk", Fate.SAME),
        ("n_rows", "batch / chunk", Fate.SEEN),
        (
            "crossover_context",
            "solve(q.weight_bytes, KV_READ_BYTES, q.context)",
            Fate.SAME,
        ),
        (
            "crossover_context",
            "solve(KV_READ_BYTES, q.weight_bytes, q.batch)",
            Fate.SEEN,
        ),
        (
            "crossover_context",
            "solve(KV_READ_BYTES, KV_READ_BYTES, q.batch)",
            Fate.SEEN,
        ),
    ],
)
def test_what_says_the_same_is_no_defect(
    label: str, after: str, expected: Fate
) -> None:
    load(ROOT / "tests")
    of = of_label(label)
    defect = python_defect("formulas", of.path, ROOT, of.bodies[0], after)
    assert fate(of, defect) is expected


def test_slips_of_one_formula() -> None:
    of = of_label("iteration_bytes")
    found = {ast.unparse(slip) for _, slip in changes(of)}
    assert found == {
        *("weight_bytes - kv_read_bytes", "kv_read_bytes + weight_bytes"),
        *("weight_bytes", "kv_read_bytes", "(WEIGHT_BYTES,)", "(KV_READ_BYTES,)"),
    }


def test_there_is_something_of_every_kind_to_plant() -> None:
    kinds = [next(in_coefficients(ROOT)).kind, next(in_catalog(ROOT, 0)).kind]
    kinds += [next(in_charts(ROOT)).kind, next(known(ROOT)).kind]
    assert sorted(kinds) == sorted(NETS)
    assert "--nbval" in nbval(ROOT) and "--nbval-lax" not in nbval(ROOT)
