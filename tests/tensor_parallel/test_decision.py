"""One group or two, where they change over; and what of a layer's time is the GPU's."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.engine import IterationLoad
from llmserve_lab.tensor_parallel import commands
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import DEFAULT, DEVICE, MODEL, served
from llmserve_lab.tensor_parallel.page import decision, stills

USUAL = running_example.PROMPT + running_example.ANSWER


def token_s(tp: int, batch: int) -> float:
    """Seconds of an iteration of usual decodes, as the engine prices it."""
    one = IterationLoad.of(chunk=1, context=running_example.PROMPT)
    rows, pairs, kv_tokens, requests, _ = (batch * each for each in one)
    load = IterationLoad(rows, pairs, kv_tokens, requests, prompts=0)
    return running_example.served_by(MODEL, DEVICE, tp=tp).seconds(load)


def test_two_groups_of_four_overtake_once() -> None:
    """Before the change every user waits less on TP 8, after it on two of TP 4."""
    change = decision.change_over()
    for batch in range(2, 2 * change, 2):
        slower = token_s(8, batch) > token_s(4, batch // 2)
        assert slower is (batch >= change)
    for tp, batch in ((8, change), (4, change // 2)):
        assert batch * USUAL < worked.cached_tokens(tp)


def test_without_host_time_and_bytes_one_group_stays_ahead_longer() -> None:
    """They are what the halves share: twice as much at TP 8 as in each half."""
    change = decision.change_over()
    request_s = float(DEFAULT["request_s"])
    saved = (change - change // 2) * request_s + worked.ring_part_s(8, change)
    saved -= worked.ring_part_s(4, change // 2)
    assert token_s(8, change) - saved < token_s(4, change // 2)


def test_what_a_bare_layer_takes_is_mostly_its_products() -> None:
    """Measured alone, they miss the fitted bandwidth by more than half of it."""
    known = served(catalog.model("llama-3.1-8b"), DEVICE)
    per_s = float(known["hbm_bw"]) * float(known["eff_mem"])
    missed = sum(
        float(each.seconds) - each.traffic_bytes / per_s
        for each in one_h100.products()
        if each.rows == 1 and each.precision == "bf16" and each.matrix != "head"
    )
    bare = worked.bare_layer_s()
    assert bare / 2 < missed < bare < float(DEFAULT["layer_s"])


def test_the_load_of_the_measurement_fits_two_gpus() -> None:
    clients = 16
    assert clients * USUAL < worked.cached_tokens(2) < 2 * clients * USUAL
    said = commands.bench(prompt=1000, answer=200, num_prompts=1, clients=clients)
    assert said.endswith(f"--max-concurrency {clients}")


@pytest.mark.parametrize("n_gpus", [2, 4, 8])
def test_room_ends_where_the_counted_tokens_do(n_gpus: int) -> None:
    tokens = worked.cached_tokens(n_gpus)
    for context, fits in ((tokens, True), (tokens + 16, False)):
        known = DEFAULT | {"batch": 1.0, "chunk": 1.0, "context": float(context)}
        assert stills.has_room(known, n_gpus) is fits
