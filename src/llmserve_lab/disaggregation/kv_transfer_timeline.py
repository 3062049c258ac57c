"""Layer-wise KV transfer: a layer's cache is sent while the next layer is computed.

The wire is a second worker behind the first: it takes a layer when the layer is made
and the one before it is through.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.checks import MOST_PLAYED, at_least, whole


@dataclass(frozen=True)
class Layer:
    """When a layer's cache was made, when its sending began, and when it was through.

    All in s from the start of the prefill.
    """

    made_s: float
    begun_s: float
    sent_s: float


def hand_over(
    *,
    n_layers: int,
    prefill_s: float,
    transfer_s: float,
    streamed: bool,
    free_s: float = 0.0,
) -> tuple[Layer, ...]:
    """Make ``n_layers`` layers in ``prefill_s`` and send them in ``transfer_s``.

    Without ``streamed`` the wire waits until the last layer is made; before ``free_s``
    it is busy with another prompt.

    Raises:
        ValueError: there is no layer, or a time is negative.
    """
    whole(of="layer", most=MOST_PLAYED, n_layers=n_layers)
    at_least("prefill_s", prefill_s, 0)
    at_least("transfer_s", transfer_s, 0)
    found, wire_free_s = [], max(free_s, 0.0 if streamed else prefill_s)
    for number in range(1, n_layers + 1):
        made_s = prefill_s * number / n_layers
        begun_s = max(made_s, wire_free_s)
        wire_free_s = begun_s + transfer_s / n_layers
        found.append(Layer(made_s, begun_s, wire_free_s))
    return tuple(found)


def late_s(layers: tuple[Layer, ...]) -> float:
    """What outlasts the prefill, in s."""
    return layers[-1].sent_s - layers[-1].made_s
