"""Searches: exact ones against each other, all of them for their promises."""

from __future__ import annotations

import doctest
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.feature_selection import (
    SBS,
    SFS,
    Backward,
    BestFirst,
    Bhattacharyya,
    BranchAndBound,
    CFSMerit,
    CrossValidatedError,
    Custom,
    Divergence,
    Exhaustive,
    Floating,
    Forward,
    Genetic,
    LeaveOneOutError,
    Mahalanobis,
    SimulatedAnnealing,
    SubsetSelector,
    searches,
    sequential,
    stochastic,
    subset,
)

ALL_SEARCHES = [
    Exhaustive(),
    Exhaustive(2),
    Forward(),
    Forward(3),
    Backward(),
    Backward(2),
    Floating(),
    Floating(2),
    Floating(3, direction="backward"),
    BestFirst(),
    BestFirst(direction="backward"),
    SimulatedAnnealing(),
    Genetic(population=8, generations=5),
]


def table_criterion(p, seed, maximize):
    """A criterion that looks values up, and counts how often each subset was asked for."""
    rng = np.random.default_rng(seed)
    subsets = chain.from_iterable(combinations(range(p), k) for k in range(1, p + 1))
    values = dict(zip(subsets, rng.random(2**p - 1), strict=True))
    asked = []

    def value(X, y):
        key = tuple(int(column) for column in X[0])  # the first row holds the column numbers
        asked.append(key)
        return values[key]

    X = np.vstack([np.arange(p), np.zeros((3, p))])
    return Custom(value, maximize=maximize), X, np.array([0, 1, 0, 1]), values, asked


@pytest.mark.parametrize("search", ALL_SEARCHES, ids=repr)
@pytest.mark.parametrize("maximize", [True, False])
def test_promises_of_every_search(search, maximize):
    criterion, X, y, values, asked = table_criterion(5, seed=3, maximize=maximize)
    selector = SubsetSelector(search, criterion, random_state=0).fit(X, y)
    chosen = tuple(selector.get_support(indices=True))
    assert len(asked) == len(set(asked)) == selector.n_evaluations_ == len(selector.history_)
    assert selector.score_ == values[chosen]
    assert not selector.interrupted_
    size = getattr(search, "size", None)
    assert size is None or len(chosen) == size
    if isinstance(search, Exhaustive):
        pool = [v for s, v in values.items() if size in (None, len(s))]
        assert selector.score_ == (max(pool) if maximize else min(pool))
    if isinstance(search, SimulatedAnnealing | Genetic | BestFirst):
        seen = selector.history_["value"]
        assert selector.score_ == (seen.max() if maximize else seen.min())


@settings(derandomize=True, deadline=None, max_examples=12)
@given(st.integers(0, 10_000), st.integers(2, 8), st.data())
def test_branch_and_bound_equals_exhaustive(seed, p, data):
    size = data.draw(st.integers(1, p))
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, p)) @ rng.normal(size=(p, p)) + np.outer(y, rng.normal(size=p))
    for criterion in (Bhattacharyya(), Divergence(), Mahalanobis()):
        bounded = SubsetSelector(BranchAndBound(size), criterion).fit(X, y)
        everything = SubsetSelector(Exhaustive(size), criterion).fit(X, y)
        np.testing.assert_array_equal(bounded.support_, everything.support_)


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_bound_of_twelve_columns_saves_work(seed):
    X, y = make_classification(200, 12, n_informative=6, n_redundant=0, random_state=seed)
    bounded = SubsetSelector(BranchAndBound(4), Mahalanobis()).fit(X, y)
    everything = SubsetSelector(Exhaustive(4), Mahalanobis()).fit(X, y)
    np.testing.assert_array_equal(bounded.support_, everything.support_)
    assert bounded.n_evaluations_ < everything.n_evaluations_ / 2


def test_branch_and_bound_refuses_what_is_not_monotone():
    with pytest.raises(ValueError, match="monotone"):
        SubsetSelector(BranchAndBound(2), CFSMerit()).fit(*load_iris(return_X_y=True))


