"""Every record is recomputed and judged, and a slip in any of them is caught."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from llmserve_lab.claims import (
    CLAIM_COUNTS,
    CLAIMS,
    SOURCES,
    Claim,
    Number,
    Ruling,
    claims_table,
    coverage,
    judge,
    slips_table,
    verdict_legend,
    verdict_summary,
)
from llmserve_lab.claims.record import Recompute
from llmserve_lab.claims.records import by_id

every_claim = pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
NUMBERS = [
    (c, part) for c in CLAIMS.values() for part in c.parts if isinstance(part, Number)
]
every_number = pytest.mark.parametrize(
    ("claim", "number"), NUMBERS, ids=[f"{c.id}-{n.printed}" for c, n in NUMBERS]
)


@every_claim
def test_the_verdict_is_the_one_that_follows(claim: Claim) -> None:
    assert judge(claim) is claim.verdict


@every_claim
def test_a_record_reads_as_one(claim: Claim) -> None:
    assert claim.reason.endswith(".") and "\n" not in claim.reason
    assert bool(claim.right) is bool(claim.parts)
    assert len(claim.says) < 120 and not claim.says.endswith(".")


@every_number
def test_a_planted_wrong_number_is_caught(claim: Claim, number: Number) -> None:
    for factor in (0.2, 5.0):
        keeps_its_bound = number.parsed.relation == ">" and factor > 1
        planted = dataclasses.replace(number, value=times(number, factor), readings={})
        assert planted.judge() is (Ruling.EXACT if keeps_its_bound else Ruling.WRONG)


@every_number
def test_a_misread_digit_is_caught(claim: Claim, number: Number) -> None:
    if number.parsed.is_range:
        return  # a range has no one digit that decides
    first = re.search(r"\d", number.printed)
    assert first
    other = str((int(first[0]) + 4) % 9 + 1)
    misread = number.printed.replace(first[0], other, 1)
    assert dataclasses.replace(number, printed=misread).judge() is Ruling.WRONG


@every_number
def test_a_reading_is_named_only_where_it_is_needed(
    claim: Claim, number: Number
) -> None:
    explained = number.judge() is Ruling.INCONSISTENT
    assert bool(number.explanations()) >= explained
    assert len(number.readings) <= 1


def times(number: Number, factor: float) -> Recompute:
    """The number's callable with a factor slipped in."""
    value = number.value()
    if isinstance(value, tuple):
        low, high = value
        return lambda: (low * factor, high * factor)
    scaled = value * factor
    return lambda: scaled


def test_every_id_is_a_claim_of_its_source() -> None:
    for name, claim in CLAIMS.items():
        prefix, number = name.split("-")
        assert claim.id == name and claim.source is SOURCES[prefix]
        assert 1 <= int(number) <= CLAIM_COUNTS[claim.source.name]


def test_an_id_is_used_once() -> None:
    claim = CLAIMS["06-05"]
    with pytest.raises(ValueError, match="id must be unique, got 06-05 twice"):
        by_id(claim, claim)


def test_article_06_is_recorded_in_full() -> None:
    found = [int(name[3:]) for name in CLAIMS if name.startswith("06-")]
    assert found == [*range(1, CLAIM_COUNTS["article 06"] + 1)]


def test_coverage_adds_up(record_property: Callable[[str, object], None]) -> None:
    line = coverage()
    record_property("report", line)
    whole, *parts = re.findall(r"(\d+) of (\d+)", line)
    assert int(whole[0]) == len(CLAIMS) == sum(int(part) for part, _ in parts)
    assert int(whole[1]) == sum(CLAIM_COUNTS.values())
    assert "article 06: {0} of {0}".format(CLAIM_COUNTS["article 06"]) in line


def test_the_summary_adds_up() -> None:
    *rows, total = verdict_summary().rows
    for row in (*rows, total):
        claims, recorded, *by_verdict = map(int, row[1:])
        assert recorded == sum(by_verdict) <= claims
    assert total[2] == len(CLAIMS) and len(rows) == len(CLAIM_COUNTS)


def test_the_page_shows_every_record_once() -> None:
    sources = dict.fromkeys(claim.source.name for claim in CLAIMS.values())
    rows = [row for name in sources for row in claims_table(name).rows]
    assert sorted(str(row[0]) for row in rows) == sorted(CLAIMS)
    section = claims_table("article 06", section="§1")
    assert {str(row[1]).split(":")[0] for row in section.rows} == {"§1"}


def test_slips_are_the_wrong_then_the_inconsistent() -> None:
    verdicts = [str(row[3]).split(".")[0] for row in slips_table().rows]
    assert verdicts == sorted(verdicts, key=[str(v) for v in Ruling][::-1].index)
    assert set(verdicts) == {str(Ruling.WRONG), str(Ruling.INCONSISTENT)}


def test_a_verdict_is_a_symbol_and_words() -> None:
    assert len({verdict.symbol for verdict in Ruling}) == len(Ruling)
    assert [row[0] for row in verdict_legend().rows] == [str(v) for v in Ruling]


def test_tables_name_what_they_know() -> None:
    with pytest.raises(ValueError, match=r"source must be one of .*article 06"):
        claims_table("article 99")
    with pytest.raises(ValueError, match=r"section must be one of .*§2"):
        claims_table("article 06", section="§9")


def test_import_is_light() -> None:
    code = "import sys, llmserve_lab.claims; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"sympy", "pint", "altair", "matplotlib"}.isdisjoint(done.stdout.split())
