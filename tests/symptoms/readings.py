"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "symptoms.slots": {
        "still have to grow": 274 / 112,
        "each holds sixteen": 12_000 / 1_700 / 112,
    },
    "symptoms.running": {
        "wait in the queue as well": 26 / 20,
        "are the requests that wait": 6 / 20,
    },
    "symptoms.ran": {
        "the ones that waited": 49.583 / 150.417,
        "more than those": 100 / 150.417,
    },
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "symptoms.first": {
        "the prompts are long": "share that is queue time",
        "the KV cache is full": "most of the cache is free",
    },
    "symptoms.second": {
        "requests are preempted": "counts preemptions",
        "the batch is too large": "lengthen the median",
    },
    "symptoms.third": {
        "prefix caching is off": "nothing would be looked up",
        "system prompts are evicted before they return": "between two uses",
    },
    "symptoms.predict-memory": {
        "nearly all are gone": "less than 2 GB",
        "about half are left": "How many more blocks",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "symptoms.first": ("Dashboard 1", "First tokens take", "fits all"),
    "symptoms.second": ("Dashboard 2", "slowest percent", "gaps between tokens"),
    "symptoms.third": (
        "Dashboard 3",
        "each with a system prompt",
        "tokens are looked up",
        "none is found",
        "26,323 KV blocks",
    ),
    "symptoms.predict-memory": (
        "280 clients",
        "a larger --gpu-memory",
        "from 0.90 to 0.92",
        "number of preemptions",
    ),
    "symptoms.slots": (
        "12,000 KV blocks of 16",
        "prompts of 700",
        "largest --max",
        "impossible",
    ),
    "symptoms.ran": (
        "In a benchmark with 200 clients",
        "latency 240 s",
        "with 100 clients",
        "ran at a time",
    ),
    "symptoms.running": ("four requests per second", "pass in the queue", "run at"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "symptoms.first": "the batch has too few slots",
    "symptoms.second": "prompts are read in larger chunks among the decodes",
    "symptoms.third": "the prompts differ near their start",
    "symptoms.predict-memory": "most of them are left",
}
