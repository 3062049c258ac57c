"""Replications: curves over the ratio from several seeds, beside what two rules say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import Bundle, Load
from llmserve_lab.afd.simulation.empirical_lengths import JointLengths
from llmserve_lab.afd.simulation.length_distributions import (
    Floats,
    Geometric,
    Independent,
    Law,
    Uniform,
)
from llmserve_lab.afd.simulation.ratio_sweep import Ladder, ladder
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.page.table import Table


@dataclass(frozen=True, eq=False)
class Study:
    """One kind of bundle at every whole ratio, simulated from several seeds."""

    bundle: Bundle
    law: Law
    runs: tuple[Ladder, ...]

    @property
    def ratios(self) -> Any:
        """The ratios, from 1 on."""
        return self.runs[0].ratios

    def mean(self, name: str) -> Floats:
        """A metric of the ladder, averaged over the seeds."""
        return np.asarray(self._each(name).mean(axis=0))

    def band(self, name: str) -> Floats:
        """Half-width of its 95 % confidence interval over seeds (Student's t).

        Infinite for one seed, which says nothing of the scatter.
        """
        from llmserve_lab.extras import special

        each = self._each(name)
        if len(each) == 1:
            return np.full_like(each[0], np.inf)
        wide = special.stdtrit(len(each) - 1, 0.975) / np.sqrt(len(each))
        return np.asarray(wide * each.std(axis=0, ddof=1))

    def _each(self, name: str) -> Floats:
        return np.array([getattr(run, name) for run in self.runs])

    @cached_property
    def ours(self) -> Any:
        """Tokens per second and instance by the corrected rule."""
        return corrected_model.tokens_per_s(self.bundle, self.law.slot(), self.ratios)

    @cached_property
    def paper(self) -> Any:
        """Tokens per second and instance by the paper's closed form, with θ."""
        return f.INSTANCE_TOKENS_PER_S.at(
            coefficients(self.bundle),
            slot_tokens=self.law.slot().theta,
            af_ratio=self.ratios,
        )

    def errors(self) -> tuple[Floats, Floats]:
        """Relative errors of the paper's form and of ours, at every ratio."""
        seen = self.mean("tokens_per_s")
        return self.paper / seen - 1, self.ours / seen - 1


def coefficients(bundle: Bundle) -> dict[str, float]:
    """The arguments of the formulas that a bundle fixes, by code name."""
    parts = {"attn": bundle.attn, "ffn": bundle.ffn, "comm": bundle.wire}
    found = {f"a_{name}": line.slope for name, line in parts.items()}
    found |= {f"b_{name}": line.intercept for name, line in parts.items()}
    return found | {"batch": bundle.batch, "n_batches": bundle.n_batches}


def growing(
    bundle: Bundle, law: Law, *, most: int, n_requests: int, seeds: Iterable[int]
) -> Iterator[Study]:
    """Simulate ratios 1 to ``most``, seed by seed; a study after each of them.

    Each seed for ``n_requests`` per instance.
    """
    load, runs = Load(law=law, n_requests=n_requests), tuple[Ladder, ...]()
    for seed in seeds:
        runs = (*runs, ladder(bundle, load, most=most, seed=seed))
        yield Study(bundle, law, runs)


def study(
    bundle: Bundle, law: Law, *, most: int, n_requests: int, seeds: Iterable[int]
) -> Study:
    """The same after the last seed."""
    *_, whole = growing(bundle, law, most=most, n_requests=n_requests, seeds=seeds)
    return whole


def joint(n: int = 4000) -> JointLengths:
    """Long prompts with long answers: mean prompt 100, mean answer 500, no law's name.

    Three kinds of requests in equal parts, in tokens.
    """
    kinds = ((20, 100), (80, 400), (200, 1000))
    rows = np.array([kinds[i % 3] for i in range(n // 3 * 3)])
    return JointLengths(rows[:, 0], rows[:, 1])


LAWS: Mapping[str, Law] = {
    "geometric": Independent(Uniform(0, 200), Geometric(500, least=0)),
    "all answers alike": Independent(Uniform(0, 200), Uniform(500, 500)),
    "uniform": Independent(Uniform(0, 200), Uniform(0, 1000)),
    "long prompts, long answers": joint(),
}


def laws_table(bundle: Bundle, *, ratio: int, most: int, n_requests: int) -> Table:
    """Table of laws with equal means: what a slot holds, and what comes out.

    At one ratio of a study that goes to the ``most``.
    """
    rows = []
    for name, law in LAWS.items():
        one = study(bundle, law, most=most, n_requests=n_requests, seeds=range(3))
        seen = one.mean("tokens_per_s")[ratio - 1]
        by_mean = f.INSTANCE_TOKENS_PER_S.at(
            coefficients(bundle), slot_tokens=600.0, af_ratio=ratio
        )
        parts = (by_mean, one.paper[ratio - 1], one.ours[ratio - 1])
        errors = (f"{part / seen - 1:+.1%}" for part in parts)
        rows.append((name, f"{law.slot().theta:.0f}", f"{seen / 1e3:.0f}", *errors))
    columns = (
        "law of answers", "in a slot", "simulated", "by means", "by slot", "our rule"
    )  # fmt: skip
    caption = f"Other laws with the same means, r = {ratio}"
    note = "Simulated: tokens per 1,000 µs and instance; then errors of rules."
    return Table(caption, columns, rows, notes=(note,))
