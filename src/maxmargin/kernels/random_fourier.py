"""Random Fourier features: kernels of differences as the mean of cosines.

Bochner's theorem: a continuous kernel k(x - z) with k(0) = 1 is the characteristic function of a probability
measure, k(d) = E cos(<w, d>). Sums of kernels concatenate features, factors scale them, and the measure of a
product is that of the sum of independent frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.shown import short_repr
from maxmargin.base.typing import FloatArray, TableLike
from maxmargin.kernels.algebra import Normalized, Power, Product, Scaled, Sum
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.points import CombinedPoints
from maxmargin.kernels.vectors import RBF, Constant, Exponential, Laplacian


@dataclass(frozen=True)
class Term:
    """weight * product of atoms, each of which is 1 at zero."""

    weight: float
    atoms: tuple[Kernel, ...]


def terms(kernel: Kernel) -> list[Term]:
    """A kernel of differences as a sum of products of RBF, Laplacian and Exponential kernels."""
    match kernel:
        case RBF():
            return [Term(float(kernel.variance), (kernel,))]
        case Laplacian() | Exponential():
            return [Term(1.0, (kernel,))]
        case Constant():
            return [Term(float(kernel.value), ())]
        case Sum():
            return terms(kernel.k1) + terms(kernel.k2)
        case Product():
            return _products(terms(kernel.k1), terms(kernel.k2))
        case Scaled():
            return [Term(kernel.scale * term.weight, term.atoms) for term in terms(kernel.kernel)]
        case Power():
            inner = terms(kernel.kernel)
            result = inner
            for _ in range(kernel.degree - 1):
                result = _products(result, inner)
            return result
        case Normalized():
            inner = terms(kernel.kernel)
            total = sum(term.weight for term in inner)
            return [Term(term.weight / total, term.atoms) for term in inner]
    raise ValueError(
        f"{kernel!r} has no random Fourier features here: they exist for RBF, Laplacian and Exponential "
        "kernels, constants, and their sums, products, powers and multiples. Use LowRank."
    )


def _products(left: list[Term], right: list[Term]) -> list[Term]:
    return [Term(a.weight * b.weight, a.atoms + b.atoms) for a in left for b in right]


def frequencies(atom: Kernel, p: int, m: int, rng: np.random.Generator) -> FloatArray:
    """Draws from the spectral measure of an atom, of shape (p, m).

    RBF exp(-g |d|^2): normal with variance 2 g. Laplacian exp(-g |d|_1): independent Cauchy of scale g.
    Exponential exp(-g |d|): the multivariate Cauchy, a normal vector over the size of a normal number.
    """
    gamma = atom.number_gamma()  # type: ignore[attr-defined]  # every atom has a gamma
    if isinstance(atom, RBF):
        return rng.normal(scale=np.sqrt(2.0 * gamma), size=(p, m))
    if isinstance(atom, Laplacian):
        return gamma * rng.standard_cauchy(size=(p, m))
    return gamma * rng.normal(size=(p, m)) / np.abs(rng.normal(size=m))


@dataclass(frozen=True)
class FourierPart:
    """The features of one term: columns of cosines and sines, or one constant column."""

    scale: float
    atoms: tuple[int, ...]  # positions in the list of distinct atoms
    W: tuple[FloatArray, ...]
    phase: float | None = None  # of a single cosine, if there is no column for its sine

    @property
    def n_components(self) -> int:
        return 2 * self.W[0].shape[1] if self.W and self.phase is None else 1


@dataclass(frozen=True)
class FourierMap:
    """phi(x) = sqrt(2 / m) (cos W'x, sin W'x) for every term of the kernel. Rahimi & Recht (2007).

    Cosine and sine of one frequency together have less variance than cosines with random phases for the same
    number of columns (Sutherland & Schneider 2015, section 3), and |phi(x)|^2 = K(x, x) holds exactly. The
    error of a value falls like 1 / sqrt(m). A single column is sqrt(2) cos(W'x + b) with a random phase b.
    Cost m p per row.
    """

    kernel: Kernel
    atoms: tuple[Kernel, ...]
    like: tuple[Any, ...]
    exact_like: Any
    parts: tuple[FourierPart, ...]

    __repr__ = short_repr

    @classmethod
    def draw(cls, kernel: Kernel, X: TableLike, m: int, rng: np.random.Generator) -> FourierMap:
        """m columns for the bound kernel, split between its terms in proportion to their weights."""
        wanted = terms(kernel)
        atoms = tuple(atom for term in wanted for atom in term.atoms)
        points = [atom.prepare(X) for atom in atoms]
        counts = _shares(wanted, m)
        parts, position = [], 0
        for term, count in zip(wanted, counts, strict=True):
            mine = tuple(range(position, position + len(term.atoms)))
            W = tuple(frequencies(atoms[k], points[k].X.shape[1], max(count, 1), rng) for k in mine)
            if count:
                parts.append(FourierPart(np.sqrt(term.weight / count), mine, W))
            else:
                parts.append(FourierPart(np.sqrt(2.0 * term.weight), mine, W, rng.uniform(0.0, 2.0 * np.pi)))
            position += len(mine)
        first = slice(0, 1)
        like = tuple(one.take(first) for one in points)
        return cls(kernel, atoms, like, kernel.prepare(X).take(first), tuple(parts))

    @property
    def n_components(self) -> int:
        return sum(part.n_components for part in self.parts)

    def points(self, X: TableLike) -> CombinedPoints:
        """Points of every atom; a constant alone still needs to know the number of rows."""
        each = [atom.prepare(X, like) for atom, like in zip(self.atoms, self.like, strict=True)]
        return CombinedPoints(tuple(each or [self.exact_points(X)]), tuple(range(len(each))))

    def exact_points(self, X: TableLike) -> Any:
        return self.kernel.prepare(X, like=self.exact_like)

    def of_points(self, points: CombinedPoints) -> FloatArray:
        dtype = points.dtype
        out = np.empty((len(points), self.n_components), dtype=dtype)
        column = 0
        for part in self.parts:
            width = part.n_components
            self._fill(part, points, out[:, column : column + width])
            column += width
        return out

    def _fill(self, part: FourierPart, points: CombinedPoints, out: FloatArray) -> None:
        if not part.W:
            out[:] = part.scale
            return
        angle = sum(points.parts[k].X @ W.astype(out.dtype) for k, W in zip(part.atoms, part.W, strict=True))
        if part.phase is not None:
            out[:] = part.scale * np.cos(angle + out.dtype.type(part.phase))
            return
        half = out.shape[1] // 2
        np.cos(angle, out=out[:, :half])
        np.sin(angle, out=out[:, half:])
        out *= part.scale


def _shares(wanted: list[Term], m: int) -> list[int]:
    """Frequencies of each term: one constant column each for constants, the rest by weight."""
    waving = [term for term in wanted if term.atoms]
    constants = len(wanted) - len(waving)
    pairs = (m - constants) // 2
    if len(waving) == 1 and m - constants == 1:
        return [0 if term.atoms else 1 for term in wanted]
    if pairs < max(1, len(waving)):
        least = 2 * len(waving) + constants
        raise ValueError(f"n_components={m} is too small for this kernel: it needs {least} at least.")
    total = sum(term.weight for term in waving)
    return [max(1, int(pairs * term.weight / total)) if term.atoms else 1 for term in wanted]
