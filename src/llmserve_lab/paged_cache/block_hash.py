"""Chained block hash: the name of a full block says all tokens up to its end.

A key or value depends on every token before it, so a block may be shared only where the
whole text up to its end is the same. Hashing the block's tokens together with the hash
of the block before it says just that.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence, Sized
from hashlib import sha256

from llmserve_lab.checks import NotWholeError, is_whole, of_type, whole

MOST_ID = 2**63
ROOT = sha256(b"llmserve_lab: before the first block").digest()


def block_hash(parent: bytes, tokens: Sequence[int], salt: str = "") -> bytes:
    """SHA-256 of a full block: the parent's hash, the salt, and the token ids.

    The salt needs to enter the first block only: the chain carries it on.
    """
    of_type(bytes, parent=parent)
    of_type(str, salt=salt)
    for token in tokens:
        if not (is_whole(token) and -MOST_ID <= token < MOST_ID):
            raise NotWholeError(f"tokens must be ids of 64 bits, got {token!r}")
    seasoned = sha256(salt.encode()).digest() if salt else b""
    return sha256(parent + seasoned + array("q", tokens).tobytes()).digest()


def chained_hashes(
    tokens: Sequence[int], block_tokens: int, *, salt: str = ""
) -> Iterator[bytes]:
    """Hashes of the full blocks of ``tokens``, the first to the last."""
    whole(of="token", block_tokens=block_tokens)
    of_type(Sized, tokens=tokens)
    parent = ROOT
    for start in range(0, len(tokens) - block_tokens + 1, block_tokens):
        block = tokens[start : start + block_tokens]
        parent = block_hash(parent, block, "" if start else salt)
        yield parent
