"""What to guess before reading about drafts, and to work out after."""

from __future__ import annotations

from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question
from llmserve_lab.speculative import formulas as f
from llmserve_lab.speculative import machine as m

P, Q = (0.5, 0.4, 0.1), (0.2, 0.3, 0.5)  # laws of target and draft in an exercise
COMMON = sum(map(min, zip(P, Q, strict=True)))
REDRAWN = ("less often than the target says", "just as often", "more often")
EIGHT = ("more, a longer chain yields more", "fewer", "as many")
BATCH = 32
RATE, CHAIN = 0.7, 3
ENDLESS = 0.75
HALF = {"accept_rate": RATE, "n_draft": float(CHAIN)}
PASS_MS, DRAFT_MS = 7.0, 1.9  # given in an exercise
ROWS = ("about as long", "about twice as long", "about five times as long")


def _tokens(rate: float = RATE, drafts: int = CHAIN) -> float:
    return float(f.ACCEPTED(accept_rate=rate, n_draft=float(drafts)))


def _redrawn() -> float:
    """The first word of the calculation by hand, if rejections are redrawn from p."""
    return 0.2 + 0.3 * 0.5


def _per_token_ms() -> float:
    return (CHAIN * DRAFT_MS + PASS_MS) / _tokens()


predict_redraw = Question(
    name="speculative.predict-redraw",
    kind="predict",
    prompt=(
        "Take the three words of the calculation by hand (p: 0.5, 0.3, 0.2; q: 0.2, "
        "0.6, 0.2), but replace a rejected draft by a word drawn from p itself. How "
        "often does the first word then come out?"
    ),
    choices=REDRAWN,
    answer=lambda: 0.0,
    why=lambda: (
        "With chance 0.2 as a draft, and with 0.3 · 0.5 after a rejection: "
        f"{_redrawn():.2f}, less than its 0.5. The words that the draft model favours "
        "get a second chance, and the missing share is taken from the first word."
    ),
    hints=(
        Hint(
            lambda: 1.0,
            "Drafts give it 0.2; a rejection, with chance 0.3, half of what is left.",
        ),
        Hint(lambda: 2.0, "Drawn from p it gets only half of the rejections, not all."),
    ),
)
predict_rows = Question(
    name="speculative.predict-rows",
    kind="predict",
    prompt=(
        "Llama-3.1-8B decodes one request on one H100: a pass with one row takes "
        f"{1e3 * m.plain_s(1):.0f} ms. How long does a pass with five rows take, the "
        "newest word and four drafts?"
    ),
    choices=ROWS,
    answer=lambda: 0.0,
    why=lambda: (
        f"{1e3 * m.verify_s(1, 4):.2f} ms instead of {1e3 * m.plain_s(1):.2f}: the "
        "weights are read once for all rows, and that is what takes the time."
    ),
    hints=(
        Hint(lambda: 1.0, "Four rows more hardly compute; the weights are read once."),
        Hint(
            lambda: 2.0,
            "So it would be if each row had a pass of its own, and read the weights.",
        ),
    ),
)
predict_eight = Question(
    name="speculative.predict-eight",
    kind="predict",
    prompt=(
        f"A server decodes {BATCH} requests at a time, with {m.SMALL} drafting for "
        "Llama-3.1-8B. Its chains are lengthened from two drafts to eight. Does it "
        "produce more or fewer tokens per second than with two?"
    ),
    choices=EIGHT,
    answer=lambda: 1.0,
    why=lambda: (
        f"Fewer: the speedup falls from {_at(2):.2f} to {_at(8):.2f}. Each "
        "draft costs a pass of the small model, and late drafts are seldom kept."
    ),
    hints=(
        Hint(
            lambda: 0.0,
            "A pass yields more tokens, but it takes longer by more than that.",
        ),
        Hint(lambda: 2.0, "Tokens and time both grow with the chain, time faster."),
    ),
)
common = Question(
    name="speculative.common",
    prompt=(
        "At some place the target gives three words the chances 0.5, 0.4 and 0.1, the "
        "draft model gives them 0.2, 0.3 and 0.5. With what chance is the draft at "
        "this place kept (a number between 0 and 1)?"
    ),
    answer=lambda: COMMON,
    rel_tol=0.005,
    hints=(
        Hint(
            lambda: sum(p * q for p, q in zip(P, Q, strict=True)),
            "So often two independent draws agree; drafts are kept more often.",
        ),
        Hint(
            lambda: 1 - COMMON,
            "That is the chance that the draft is rejected.",
        ),
    ),
    why=lambda: (
        "A word is drafted with chance q and kept with chance min(1, p/q): together "
        f"min(p, q). The sum over the words is 0.2 + 0.3 + 0.1 = {COMMON:.1f}."
    ),
)
by_hand = Question(
    name="speculative.by-hand",
    prompt=(
        f"A pass of the target takes {PASS_MS:g} ms, with or without a few drafts; a "
        f"pass of the draft model takes {DRAFT_MS:g} ms. Chains of three drafts, each "
        f"kept with chance {RATE:g} if all before it were. How much time does "
        "a token take on average (in seconds, or with its unit: 6 ms)?"
    ),
    answer=lambda: 1e-3 * _per_token_ms(),
    unit="s",
    rel_tol=0.02,
    hints=(
        Hint(
            lambda: 1e-3 * PASS_MS / _tokens(),
            "Drafting takes time too: three passes of the draft model, one by one.",
        ),
        Hint(
            lambda: 1e-3 * (CHAIN * DRAFT_MS + PASS_MS) / (1 + CHAIN * RATE),
            "A draft counts only if all before it were kept: add powers of 0.7.",
        ),
    ),
    why=lambda: (
        f"{CHAIN} · {DRAFT_MS:g} + {PASS_MS:g} = {CHAIN * DRAFT_MS + PASS_MS:.1f} ms "
        f"for {_tokens():.2f} tokens (equation {f.ACCEPTED.link}): "
        f"{_per_token_ms():.2f} ms, instead of {PASS_MS:g} ms."
    ),
)
endless = Question(
    name="speculative.endless",
    prompt=(
        f"Drafts cost nothing, and each is kept with chance {ENDLESS:g} if all before "
        "it were. How many tokens does a pass yield at most, however long the chain?"
    ),
    answer=lambda: _tokens(ENDLESS, 10_000),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: ENDLESS / (1 - ENDLESS),
            "Those are the drafts that are kept; the target adds a token of its own.",
        ),
    ),
    why=lambda: (
        f"In equation {f.ACCEPTED.link} the power vanishes: 1 / (1 − {ENDLESS:g}) = "
        f"{si(_tokens(ENDLESS, 10_000), 'dimensionless')}."
    ),
)


def _at(drafts: int) -> float:
    return m.speedup(BATCH, drafts, m.usual(), m.SMALL)


break_even = Question(
    name="speculative.break-even",
    prompt=(
        "A batch of 64 is verified in 15.5 ms with four drafts a request; a plain pass "
        "takes 11.6 ms, and a pass of the draft model 2.7 ms. How many tokens must a "
        "verification pass yield for each request, to be worth it?"
    ),
    answer=lambda: (4 * 2.7 + 15.5) / 11.6,
    rel_tol=0.02,
    hints=(
        Hint(lambda: 15.5 / 11.6, "The four passes of the draft model count, too."),
        Hint(
            lambda: (2.7 + 15.5) / 11.6,
            "The draft model runs once for each of the four drafts.",
        ),
    ),
    why=lambda: (
        f"Equation {f.ACCEPTED_NEEDED.link}: (4 · 2.7 + 15.5) / 11.6 = "
        f"{(4 * 2.7 + 15.5) / 11.6:.2f} tokens, of which one is the target's own."
    ),
)
