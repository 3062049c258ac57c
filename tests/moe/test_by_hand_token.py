"""The opening, memory and slices, worked out again from the digits printed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.moe.digits import gives, kernels_ms, printed, shown

SERVERS = ("sliced", "shared")


def test_the_smallest_group_follows_from_what_is_printed() -> None:
    gives(0.9 * printed("h800_gb"), "taken")
    gives(printed("taken") - printed("working"), "engine_gb")
    left = printed("engine_gb") - printed("rest") - printed("kept")
    gives(left, "free")
    gives(printed("routed") / printed("free"), "quotient")
    gives(printed("rest") + printed("routed") / 8, "on8")
    h200 = 0.9 * printed("h200_gb") - printed("working")
    h200 -= printed("rest") + printed("kept")
    assert printed("exact_h200") == np.ceil(printed("routed") / h200)


def test_the_opening_adds_up_and_its_last_column_divides() -> None:
    for crowd in ("alone", "crowd"):
        parts = [printed(f"{name}{crowd}") for name in ("", "rest_", "sent_")]
        gives(sum(parts), f"sum_{crowd}")
        whole = printed(f"sum_{crowd}") + kernels_ms()
        assert printed(f"token_{crowd}") == pytest.approx(whole, abs=0.5)
    gives(printed("most_crowd") / printed("most_alone"), "times_experts")
    gives(printed("rest_crowd") / printed("rest_alone"), "times_rest")
    gives(printed("sent_crowd") / printed("sent_alone"), "times_sent")
    gives(printed("sum_crowd") / printed("sum_alone"), "times_all")
    ratio = printed("token_crowd") / printed("token_alone")
    assert printed("times_token") == pytest.approx(ratio, abs=0.1)
    gives(printed("layers") * 2 * printed("start") / 1e3, "fixed")
    wire = 64 / 8 * 8 * 7 / 8 * 3 * 7168 / (printed("h200_near") * 1e9)
    gives(1e3 * printed("layers") * wire, "wire_crowd")


def test_the_room_for_short_requests_is_the_division_that_is_printed() -> None:
    each = printed("request_mb") + printed("slot_mb")
    gives(1200 * printed("kv") / 1e3, "request_mb")
    gives(129_280 * 39 / 1e6, "slot_mb")
    left = {n: printed(f"{n}_left") - printed("library_gb") for n in SERVERS}
    assert printed("sliced_room") == int(1e3 * left["sliced"] / each)
    assert printed("shared_room") == 8 * int(1e3 * left["shared"] / each)


def test_what_real_servers_hold_besides_takes_the_room_of_some_requests() -> None:
    """Two tables of two bytes a number, and one expert more in each layer."""
    more = 2 * 129_280 * 7168 / 1e9 + printed("copy_gb")
    cache = 4_096 * printed("kv") / 1e6  # GB of one request
    for gpus, rest in ((16, 40.87), (64, 10.22)):  # experts of a GPU
        assert rest == pytest.approx(printed("routed") / gpus, abs=0.01)
        left = printed("taken") - printed("rest") - rest
        by_tokens = (left - printed("working")) / cache
        by_slots = (left - printed("library_gb")) / (cache + printed("slot_mb") / 1e3)
        assert printed(f"long{gpus}") == int(min(by_tokens, by_slots))
        by_tokens -= more / cache
        by_slots -= more / (cache + printed("slot_mb") / 1e3)
        assert printed(f"full{gpus}") == int(min(by_tokens, by_slots))


def test_most_of_a_lone_token_is_two_fitted_constants() -> None:
    fitted = printed("fixed") + printed("kernels")
    gives(fitted / (printed("sum_alone") + printed("kernels")), "fitted_alone")
    more = printed("start") - printed("two_rest")
    gives(printed("layers") * 2 * more / 1e3, "two_less")


def test_a_server_in_slices_adds_up_as_it_is_written_out() -> None:
    """One request; the parts are multiplied and added from the digits printed."""
    layers = printed("layers")
    gives(printed("one_expert") * layers / 1e3, "sliced_experts")
    own = printed("sliced_whole") + (printed("own_read") - printed("sliced_whole")) / 8
    gives(own, "sliced_read")
    gives(printed("sliced_read") / printed("h200_reached"), "sliced_weights")
    gives(printed("reduces") * printed("reduce_us") / 1e3, "sliced_sent")
    assert printed("reduces") == 2 * printed("all_layers")
    parts = [printed(f"sliced_{name}") for name in ("experts", "weights", "sent")]
    gives(sum(parts) + kernels_ms(), "sliced1")
    for shared, crowd in (("shared1", "alone"), ("shared64", "crowd")):
        whole = printed(f"sum_{crowd}") + kernels_ms()
        assert printed(shared) == pytest.approx(whole, abs=0.11)
    parts = [float(each) for each in shown()["sliced_parts"].split(" + ")]
    assert sum(parts) + printed("kernels") == pytest.approx(printed("sliced512"))
