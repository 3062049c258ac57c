"""Plant one defect at a time and demand that the tests turn red.

Four kinds: every slip in every formula, one digit in every number of the catalog, a
swap of marks, labels, inks and hints in every chart, figure and question, and what was
missed before. (A wrong digit in a stored output needs no planting: strict nbval
compares each of them.) Defects are planted in copies of the tree, never in the tree
itself; most slips in formulas fail a gate in this very process, and need no copy.
Before the first one, all the tests that will be asked must be green.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
# The gates, which are asked in this process too, stand in the tests.
sys.path.insert(0, str(ROOT))

from planted import catalog, charts, formulas, known  # noqa: E402
from planted.defect import Defect  # noqa: E402
from planted.formulas import Fate  # noqa: E402
from planted.hunt import Caught, hunt  # noqa: E402
from planted.nets import NETS  # noqa: E402
from planted.slips import Written  # noqa: E402


@dataclass
class Plan:
    """What became of each defect before any was planted."""

    fates: dict[Fate, list[Defect]] = field(default_factory=lambda: defaultdict(list))


Slip = tuple[Written | None, Defect]  # the formula, where it is one


def plan(kinds: Iterable[str], pattern: str, seed: int, sample: int | None) -> Plan:
    """What to plant of these kinds, if its line in the list contains ``pattern``.

    A ``sample`` is drawn from all of them by ``seed``.
    """
    made, every = Plan(), list[Slip]()
    if formulas.KIND in kinds:
        every += formulas.slips(ROOT)
        every += [(None, slip) for slip in formulas.in_coefficients(ROOT)]
    if catalog.KIND in kinds:
        every += [(None, misread) for misread in catalog.in_catalog(ROOT, seed)]
    if charts.KIND in kinds:
        every += [(None, swap) for swap in charts.in_charts(ROOT)]
    if known.KIND in kinds:
        every += [(None, defect) for defect in known.known(ROOT)]
    every = [(of, defect) for of, defect in every if pattern in str(defect)]
    if sample is not None:
        every = Random(seed).sample(every, min(sample, len(every)))
    for of, slip in tqdm(every, "gates at once"):
        made.fates[formulas.fate(of, slip) if of else Fate.OPEN] += [slip]
    return made


def report(results: list[Caught], same: int) -> bool:
    """Print the survivors and a table; whether there are none."""
    for defect, net in sorted(results, key=str):
        if not net:
            print(f"survived: {defect}")
    print(f"{'kind':<10}{'planted':>9}{'caught':>9}{'survived':>10}  caught by")
    for kind in NETS:
        print(row(kind, Counter(net for defect, net in results if defect.kind == kind)))
    if same:
        print(f"{same} changes left a formula the same and were not planted")
    caught = sum(bool(net) for _, net in results)
    print(f"{caught} of {len(results)} planted defects caught")
    return caught == len(results)


def row(kind: str, nets: Counter[str]) -> str:
    """One kind's line of the table, from how many each net caught."""
    planted, survived = nets.total(), nets[""]
    by = ", ".join(f"{net} {count}" for net, count in nets.most_common() if net)
    return f"{kind:<10}{planted:>9}{planted - survived:>9}{survived:>10}  {by}"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--kind", action="append", choices=list(NETS), help="default: all")
    add("--only", default="", metavar="PATTERN", help="part of a line of --list")
    add("--list", action="store_true", help="print the defects, plant none")
    add("--seed", type=int, default=0, help="which digits are drawn")
    add("--sample", type=int, help="so many of them, drawn by the seed")
    add("--green", action="store_true", help="the tests are known to be green")
    add("--workers", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    """Plant, report, and fail if a defect survives."""
    given = options()
    made = plan(given.kind or list(NETS), given.only, given.seed, given.sample)
    seen, runs = made.fates[Fate.SEEN], made.fates[Fate.OPEN]
    if given.list:
        print(*seen, *runs, sep="\n")
        return
    results: list[Caught] = [(slip, "gates at once") for slip in seen]
    judged = hunt(ROOT, runs, NETS, given.workers, green=given.green)
    for defect, net in tqdm(judged, "planted", total=len(runs)):
        results.append((defect, net))
        if not net:
            tqdm.write(f"survived: {defect}")
    sys.exit(not report(results, len(made.fates[Fate.SAME])))


if __name__ == "__main__":
    main()
