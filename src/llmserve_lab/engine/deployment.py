"""Deployment: replicas of one machine under one policy, in one pool or two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf

from llmserve_lab.catalog import Link
from llmserve_lab.checks import at_least, of_type, positive, whole
from llmserve_lab.engine.routing import LEAST_LOADED, Routing
from llmserve_lab.engine.scheduler.policies import Policy
from llmserve_lab.engine.scheduler.prefix_cache import PrefixCache
from llmserve_lab.engine.speculation import Speculation
from llmserve_lab.engine.timing.cost import IterationCost

MOST_REPLICAS = 4096  # each is an engine of its own


@dataclass(frozen=True)
class Pool:
    """Replicas of one model, each with a KV cache of ``kv_blocks`` blocks.

    ``routing`` says to which replica a request goes. Without ``kv_blocks``, the cache
    is what the weights leave of the memory. With ``prefix_caching``, each replica finds
    in its own blocks what it has computed of a prompt before, and they are evicted when
    blocks are short; a ``prefix_cache`` instead lies apart, and all replicas share it.

    Preemption is by recomputation, the only way that vLLM has kept. With
    ``swap_bytes_per_s``, the rate at which a replica copies to the host's memory and
    back, it is by swapping; the next iteration waits for the copies. With
    ``speculation``, each decode verifies drafts and yields one or several tokens.

    Raises:
        TypeError: the cost, the policy, the prefix cache or the speculation is
            something else.
        ValueError: a count is below 1, swapping has no rate or no bytes, or a static
            batch, which is padded alike, is to reuse prefixes or to verify drafts.
    """

    cost: IterationCost
    policy: Policy
    replicas: int = 1
    kv_blocks: int | None = None
    block_tokens: int = 16
    prefix_cache: PrefixCache | None = None
    swap_bytes_per_s: float | None = None
    speculation: Speculation | None = None
    prefix_caching: bool = False
    routing: Routing = LEAST_LOADED

    def __post_init__(self) -> None:
        of_type(IterationCost, cost=self.cost)
        of_type(Policy, policy=self.policy)
        of_type(PrefixCache | None, prefix_cache=self.prefix_cache)
        of_type(Routing, routing=self.routing)
        of_type(bool, prefix_caching=self.prefix_caching)
        if self.prefix_caching and self.prefix_cache is not None:
            raise ValueError(
                "prefix_cache must be None with prefix_caching, which finds prompts in "
                f"the blocks themselves, got {self.prefix_cache}"
            )
        whole(of="replica", most=MOST_REPLICAS, replicas=self.replicas)
        whole(block_tokens=self.block_tokens)
        if self.swap_bytes_per_s is not None:
            positive("swap_bytes_per_s", self.swap_bytes_per_s)
            positive("kv_bytes_per_token", self.cost.kv_bytes_per_token)
        shares = self.prefix_caching or self.prefix_cache is not None
        if self.policy.static_batch and shares:
            raise ValueError(
                "policy must schedule iteration by iteration to reuse prefixes, got "
                f"{self.policy}"
            )
        of_type(Speculation | None, speculation=self.speculation)
        if self.policy.static_batch and self.speculation is not None:
            raise ValueError(
                "policy must schedule iteration by iteration to verify drafts, got "
                f"{self.policy}"
            )
        if self.kv_blocks is not None:
            whole(kv_blocks=self.kv_blocks)

    @property
    def swap_token_s(self) -> float | None:
        """Seconds to copy the KV of a token one way; None where nothing is swapped."""
        if self.swap_bytes_per_s is None:
            return None
        token_bytes = self.cost.kv_bytes_per_token * self.cost.kv_copies
        return token_bytes / self.swap_bytes_per_s

    @cached_property
    def num_blocks(self) -> int:
        """Blocks of cache on each replica."""
        if self.kv_blocks is not None:
            return self.kv_blocks
        return self.cost.kv_blocks(block_tokens=self.block_tokens)


@dataclass(frozen=True, kw_only=True)
class Disaggregated:
    """Prefill-decode disaggregation: a pool for each, and KV transfer over a link.

    A prefill replica sends one request after the other, at ``bytes_per_s`` in all and
    ``latency_s`` late; ``streamed``, it begins while it still computes. It keeps the
    blocks until all has arrived. The decode pool takes what comes; a request that finds
    no blocks there waits. An infinite rate, the default, leaves ``latency_s`` alone.

    Raises:
        ValueError: a policy is one of static batches, the rate is not positive, or the
            latency is negative.
    """

    prefill: Pool
    decode: Pool
    bytes_per_s: float = inf
    latency_s: float = 0.0
    streamed: bool = False

    def __post_init__(self) -> None:
        of_type(Pool, prefill=self.prefill, decode=self.decode)
        if self.prefill.policy.static_batch or self.decode.policy.static_batch:
            raise ValueError(
                "policy of both pools must schedule iteration by iteration, got "
                f"{self.prefill.policy} and {self.decode.policy}"
            )
        if not self.bytes_per_s > 0:
            raise ValueError(f"bytes_per_s must be positive, got {self.bytes_per_s}")
        at_least("latency_s", self.latency_s, 0)

    @classmethod
    def over(
        cls,
        link: Link,
        *,
        prefill: Pool,
        decode: Pool,
        streamed: bool = False,
        eff_link: float = 1.0,
        link_latency_s: float | None = None,
    ) -> Disaggregated:
        """Every GPU of a prefill replica sends its share over a ``link`` of its own.

        ``eff_link`` is the share of its bandwidth that is reached. ``link_latency_s``
        stands for the link's own latency, or for one that is not published.

        Raises:
            TypeError: the link is no record of the catalog.
            ValueError: the share is not in (0, 1], or there is no latency.
        """
        of_type(Link, link=link)
        of_type(Pool, prefill=prefill)
        if not 0 < eff_link <= 1:
            raise ValueError(f"eff_link must be in (0, 1], got {eff_link}")
        latency = link.latency if link_latency_s is None else link_latency_s
        if latency is None:
            raise ValueError(
                f"link_latency_s must be given for {link.name}: the catalog has none"
            )
        return cls(
            prefill=prefill,
            decode=decode,
            bytes_per_s=float(link.bandwidth) * eff_link * prefill.cost.n_gpus,
            latency_s=float(latency),
            streamed=streamed,
        )
