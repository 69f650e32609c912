"""Changes that someone who knows the format would make: the parts stay well formed and change their places.

`tests.io.fuzz` uses them with ``--crafted``. Random changes mostly break the form of a part; these keep it,
so that only the comparison of parts with each other can notice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

Header = dict[str, Any]
PAYLOADS = [
    0x7FF0000000000001,
    0xFFF8000000000000,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    1,
    0x000FFFFFFFFFFFFF,
]
SIDES = [2**63, 2**63 - 1, 2**64, 2**32, 2**31, -(2**63), True, 3.0, "3", None, [3], 10**30]
SHAPES = [[2**32, 2**32], [2**62, 4], [0, 2**63], [2**63, 0], [0, 2**20], [2**61, 8, 0], [1] * 40, [[3]]]
WORDS = ["ａ", "a\u0301", "\ud800", "\u202ea", "a\0", "A", " a", "", "../../a", "size", "a" * 3000]
LENGTHS = [0, 1, 2**63, 2**64 - 1, 2**31]


def _references(header: Header) -> list[tuple[list[Any], int]]:
    """Where nodes name other nodes."""
    return [
        (node, at)
        for node in header["nodes"]
        for at, item in enumerate(node)
        if type(item) is list
        and len(item) == 1
        and type(item[0]) is int
        and 0 <= item[0] < len(header["nodes"])
    ]


def _pick(rng: Any, items: list[Any]) -> Any:
    return items[rng.integers(len(items))]


def exchange_alike(header: Header, arrays: list[bytes], rng: Any) -> None:
    """One part, or two, in place of another of the same kind: the fields of a model become each other's."""
    places = _references(header)
    if not places:
        return
    kinds = [header["nodes"][node[at][0]][:2] for node, at in places]
    node, at = places[k := int(rng.integers(len(places)))]
    alike = [place for place, kind in zip(places, kinds, strict=True) if kind[0] == kinds[k][0]]
    other, there = _pick(rng, alike)
    if rng.integers(2):
        node[at], other[there] = other[there], node[at]
    else:
        node[at] = copy.deepcopy(other[there])


def rewire_sparse(header: Header, arrays: list[bytes], rng: Any) -> None:
    """Indices that are not ascending, doubled, or at the last column, rows that overlap, sides that lie."""
    matrices = [node for node in header["nodes"] if node and str(node[0])[:3] in ("csr", "csc")]
    if not matrices:
        return
    node = _pick(rng, matrices)
    kind = rng.integers(5)
    if kind == 4:
        node[int(rng.integers(4, 6))] = _pick(rng, [0, 1, 2**31 - 1, 2**31, node[4], node[5]])
        return
    k = node[3] if kind == 3 else node[2]
    values = np.frombuffer(arrays[k], dtype=header["arrays"][k][0]).copy()
    if len(values) < 2:
        return
    i = int(rng.integers(len(values) - 1))
    if kind == 0:
        values[[i, i + 1]] = values[[i + 1, i]]
    elif kind == 1:
        values[i + 1] = values[i]
    elif kind == 2:
        values[i] = node[5] - int(rng.integers(2))
    else:
        values[i] += int(rng.integers(-2, 3))
    arrays[k] = values.tobytes()


def odd_bits(header: Header, arrays: list[bytes], rng: Any) -> None:
    """Numbers with odd bits: NaN with a payload, minus zero, the least number; or the sign of all."""
    places = [k for k, entry in enumerate(header["arrays"]) if entry[0] == "<f8" and arrays[k]]
    if not places:
        return
    k = _pick(rng, places)
    values = np.frombuffer(arrays[k], dtype="<u8").copy()
    if rng.integers(3) == 0:
        values ^= np.uint64(1 << int(_pick(rng, [0, 51, 52, 63])))
    else:
        values[rng.integers(len(values))] = _pick(rng, PAYLOADS)
    arrays[k] = values.tobytes()


def odd_sides(header: Header, arrays: list[bytes], rng: Any) -> None:
    """Shapes whose product overflows, or that are not made of whole numbers."""
    if not header["arrays"]:
        return
    entry = _pick(rng, header["arrays"])
    if rng.integers(2) or not entry[1]:
        entry[1] = copy.deepcopy(_pick(rng, SHAPES))
    else:
        entry[1][rng.integers(len(entry[1]))] = copy.deepcopy(_pick(rng, SIDES))


