"""How many requests have room: one rule for every page.

Of the memory that an engine may take, the weights and the working space are subtracted;
what is left, over the bytes of a request's cache, is the room. Each request that runs
has a slot, and slots need working space, too: nine counts of blocks and five logs of
servers say how much.
"""

from __future__ import annotations

from statistics import mean

from llmserve_lab.catalog.evidence.serving import DEFAULT_SEQS, START_LOGS
from llmserve_lab.checks import positive, whole
from llmserve_lab.validation.cache_blocks import working_space

# Bytes of the trial's peak for each slot and entry of the vocabulary: five logs' mean.
ENTRY_BYTES = round(
    mean(float(log.peak) / float(DEFAULT_SEQS) / log.vocab for log in START_LOGS)
)


def slot_bytes(vocab: int) -> float:
    """Working space for one more request of the limit, where sampling decides."""
    whole(vocab=vocab)
    return float(ENTRY_BYTES * vocab)


def library_bytes(n_gpus: int = 1) -> float:
    """What the GPU's libraries take: by the first log of one GPU, or that of two.

    Raises:
        ValueError: there is no GPU.
    """
    whole(n_gpus=n_gpus)
    return float(next(log for log in START_LOGS if (log.tp > 1) == (n_gpus > 1)).other)


def working_bytes(slots: int, *, vocab: int, n_gpus: int = 1) -> float:
    """Working space of a GPU: the larger of the two phases of a server's trial run.

    The first runs dummy tokens through the layers, as measured on nine servers; the
    second samples a token in every slot.

    Raises:
        ValueError: there is no slot, no vocabulary or no GPU.
    """
    whole(slots=slots)
    return max(working_space(), slots * slot_bytes(vocab) + library_bytes(n_gpus))


def requests_that_fit(
    left_bytes: float, *, request_bytes: float, vocab: int, n_gpus: int = 1
) -> int:
    """The most requests with a slot each that fit beside the weights.

    ``left_bytes`` are what the engine may take of a GPU, less the weights on it;
    ``request_bytes`` are what a request keeps in its cache there. The tokens of a batch
    and the scores of the slots never need room at once, so the smaller of two quotients
    counts. Without room for one request it is 0.

    Raises:
        ValueError: a request keeps nothing, or there is no vocabulary or no GPU.
    """
    positive("request_bytes", request_bytes)
    by_tokens = (left_bytes - working_space()) / request_bytes
    each = request_bytes + slot_bytes(vocab)
    by_slots = (left_bytes - library_bytes(n_gpus)) / each
    return max(0, int(min(by_tokens, by_slots)))
