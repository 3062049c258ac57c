"""Every record is recomputed and judged, and a slip in any of them is caught."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial

import pytest

from llmserve_lab.claims import (
    CLAIM_COUNTS,
    CLAIMS,
    FALSE,
    OFF,
    SOURCES,
    Claim,
    ClaimsAboutText,
    ClaimsOf,
    Number,
    Passages,
    Ruling,
    Size,
    Statement,
    coverage,
    judge,
    rules,
    source_legend,
    verdict_legend,
    verdict_summary,
)
from llmserve_lab.claims.all_claims import by_id
from llmserve_lab.claims.page import BEST_FIRST, WORDS, claims_table, off_by
from llmserve_lab.claims.parts import Recompute

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
        planted = dataclasses.replace(
            number, value=times(number, factor), readings={}, elsewhere=""
        )
        assert planted.judge() is (Ruling.EXACT if keeps_its_bound else Ruling.WRONG)


@every_claim
def test_a_planted_wrong_verdict_is_caught(claim: Claim) -> None:
    for verdict in Ruling:
        if verdict is claim.verdict or verdict is Ruling.CANNOT_BE_CHECKED:
            continue
        if claim.parts:
            planted = dataclasses.replace(claim, verdict=verdict, why="planted")
            assert judge(planted) is not planted.verdict


@every_number
def test_a_misread_digit_is_caught(claim: Claim, number: Number) -> None:
    if number.parsed.is_range:
        return  # a range has no one digit that decides
    first = re.search(r"[1-9]", number.printed)
    assert first
    other = str((int(first[0]) + 4) % 9 + 1)
    misread = number.printed.replace(first[0], other, 1)
    planted = dataclasses.replace(number, printed=misread, readings={}, elsewhere="")
    if number.judge() in (Ruling.EXACT, Ruling.WITHIN_ROUNDING):
        keeps_its_bound = number.parsed.relation == ">" and int(other) < int(first[0])
        assert planted.judge() is (Ruling.EXACT if keeps_its_bound else Ruling.WRONG)


@every_number
def test_a_reading_is_named_only_where_it_is_needed(
    claim: Claim, number: Number
) -> None:
    explained = number.judge() is Ruling.INCONSISTENT
    assert bool(number.explanations()) >= explained
    assert len(number.readings) + bool(number.elsewhere) <= 1


def times(number: Number, factor: float) -> Recompute:
    """The number's callable with a factor slipped in."""
    value = number.value()
    if isinstance(value, tuple):
        low, high = value
        return lambda: (low * factor, high * factor)
    scaled = value * factor
    return lambda: scaled


@every_claim
def test_a_limit_that_we_set_is_printed_and_is_never_exact(claim: Claim) -> None:
    for part in claim.parts:
        if isinstance(part, Statement) and part.limit:
            assert part.limit in part.right and part.judge() is not Ruling.EXACT


@every_claim
def test_words_for_a_number_and_for_a_statement(claim: Claim) -> None:
    wrong = [part for part in claim.parts if part.judge() is Ruling.WRONG]
    if claim.verdict is Ruling.WRONG:
        numbers = all(isinstance(part, Number) for part in wrong)
        assert claim.word == (OFF if numbers else FALSE)
    else:
        assert claim.word == claim.verdict.value and not wrong
    assert claim.word in WORDS


@every_claim
def test_the_basis_says_where_nothing_is_computed(claim: Claim) -> None:
    quoted = bool(claim.parts) and all(isinstance(p, Passages) for p in claim.parts)
    assert (claim.basis == "two passages compared") is quoted
    assert (claim.basis == "nothing to compute") is (not claim.parts)
    if claim.by_definition:
        assert claim.verdict is Ruling.EXACT, "what is defined cannot be wrong"


def test_a_size_off_by_a_quarter_is_not_rounding() -> None:
    sizes = [p for c in CLAIMS.values() for p in c.parts if isinstance(p, Size)]
    for part in sizes:
        says = part.says()
        more = tuple(1.25 * x for x in (says if isinstance(says, tuple) else (says,)))
        planted = dataclasses.replace(part, says=partial(tuple, more))
        if part.judge() in (Ruling.EXACT, Ruling.WITHIN_ROUNDING):
            assert planted.judge() in (Ruling.INCONSISTENT, Ruling.WRONG)


