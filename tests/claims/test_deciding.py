"""Claims that change a decision stand on top, those about the texts at the end."""

from llmserve_lab.claims import CLAIMS, ClaimsAboutText, DecidingClaims, Ruling
from llmserve_lab.claims.claim import COMPUTED, QUOTED, WIDE
from llmserve_lab.claims.deciding import INSTEAD
from llmserve_lab.claims.page import ABOUT_TEXT


def test_the_ten_do_not_hold_and_were_computed() -> None:
    assert len(INSTEAD) == 10 and not ABOUT_TEXT & INSTEAD.keys()
    for name, instead in INSTEAD.items():
        claim = CLAIMS[name]
        assert claim.verdict in (Ruling.WRONG, Ruling.INCONSISTENT)
        assert claim.basis == COMPUTED
        assert instead.endswith(".") and not any(map(str.isdigit, instead))


def test_each_of_the_ten_leads_to_its_row() -> None:
    html = DecidingClaims()._repr_html_()
    for name in INSTEAD:
        assert f'href="#claim-{name}"' in html
        assert CLAIMS[name].says in str(DecidingClaims())


def test_what_a_text_says_of_itself_compares_passages_or_counts_its_parts() -> None:
    claims = ClaimsAboutText().claims
    assert {claim.id for claim in claims} == ABOUT_TEXT
    assert {c.id for c in claims if c.basis != QUOTED} == {"00-03"}
    assert repr(ClaimsAboutText()).startswith("what a text says of itself: 7 claims: ")


def test_a_claim_in_a_terminal_keeps_to_its_width_and_loses_no_word() -> None:
    for claim in CLAIMS.values():
        lines = str(claim).splitlines()
        assert max(map(len, lines)) <= WIDE
        for text in (claim.says, claim.printed, claim.right, claim.reason):
            assert "".join(text.split()) in "".join(str(claim).split())