HEIGHT = [170, 147, 150, 154, 175, 152, 173, 177]
WEIGHT = [85, 75, 77, 81, 79, 80, 82, 84]
NOISE = [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757]
TABLE = pd.DataFrame({"height": HEIGHT, "weight": WEIGHT, "noise": NOISE})
TALL = np.array(list("+---+-++"))


def worked_criterion():
    return LeaveOneOutError(make_pipeline(StandardScaler(), SVC(kernel="linear")))


def test_the_worked_backward_path():
    """Examples 2.8: weight and noise tie, weight (the lowest column) goes; then noise; height is left."""
    selector = SubsetSelector(Backward(size=1), worked_criterion()).fit(TABLE, TALL)
    assert list(selector.path_["variable"][1:]) == ["weight", "noise"]
    assert list(selector.path_["value"][1:]) == [0, 0]
    assert selector.selected_ == ["height"]


def test_the_worked_forward_path():
    """Example 2.9: height first; a second column adds nothing, so the whole path keeps height alone."""
    assert (
        SubsetSelector(Forward(size=2), worked_criterion()).fit(TABLE, TALL).path_["variable"][0] == "height"
    )
    assert SubsetSelector(Forward(), worked_criterion()).fit(TABLE, TALL).selected_ == ["height"]
    assert SubsetSelector(Exhaustive(), worked_criterion()).fit(TABLE, TALL).selected_ == ["height"]


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_same_subsets_as_scikit_learn(direction):
    X, y = make_classification(80, 6, n_informative=3, random_state=1)
    model = KNeighborsClassifier(3)
    theirs = SequentialFeatureSelector(model, n_features_to_select=3, direction=direction, cv=4).fit(X, y)
    ours = (SFS if direction == "forward" else SBS)(model, 3, cv=4).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_target_stops_the_path():
    X, y = make_classification(100, 8, n_informative=3, random_state=0)
    full = SFS(KNeighborsClassifier(), cv=4).fit(X, y)
    level = float(full.path_["value"][1])
    reached = SFS(KNeighborsClassifier(), target=level, cv=4).fit(X, y)
    assert reached.score_ <= level
    assert reached.n_evaluations_ < full.n_evaluations_
    assert (reached.path_["value"][:-1] > level).all()
    back = SBS(KNeighborsClassifier(), target=0.3, cv=4).fit(X, y)
    assert back.score_ <= 0.3
    with pytest.warns(UserWarning, match="no subset on the path reaches target"):
        SFS(KNeighborsClassifier(), target=-1.0, cv=4).fit(X, y)


def test_floating_is_never_worse_than_plain():
    for seed in range(5):
        criterion, X, y, _, _ = table_criterion(6, seed=seed, maximize=False)
        for size in (2, 3, 4):
            plain = SubsetSelector(Forward(size), criterion).fit(X, y)
            floating = SubsetSelector(Floating(size), criterion).fit(X, y)
            assert floating.score_ <= plain.score_


def test_random_searches_have_a_seed():
    criterion, X, y, _, _ = table_criterion(7, seed=0, maximize=False)
    for search in (SimulatedAnnealing(T0=0.5, T1=0.1, m=2), Genetic(6, 3)):
        first = SubsetSelector(search, criterion, random_state=5).fit(X, y)
        second = SubsetSelector(search, criterion, random_state=5).fit(X, y)
        pd.testing.assert_frame_equal(first.path_, second.path_)


