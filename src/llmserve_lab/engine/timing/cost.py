"""What an iteration costs is linear: rows and pairs to compute, weights and KV to read.

The slopes are read off the formulas of the roofline and the collectives, once; then
the engine only adds and multiplies, for one iteration or for a run of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any

from llmserve_lab.catalog import Accelerator, Efficiency, Link, ModelShape
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.checks import at_least, of_type, positive, whole
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.engine.timing.time_tolerance import latest

if TYPE_CHECKING:
    from llmserve_lab.engine.timing.cost_from_roofline import WeightsRead

MANY = 1 << 60  # of anything that nothing limits here


@dataclass(frozen=True, kw_only=True)
class IterationCost:
    """Seconds of an iteration: computing and reading, less what overlaps, and the rest.

    ``row_s`` and ``pair_s`` are spent computing on each row and query–key pair,
    ``weights_s`` and ``kv_token_s`` reading all weights and each token of cache, of
    which the share ``overlap`` of the shorter bill is hidden behind the longer one;
    ``collective_s`` and ``collective_row_s`` in the collectives of one iteration and of
    each row, ``request_s`` on each request in it, ``prompt_s`` once where it carries a
    prompt, ``overhead_s`` on everything else. With ``attention_apart``, pairs and cache
    are added: attention's kernels run between the products, and nothing of theirs
    hides. Of the experts, ``experts_s`` to read, each row misses one with the chance
    ``expert_miss``; what all rows miss is not read. The rest says what is stored where:
    bytes of all ``n_gpus`` together, ``kv_bytes_per_token`` without copies and
    ``kv_copies`` of each, in ``n_layers`` layers. A model reads ``max_context`` tokens.

    Raises:
        ValueError: a number is negative, an overlap or a chance above 1, the maximum
            context is below 1 token, or one row takes no time.
    """

    row_s: float = 0.0
    pair_s: float = 0.0
    weights_s: float = 0.0
    kv_token_s: float = 0.0
    collective_s: float = 0.0
    collective_row_s: float = 0.0
    overhead_s: float = 0.0
    overlap: float = 1.0
    request_s: float = 0.0
    prompt_s: float = 0.0
    attention_apart: bool = False
    experts_s: float = 0.0
    expert_miss: float = 0.0
    kv_bytes_per_token: float = 0.0
    kv_copies: float = 1.0
    weight_bytes: float = 0.0
    hbm_bytes: float = 0.0
    n_layers: int = 1
    n_gpus: int = 1
    max_context: int | None = None

    def __post_init__(self) -> None:
        limit = MANY if self.max_context is None else self.max_context
        whole(of="token", max_context=limit)
        for each in fields(self)[:-1]:  # all but max_context
            of_type(Real, **{each.name: (value := getattr(self, each.name))})
            at_least(each.name, value, 0)
        for name in ("overlap", "expert_miss"):
            if (share := getattr(self, name)) > 1:
                raise ValueError(f"{name} must be in [0, 1], got {share}")
        if self.seconds(IterationLoad.of(chunk=1)) == 0:
            raise ValueError(f"an iteration of one row must take time, got {self}")

    @classmethod
    def of(
        cls,
        model: ModelShape,
        accelerator: Accelerator,
        *,
        precision: str | None = None,
        efficiency: Efficiency | None = None,
        tp: int = 1,
        link: Link | None = None,
        link_latency_s: float | None = None,
        overhead_s: float = 0.0,
        overlap: float = 1.0,
        precision_exponent: float = 1.0,
        weights_read: WeightsRead = "touched",
        layer_s: float = 0.0,
        prompt_layer_s: float = 0.0,
        request_s: float = 0.0,
        attention_apart: bool = False,
        usable_memory: bool = True,
    ) -> IterationCost:
        """The cost of ``model`` on ``tp`` accelerators, in one tensor-parallel group.

        Weights and cache are in ``precision`` (BF16, unless the model's config says
        otherwise), rows between ranks too. Without an ``efficiency`` the datasheet is
        taken at its word. ``link_latency_s`` stands for the published latency of the
        ``link``, and is needed where there is none.

        Fewer bits compute (ratio of the peaks)^``precision_exponent`` times as fast as
        16. Weights ``"touched"`` are read: no embedding table, and the experts that
        some row is sent to; or ``"all"``. A layer takes ``layer_s`` on top, and
        ``prompt_layer_s`` more in an iteration with a prompt. The memory is the
        driver's (or an estimate), without ``usable_memory`` the datasheet's.

        Raises:
            LookupError: the accelerator does not compute in this precision.
            TypeError: one of them is no record of the catalog.
            ValueError: several accelerators and no link between them, no latency of the
                link, heads that cannot be cut in ``tp``, a quantized checkpoint without
                a precision, or seconds below zero.
        """
        from llmserve_lab.engine.timing.cost_from_roofline import slopes

        for name, value in (("layer_s", layer_s), ("overhead_s", overhead_s)):
            at_least(name, value, 0)
        at_least("prompt_layer_s", prompt_layer_s, 0)
        known: dict[str, Any] = slopes(
            model,
            accelerator,
            precision=precision,
            efficiency=efficiency,
            tp=tp,
            link=link,
            link_latency_s=link_latency_s,
            precision_exponent=precision_exponent,
            weights_read=weights_read,
            usable=usable_memory,
        )
        return cls(
            **known,
            overhead_s=overhead_s + model.n_layers * layer_s,
            overlap=overlap,
            prompt_s=model.n_layers * prompt_layer_s,
            request_s=request_s,
            attention_apart=attention_apart,
            n_layers=model.n_layers,
            n_gpus=tp,
            max_context=model.max_context,
        )

    def compute_s(self, load: IterationLoad) -> float:
        """Seconds of computing."""
        return load.rows * self.row_s + load.pairs * self.pair_s

    def memory_s(self, load: IterationLoad) -> float:
        """Seconds of reading weights and cache."""
        return self.read_s(load.rows) + load.kv_tokens * self.kv_token_s

    def read_s(self, rows: int) -> float:
        """Seconds of reading the weights that ``rows`` rows need.

        All of them, but for the experts that no row is sent to, in expectation over
        rows that choose independently.
        """
        if not self.experts_s:
            return self.weights_s
        return self.weights_s + self.experts_s * (1 - self.expert_miss**rows)

    def exposed_s(self, rows: int) -> float:
        """Seconds of products and reading weights, the shorter, that stay unhidden."""
        return (1 - self.overlap) * min(rows * self.row_s, self.read_s(rows))

    def fixed_s(self, rows: int) -> float:
        """Seconds that overlap with neither: collectives and overhead."""
        return self.collective_s + rows * self.collective_row_s + self.overhead_s

    def seconds(self, load: IterationLoad) -> float:
        """Seconds of one iteration."""
        computing, reading, attention_s = self.compute_s(load), self.memory_s(load), 0.0
        if self.attention_apart:
            computing, reading = load.rows * self.row_s, self.read_s(load.rows)
            attention_s = load.pairs * self.pair_s + load.kv_tokens * self.kv_token_s
        shorter, longer = sorted((computing, reading))
        product_s = longer + (1 - self.overlap) * shorter
        return product_s + attention_s + self.fixed_s(load.rows) + self.host_s(load)

    def host_s(self, load: IterationLoad) -> float:
        """Seconds for the requests as such, and for launching a prompt's kernels."""
        return load.requests * self.request_s + (self.prompt_s if load.prompts else 0.0)

    def chunk_within(
        self, target_s: float, *, load: IterationLoad, context: int
    ) -> int:
        """Rows of the largest chunk that ``load`` can take along within ``target_s``.

        ``context`` tokens of the chunk's own request are in cache. 0 if none fits.

        Raises:
            ValueError: the target is not finite, or a count is negative.
        """
        at_least("target_s", target_s, 0)
        of_type(IterationLoad, load=load)
        whole(of="token", first=0, context=context)
        most = self._chunk_within(target_s, load, context, reading_s=self.read_s(1))
        if not self.experts_s:
            return most
        # more rows touch more experts: between one row's share of them and all
        least = self._chunk_within(target_s, load, context, reading_s=self.read_s(MANY))
        limit_s = latest(target_s)
        while least < most:
            chunk = (least + most + 1) // 2
            with_it = load.plus(IterationLoad.of(chunk=chunk, context=context))
            if self.seconds(with_it) <= limit_s:
                least = chunk
            else:
                most = chunk - 1
        return least

    def _chunk_within(
        self, target_s: float, load: IterationLoad, context: int, *, reading_s: float
    ) -> int:
        """The largest chunk, where the weights take ``reading_s`` to read."""
        until_s = latest(target_s) - self.fixed_s(load.rows) - self.request_s
        until_s -= self.host_s(load._replace(prompts=1))
        kv_s = (load.kv_tokens + context) * self.kv_token_s
        pair_s, chunks, hidden = self.pair_s, [], 1 - self.overlap
        for computing, reading in ((1.0, hidden), (hidden, 1.0)):  # whichever is longer
            apart = self.attention_apart
            pairs, cache = (1.0, 1.0) if apart else (computing, reading)
            square = pairs * pair_s / 2
            line = computing * self.row_s + pairs * pair_s * (context + 0.5)
            busy_s = computing * load.rows * self.row_s + pairs * load.pairs * pair_s
            slack_s = until_s - busy_s - reading * reading_s - cache * kv_s
            root = _positive_root(square, line + self.collective_row_s, slack_s)
            if root == inf:
                raise ValueError(
                    f"target_s must be shorter than any chunk takes, got {target_s:g}"
                )
            chunks.append(int(root))
        return min(chunks)

    def kv_blocks(
        self,
        *,
        utilisation: float = float(MEMORY_SHARE),
        block_tokens: int = 16,
        reserved_bytes: float = 0.0,
    ) -> int:
        """Blocks of cache in what the weights leave of ``utilisation`` of the memory.

        On each device ``reserved_bytes`` go to what is neither: activations, graphs,
        the buffers of the collectives.

        Raises:
            ValueError: it is not known how large a token's cache is, the utilisation is
                not in (0, 1], the reserve is negative, or not even one block is left.
        """
        at_least("reserved_bytes", reserved_bytes, 0)
        whole(of="token", block_tokens=block_tokens)
        if not 0 < utilisation <= 1:
            raise ValueError(f"utilisation must be in (0, 1], got {utilisation}")
        positive("kv_bytes_per_token", self.kv_bytes_per_token)
        block_bytes = block_tokens * self.kv_bytes_per_token * self.kv_copies
        taken_bytes = self.weight_bytes + reserved_bytes * self.n_gpus
        room_bytes = self.hbm_bytes * utilisation - taken_bytes
        if room_bytes < block_bytes:
            raise ValueError(
                f"memory must hold the weights ({self.weight_bytes:g} bytes) and a "
                f"block of cache, got {self.hbm_bytes * utilisation:g} bytes, of which "
                f"{reserved_bytes * self.n_gpus:g} are reserved"
            )
        return int(room_bytes // block_bytes)


def _positive_root(square: float, line: float, slack: float) -> float:
    """The x ≥ 0 where square·x² + line·x is slack; 0 below it, MANY if x is free."""
    if slack < 0:
        return 0.0
    steep = line + sqrt(line * line + 4 * square * slack)  # conjugate: nothing cancels
    return 2 * slack / steep if steep else MANY
