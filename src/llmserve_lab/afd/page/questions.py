"""What to guess before reading the chapter, and what to work out after it."""

from __future__ import annotations

from functools import cache

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.afd.theory.paper_recipe import recipe, with_slot_tokens
from llmserve_lab.afd.theory.same_speed import SameSpeed, same_speed, wide_group
from llmserve_lab.formula.text import si
from llmserve_lab.page.question.question import Hint, Question


@cache
def setting(prompt: int = paper_setup.PROMPT, n_batches: float = 2) -> dict[str, float]:
    """The paper's baseline, with θ and the batches in flight."""
    return with_slot_tokens(paper_setup.known(prompt=prompt)) | {"n_batches": n_batches}


def _best_of(batch: int) -> float:
    return recipe(paper_setup.known(batch=batch)).best


predict_context = Question(
    name="afd.predict-context",
    kind="predict",
    prompt=(
        "In the example above prompts get longer, 500 tokens in the mean instead of "
        "100; batch and answers stay. For one FFN machine you want …"
    ),
    choices=("fewer Attention machines", "as many as before", "more of them"),
    answer=lambda: (
        2.0 if recipe(setting(prompt=500)).best > recipe(setting()).best else 0.0
    ),
    why=lambda: (
        "Attention reads every cached token; the FFN sees one row a request whatever "
        f"its length. From mean prompts of 100 to 500 tokens the paper's ratio goes "
        f"from {recipe(setting()).best:.2f} to {recipe(setting(prompt=500)).best:.2f}."
    ),
    hints=(
        Hint(lambda: 0.0, "Which of the two reads the cache?"),
        Hint(lambda: 1.0, "The FFN does not notice. And Attention?"),
    ),
)
predict_hidden = Question(
    name="afd.predict-hidden",
    kind="predict",
    prompt=(
        "Two batches are in flight, Attention and FFN take the same time. The wire "
        "takes a tenth of that, there and back. How much of it is hidden behind work?"
    ),
    choices=("all of it", "half of it", "none of it"),
    answer=lambda: 2.0 if float(f.HIDDEN_COMM_S.at(setting())) == 0 else 0.0,
    why=(
        "While one batch is in the FFN the other is in Attention, and both end at the "
        "same time. Then both are on the wire, and both machines wait. With a third "
        "batch there is always one to work on."
    ),
    hints=(
        Hint(lambda: 0.0, "Draw it: what does Attention do while both travel?"),
        Hint(lambda: 1.0, "Each batch pays for its own way, there and back."),
    ),
)
predict_slowest = Question(
    name="afd.predict-slowest",
    kind="predict",
    prompt=(
        "Every step waits for the slowest Attention machine. In the example with two "
        "batches in flight, take 32 of them instead of 8 for one FFN machine. What do "
        "the slow machines cost now?"
    ),
    choices=("nearly nothing", "about 15 % of the throughput", "a third of it"),
    answer=lambda: float(_cost_of_stragglers() > 0.05),
    why=lambda: (
        f"The FFN takes so much longer that no straggler delays it: at r = 32 "
        f"they cost {_cost_of_stragglers():.1%}. They cost most near the best ratio, "
        "where Attention and FFN take equally long."
    ),
    hints=(
        Hint(lambda: 1.0, "Who waits for whom when the FFN is the slowest?"),
        Hint(
            lambda: 2.0,
            "Stragglers are felt where Attention and FFN take equally long; here the "
            "FFN hides them.",
        ),
    ),
)
best_ratio = Question(
    name="afd.best-ratio",
    prompt=(
        "Take the example's coefficients, prompts of 100 and answers of 500 tokens in "
        "the mean, but a batch of 512. At which ratio do Attention and FFN balance? "
        "(It is the best one in the paper's model.)"
    ),
    answer=lambda: _best_of(512),
    rel_tol=0.01,
    hints=(
        Hint(lambda: _best_of(256), "That is for a batch of 256."),
        Hint(
            lambda: float(f.RATIO_PEAK.at(paper_setup.known(batch=512))),
            "That is the smallest of the three; the recipe takes the largest.",
        ),
    ),
    why=lambda: f"Equation [ratio_best](#eq-ratio_best): {si(_best_of(512))}.",
)
loop = Question(
    name="afd.loop",
    prompt=(
        "The example's batch of 256 again, with prompts of 300 tokens; the wire takes "
        "0.022 µs per row and 20 µs more. With two batches in flight, loop counted, "
        "which ratio is best?"
    ),
    answer=lambda: float(f.RATIO_PIPELINE.at(setting(prompt=300))),
    rel_tol=0.01,
    hints=(
        Hint(
            lambda: recipe(setting(prompt=300)).best,
            "That is the paper's, loop not counted.",
        ),
    ),
    why=lambda: (
        f"Equation {f.RATIO_PIPELINE.link}: "
        f"{si(float(f.RATIO_PIPELINE.at(setting(prompt=300))))}."
    ),
)
same_time = Question(
    name="afd.same-time",
    prompt=(
        "Give the FFN machine of 8A–1F one port as wide as any other. The wire then "
        "takes 0.022 µs for each of 2,048 rows and 20 µs more; attention takes 303.4 "
        "µs, the FFN 270 µs, and two batches are in flight. A wide group of nine "
        "machines takes 122.2 µs and 1.073 µs more for each request of a machine. At "
        "the same time for a layer, what fraction (between 0 and 1) of the group's "
        "tokens does the split make less?"
    ),
    answer=lambda: _behind(),
    rel_tol=0.03,
    hints=(
        Hint(
            lambda: 1 - _one_port().split / _rival(same_speed(2).turn),
            "That is the group at 2 × 303.4 µs. Give it as long as this split takes.",
        ),
    ),
    why=lambda: (
        f"The split makes {_one_port().split:.3f} tokens per µs and machine, the group "
        f"{_rival(_one_port().turn):.3f}: {si(_behind())} of it less."
    ),
)


def _one_port() -> SameSpeed:
    return same_speed(2, one_port=True)


def _behind() -> float:
    return 1 - _one_port().split / _rival(_one_port().turn)


def _rival(turn: float) -> float:
    return wide_group(turn, 9).rate


def _cost_of_stragglers() -> float:
    """Throughput lost at r = 32 against equal loads, by the rule."""
    equal = float(f.PIPELINE_TOKENS_PER_S.at(setting(), af_ratio=32))
    real = float(
        corrected_model.tokens_per_s(paper_setup.made(32), paper_setup.law().slot())
    )
    return 1 - real / equal
