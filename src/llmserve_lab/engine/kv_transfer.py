"""KV transfer from a prefill to a decode replica, in one piece or layer by layer.

Streamed, the first layer leaves as soon as it is computed. What is sent last is the
last layer's share, and if the link keeps up with the prefill, only that is waited for.
What prefill found in its prefix cache need not be computed, but it has to be sent,
unless the decode pool has it in a prefix cache of its own.
"""

from __future__ import annotations

from math import inf

from llmserve_lab.checks import at_least, whole
from llmserve_lab.engine.scheduler.prefix_cache import CachedPrefixes
from llmserve_lab.engine.scheduler.sequence import Sequence
from llmserve_lab.engine.timing.iteration_span import IterationSpan


class KVTransfer:
    """The link of one prefill replica: it sends one request after the other.

    It carries ``bytes_per_s``. An iteration computes ``n_layers`` layers in equal
    times; each leaves ``token_bytes``/``n_layers`` a token. ``latency_s`` is added at
    the end. ``held`` is the prefix cache of the decode pool.
    """

    def __init__(
        self,
        *,
        bytes_per_s: float = inf,
        latency_s: float = 0.0,
        token_bytes: float = 0.0,
        n_layers: int = 1,
        streamed: bool = False,
        held: CachedPrefixes | None = None,
    ) -> None:
        if not bytes_per_s > 0:
            raise ValueError(f"bytes_per_s must be positive, got {bytes_per_s}")
        at_least("latency_s", latency_s, 0)
        at_least("token_bytes", token_bytes, 0)
        whole(n_layers=n_layers)
        self.token_s = token_bytes / bytes_per_s
        self.latency_s = latency_s
        self.n_layers, self.streamed = n_layers, streamed
        self.held = held
        self.free_s = 0.0

    def find_remote_prefix(self, sequence: Sequence) -> None:
        """Set ``remote_prefix_tokens``: leading tokens the decode pool already caches.

        They are assumed to stay there until the rest arrives.
        """
        if self.held is not None:
            sequence.remote_prefix_tokens = self.held.match(sequence.request)

    def stream(self, sequence: Sequence, rows: int, run: IterationSpan) -> None:
        """Send what each iteration of a run adds, while it is still computed."""
        if not self.streamed:
            return
        # What the prefix cache spared is ready before the first chunk is computed.
        found = sequence.hit_tokens - sequence.remote_prefix_tokens
        if sequence.cached == sequence.hit_tokens and found > 0:
            self.free_s = max(self.free_s, run.start_s) + found * self.token_s
        for done in range(run.count):
            begin_s, end_s = run.boundary_s(done), run.boundary_s(done + 1)
            until = sequence.cached + rows * (done + 1)
            new = min(rows, until - sequence.remote_prefix_tokens)
            if new > 0:
                sequence.sent_s = self._send(new, begin_s=begin_s, end_s=end_s)

    def arrival_s(self, sequence: Sequence, now_s: float) -> float:
        """When all of a prompt that was ready at ``now_s`` has arrived."""
        if not self.streamed:
            rows = sequence.cached - sequence.remote_prefix_tokens
            self.free_s = max(self.free_s, now_s) + rows * self.token_s
            sequence.sent_s = self.free_s
        return sequence.sent_s + self.latency_s

    def _send(self, rows: int, *, begin_s: float, end_s: float) -> float:
        """Send rows that are computed from begin to end, a layer as soon as it is.

        Two things can be last: the link, which from the first layer on never rests, or
        the computing, after which one layer is still to be sent.
        """
        whole_s, layer_s = rows * self.token_s, rows * self.token_s / self.n_layers
        first_s = begin_s + (end_s - begin_s) / self.n_layers
        self.free_s = max(max(self.free_s, first_s) + whole_s, end_s + layer_s)
        return self.free_s
