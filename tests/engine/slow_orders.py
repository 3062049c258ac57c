"""Who is next and who must yield, once more: a queue sorted by a key, from scratch."""

from collections.abc import Callable
from typing import Any

Key = Callable[[Any], tuple[Any, ...]]


def first_in(order: Any, server: Any) -> Key:
    """Sorts a queue so that the next to be admitted comes first; the sort is stable."""
    match type(order).__name__:
        case "ShortestPromptFirst":
            return lambda life: (life.request.prompt_len,)
        case "Priority":
            return lambda life: (
                life.request.priority,
                life.arrived_s,
                life.request.id,
            )
        case "FairShare":
            users = [life.request.user for life in server.batch]
            return lambda life: (users.count(life.request.user),)
        case "Patience":
            now_s, token_s = server.env.now, order.token_s
            return lambda life: (
                now_s - life.arrived_s < life.request.prompt_len * token_s,
                -life.request.prompt_len,
            )
        case _:
            return lambda life: ()


def last_out(order: Any, server: Any) -> Any:
    """The one of the batch that gives its blocks back."""
    match type(order).__name__:
        case "Priority":
            key = first_in(order, server)
            return sorted(server.batch, key=key)[-1]
        case "LongestYields":
            known = [life.known for life in server.batch]
            return server.batch[known.index(max(known))]
        case _:
            return server.batch[-1]
