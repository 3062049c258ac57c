"""The prefix cache: chained names, tenants apart, the oldest end evicted first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.paged_cache import PagedAllocator, block_hash, chained_hashes
from tests.paged_cache.naive import NaiveCache

tokens = st.lists(st.integers(0, 3), max_size=20)


@given(a=tokens, b=tokens, size=st.integers(1, 4))
def test_names_agree_as_far_as_the_texts_do(
    a: list[int], b: list[int], size: int
) -> None:
    pairs = zip(chained_hashes(a, size), chained_hashes(b, size), strict=False)
    for number, (one, other) in enumerate(pairs, start=1):
        assert (one == other) == (a[: number * size] == b[: number * size])


def test_a_salt_changes_every_name_of_the_chain() -> None:
    plain, salted = ([*chained_hashes([1] * 12, 4, salt=s)] for s in ("", "tenant"))
    assert not set(plain) & set(salted)
    assert block_hash(plain[0], [1] * 4) == plain[1]


def serve(paged: PagedAllocator, text: list[int], salt: str = "") -> int:
    """A request comes, is computed and leaves; how much of it was known."""
    found = paged.admit("one", text, salt=salt)
    paged.computed("one", len(text))
    paged.free("one")
    return found


def test_a_tenant_does_not_learn_what_another_has_asked() -> None:
    paged = PagedAllocator(64, 4)
    secret = [*range(32)]
    assert serve(paged, secret, "alice") == 0
    assert serve(paged, secret, "alice") == 28  # the last block is computed again
    assert serve(paged, secret, "bob") == 0
    assert serve(paged, secret) == 0


def test_the_end_of_the_least_recent_text_goes_first() -> None:
    paged = PagedAllocator(6, 1)
    assert serve(paged, [1, 2, 3]) == 0
    assert serve(paged, [4, 5, 6]) == 0
    serve(paged, [7])  # evicts one block: the end of 1 2 3
    assert [len(paged.lookup([*text, 0])) for text in ([1, 2, 3], [4, 5, 6])] == [2, 3]
    assert serve(paged, [1, 2, 3]) == 2


def test_without_prefix_caching_nothing_is_found() -> None:
    paged = PagedAllocator(64, 4, prefix_caching=False)
    assert [serve(paged, [1] * 20) for _ in range(2)] == [0, 0]
    assert paged.pool.num_named == 0


@given(
    texts=st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=4, max_size=40
    ),
    size=st.integers(1, 3),
    blocks=st.integers(9, 14),
)
def test_a_stream_of_prompts_hits_as_the_brute_force_cache_does(
    texts: list[tuple[int, int]], size: int, blocks: int
) -> None:
    """Prompts of three families, one after the other, in a memory that is too small."""
    paged, naive = PagedAllocator(blocks, size), NaiveCache(blocks, size)
    for family, length in texts:
        text = [family] * min(length, blocks * size)
        found = naive.admit(0, text, "")
        naive.compute(0, len(text))
        naive.release(0)
        assert serve(paged, text) == found
    assert paged.pool.evictions == naive.evictions


@given(
    texts=st.lists(
        st.tuples(st.lists(st.integers(0, 1), min_size=1, max_size=8), st.booleans()),
        min_size=4,
        max_size=30,
    ),
    blocks=st.integers(16, 20),
)
def test_no_block_is_evicted_before_what_continues_it(
    texts: list[tuple[list[int], bool]], blocks: int
) -> None:
    """Texts that branch, two at a time, each computed before the next comes."""
    paged, running = PagedAllocator(blocks, 1), False
    for text, stays in texts:
        request = "new" if running else "kept"
        paged.admit(request, text)
        paged.computed(request, len(text))
        if running or not stays:
            paged.free(request)
        running = running or stays
        if running and not stays:
            paged.free("kept")
            running = False
        held = set(paged.pool.contents())
        for known, _ in texts:
            chain = [name in held for name in chained_hashes(known, 1)]
            assert chain == sorted(chain, reverse=True)