@pytest.mark.parametrize("search", [SimulatedAnnealing(), Genetic()], ids=repr)
def test_random_searches_find_the_optimum_of_sixty_three_subsets(search):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    y = (X[:, 0] * X[:, 3] + 0.5 * X[:, 5] + 0.5 * rng.normal(size=150) > 0).astype(int)
    error = CrossValidatedError(KNeighborsClassifier(5), cv=5)
    scores = error.prepare(X, y)
    subsets = list(chain.from_iterable(combinations(range(6), k) for k in range(1, 7)))
    values = dict(zip(subsets, scores(subsets), strict=True))
    remembered = Custom(lambda X, y: values[tuple(int(j) for j in X[0])], maximize=False)
    numbered = np.vstack([np.arange(6), np.zeros((3, 6))])
    for seed in range(20):
        found = SubsetSelector(search, remembered, random_state=seed).fit(numbered, [0, 1, 0, 1])
        assert found.score_ == min(values.values())


def test_searches_of_hours_announce_their_time():
    slow = Custom(lambda X, y: 0.5, maximize=False)
    with pytest.warns(UserWarning, match=r"1\.1e\+12 subsets .* (years|days)"), pytest.raises(_StopError):
        SubsetSelector(Exhaustive(), _stopping_after(200, slow)).fit(np.zeros((4, 40)), [0, 1, 0, 1])


class _StopError(Exception):
    pass


def _stopping_after(n, criterion, error=_StopError):
    calls = []

    def value(X, y):
        calls.append(X.shape[1])
        if len(calls) > n:
            raise error
        return 1.0 / X.shape[1]

    return Custom(value, maximize=criterion.maximize)


def test_an_interrupted_search_keeps_the_best_so_far():
    criterion = _stopping_after(40, Custom(None, maximize=False), KeyboardInterrupt)
    with pytest.warns(UserWarning, match="interrupted after"):
        selector = SubsetSelector(Forward(), criterion).fit(np.zeros((4, 12)), [0, 1, 0, 1])
    assert selector.interrupted_
    assert selector.score_ == selector.history_["value"].min()


def test_progress_is_shown_when_asked_for(capsys):
    X, y = load_iris(return_X_y=True)
    SubsetSelector(Exhaustive(), CFSMerit(), verbose=2).fit(X, y)
    assert "[selection] 15 in" in (shown := capsys.readouterr().err)
    assert "best" in shown
    SubsetSelector(Exhaustive(), CFSMerit()).fit(X, y)
    assert capsys.readouterr().err == ""


def test_wrong_parts_are_refused_with_a_remedy():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="CrossValidatedError"):
        SubsetSelector(Forward(), SVC()).fit(X, y)
    with pytest.raises(TypeError, match="not a search"):
        SubsetSelector("forward", CFSMerit()).fit(X, y)
    for search in (Forward(9), Forward(2, target=0.1), Genetic(0), SimulatedAnnealing(T0=0.0), BestFirst(0)):
        with pytest.raises(ValueError, match=r"size|population|T0|patience"):
            SubsetSelector(search, CFSMerit()).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        SubsetSelector(Forward(), Custom(lambda X, y: np.nan, maximize=True)).fit(X, y)


def test_names_in_and_out():
    X, y = load_iris(return_X_y=True, as_frame=True)
    out = SubsetSelector(Forward(2), CFSMerit()).set_output(transform="pandas").fit(X, y).transform(X)
    assert list(out.columns) == ["petal length (cm)", "petal width (cm)"]


