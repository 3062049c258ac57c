"""Two halves played out event by event agree with the closed form in steady state."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.executed.overlap import (
    ATTENTION,
    COMBINE,
    DISPATCH,
    EXPERTS,
    SENT,
    START,
    LayerTimes,
    Span,
    in_halves,
    in_turn,
    layer_times,
)
from llmserve_lab.deepseek.model.assumptions import Overlap
from llmserve_lab.deepseek.page import budget
from llmserve_lab.deepseek.page import overlap as page

times = st.floats(1e-5, 1e-2)
made = st.builds(
    LayerTimes,
    attention=times,
    dispatch=times,
    experts=times,
    combine=times,
    start=st.floats(0, 1e-3),
    slowdown=st.floats(0, 0.5),
)


def per_layer(of: LayerTimes, layers: int = 6) -> float:
    """What one layer more costs, once the pipeline is full."""
    return in_halves(of, layers + 1)[-1].end - in_halves(of, layers)[-1].end


@given(of=made)
def test_a_layer_more_costs_what_the_formula_says(of: LayerTimes) -> None:
    flight = of.dispatch + of.combine
    known = {
        "attn_phase_s": of.attention,
        "moe_phase_s": of.experts,
        "flight_s": flight,
        "dispatch_share": of.dispatch / flight,
    }
    stages = float(f.STAGES_S(**known))
    phases = {name: known[name] for name in ("attn_phase_s", "moe_phase_s", "flight_s")}
    step = f.HALVES_S(
        **phases,
        stages_s=stages,
        overlap_slowdown=of.slowdown,
        transfer_starts_s=2 * of.start,
        other_s=0.5,
        host_s=0.0,
    )
    assert per_layer(of) == pytest.approx(float(step) - 2 * 0.5, rel=1e-9)


@given(of=made, layers=st.integers(1, 5))
def test_nothing_starts_before_what_it_needs(of: LayerTimes, layers: int) -> None:
    for found in (in_halves(of, layers), in_turn(of, layers)):
        when = {(s.half, s.layer, s.phase): s for s in found if s.phase != START}
        for (half, layer, phase), span in when.items():
            for needed in needs(half, layer, phase):
                if needed in when:
                    assert when[needed].end <= span.start + 1e-12
        for lane in (True, False):
            busy = sorted(span_of(s) for s in found if s.on_network is lane)
            assert all(a[1] <= b[0] + 1e-12 for a, b in itertools.pairwise(busy))


def needs(half: int, layer: int, phase: str) -> list[tuple[int, int, str]]:
    """The phase before it in the same half."""
    before = {
        ATTENTION: (half, layer - 1, COMBINE),
        DISPATCH: (half, layer, ATTENTION),
        EXPERTS: (half, layer, DISPATCH),
        COMBINE: (half, layer, EXPERTS),
    }
    return [before[phase]]


def span_of(span: Span) -> tuple[float, float]:
    return span.start, span.end


@given(of=made, layers=st.integers(1, 5))
def test_every_phase_of_every_half_runs_once(of: LayerTimes, layers: int) -> None:
    for found, halves in ((in_halves(of, layers), 2), (in_turn(of, layers), 1)):
        ran = [(s.half, s.layer, s.phase) for s in found if s.phase != START]
        assert len(set(ran)) == len(ran) == 4 * layers * halves
        assert sum(s.phase == START for s in found) == 2 * layers * halves
        assert {s.phase for s in found if s.on_network} == set(SENT.values())


@pytest.mark.parametrize("requests", [32, 256])
def test_the_log_is_the_twins_step(requests: int) -> None:
    """But for the dense layers, the other layers, the host, and filling once."""
    twin = worked.twin("halves")
    of = layer_times(twin, batch=requests, context=worked.CONTEXT)
    sparse = 58
    rest = worked.step_ms(requests, "halves") / 1e3 - sparse * per_layer(of)
    known = twin.settled(twin.arguments(batch=requests, context=worked.CONTEXT))
    dense = 2 * 3 * of.attention
    other = 2 * float(f.OTHER_S.at(known)) + float(known["host_s"])
    assert rest == pytest.approx(dense + other, rel=0.15)
    assert worked.halves_ms(requests).layer == pytest.approx(1e3 * per_layer(of))
    turn = layer_times(worked.twin("none"), batch=requests, context=worked.CONTEXT)
    assert worked.one_batch_ms(requests) == pytest.approx(
        1e3 * in_turn(turn, 1)[-1].end
    )


def test_the_figure_shows_that_halves_pay_for_many_and_cost_for_few() -> None:
    for requests, pays in ((page.MANY, True), (page.FEW, False)):
        ends = [page.spans(requests, halves=halves)[-1].end for halves in (True, False)]
        assert (ends[0] < ends[1]) is pays
    figure = page.two_batches()
    for (name, log), pays in zip(figure.logs.items(), (True, False), strict=True):
        one, two = (float(took) for took in log.frames[-1].counters)
        assert (two < one) is pays, name
        lanes = {str(row["y"]) for row in log.tables["spans"]}
        assert lanes == set(page.LANES)
        moments = [float(frame.at or 0.0) for frame in log.frames]
        assert moments == sorted(moments) and len(set(moments)) == len(moments)


@pytest.mark.parametrize(("way", "about"), [("halves", 0.19), ("none", 0.58)])
def test_the_gaps_of_the_gpu_are_those_that_are_drawn(
    way: Overlap, about: float
) -> None:
    """Counted on layers as they were played out, in the steady state."""
    played = page.spans(worked.MANY, halves=way == "halves", layers=12)
    busy = [s.end - s.start for s in played if not s.on_network and 4 <= s.layer < 8]
    first, last = (min(s.start for s in played if s.layer == n) for n in (4, 8))
    idle = 1 - sum(busy) / (last - first)
    assert idle == pytest.approx(worked.idle_share(way))
    assert idle == pytest.approx(about, abs=0.01)


def test_what_is_sent_is_drawn_in_the_lane_of_the_network() -> None:
    """Its phases are a dispatch and a combine a layer and half; a start is no phase."""
    figure = page.two_batches()
    for log in figure.logs.values():
        lanes: dict[str, set[str]] = {}
        for row in log.tables["spans"]:
            lanes.setdefault(row["y"].split(": ")[1], set()).add(row["text"])
        sent = {page.SHORT[each] for each in SENT.values()}
        assert lanes["network"] - {""} == sent
        assert lanes["GPU"] - {""} == set(page.SHORT.values()) - sent


def test_what_two_halves_repeat_is_what_a_step_costs_without_requests() -> None:
    """Parts of the budget of one batch: weights read, kernels launched, starts."""
    found, rows = worked.break_even(), {name: row for name, *row in budget.parts()}
    known = budget.known()
    weights = [float(row[1]) for row in budget.parts() if row[1] != budget.NONE]
    assert found.reading == pytest.approx(
        1e12 * sum(weights) / float(known["read_rate"]), rel=1e-3
    )
    starts = [
        float(rows[name][-2])
        for name in ("attention, elementwise", "experts, elementwise", "all-to-alls")
    ]
    assert found.launches == pytest.approx(sum(starts[:2]), abs=0.011)
    assert found.starts == pytest.approx(starts[2], abs=0.006)
    assert found.repeated == found.reading + found.launches + found.starts
    # What a request sends: eight copies of 21,728 bytes in 58 layers, eight of nine
    # through the port, from the busiest GPU.
    sent = 8 * 21_728 * 58 * 8 / 9 / float(known["balancedness"])
    assert found.wire == pytest.approx(1e3 * sent / float(known["far_rate"]))


def test_the_break_even_by_hand_is_near_that_of_the_twin() -> None:
    """At it, hiding saves as much as the second half repeats; it leads to the model."""
    found = worked.break_even()
    saved = found.requests * found.wire * (1 - found.slowdown)
    assert saved == pytest.approx(found.repeated)
    assert abs(found.requests - worked.fewest()) < 6
    gained = [
        worked.step_ms(n, "none") - worked.step_ms(n, "halves")
        for n in (round(0.8 * found.requests), round(1.2 * found.requests))
    ]
    assert gained[0] < 0 < gained[1]
