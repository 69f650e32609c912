"""Entropies of columns: symmetrical uncertainty, and cuts by minimal description length."""

from __future__ import annotations

import numpy as np

from maxmargin.base.typing import BoolArray, FloatArray, IntArray
from maxmargin.compute.jit import jit


@jit
def uncertainty_with_all(codes: IntArray, levels: IntArray, column: IntArray, n_levels: int) -> FloatArray:
    """2 IG / (E + E) of ``column`` (codes 0 ... n_levels - 1) with every row of ``codes`` (p, n)."""
    p, n = codes.shape
    uncertainties = np.zeros(p)
    for j in range(p):
        joint = np.zeros((levels[j], n_levels))
        for i in range(n):
            joint[codes[j, i], column[i]] += 1.0
        own = _entropy(joint.sum(axis=1), n)
        other = _entropy(joint.sum(axis=0), n)
        if own + other > 0.0:
            shared = own + other - _entropy(joint.ravel(), n)
            uncertainties[j] = 2.0 * max(shared, 0.0) / (own + other)
    return uncertainties


@jit
def _entropy(counts: FloatArray, n: int) -> float:
    total = 0.0
    for count in counts:
        if count > 0.0:
            total -= count / n * np.log2(count / n)
    return max(total, 0.0)


@jit
def accepted_cuts(cumulative: FloatArray) -> BoolArray:
    """Inner edges of the (m + 1, k) cumulative class weights at which the rule cuts, of shape (m - 1,)."""
    n_blocks = cumulative.shape[0] - 1
    accepted = np.zeros(max(n_blocks - 1, 0), dtype=np.bool_)
    stack = [(0, n_blocks)]
    while len(stack) > 0:
        low, high = stack.pop()
        cut = _best_cut(cumulative, low, high)
        if cut > low and _worth_its_bits(cumulative, low, cut, high):
            accepted[cut - 1] = True
            stack.append((low, cut))
            stack.append((cut, high))
    return accepted


@jit
def _best_cut(cumulative: FloatArray, low: int, high: int) -> int:
    best, best_bits = low, np.inf
    for cut in range(low + 1, high):
        bits = _bits(cumulative, low, cut)[0] + _bits(cumulative, cut, high)[0]
        if bits < best_bits:
            best, best_bits = cut, bits
    return best


@jit
def _worth_its_bits(cumulative: FloatArray, low: int, cut: int, high: int) -> bool:
    bits, total, k = _bits(cumulative, low, high)
    bits_1, total_1, k_1 = _bits(cumulative, low, cut)
    bits_2, total_2, k_2 = _bits(cumulative, cut, high)
    delta = np.log2(3.0**k - 2.0) - k * bits / total + k_1 * bits_1 / total_1 + k_2 * bits_2 / total_2
    return bool(bits - bits_1 - bits_2 > np.log2(max(total - 1.0, 1.0)) + delta)


@jit
def _bits(cumulative: FloatArray, low: int, high: int) -> tuple[float, float, int]:
    """N E(S), N, and the number of classes of the rows between two edges."""
    total, inner, k = 0.0, 0.0, 0
    for c in range(cumulative.shape[1]):
        count = cumulative[high, c] - cumulative[low, c]
        if count > 0.0:
            total += count
            inner += count * np.log2(count)
            k += 1
    return total * np.log2(total) - inner, total, k


@jit
def information_with_classes(
    columns: FloatArray, categorical: BoolArray, codes: IntArray, n_classes: int, weights: FloatArray
) -> FloatArray:
    """Information gain with the classes, and sum of both entropies, of every row of ``columns`` (p, n).

    Numbers are first cut by `accepted_cuts`; categories are codes. Weights are > 0. The result is (2, p).
    """
    p, n = columns.shape
    found = np.zeros((2, p))
    total = weights.sum()
    by_class = np.zeros(n_classes)
    for i in range(n):
        by_class[codes[i]] += weights[i]
    class_entropy = _entropy(by_class, total)
    edges = np.zeros((n + 1, n_classes))
    for j in range(p):
        if categorical[j]:
            joint = np.zeros((int(columns[j].max()) + 1, n_classes))
            for i in range(n):
                joint[int(columns[j, i]), codes[i]] += weights[i]
        else:
            m = _boundary_edges(columns[j], codes, weights, edges)
            joint = _between_cuts(edges[: m + 1], accepted_cuts(edges[: m + 1]))
        entropies = _entropy(joint.sum(axis=1), total) + class_entropy
        found[0, j] = max(entropies - _entropy(joint.ravel(), total), 0.0)
        found[1, j] = entropies
    return found


@jit
def _boundary_edges(values: FloatArray, codes: IntArray, weights: FloatArray, edges: FloatArray) -> int:
    """Cumulative class weights at the boundary points of a column, in the first rows of ``edges``.

    Two neighbouring values whose rows all belong to one class have no boundary between them. Returns the
    number of blocks, which is the number of edges less one.
    """
    order = np.argsort(values, kind="mergesort")
    n, k = len(values), edges.shape[1]
    edges[0] = 0.0
    m, start, last = 0, 0, -1  # last: the class of the block before, -1 where it is mixed
    while start < n:
        stop, own = start, codes[order[start]]
        while stop < n and values[order[stop]] == values[order[start]]:
            if codes[order[stop]] != own:
                own = -1
            stop += 1
        if m == 0 or own < 0 or own != last:
            m += 1
            for c in range(k):
                edges[m, c] = edges[m - 1, c]
        for i in range(start, stop):
            edges[m, codes[order[i]]] += weights[order[i]]
        start, last = stop, own
    return m


@jit
def _between_cuts(edges: FloatArray, accepted: BoolArray) -> FloatArray:
    """Class weights of the intervals between accepted edges, a row for each."""
    joint = np.zeros((accepted.sum() + 1, edges.shape[1]))
    row = 0
    for e in range(1, len(edges)):
        for c in range(edges.shape[1]):
            joint[row, c] += edges[e, c] - edges[e - 1, c]
        if e - 1 < len(accepted) and accepted[e - 1]:
            row += 1
    return joint
