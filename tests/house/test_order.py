"""What takes longest starts first: the scheduler of `make test`, without any worker."""

from collections import OrderedDict
from unittest import mock

from xdist.scheduler import LoadScopeScheduling

from tests.conftest import ORDINARY_S, ROOMS, ByRoom, room_of, seconds


def given_out(took: dict[str, float], **scopes: list[str]) -> list[str]:
    """The scopes in the order in which they are given to workers."""
    scheduler = ByRoom.__new__(ByRoom)
    scheduler.took, scheduler._long = took, {}
    scheduler.workqueue = OrderedDict(
        (scope, dict.fromkeys(tests, False)) for scope, tests in scopes.items()
    )
    order = []

    def first(self: ByRoom, node: object) -> None:
        order.append(self.workqueue.popitem(last=False)[0])

    with mock.patch.object(LoadScopeScheduling, "_assign_work_unit", first):
        while scheduler.workqueue:
            scheduler._assign_work_unit(object())
    return order


def test_what_took_longest_is_given_out_first() -> None:
    took = {"a": 1.0, "b": 2.0, "c": 2.5, "d": 0.1}
    assert given_out(took, x=["a"], y=["c"], z=["b", "d", "a"]) == ["z", "y", "x"]


def test_without_times_most_tests_are_given_out_first() -> None:
    assert given_out({}, x=["a"], y=["b", "c"]) == ["y", "x"]
    assert seconds(["a", "b"], {"b": 3.0, "gone": 9.0}) == ORDINARY_S + 3.0


def test_without_times_a_chapter_is_given_out_before_as_many_tests() -> None:
    cells = ["chapters/kv_memory.ipynb::Cell 0", "chapters/kv_memory.ipynb::Cell 1"]
    assert given_out({}, x=["a", "b", "c"], y=cells) == ["y", "x"]


def test_a_chapter_s_tests_are_one_scope_and_a_notebook_is_its_own() -> None:
    assert "kv_memory" in ROOMS
    of_a_room = (
        "tests/kv_memory/test_start.py::test_it",
        "tests/page/test_questions.py::test_it[kv-memory.predict-routing]",
        "tests/page/test_stills.py::test_it[kv_memory.stills.routing]",
    )
    assert {room_of(each) for each in of_a_room} == {"kv_memory"}
    for file in ("chapters/kv_memory.ipynb", "tests/engine/test_laws.py"):
        assert room_of(f"{file}::Cell 3") == file
    assert room_of("tests/house/test_names.py::test_it") == "house"