def reorder(header: Header, arrays: list[bytes], rng: Any) -> None:
    """An array backwards, turned, or with values twice: classes, support, offsets."""
    if not arrays:
        return
    k = int(rng.integers(len(arrays)))
    values = np.frombuffer(arrays[k], dtype=header["arrays"][k][0]).copy()
    if len(values) < 2:
        return
    kind = rng.integers(3)
    if kind == 0:
        values = values[::-1]
    elif kind == 1:
        values = np.roll(values, int(rng.integers(1, len(values))))
    else:
        values[1:] = values[:-1]
    arrays[k] = values.tobytes()


def odd_words(header: Header, arrays: list[bytes], rng: Any) -> None:
    """Names and labels that look like others, run backwards, or leave a folder; also twice the same."""
    texts = [
        (node, at)
        for node in header["nodes"]
        for at, item in enumerate(node)
        if at > (1 if node[0] == "object" else 0) and type(item) is str
    ]
    if texts:
        node, at = _pick(rng, texts)
        node[at] = _pick(rng, [*WORDS, _pick(rng, texts)[0][-1]])


def transplant(header: Header, arrays: list[bytes], rng: Any, donor: Any) -> None:
    """A part of another model, with all its parts, in place of one of this model."""
    here = [place for place in _references(header) if header["nodes"][place[0][place[1]][0]][0] == "object"]
    objects = [k for k, node in enumerate(donor.header["nodes"]) if node and node[0] == "object"]
    if not here or not objects:
        return
    node, at = _pick(rng, here)
    name = header["nodes"][node[at][0]][1]
    alike = [k for k in objects if donor.header["nodes"][k][1] == name] or objects
    taken, n = int(_pick(rng, alike)) + 1, len(arrays)
    foreign = copy.deepcopy(donor.header["nodes"][:taken])
    for one in foreign:
        sparse = str(one[0])[:3] in ("csr", "csc")
        for place, item in enumerate(one):
            if (one[0] in ("array", "scalar", "random_state") and place == 1) or (sparse and 1 <= place <= 3):
                one[place] = item + n
    for one in header["nodes"]:
        _renumber(one, taken)
    header["nodes"][:0] = foreign
    node[at] = [taken - 1]
    header["arrays"] += copy.deepcopy(donor.header["arrays"])
    arrays += [array.tobytes(order="A") for array in donor.arrays]
    drop_unused(header, arrays)


def _renumber(node: list[Any], by: int) -> None:
    first = 2 if node[0] == "objects" else 1  # after its shape
    for at in range(first, len(node)):
        if type(node[at]) is list and len(node[at]) == 1 and type(node[at][0]) is int:
            node[at] = [node[at][0] + by]


def drop_unused(header: Header, arrays: list[bytes]) -> None:
    """Take out the parts that nothing refers to: a file that has any is refused for that alone."""
    nodes = header["nodes"]
    used, todo = set(), [len(nodes) - 1]
    while todo:
        k = todo.pop()
        if k not in used:
            used.add(k)
            first = 2 if nodes[k][0] == "objects" else 1
            todo += [item[0] for item in nodes[k][first:] if type(item) is list and len(item) == 1]
    new = {k: i for i, k in enumerate(sorted(used))}
    kept = [nodes[k] for k in sorted(used)]
    numbers: dict[int, int] = {}
    for node in kept:
        first = 2 if node[0] == "objects" else 1
        for at in range(first, len(node)):
            if type(node[at]) is list and len(node[at]) == 1:
                node[at] = [new[node[at][0]]]
        last = {"array": 2, "scalar": 2, "random_state": 2}.get(
            node[0], 4 if str(node[0])[:3] in ("csr", "csc") else 1
        )
        for at in range(1, last):
            node[at] = numbers.setdefault(node[at], len(numbers))
    header["nodes"] = kept
    header["arrays"] = [header["arrays"][k] for k in numbers]
    arrays[:] = [arrays[k] for k in numbers]


CHANGES: list[Callable[[Header, list[bytes], Any], None]] = [
    exchange_alike,
    rewire_sparse,
    odd_bits,
    odd_sides,
    reorder,
    odd_words,
]


def crafted(seed: Any, donor: Any, rng: Any) -> tuple[Header, list[bytes]]:
    """Header and arrays of a good file after one or two such changes."""
    header = copy.deepcopy(seed.header)
    arrays = [array.tobytes(order="A") for array in seed.arrays]
    if rng.random() < 0.25:
        transplant(header, arrays, rng, donor)
    else:
        for _ in range(rng.integers(1, 3)):
            try:
                _pick(rng, CHANGES)(header, arrays, rng)
            except (TypeError, ValueError, IndexError, OverflowError):  # an earlier change took its ground
                break
        if rng.integers(2):
            with suppress(TypeError, ValueError, IndexError):
                drop_unused(header, arrays)
    return header, arrays
