"""Stored runs at the goodputs: some made again, and how one part is written."""

import json
from pathlib import Path

import pytest

from llmserve_lab.capacity import __main__ as writer
from llmserve_lab.capacity import at_goodput, record, sweep, tables
from llmserve_lab.capacity.triangle import LOADS, pool


def test_a_load_is_charged_as_stored() -> None:
    rate = tables.rates()[-1]
    assert rate == at_goodput.shown()
    run, stored = tables.charged_run(rate), tables.charged_at(rate)
    assert vars(stored) == pytest.approx(vars(run), rel=1e-5)


def test_the_full_replica_is_at_its_saturation() -> None:
    """No share of a goodput: as many leave a backlog that never ends."""
    most = sweep.saturation(LOADS[0], pool("llama-3.1-8b", "h100-sxm"))
    assert at_goodput.full().per_s == pytest.approx(most, rel=5e-3)
    assert at_goodput.full().per_s > 1.3 * at_goodput.shown()


@pytest.mark.long
def test_the_search_s_best_has_the_stored_tpot() -> None:
    assert at_goodput.best_all() == at_goodput.best_tpot_s()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: at_goodput.capped(13.7, 48), "per_s must be one of 13.8, 21.5"),
        (lambda: at_goodput.capped(13.8, 47), "slots must be one of 256, 48"),
        (lambda: at_goodput.latency_s(3.0), "per_s must be one of 13.8"),
        (lambda: tables.charged_at(2.0), "rate must be one of 1, 5, 13.8"),
        (lambda: writer.write(["cap"]), "name must be one of triangle"),
    ],
)
def test_what_is_not_stored_is_refused(read: object, message: str) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match=message):
        read()


def test_one_part_is_written_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte as the file that is kept, where nothing changed."""
    file, before = tmp_path / "record.json", record.RECORD.read_text("utf8")
    file.write_text(before, "utf8")
    for module in (writer, record):
        monkeypatch.setattr(module, "RECORD", file)
    record.recorded.cache_clear()
    try:
        few = record.recorded()["few"]
        monkeypatch.setitem(writer.PARTS, "few", lambda: few)
        writer.write(["few"])
        assert file.read_text("utf8") == before
        monkeypatch.setitem(writer.PARTS, "few", lambda: 0.25)
        writer.write(["few"])
        assert json.loads(file.read_text("utf8")) == {**json.loads(before), "few": 0.25}
        assert at_goodput.few_kept() == 0.25
    finally:
        record.recorded.cache_clear()


def test_every_part_of_the_record_has_its_maker() -> None:
    assert {*writer.PARTS} == {*record.recorded()}
