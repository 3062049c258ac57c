"""What an iteration costs is linear: rows and pairs to compute, weights and KV to read.

The slopes are read off the roofline's formulas and those of the collectives, once; the
engine then adds and multiplies plain numbers, for one iteration or for a run of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import sqrt
from typing import NamedTuple

from llmserve_lab.catalog import Accelerator, Efficiency, Link, ModelShape
from llmserve_lab.checks import at_least, whole
from llmserve_lab.engine.timing.time_tolerance import latest

MANY = 1 << 60  # of anything that nothing limits here


class IterationLoad(NamedTuple):
    """What one iteration carries: new rows, query–key pairs, tokens read from cache."""

    rows: int
    pairs: int
    kv_tokens: int

    @classmethod
    def of(cls, *, chunk: int, context: int = 0) -> IterationLoad:
        """``chunk`` new rows of one request that has ``context`` tokens in cache.

        Row i sees the cache and the i rows up to itself; decode is a chunk of one.

        Raises:
            ValueError: a size is negative.
        """
        if chunk < 0 or context < 0:
            raise ValueError(
                f"chunk and context must be at least 0 rows, got {chunk} and {context}"
            )
        return cls(chunk, chunk * context + chunk * (chunk + 1) // 2, context)

    def plus(self, other: IterationLoad) -> IterationLoad:
        """Both in one iteration."""
        return IterationLoad(
            self.rows + other.rows,
            self.pairs + other.pairs,
            self.kv_tokens + other.kv_tokens,
        )


@dataclass(frozen=True, kw_only=True)
class IterationCost:
    """Seconds of an iteration: computing and reading, less what overlaps, and the rest.

    ``row_s`` and ``pair_s`` are spent computing on each row and query–key pair,
    ``weights_s`` and ``kv_token_s`` reading all weights and each token of cache, of
    which the share ``overlap`` of the shorter bill is hidden behind the longer one;
    ``collective_s`` and ``collective_row_s`` in the collectives of one iteration and of
    each row, ``overhead_s`` on everything else. The rest says what is stored where:
    bytes of all ``n_gpus`` together, ``kv_bytes_per_token`` without copies and
    ``kv_copies`` of each, in ``n_layers`` layers.

    Raises:
        ValueError: a number is negative, an overlap above 1, or one row takes no time.
    """

    row_s: float = 0.0
    pair_s: float = 0.0
    weights_s: float = 0.0
    kv_token_s: float = 0.0
    collective_s: float = 0.0
    collective_row_s: float = 0.0
    overhead_s: float = 0.0
    overlap: float = 1.0
    kv_bytes_per_token: float = 0.0
    kv_copies: float = 1.0
    weight_bytes: float = 0.0
    hbm_bytes: float = 0.0
    n_layers: int = 1
    n_gpus: int = 1

    def __post_init__(self) -> None:
        for each in fields(self):
            at_least(each.name, getattr(self, each.name), 0)
        if self.overlap > 1:
            raise ValueError(f"overlap must be in [0, 1], got {self.overlap}")
        if self.seconds(IterationLoad.of(chunk=1)) == 0:
            raise ValueError(f"an iteration of one row must take time, got {self}")

    @classmethod
    def of(
        cls,
        model: ModelShape,
        accelerator: Accelerator,
        *,
        precision: str = "bf16",
        efficiency: Efficiency | None = None,
        tp: int = 1,
        link: Link | None = None,
        link_latency_s: float | None = None,
        overhead_s: float = 0.0,
        overlap: float = 1.0,
    ) -> IterationCost:
        """The cost of ``model`` on ``tp`` accelerators, in one tensor-parallel group.

        Weights and cache are in ``precision``, rows between ranks too. Without an
        ``efficiency`` the datasheet is taken at its word. ``link_latency_s`` stands
        for the published latency of the ``link``, and is needed where there is none.

        Raises:
            LookupError: the accelerator does not compute in this precision.
            TypeError: one of them is no record of the catalog.
            ValueError: several accelerators and no link between them, no latency of the
                link, or heads that cannot be cut in ``tp``.
        """
        from llmserve_lab.engine.timing.cost_from_roofline import slopes

        known = slopes(
            model,
            accelerator,
            precision=precision,
            efficiency=efficiency,
            tp=tp,
            link=link,
            link_latency_s=link_latency_s,
        )
        own = {"overhead_s": overhead_s, "overlap": overlap}
        return cls(**known, **own, n_layers=model.n_layers, n_gpus=tp)

    def compute_s(self, load: IterationLoad) -> float:
        """Seconds of computing."""
        return load.rows * self.row_s + load.pairs * self.pair_s

    def memory_s(self, load: IterationLoad) -> float:
        """Seconds of reading weights and cache."""
        return self.weights_s + load.kv_tokens * self.kv_token_s

    def fixed_s(self, rows: int) -> float:
        """Seconds that overlap with neither: collectives and overhead."""
        return self.collective_s + rows * self.collective_row_s + self.overhead_s

    def seconds(self, load: IterationLoad) -> float:
        """Seconds of one iteration."""
        shorter, longer = sorted((self.compute_s(load), self.memory_s(load)))
        return longer + (1 - self.overlap) * shorter + self.fixed_s(load.rows)

    def chunk_within(
        self, target_s: float, *, load: IterationLoad, context: int
    ) -> int:
        """Rows of the largest chunk that ``load`` can take along within ``target_s``.

        ``context`` tokens of the chunk's own request are in cache. 0 if none fits.
        """
        until_s = latest(target_s) - self.fixed_s(load.rows)
        compute_s = self.compute_s(load)
        read_s = self.memory_s(load) + context * self.kv_token_s
        line_s = self.row_s + self.pair_s * (context + 0.5)
        chunks, apart = [], 1 - self.overlap
        for computing, reading in ((1.0, apart), (apart, 1.0)):  # whichever is longer
            line, square = computing * line_s, computing * self.pair_s / 2
            slack_s = until_s - computing * compute_s - reading * read_s
            root = _positive_root(square, line + self.collective_row_s, slack_s)
            chunks.append(int(root))
        return min(chunks)

    def kv_blocks(self, *, utilisation: float = 0.9, block_tokens: int = 16) -> int:
        """Blocks of cache in what the weights leave of ``utilisation`` of the memory.

        Raises:
            ValueError: it is not known how large a token's cache is, the utilisation is
                not in (0, 1], or not even one block is left.
        """
        whole(of="token", block_tokens=block_tokens)
        if not 0 < utilisation <= 1:
            raise ValueError(f"utilisation must be in (0, 1], got {utilisation}")
        if not self.kv_bytes_per_token > 0:
            raise ValueError(
                "kv_bytes_per_token must be positive to count blocks of cache, "
                f"got {self.kv_bytes_per_token}"
            )
        block_bytes = block_tokens * self.kv_bytes_per_token * self.kv_copies
        room_bytes = self.hbm_bytes * utilisation - self.weight_bytes
        if room_bytes < block_bytes:
            raise ValueError(
                f"memory must hold the weights ({self.weight_bytes:g} bytes) and a "
                f"block of cache, got {self.hbm_bytes * utilisation:g} bytes"
            )
        return int(room_bytes // block_bytes)


def _positive_root(square: float, line: float, slack: float) -> float:
    """The x ≥ 0 at which square·x² + line·x reaches slack; 0 if slack is negative.

    Where x costs nothing, there is no end to it.
    """
    if slack < 0:
        return 0.0
    steep = line + sqrt(line * line + 4 * square * slack)
    return 2 * slack / steep if steep else MANY
