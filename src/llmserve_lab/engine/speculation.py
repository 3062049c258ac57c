"""Speculative decoding in the engine: rows that verify drafts, tokens that are kept.

A cheap model drafts some tokens, and the served model verifies them all in one pass.
Of the drafts a first part is kept; one token of the served model's own always comes on
top. How large that part is, is a law of chance: :class:`Acceptance`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property, lru_cache
from random import Random

from llmserve_lab.checks import of_type, whole, whole_number
from llmserve_lab.engine.timing.cost import IterationCost
from llmserve_lab.engine.timing.iteration_span import IterationSpan
from llmserve_lab.engine.timing.load import IterationLoad

MOST_DRAFTS = 1_024  # each is a pass of the model that drafts
FEW_DRAFTS = 16  # more than most runs have, and drawn as one
MOST_FATES = 2**19  # that are remembered, of each law


@dataclass(frozen=True)
class Acceptance:
    """Law of accepted drafts: draft j is kept with chance α·r^(j−1) if all before were.

    Args:
        rate: α, the chance that the first draft is kept.
        falls: r, the factor by which the chance falls from one draft to the next; at 1
            it is the same for all.

    Raises:
        ValueError: one of them is not in [0, 1].
    """

    rate: float
    falls: float = 1.0

    def __post_init__(self) -> None:
        for name in ("rate", "falls"):
            of_type(int | float, **{name: (value := getattr(self, name))})
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be in [0, 1], got {value}")

    def chance(self, position: int) -> float:
        """Chance that the draft at ``position``, from 1 on, is kept if all before were.

        Raises:
            ValueError: there is no such position.
        """
        whole(position=position)
        return float(self.rate * self.falls ** (position - 1))

    def survival(self, position: int) -> float:
        """Chance that this draft and all before it are kept; 1 at position 0."""
        whole(of="draft", first=0, most=MOST_DRAFTS, position=position)
        kept = 1.0
        for each in range(1, position + 1):
            kept *= self.chance(each)
        return kept

    def tokens(self, n_draft: int) -> float:
        """Mean tokens of a pass: one of the served model's own, and the drafts kept."""
        whole(of="draft", first=0, most=MOST_DRAFTS, n_draft=n_draft)
        return sum(self.survival(each) for each in range(n_draft + 1))

    def draw(self, n_draft: int, rng: Random) -> int:
        """How many of ``n_draft`` drafts are kept: the first that fails ends it."""
        kept, rate, falls = 0, self.rate, self.falls
        while kept < n_draft and rng.random() < rate * falls**kept:
            kept += 1
        return kept


@dataclass(frozen=True)
class Speculation:
    """How the decodes of a pool are sped up by drafts.

    Each pass verifies ``n_draft`` drafts of every decoding request, so that a decode
    has one row more for each draft. Before it, a ``draft`` model runs once for each
    draft, one row a request; it reads prompts as well. Without one, drafts cost no time
    (they are looked up in the prompt). Room for the rows of drafts, and for the draft
    model and its cache, is not set aside: give ``Pool`` the blocks that are left.

    What a request keeps depends on ``seed``, its id and how far it is, and not on its
    company. As in vLLM, the tokens of a pass arrive together and are one gap.

    Raises:
        TypeError: the acceptance or the draft is something else.
        ValueError: there are fewer than 1 drafts.
    """

    n_draft: int
    acceptance: Acceptance
    draft: IterationCost | None = None
    _: KW_ONLY
    seed: int = 0

    def __post_init__(self) -> None:
        whole(of="draft", most=MOST_DRAFTS, n_draft=self.n_draft)
        of_type(Acceptance, acceptance=self.acceptance)
        of_type(IterationCost | None, draft=self.draft)
        whole_number("seed", self.seed, first=None)

    @property
    def rows(self) -> int:
        """Rows of a decode: its newest token, and a row for each draft."""
        return self.n_draft + 1

    def verification(self, decodes: IterationLoad) -> IterationLoad:
        """The load of a pass that verifies the drafts of these decodes.

        Row i of a request sees its cache and the rows up to itself.
        """
        rows, requests = self.rows, decodes.requests
        pairs = rows * decodes.kv_tokens + requests * rows * (rows + 1) // 2
        return decodes._replace(rows=rows * requests, pairs=pairs)

    def draft_s(self, decodes: IterationLoad, prompts: IterationLoad) -> float:
        """Seconds of drafting: a pass a draft, of which the first reads prompts too."""
        if self.draft is None:
            return 0.0
        if not decodes.requests:
            return self.draft.seconds(prompts)
        seconds, load = 0.0, decodes
        for each in range(self.n_draft):
            seconds += self.draft.seconds(load if each else load.plus(prompts))
            more = decodes.requests
            load = load._replace(
                pairs=load.pairs + more, kv_tokens=load.kv_tokens + more
            )
        return seconds

    def span(
        self,
        cost: IterationCost,
        decodes: IterationLoad,
        prompts: IterationLoad,
        start_s: float,
    ) -> IterationSpan:
        """One iteration that verifies drafts, after the passes that make them."""
        load = self.verification(decodes).plus(prompts)
        run = IterationSpan(
            cost, load, start_s=start_s, count=1, more_pairs=0, more_kv=0
        )
        run.delay(self.draft_s(decodes, prompts))
        return run

    def kept(self, request_id: int, emitted: int) -> int:
        """Drafts that a request keeps in the pass after ``emitted`` tokens."""
        fates = self._fates
        kept = fates.get((request_id, emitted))
        if kept is None:
            most = FEW_DRAFTS if self.n_draft <= FEW_DRAFTS else MOST_DRAFTS
            rng = Random(f"{self.seed}/{request_id}/{emitted}")
            kept = self.acceptance.draw(most, rng)
            if len(fates) == MOST_FATES:
                fates.clear()
            fates[request_id, emitted] = kept
        return kept if kept < self.n_draft else self.n_draft

    @cached_property
    def _fates(self) -> dict[tuple[int, int], int]:
        is_short = self.n_draft <= FEW_DRAFTS
        return _drawn(self.acceptance, self.seed, is_short=is_short)


@lru_cache(maxsize=8)
def _drawn(
    acceptance: Acceptance, seed: int, *, is_short: bool
) -> dict[tuple[int, int], int]:
    """How many drafts a request keeps, by its id and the tokens it has by then.

    Runs that are compared ask for the same draws, each run for its own number of
    drafts, and to seed a draw takes longer than all else that is done for a decode.
    """
    return {}
