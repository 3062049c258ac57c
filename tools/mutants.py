"""Plant one defect at a time and demand that the tests turn red.

Three kinds: one digit in every stored output, every slip in every formula, one digit in
every number of the catalog. Defects are planted in copies of the tree, never in the
tree itself. Before the first one, all the tests that will be asked must be green.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from planted import catalog, formulas, outputs
from planted.hunt import Caught, Together, hunt
from planted.nets import NETS

ROOT = Path(__file__).resolve().parents[1]


def plan(kinds: Iterable[str], pattern: str, seed: int) -> tuple[list[Together], int]:
    """What to plant of these kinds, and how many changes turned out to be none.

    A defect is kept if its line in the list contains ``pattern``.
    """
    found: list[Together] = []
    slips = list(formulas.in_formulas(ROOT)) if formulas.KIND in kinds else []
    if outputs.KIND in kinds:
        found += outputs.runs(ROOT, seed)
    if formulas.KIND in kinds:
        found += [(slip,) for slip, defect in slips if defect]
        found += [(slip,) for slip in formulas.in_coefficients(ROOT)]
    if catalog.KIND in kinds:
        found += [(misread,) for misread in catalog.in_catalog(ROOT, seed)]
    kept = (tuple(d for d in together if pattern in str(d)) for together in found)
    return list(filter(None, kept)), sum(not defect for _, defect in slips)


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
    from tqdm import tqdm

    given = options()
    runs, same = plan(given.kind or list(NETS), given.only, given.seed)
    if given.list:
        print(*(defect for together in runs for defect in together), sep="\n")
        return
    results: list[Caught] = []
    total = sum(map(len, runs))
    with tqdm(total=total, unit="defect", disable=None) as progress:
        for judged in hunt(ROOT, runs, NETS, given.workers):
            results += judged
            progress.update(len(judged))
    sys.exit(not report(results, same))


if __name__ == "__main__":
    main()