def test_every_id_is_a_claim_of_its_source() -> None:
    for name, claim in CLAIMS.items():
        prefix, number = name.split("-")
        assert claim.id == name and claim.source is SOURCES[prefix]
        assert 1 <= int(number.rstrip("b")) <= CLAIM_COUNTS[claim.source.name]
        assert claim.counted is number.isdigit()


def test_an_id_is_used_once() -> None:
    claim = CLAIMS["06-05"]
    with pytest.raises(ValueError, match="id must be unique, got 06-05 twice"):
        by_id(claim, claim)


def test_every_claim_of_every_source_is_recorded() -> None:
    for source in SOURCES.values():
        own = [c for c in CLAIMS.values() if c.source is source and c.counted]
        assert [int(c.id.split("-")[1]) for c in own] == [*range(1, source.count + 1)]


def test_coverage_is_whole(record_property: Callable[[str, object], None]) -> None:
    line = coverage()
    record_property("report", line)
    (pair,) = re.findall(r"(\d+) of (\d+)", line)
    assert int(pair[0]) == int(pair[1]) == sum(CLAIM_COUNTS.values())
    assert int(pair[0]) == sum(claim.counted for claim in CLAIMS.values())


def test_the_summary_adds_up() -> None:
    *rows, total = verdict_summary().rows
    for row in (*rows, total):
        claims, *by_verdict = map(int, row[1:])
        assert claims == sum(by_verdict)
    assert total[1] == sum(CLAIM_COUNTS.values()) and len(rows) == len(CLAIM_COUNTS)
    of_word = dict(zip(BEST_FIRST, total[2:], strict=True))
    apart = ClaimsAboutText().claims
    for word in WORDS:
        own = [*ClaimsOf(word).claims, *(c for c in apart if c.word == word)]
        assert of_word[word] == sum(c.counted for c in own)


def test_the_page_shows_every_record_once() -> None:
    html = "".join(ClaimsOf(word)._repr_html_() for word in WORDS)
    html += ClaimsAboutText()._repr_html_()
    anchors = re.findall(r'<tr id="claim-([^"]+)"', html)
    assert sorted(anchors) == sorted(CLAIMS)
    assert html.count('class="filtered"') == len(CLAIMS)
    for name in CLAIMS:
        assert f'href="#claim-{name}"' in html


@pytest.mark.parametrize("word", WORDS)
def test_rows_are_sorted_by_how_far_off_they_are(word: str) -> None:
    html = ClaimsOf(word)._repr_html_()
    offs = [float(x) for x in re.findall(r'data-off="([^"]+)"', html)]
    assert offs == sorted(offs, reverse=True)
    assert set(re.findall(r'data-verdict="([^"]+)"', html)) == {word}


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.0, "0"),
        (1.12, "+12 %"),
        (0.956, "−4.4 %"),
        (0.001, "1000 × too small"),
        (2.5, "2.5 × too large"),
        (float("nan"), "–"),
    ],
)
def test_a_deviation_in_words(ratio: float, text: str) -> None:
    assert off_by(ratio) == text


def test_legends_name_all_there_is() -> None:
    assert [str(row[0]).split(" ", 1)[1] for row in verdict_legend().rows] == [
        *BEST_FIRST
    ]
    assert [row[1] for row in source_legend().rows] == [*CLAIM_COUNTS]
    assert any("5 at most" in str(row[1]) for row in rules().rows)
    assert len({verdict.symbol for verdict in Ruling}) == len(Ruling)


def test_a_chapter_may_show_a_section_of_a_source() -> None:
    section = claims_table("article 06", section="§1")
    assert {str(row[1]).split(":")[0] for row in section.rows} == {"§1"}
    assert len(claims_table("article 06").rows) == CLAIM_COUNTS["article 06"]
    with pytest.raises(ValueError, match=r"source must be one of .*article 06"):
        claims_table("article 99")
    with pytest.raises(ValueError, match=r"section must be one of .*§2"):
        claims_table("article 06", section="§9")


def test_a_word_that_is_no_verdict_is_refused() -> None:
    with pytest.raises(ValueError, match="word must be one of number off"):
        ClaimsOf("nonsense")
    assert repr(ClaimsOf("number off")).startswith("✗ number off: ")


def test_import_is_light() -> None:
    code = "import sys, llmserve_lab.claims; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {"sympy", "pint", "altair", "matplotlib"}.isdisjoint(done.stdout.split())
