"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "capacity.idle": {
        "round up": (20 / 50) / (20 / 60),
        "the share that is not used": 2,
    },
    "capacity.headroom": {
        "just before the rate": 8.5 / 8,
        "all replicas together": 3,
    },
    "capacity.apart": {
        "divide by the tokens": 300,
        "by the hour": 3600,
    },
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "capacity.predict-cap": {
        "more": "waiting for a slot counts",
        "as many": "never all taken",
    },
    "capacity.predict-fuller": {
        "both equally": "at night and by day",
        "the input token": "shares nothing with others",
    },
    "capacity.predict-signal": {
        "waiting requests": "nothing waits until",
        "KV cache in use, target 80%": "long before the cache is full",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "capacity.predict-cap": (
        "run at most 48 requests at a time; the others wait",
        "keep both targets, compared with before",
    ),
    "capacity.predict-fuller": (
        "ten times as many requests per second as at night",
        "becomes cheaper",
    ),
    "capacity.predict-signal": (
        "up to 13.8 requests per second",
        "from 10 to 40 per second",
        "asks for more replicas first",
    ),
    "capacity.idle": (
        "At the peak 50 requests per second arrive, on average 20",
        "goodput of 12 per second",
        "share of their capacity is used",
    ),
    "capacity.headroom": (
        "Replicas with a goodput of 12 per second each; 3 always stand",
        "grows by 0.1 per second in each second",
        "every 15 s, and a new replica serves 105 s after its order",
        "At most what rate may each ready replica get",
    ),
    "capacity.apart": (
        "costs 2.5 dollars an hour",
        "answer of 300 tokens is charged 60 ms",
        "a million output tokens cost, in dollars",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "capacity.predict-cap": "fewer",
    "capacity.predict-fuller": "the output token",
    "capacity.predict-signal": "requests in flight",
}
