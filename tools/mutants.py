"""Plant one defect at a time and demand that the tests turn red.

Four kinds: one digit in every stored output, every slip in every formula, one digit in
every number of the catalog, swaps of marks, labels, inks and hints in every chart,
figure and question. Defects are planted in copies of the tree, never in the
tree itself; most slips in formulas fail a gate in this very process, and need no copy.
Before the first one, all the tests that will be asked must be green.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
# The gates, which are asked in this process too, stand in the tests.
sys.path.insert(0, str(ROOT))

from planted import catalog, charts, formulas, outputs  # noqa: E402
from planted.defect import Defect  # noqa: E402
from planted.formulas import Fate  # noqa: E402
from planted.hunt import Caught, Together, hunt  # noqa: E402
from planted.nets import NETS  # noqa: E402


@dataclass
class Plan:
    """What is planted together, and what became of the slips in formulas before."""

    runs: list[Together] = field(default_factory=list)
    fates: dict[Fate, list[Defect]] = field(default_factory=lambda: defaultdict(list))


def plan(kinds: Iterable[str], pattern: str, seed: int) -> Plan:
    """What to plant of these kinds, if its line in the list contains ``pattern``."""
    made = Plan()
    if formulas.KIND in kinds:
        for slip, fate in tqdm(formulas.in_formulas(ROOT, pattern), "formulas"):
            made.fates[fate] += [slip]
        made.runs += [(slip,) for slip in formulas.in_coefficients(ROOT)]
    if outputs.KIND in kinds:
        made.runs += outputs.runs(ROOT, seed)
    if catalog.KIND in kinds:
        made.runs += [(misread,) for misread in catalog.in_catalog(ROOT, seed)]
    if charts.KIND in kinds:
        made.runs += [(swap,) for swap in charts.in_charts(ROOT)]
    kept = (tuple(d for d in together if pattern in str(d)) for together in made.runs)
    made.runs = [(slip,) for slip in made.fates[Fate.OPEN]] + list(filter(None, kept))
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
    add("--workers", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    """Plant, report, and fail if a defect survives."""
    given = options()
    made = plan(given.kind or list(NETS), given.only, given.seed)
    seen = made.fates[Fate.SEEN]
    if given.list:
        planted = (defect for together in made.runs for defect in together)
        print(*seen, *planted, sep="\n")
        return
    results: list[Caught] = [(slip, "gates at once") for slip in seen]
    with tqdm(total=sum(map(len, made.runs)), unit="defect") as progress:
        for judged in hunt(ROOT, made.runs, NETS, given.workers):
            results += judged
            progress.update(len(judged))
            for defect in (defect for defect, net in judged if not net):
                progress.write(f"survived: {defect}")
    sys.exit(not report(results, len(made.fates[Fate.SAME])))


if __name__ == "__main__":
    main()
