"""A published server whose first tokens come late: queue or slower computing?

Its clients form a closed loop, so Little's law says how many requests ran.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from llmserve_lab import catalog
from llmserve_lab.page.table import Table
from llmserve_lab.validation.protocol import BLOCK_TOKENS, SHORTEST, protocol_of
from llmserve_lab.validation.rows import MeasuredRow, dense_rows

ENGINES = {"trtllm": "TensorRT-LLM", "vllm": "vLLM", "sglang": "SGLang"}
MEAN = (1 + SHORTEST) / 2  # of the nominal lengths: drawn evenly from SHORTEST to 1
SERVER = ("model", "system", "engine", "precision", "tp", "prompt_len", "output_len")


@dataclass(frozen=True)
class Jump:
    """The same server with fewer and with more clients, as measured."""

    calm: MeasuredRow
    full: MeasuredRow

    @property
    def slots(self) -> float:
        """Requests that ran when it was full: clients less those that waited.

        A request waits for as long as its first token comes later than in the calm
        run, of the whole time that it is under way.
        """
        queue_s = self.full.ttft_s - self.calm.ttft_s
        return self.full.clients * (1 - queue_s / e2e_s(self.full))

    @property
    def room(self) -> float:
        """Requests of mean length for which the predicted cache has room.

        The engine sets the whole answer aside at admission, so a request counts at
        its full length.
        """
        return self._tokens / (MEAN * (self.full.prompt_len + self.full.output_len))

    @property
    def _tokens(self) -> int:
        return protocol_of(self.full).kv_blocks(self.full) * BLOCK_TOKENS


def e2e_s(row: MeasuredRow) -> float:
    """Time of a whole answer of mean length, from what was measured of its parts."""
    return row.ttft_s + row.tpot_s * (MEAN * row.output_len - 1)


@cache
def jump() -> Jump:
    """The two neighbouring rows between which the time to first token grows most."""
    found = dict[tuple[object, ...], list[MeasuredRow]]()
    for row in dense_rows():
        found.setdefault(tuple(getattr(row, n) for n in SERVER), []).append(row)
    pairs = [
        Jump(calm, full)
        for rows in found.values()
        for ordered in [sorted(rows, key=lambda row: row.clients)]
        for calm, full in pairwise(ordered)
    ]
    return max(pairs, key=lambda each: each.full.ttft_s / each.calm.ttft_s)


def table() -> Table:
    """Both rows: clients, first token, time per token."""
    rows = [
        (
            f"{row.clients}",
            f"{row.ttft_s:.2f} s",
            f"{1e3 * row.tpot_s:.1f} ms",
            f"{e2e_s(row):.1f} s",
        )
        for row in (jump().calm, jump().full)
    ]
    row = jump().full
    title = (
        f"{catalog.model(row.model).name}, {row.precision.upper()}, {row.tp} × "
        f"{row.accelerator.name}, {ENGINES[row.engine]}, "
        f"{row.prompt_len:,} + {row.output_len:,} tokens: measured"
    )
    return Table(title, ("clients", "TTFT", "TPOT", "mean latency (computed)"), rows)
