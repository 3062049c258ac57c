"""What a tile takes of each room: the labels say what the verdict divides by."""

import re
from itertools import product

import pytest

from llmserve_lab.catalog.evidence.attention import REGISTERS_PER_SM, SHARED_PER_BLOCK
from llmserve_lab.flash_attention.page import figures

KIB = re.compile(r"^(.+), of ([\d.]+) kB \((\d+) KiB\)$")


def rooms() -> dict[str, tuple[str, float]]:
    """Readouts with a room in their label: its first words, and bytes of the room."""
    found = {}
    for readout in figures.traffic().readouts:
        if said := KIB.match(readout.label):
            room = 1024 * float(said[3])
            assert room / 1000 == pytest.approx(float(said[2]), abs=0.5)
            found[readout.name] = said[1], room
    return found


@pytest.mark.parametrize(("rows", "keys"), [*product(figures.ROWS, figures.KEYS)])
def test_the_share_of_the_chip_is_the_fullest_of_the_rooms_in_the_labels(
    rows: float, keys: float
) -> None:
    known = figures.traffic().values(tile_rows=rows, tile_keys=keys)
    shares = [known[name] / room for name, (_, room) in rooms().items()]
    assert len(shares) == 2
    assert known["chip_share"] == pytest.approx(max(shares), rel=1e-9)


def test_each_room_is_the_fullest_for_some_tile() -> None:
    """So that the test above has asked for both."""
    fullest = set()
    for rows, keys in product(figures.ROWS, figures.KEYS):
        known = figures.traffic().values(tile_rows=rows, tile_keys=keys)
        shares = {name: known[name] / room for name, (_, room) in rooms().items()}
        fullest.add(max(shares, key=lambda name: shares[name]))
    assert fullest == set(rooms())


def test_each_room_is_called_by_its_name() -> None:
    cited = {
        "Shared memory": float(SHARED_PER_BLOCK),
        "Registers": float(REGISTERS_PER_SM),
    }
    assert dict(rooms().values()) == cited
    for name, (label, _) in rooms().items():
        assert name.split("_")[0] in label.lower()
