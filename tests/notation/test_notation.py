"""One letter, one meaning: the notation table is complete, unique and in use."""

import re
from collections import Counter
from functools import cache
from importlib import import_module
from itertools import combinations
from pkgutil import iter_modules

import pytest

from llmserve_lab import notation
from llmserve_lab.formula.quantity import Coefficient, Quantity, named_by_variable
from llmserve_lab.formula.registry import formulas, modules
from llmserve_lab.formula.units import units
from llmserve_lab.notation import quantity, rank, table

EVERY = list(table().values())


def test_no_letter_has_two_meanings() -> None:
    symbols = Counter(i.symbol for i in EVERY if not isinstance(i, Coefficient))
    assert [symbol for symbol, count in symbols.items() if count > 1] == []
    meanings = Counter(item.meaning for item in EVERY)
    assert max(meanings.values()) == 1


def test_a_quantity_has_the_name_of_its_variable_and_no_other() -> None:
    one = Quantity("x", "byte", "a thing")
    assert named_by_variable({"thing": one, "text": "x"}) == {"thing": one}
    assert one.name == "thing" and str(one.sympy) == "thing"
    with pytest.raises(ValueError, match="thing must have one name, got other"):
        named_by_variable({"thing": one, "other": one})


def test_no_two_rooms_give_one_name_to_two_quantities() -> None:
    # All of them are imported into one namespace, where the later would win unseen.
    owners: dict[str, Quantity] = {}
    for module in iter_modules(notation.__path__):
        named = vars(import_module(f"{notation.__name__}.{module.name}"))
        for name, each in named.items():
            if isinstance(each, Quantity):
                assert owners.setdefault(name, each) is each, (name, module.name)


def test_every_entry_is_complete() -> None:
    for item in EVERY:
        assert item.meaning.strip() and item.symbol.strip(), item.name
        assert not item.meaning.endswith("."), item.name
        assert item.symbol.count("{") == item.symbol.count("}"), item.name
        assert item.minimum < item.maximum, item.name


# Money is spoken of by the hour and by the million; coefficients carry the factors.
SPOKEN = {
    "dollar/hour",
    "dollar/Mrequest",
    "dollar/Mtoken",
    "request/Mrequest",
    "s/hour",
    "token/Mtoken",
}


@pytest.mark.parametrize("unit", sorted({item.unit for item in EVERY} - SPOKEN))
def test_a_unit_is_written_in_base_units(unit: str) -> None:
    assert units().Quantity(1.0, unit).to_base_units().magnitude == 1.0


def test_coefficients_have_values_and_show_them() -> None:
    coefficients = [item for item in EVERY if isinstance(item, Coefficient)]
    assert coefficients
    for item in coefficients:
        assert float(item.checked(item.value)) == float(
            item.symbol.replace("10^", "1e")
        )
        assert item.unit != "dimensionless"  # a plain number needs no coefficient


# Read off runs of the engine and drawn on an axis: there is no closed form of it.
DRAWN = {"slo_share", "tail_tpot"}


def test_every_quantity_is_used_by_a_formula() -> None:
    used = {term for formula in formulas() for term in formula.terms}
    used |= {formula.name for formula in formulas()}
    used |= {name for formula in formulas() for name in formula.known()}
    assert set(table()) - used == DRAWN


def test_every_formula_computes_a_quantity_of_the_table() -> None:
    for formula in formulas():
        assert formula.result is quantity(formula.name)
        assert not isinstance(formula.result, Coefficient)
        assert all(term is quantity(name) for name, term in formula.terms.items())


def test_the_order_of_the_table_is_the_order_of_print() -> None:
    ranks = [rank(name) for name in table()]
    assert ranks == list(range(len(EVERY)))
    first = max(rank(i.name) for i in EVERY if isinstance(i, Coefficient))
    assert first < min(rank(i.name) for i in EVERY if not isinstance(i, Coefficient))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError, match="must be in the notation table, got 'B'"):
        quantity("B")


