"""How many copies of a row are sent, to how many places, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.page.comparison import DEVICES, GPUS
from llmserve_lab.deepseek.model.setup import number_bytes
from llmserve_lab.page.table import Table

SPLIT = deployment.Split(gpu=DEVICES[0], n_attn=56, n_ffn=40)  # best once a node


@dataclass(frozen=True)
class CopiesSent:
    """Copies of a row in one layer, and those of them that leave the row's node."""

    rule: str
    sender: str
    copies: float
    leave: float

    @property
    def kilobytes(self) -> float:
        """Of the copies that leave, there and back."""
        twin = SPLIT.twin
        sizes = (twin.assumptions.dispatch, twin.assumptions.combine)
        each = sum(twin.setup.model.d_model * number_bytes(size) for size in sizes)
        return float(self.leave * each / 1e3)


def sent() -> tuple[CopiesSent, ...]:
    """Split and group, once for each expert and once to each node.

    An Attention GPU's node holds no experts, so all of its copies leave. In a group the
    experts of a row's own node are as many as those of any other.
    """
    ffn, group = SPLIT.twin, coupled.group(DEVICES[0], GPUS)
    rows: tuple[tuple[str, coupled.Copies, str], ...] = (
        ("for each expert", "expert", "GPUs"),
        ("once to each node", "node", "nodes"),
    )
    found = []
    for rule, copies, places in rows:
        for name, twin in ((f"split {SPLIT.name}", ffn), ("group", group)):
            n, own = round(twin.setup.n_nodes), twin is group
            many = n if copies == "node" else 8 * n
            whom = f"{name}, to {many} {places}" + " with its own" * own
            each = coupled.copies_of_row(twin, copies)
            found.append(CopiesSent(rule, whom, each, each * (1 - own / n)))
    return tuple(found)


def copies_table() -> Table:
    """Table of the copies of a row in one layer."""
    rows = [
        (
            each.rule,
            each.sender,
            f"{each.copies:.1f}",
            f"{each.leave:.1f}",
            f"{each.kilobytes:.0f}",
        )
        for each in sent()
    ]
    columns = ("a row is sent", "by and to", "copies", "leave the node", "kB")
    caption = "Copies of one row in one layer; kB there and back"
    return Table(caption, columns, rows, row_headers=False)
