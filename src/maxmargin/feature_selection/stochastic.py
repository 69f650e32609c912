"""Random searches: simulated annealing and genetic search. Both return the best subset they evaluated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.base.parameters import check_count, check_fraction, check_inner_fraction, check_positive
from maxmargin.base.table_columns import column_mask
from maxmargin.base.typing import BoolArray, FloatArray
from maxmargin.feature_selection.criteria import Subset
from maxmargin.feature_selection.evaluations import Evaluations
from maxmargin.feature_selection.searches import Search


@dataclass(eq=False, repr=False)
class SimulatedAnnealing(Search):
    """A random walk that flips one column at a time and accepts fewer deteriorations as it cools.

    At temperature T a change of the loss by dJ is accepted when dJ < 0, else with probability exp(-dJ / T).
    After ``m`` flips in a row that did not improve on the best loss seen at this temperature, T is multiplied
    by ``cooling``, until it falls to ``T1``. The defaults suit losses between 0 and 1 (errors).

    Parameters
    ----------
    T0, T1 : first temperature, and the one at which the search ends; T0 > T1 > 0.
    m : flips without improvement before cooling.
    cooling : factor v in (0, 1).
    start : columns of the first subset (names, numbers or a mask); None draws them.

    Notes
    -----
    At least m log(T1 / T0) / log(cooling) flips; known subsets are not evaluated again. Kirkpatrick, Gelatt
    and Vecchi (1983); Gómez 2024, algorithm 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, SimulatedAnnealing, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(SimulatedAnnealing(), CFSMerit(), random_state=0).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    T0: float = 1.0
    T1: float = 1e-3
    m: int = 10
    cooling: float = 0.9
    start: Collection[Any] | None = None

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        self._check()
        if self.start is None:
            inside = _random_subset(evaluations.n_features, rng)
        else:
            inside = _given_subset(self.start, evaluations.names)
        loss = evaluations.loss(_columns(inside))
        evaluations.step("start", None, _columns(inside))
        T = self.T0
        while T > self.T1:
            idle, level = 0, loss
            while idle < self.m:
                flipped = rng.randint(evaluations.n_features)
                inside[flipped] ^= True
                new = evaluations.loss(_columns(inside))
                if new < loss or rng.random_sample() < np.exp(-(new - loss) / T):
                    loss = new
                    evaluations.step("add" if inside[flipped] else "remove", int(flipped), _columns(inside))
                else:
                    inside[flipped] ^= True
                idle = 0 if loss < level else idle + 1
                level = min(level, loss)
            T *= self.cooling
        assert evaluations.best is not None
        return evaluations.best

    def _check(self) -> None:
        check_positive("T0", self.T0)
        check_positive("T1", self.T1)
        if self.T0 <= self.T1:
            raise ValueError(f"T0={self.T0!r} and T1={self.T1!r}: use T0 > T1 > 0.")
        check_inner_fraction("cooling", self.cooling)
        check_count("m", self.m)


@dataclass(eq=False, repr=False)
class Genetic(Search):
    """Subsets as chromosomes: roulette selection, one-point crossover, mutation.

    The fitness is 1 - error for errors between 0 and 1; other criteria are shifted so that the worst subset
    of the population has fitness 0 (the empty subset always has 0). When all are equal, the draw is uniform.

    Parameters
    ----------
    population : number N of subsets.
    generations : number G of rounds.
    p_crossover : probability that a subset takes part in a crossover.
    p_mutation : probability that one random column of a subset is flipped.
    start : the ``population`` subsets of the first generation, each as in `SimulatedAnnealing`; None draws
        them.

    Notes
    -----
    At most N (G + 1) evaluations; known subsets are not evaluated again. Mitchell, An introduction to genetic
    algorithms (1998); Gómez 2024, algorithm 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin.feature_selection import CFSMerit, Genetic, SubsetSelector
    >>> X, y = load_iris(return_X_y=True)
    >>> SubsetSelector(Genetic(), CFSMerit(), random_state=0).fit(X, y).get_support(indices=True)
    array([2, 3])
    """

    population: int = 50
    generations: int = 50
    p_crossover: float = 0.7
    p_mutation: float = 0.3
    start: Sequence[Collection[Any]] | None = None

    def run(self, evaluations: Evaluations, rng: np.random.RandomState) -> Subset:
        self._check()
        subsets = self._first_generation(evaluations, rng)
        for generation in range(self.generations + 1):
            losses = np.array(evaluations.losses([_columns(inside) for inside in subsets]))
            leader = _columns(subsets[losses.argmin()])
            evaluations.step(f"generation {generation}", None, leader)
            if generation < self.generations:
                subsets = self._offspring(subsets, _fitness(losses), rng)
        assert evaluations.best is not None
        return evaluations.best

    def _first_generation(self, evaluations: Evaluations, rng: np.random.RandomState) -> BoolArray:
        if self.start is None:
            return np.array([_random_subset(evaluations.n_features, rng) for _ in range(self.population)])
        if len(self.start) != self.population:
            raise ValueError(
                f"start has {len(self.start)} subsets for population={self.population}: give one per member."
            )
        return np.array([_given_subset(subset, evaluations.names) for subset in self.start])

    def _offspring(self, subsets: BoolArray, fitness: FloatArray, rng: np.random.RandomState) -> BoolArray:
        n, p = subsets.shape
        total = fitness.sum()
        chances = fitness / total if total > 0 else np.full(n, 1.0 / n)
        wheel = np.cumsum(chances) / chances.sum()
        children: BoolArray = subsets[np.searchsorted(wheel, rng.random_sample(n), side="right")]
        mates = rng.permutation(np.flatnonzero(rng.random_sample(n) < self.p_crossover))
        for first, second in zip(
            mates[0::2], mates[1::2], strict=False
        ):  # the last of an odd number is single
            if p > 1:
                cut = rng.randint(1, p)
                children[[first, second], cut:] = children[[second, first], cut:]
        for row in np.flatnonzero(rng.random_sample(n) < self.p_mutation):
            children[row, rng.randint(p)] ^= True
        return children

    def _check(self) -> None:
        for name in ("population", "generations"):
            check_count(name, getattr(self, name))
        for name in ("p_crossover", "p_mutation"):
            check_fraction(name, getattr(self, name))


def _fitness(losses: FloatArray) -> FloatArray:
    """Fitness >= 0 from losses, which are infinite for the empty subset."""
    real = np.isfinite(losses)
    fitness = np.zeros(len(losses))
    if real.any():
        worst = losses[real].max()
        within_unit = losses[real].min() >= 0 and worst <= 1
        fitness[real] = (1.0 if within_unit else worst) - losses[real]
    return fitness


def _random_subset(n_features: int, rng: np.random.RandomState) -> BoolArray:
    """Every column with probability 1/2; never empty."""
    inside: BoolArray = rng.random_sample(n_features) < 0.5
    if not inside.any():
        inside[rng.randint(n_features)] = True
    return inside


def _given_subset(columns: Collection[Any], names: list[str]) -> BoolArray:
    given = list(columns)
    inside = column_mask(given, names)
    if not inside.any():
        raise ValueError("start holds a subset without columns: name at least one.")
    masked = all(isinstance(value, (bool, np.bool_)) for value in given)
    if not masked and len(given) > inside.sum():
        raise ValueError(f"start={given!r} names a column twice: a mask has True and False, not 1 and 0.")
    return inside


def _columns(inside: BoolArray) -> Subset:
    return tuple(np.flatnonzero(inside).tolist())