def test_every_formula_is_found_once() -> None:
    """Also the one that its module forgets to hand on."""
    import importlib
    import pkgutil

    from llmserve_lab.formula.formula import Formula

    found = formulas()
    assert len({id(formula) for formula in found}) == len(found)
    for module in modules("formulas"):
        package = importlib.import_module(module.__package__ or "")
        for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            items = vars(importlib.import_module(info.name)).values()
            defined = {id(item) for item in items if isinstance(item, Formula)}
            assert defined <= {id(formula) for formula in found}, info.name


def test_two_subscripts_do_not_change_places() -> None:
    """Of two letters with one stem, neither bears the beginning of the other's name."""

    def split(symbol: str) -> tuple[str, str]:
        stem, _, below = symbol.partition("_")
        return stem, re.sub(r"\\mathrm|[^a-z]", "", below)

    def fits(below: str, name: str) -> bool:
        return any(word.startswith(below) for word in name.split("_"))

    told = [
        (*split(each.symbol), name)
        for name, each in table().items()
        if len(split(each.symbol)[1]) > 2
    ]
    changed = [
        (one, other)
        for (stem, below, one), (stem_2, below_2, other) in combinations(told, 2)
        if stem == stem_2
        and fits(below, other)
        and fits(below_2, one)
        and not (fits(below, one) and fits(below_2, other))
    ]
    assert changed == []


# How meanings say words of names; words that any of them may have.
SAID_AS = {
    **{"s": "time|seconds", "len": "length|prompt", "bw": "bandwidth", "now": "after"},
    **{"params": "parameters", "attn": "attention", "comm": "wire|round"},
    **{"1": "first", "2": "second", "3": "third", "4": "fourth", "fits": "memory"},
    **{"recompute": "no cache", "tokens": "answer", "new": "answer", "kv": "kv|cache"},
    **{"fixed": "alike", "service": "occupies", "queue": "wait", "own": "no other"},
    **{"shared": "one engine", "composed": "tp × ep", "ep": "dispatch", "sp": "scat"},
    **{"ffn": "expert", "block": "a block"},
}
SMALL = {"a", "b", "n", "to", "all", "at", "per", "of"}


@cache
def rooms() -> dict[str, dict[str, str]]:
    """Meanings by name, chapter by chapter."""
    found = {}
    for module in iter_modules(notation.__path__):
        named = vars(import_module(f"{notation.__name__}.{module.name}"))
        found[module.name] = {
            name: each.meaning
            for name, each in named.items()
            if isinstance(each, Quantity) and not isinstance(each, Coefficient)
        }
    return found


def mentioned(word: str, meaning: str) -> bool:
    """Whether a meaning has a word of a name, or begins one like it."""
    ways = SAID_AS.get(word, word).split("|")
    said = f" {meaning.lower()}".replace("-", " ")
    return any(f" {each[:5]}" in said for each in ways)


def exchanged(meanings: dict[str, str]) -> list[tuple[str, str]]:
    """Names with words in common whose meanings fit better the other way round."""
    found = []
    words = {name: {*name.split("_")} - SMALL for name in meanings}
    for one, other in combinations(meanings, 2):
        both = words[one] & words[other]
        if not both or quantity(one).unit != quantity(other).unit:
            continue
        own, strange = (
            sum(
                mentioned(word, meanings[told])
                for name, told in zip((one, other), order, strict=True)
                for word in words[name] - both
            )
            for order in ((one, other), (other, one))
        )
        if strange > own:
            found.append((one, other))
    return found


@pytest.mark.parametrize("room", rooms())
def test_a_meaning_is_rather_that_of_its_own_name_than_of_a_neighbour_s(
    room: str,
) -> None:
    assert exchanged(rooms()[room]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("plain_bytes", "tiled_bytes"), ("weight_bytes", "kv_read_bytes"),
        ("padded_pairs", "masked_pairs"), ("recompute_rows", "cached_rows"),
        ("weights_s", "kv_s"), ("shared_bytes", "register_bytes"),
    ],
)  # fmt: skip
def test_meanings_that_change_places_are_found(one: str, other: str) -> None:
    wrong = {one: quantity(other).meaning, other: quantity(one).meaning}
    assert exchanged(wrong) == [(one, other)]
