"""Two small transformers that have learnt to babble, a target and a smaller draft.

Their blocks are random; only the LM heads were fitted, by a few hundred steps of
gradient descent on made-up sentences. That is enough for words in a sensible order, and
for a small model that mostly agrees with a larger one.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from llmserve_lab.speculative.drafters import OwnHead, PromptLookup, SmallModel
from llmserve_lab.speculative.enumeration import Law
from llmserve_lab.speculative.readers import Reader, law_of
from llmserve_lab.transformer import Transformer, Weights, seeded, tiny_shape
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.rowwise import norm, softmax

WORDS = (
    *("the", "a", "fox", "dog", "cat", "bird", "quick", "lazy", "small", "jumps"),
    *("runs", "sleeps", "over", "into", "near", "river", "woods", "and", "then", "."),
)
SENTENCES, SEED = 120, 5
WIDTHS = {"target": (2, 32), "draft": (1, 16)}  # blocks and features
STEPS, RATE, SHRINK = 250, 4.0, 2e-4
ROOM = 400  # tokens of a text
PROMPT = "the quick fox jumps over the lazy dog . the"


def tokenize(text: str) -> list[int]:
    """Ids of the words of ``text``, one token a word.

    Raises:
        ValueError: a word is not in the vocabulary.
    """
    unknown = [word for word in text.split() if word not in WORDS]
    if unknown:
        raise ValueError(f"text must use the words of WORDS, got {unknown[0]!r}")
    return [WORDS.index(word) for word in text.split()]


def sentence(rng: np.random.Generator) -> list[str]:
    """A made-up sentence: an animal, what it does, and a place."""

    def some(*words: str) -> str:
        return str(rng.choice(words))

    def thing(*nouns: str) -> list[str]:
        kind = [some("quick", "lazy", "small")] if rng.random() < 0.6 else []
        return [some("the", "the", "a"), *kind, some(*nouns)]

    def act() -> list[str]:
        verb = some("jumps", "runs", "sleeps")
        where = {"jumps": "over", "runs": "into", "sleeps": "near"}[verb]
        place = ("river", "woods") if where != "over" else ("river", "dog", "cat")
        return [verb, where, *thing(*place)]

    more = [some("and", "then"), *act()] if rng.random() < 0.35 else []
    return [*thing("fox", "dog", "cat", "bird"), *act(), *more, "."]


@cache
def corpus() -> tuple[int, ...]:
    """The sentences that both models have learnt from, end to end."""
    rng = np.random.default_rng(SEED)
    words = [word for _ in range(SENTENCES) for word in sentence(rng)]
    return tuple(WORDS.index(word) for word in words)


@cache
def model(name: str) -> Transformer:
    """The ``"target"`` or the ``"draft"``, its head fitted to the corpus.

    Raises:
        KeyError: there is no such model.
    """
    n_layers, d_model = WIDTHS[name]
    shape = tiny_shape(
        n_layers=n_layers,
        d_model=d_model,
        vocab=len(WORDS),
        n_heads=4,
        n_kv_heads=2,
        d_head=d_model // 4,
    )
    blank = Transformer(shape, seed=SEED)
    head = _fitted(features(blank)[:-1], np.array(corpus()[1:]))
    arrays = dict(seeded(shape, SEED)) | {"lm_head": head[np.newaxis]}
    return Transformer(shape, weights=Weights(shape, arrays))


def features(of: Transformer) -> Array:
    """Rows [n, d] that the LM head reads, over the corpus in one pass."""
    hidden = of.hidden(corpus(), (0, len(corpus())))
    return norm(hidden, *of.weights.final_norm)


def _fitted(rows: Array, following: Array) -> Array:
    """A head [d, V] whose softmax predicts what follows each row (cross-entropy)."""
    wanted = np.eye(len(WORDS))[following]
    head = np.zeros((rows.shape[1], len(WORDS)))
    speed = np.zeros_like(head)
    for _ in range(STEPS):
        slope = rows.T @ (softmax(rows @ head) - wanted) / len(rows) + SHRINK * head
        speed = 0.9 * speed - RATE / rows.shape[1] * slope
        head += speed
    return head


@cache
def head_step() -> Array:
    """What the target's own drafting head multiplies with, fitted by least squares.

    From a feature and the embedding of the token after it, the next feature [2d, d].
    """
    target = model("target")
    rows = features(target)
    embedded = target.weights.embedding[list(corpus()[1:])]
    known = np.concatenate([rows[:-1], embedded], axis=1)
    return np.asarray(np.linalg.lstsq(known, rows[1:], rcond=None)[0])


def reader(name: str, *, temperature: float = 1.0, top_p: float = 1.0) -> Reader:
    """A fresh text for the target or the draft."""
    return Reader(model(name), room=ROOM, temperature=temperature, top_p=top_p)


def drafter(
    kind: str, *, temperature: float = 1.0, top_p: float = 1.0
) -> SmallModel | OwnHead | PromptLookup:
    """A source of drafts: ``"small model"``, ``"own head"`` or ``"prompt"``.

    Raises:
        ValueError: there is no such kind.
    """
    if kind == "small model":
        return SmallModel(reader("draft", temperature=temperature, top_p=top_p))
    if kind == "own head":
        step = head_step()
        return OwnHead(model("target"), step, temperature=temperature, top_p=top_p)
    if kind == "prompt":
        return PromptLookup(len(WORDS))
    raise ValueError(f"kind must be small model, own head or prompt, got {kind!r}")


def law_after(name: str, prompt: tuple[int, ...]) -> Law:
    """The law of a model after ``prompt`` and any text that follows it."""
    return lambda text: next_law(name, prompt + text)


@cache
def next_law(name: str, text: tuple[int, ...], temperature: float = 1.0) -> Array:
    """Law [V] of what follows a text, by a pass over all of it, without a cache."""
    logits = model(name).forward(text)[-1]
    return law_of(logits, temperature=temperature)
