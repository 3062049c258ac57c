"""The frames of a log, replayed: who waits, who runs and which blocks are held."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.engine import (
    Chunked,
    Continuous,
    IterationCost,
    IterationFrame,
    Pool,
    Report,
    Request,
    Static,
    simulate,
)
from tests.engine.scenarios import Scenario, scenario

TEN_MS = IterationCost(weights_s=0.01)
scenarios = st.integers(1_000, 1_000_000).map(scenario)


def frames(report: Report) -> list[list[IterationFrame]]:
    """The frames of every replica."""
    assert report.log is not None
    places = sorted({(step.pool, step.replica) for step in report.log})
    return [report.log.frames(*place) for place in places]


@settings(max_examples=30)
@given(given=scenarios)
def test_the_frames_replay_to_the_queue_and_the_blocks(given: Scenario) -> None:
    """Requests in and out by events alone; blocks by walking over their tokens."""
    grows = isinstance(given.deployment, Pool) and (
        not given.deployment.policy.reserve_output
    )
    for own in frames(given.fast(leap=False, log=True)):
        waiting, inside = set[int](), set[int]()
        for frame in own:
            for kind, number in frame.events:
                if kind in ("arrived", "preempted"):
                    waiting.add(number)
                if kind == "admitted":
                    waiting.remove(number)
                    inside.add(number)
                if kind in ("preempted", "freed"):
                    inside.remove(number)
            back = set(frame.ids("preempted"))
            assert set(frame.waiting) == waiting - back
            ran = {each.id for each in frame.running}
            assert ran <= inside | back | set(frame.ids("freed"))
            if grows:
                held = (-(-(each.context + each.rows) // 16) for each in frame.running)
                assert sum(held) <= frame.used_blocks <= frame.kv_blocks
        assert not waiting


def ask(number: int, prompt: int, output: int, arrival_s: float = 0.0) -> Request:
    return Request(arrival_s=arrival_s, prompt_len=prompt, output_len=output, id=number)


def test_a_small_run_frame_by_frame() -> None:
    """By hand: two requests of a block each, three blocks, both grow at one moment."""
    requests = [ask(0, 16, 3), ask(1, 16, 3), ask(2, 5, 1, 0.005)]
    pool = Pool(TEN_MS, Continuous(), kv_blocks=3)
    report = simulate(requests, pool, leap=False, log=True)
    assert report.log is not None
    one, two, *rest = report.log.frames()
    assert one.events == (
        ("arrived", 0),
        ("arrived", 1),
        ("admitted", 0),
        ("admitted", 1),
        ("arrived", 2),
        ("first_token", 0),
        ("first_token", 1),
        ("preempted", 1),
    )
    assert [tuple(each) for each in one.running] == [(0, 16, 0), (1, 16, 0)]
    assert (one.used_blocks, one.free_blocks, one.waiting) == (2, 1, (2,))
    assert [tuple(each) for each in two.running] == [(0, 1, 16)]
    assert (two.used_blocks, two.waiting) == (2, (1, 2))  # 1 needs two blocks: it waits
    assert rest[0].ids("admitted") == () and rest[0].ids("finished") == (0,)
    assert rest[1].ids("admitted") == (1, 2)
    assert tuple(rest[1].running[0]) == (1, 17, 0)  # prompt and first token, again
    assert report.num_preemptions == 1 and report.recomputed_tokens == 16


def test_a_static_batch_frees_its_blocks_all_at_once() -> None:
    requests = [ask(0, 4, 1), ask(1, 4, 3)]
    pool = Pool(TEN_MS, Static(2), kv_blocks=9)
    log = simulate(requests, pool, leap=False, log=True).log
    assert log is not None
    ends = [(frame.ids("finished"), frame.ids("freed")) for frame in log.frames()]
    assert ends == [((0,), ()), ((), ()), ((1,), (0, 1))]


def test_frames_need_every_iteration() -> None:
    pool = Pool(TEN_MS, Chunked(8), kv_blocks=9)
    log = simulate([ask(0, 4, 30)], pool, log=True).log
    assert log is not None
    with pytest.raises(ValueError, match="leap must be False for one frame an iter"):
        log.frames()
    with pytest.raises(ValueError, match="pool must be one of pool, got 'decode'"):
        log.frames("decode")