@parametrize_with_checks(
    [
        SubsetSelector(Forward(), CFSMerit()),
        SFS(KNeighborsClassifier(2), cv=2),
        SBS(KNeighborsClassifier(2), cv=2),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("module", [searches, sequential, stochastic, subset])
def test_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


# -- the printed draws of Gómez 2024, examples 2.11 and 2.12 ---------------------------------------------

PEOPLE = pd.DataFrame(
    {
        "f1": [170.0, 147, 150, 154, 175, 152, 173, 177],
        "f2": [85.0, 75, 77, 81, 79, 80, 82, 84],
        "f3": [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757],
    }
)
TALL = np.array([1, 0, 0, 0, 1, 0, 1, 1])


class PrintedDraws(np.random.RandomState):
    """A generator that gives the numbers and positions of a printed example, in their order."""

    def __init__(self, numbers, positions):
        super().__init__(0)
        self.numbers, self.positions = list(numbers), list(positions)

    def random_sample(self, size=None):
        return self.numbers.pop(0) if size is None else np.array([self.numbers.pop(0) for _ in range(size)])

    def randint(self, low, high=None, size=None, dtype=int):
        return self.positions.pop(0)


def left_out():
    return LeaveOneOutError(make_pipeline(StandardScaler(), mm.SVC(kernel="linear", C=1.0)))


def test_annealing_follows_example_2_11():
    # flips f3 f2 f1 f2 f3; r = .886 and .612, and any number where exp(0) = 1 accepts
    draws = PrintedDraws([0.886, 0.612, 0.5, 0.5], [2, 1, 0, 1, 2])
    search = SimulatedAnnealing(T0=10.0, T1=3.0, m=2, cooling=0.4, start=["f2"])
    found = SubsetSelector(search, left_out(), random_state=draws).fit(PEOPLE, TALL)
    assert found.path_["subset"].tolist() == [
        ("f2",), ("f2", "f3"), ("f3",), ("f1", "f3"), ("f1", "f2", "f3"), ("f1", "f2")
    ]  # fmt: skip
    assert found.path_["value"].tolist() == [3 / 8, 4 / 8, 1.0, 0.0, 0.0, 0.0]
    assert not draws.numbers
    assert not draws.positions
    # the text returns the last subset; of the equally good ones we keep the first in order
    assert found.selected_ == ["f1", "f2"]


def test_genetic_search_follows_example_2_12():
    # three draws for the selection, three for the crossover, three for the mutation; position 2 mutates
    draws = PrintedDraws([0.709, 0.477, 0.381, 0.582, 0.784, 0.806, 0.978, 0.603, 0.993], [1])
    first = [[True, False, True], [True, False, False], [False, False, True]]
    search = Genetic(population=3, generations=1, p_crossover=0.7, p_mutation=0.7, start=first)
    asked = []

    class RecordedError(LeaveOneOutError):
        def prepare(self, X, y):
            scorer = super().prepare(X, y)
            return lambda subsets: (asked.extend(subsets), scorer(subsets))[1]

    criterion = RecordedError(left_out().estimator)
    found = SubsetSelector(search, criterion, random_state=draws).fit(PEOPLE, TALL)
    # the first generation, and the one subset of the second that is new
    assert asked == [(0, 2), (0,), (2,), (0, 1, 2)]
    assert found.history_["value"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert found.selected_ == ["f1"]
    offspring = search._offspring(
        np.array(first), np.array([1.0, 1.0, 0.0]),
        PrintedDraws([0.709, 0.477, 0.381, 0.582, 0.784, 0.806, 0.978, 0.603, 0.993], [1]),
    )  # fmt: skip
    assert offspring.astype(int).tolist() == [[1, 0, 0], [1, 1, 1], [1, 0, 1]]


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (SimulatedAnnealing(start=[]), "without columns"),
        (SimulatedAnnealing(start=["height"]), "does not have a column 'height'"),
        (SimulatedAnnealing(start=(1, 0, 1)), "names a column twice"),
        (Genetic(3, start=[["f1"], ["f2"]]), "2 subsets for population=3"),
        (Genetic(2, start=[["f1"], []]), "without columns"),
    ],
)
def test_a_start_that_cannot_be_is_refused(search, words):
    with pytest.raises(ValueError, match=words):
        SubsetSelector(search, CFSMerit()).fit(PEOPLE, TALL)


def test_searches_begin_at_their_start():
    for start in (["f3", "f1"], [0, 2], np.array([True, False, True])):
        found = SubsetSelector(SimulatedAnnealing(start=start), CFSMerit(), random_state=0).fit(PEOPLE, TALL)
        assert found.path_["subset"][0] == ("f1", "f3")
        begun = Genetic(1, 1, start=[start])
        assert SubsetSelector(begun, CFSMerit(), random_state=0).fit(PEOPLE, TALL).path_["subset"][0] == (
            "f1",
            "f3",
        )
