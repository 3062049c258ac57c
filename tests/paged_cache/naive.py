"""The same memory written naively: lists walked through, contents compared in full."""

from __future__ import annotations

from dataclasses import dataclass, field

Content = tuple[str, tuple[int, ...]]  # salt, all tokens up to the end of the block


@dataclass
class Held:
    tokens: list[int]
    table: list[int]
    salt: str
    computed: int = 0


@dataclass
class NaiveCache:
    """No hash, no reference count, no linked list: what is used is found by looking."""

    num_blocks: int
    size: int
    free: list[int] = field(default_factory=list)
    content: dict[int, Content] = field(default_factory=dict)
    held: dict[int, Held] = field(default_factory=dict)
    evictions: int = 0

    def __post_init__(self) -> None:
        self.free = [*range(self.num_blocks)]

    def users(self, block: int) -> int:
        return sum(each.table.count(block) for each in self.held.values())

    def hits(self, tokens: list[int], salt: str) -> list[int]:
        found: list[int] = []
        for end in range(self.size, len(tokens), self.size):
            wanted = (salt, tuple(tokens[:end]))
            same = [b for b, content in self.content.items() if content == wanted]
            if not same:
                break
            found += same
        return found

    def needed(self, tokens: list[int], salt: str) -> int:
        hits = self.hits(tokens, salt)
        idle = sum(block in self.free for block in hits)
        return -(-len(tokens) // self.size) - len(hits) + idle

    def take(self) -> int:
        block = self.free.pop(0)
        self.evictions += self.content.pop(block, None) is not None
        return block

    def admit(self, key: int, tokens: list[int], salt: str) -> int:
        hits = self.hits(tokens, salt)
        self.free = [block for block in self.free if block not in hits]
        rest = -(-len(tokens) // self.size) - len(hits)
        table = hits + [self.take() for _ in range(rest)]
        self.held[key] = Held(list(tokens), table, salt, len(hits) * self.size)
        return len(hits) * self.size

    def append(self, key: int, token: int) -> tuple[int, int] | None:
        one, copy = self.held[key], None
        if len(one.tokens) % self.size == 0:
            one.table.append(self.take())
        elif self.users(last := one.table[-1]) > 1:
            one.table[-1] = self.take()
            copy = (last, one.table[-1])
        one.tokens.append(token)
        return copy

    def append_needs(self, key: int) -> int:
        one = self.held[key]
        new = len(one.tokens) % self.size == 0
        return int(new or self.users(one.table[-1]) > 1)

    def compute(self, key: int, count: int) -> None:
        one = self.held[key]
        for number in range(one.computed // self.size, count // self.size):
            content = (one.salt, tuple(one.tokens[: (number + 1) * self.size]))
            if content not in self.content.values():
                self.content[one.table[number]] = content
        one.computed = count

    def release(self, key: int) -> None:
        for block in reversed(self.held.pop(key).table):
            if not self.users(block):
                self.free.insert(len(self.free) if block in self.content else 0, block)
