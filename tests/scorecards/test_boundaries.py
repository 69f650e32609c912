"""Boundaries, ties and worked values of bins, evidence and scorecards."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from maxmargin import LogisticRegression
from maxmargin.base.table_columns import Column
from maxmargin.pieces import from_array
from maxmargin.scorecards import (
    Binning,
    IVSelector,
    Scorecard,
    ScorecardWarning,
    WOEEncoder,
    compress,
    iv_of_counts,
    population_stability,
    variable_stability,
    weight_of_evidence,
)
from maxmargin.scorecards.bins import special_rows
from maxmargin.scorecards.cuts import METHODS, cut_points, nearest_places, tree_gaps, width_cuts
from maxmargin.scorecards.grouping import EventRows, _even_prebins
from maxmargin.scorecards.iv import iv_table
from maxmargin.scorecards.partition import PartitionProblem, optimal_partition
from maxmargin.scorecards.sketch import CategorySketch, NumberSketch, merge_sketches, sketch_column, thinned


def column_of(*cells: tuple[object, int, int]) -> tuple[pd.DataFrame, np.ndarray]:
    """A table of one column "x" with (value, events, non-events)."""
    values = [value for value, events, others in cells for _ in range(events + others)]
    y = [k for _, events, others in cells for k in (*[1] * events, *[0] * others)]
    return pd.DataFrame({"x": values}), np.array(y)


def rates(*found: float) -> tuple[pd.DataFrame, np.ndarray]:
    """Ten rows of the values 0, 1, 2, ... with these event rates."""
    return column_of(*((float(k), round(10 * rate), 10 - round(10 * rate)) for k, rate in enumerate(found)))


# -- settings ------------------------------------------------------------------------------------------------


def test_defaults():
    assert Binning().get_params() == {
        "method": "optimal", "max_bins": 10, "min_share": 0.05, "min_events": 0, "trend": "auto",
        "prebinning": "quantile", "n_prebins": 100, "categories": "group", "rare_share": 0.01,
        "categorical_features": (), "special_values": None, "edges": None, "positive": None, "smoothing": 0.5,
        "n_jobs": None,
    }  # fmt: skip
    assert IVSelector().get_params() == {"min_iv": 0.02, "max_iv": np.inf, "binning": None}
    card = Scorecard()
    assert (card.base_score, card.base_odds, card.pdo, card.min_iv, card.round_points) == (
        600,
        50,
        20,
        0.02,
        True,
    )


@pytest.mark.parametrize(
    "wrong",
    [{"min_share": -0.1}, {"min_share": 1.0}, {"rare_share": -0.1}, {"rare_share": 1.0}, {"min_events": -1},
     {"n_prebins": 1}, {"max_bins": 0}, {"smoothing": 0.0}, {"smoothing": np.inf}],
    ids=str,
)  # fmt: skip
def test_settings_outside_their_bounds(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        Binning(**wrong).fit(*rates(0.2, 0.8))


def test_settings_of_a_scorecard():
    for wrong in ({"min_iv": -0.1}, {"round_points": "yes"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Scorecard(**wrong).fit(*rates(0.2, 0.8))


def test_estimators_that_are_not_fitted_say_so():
    X, _ = rates(0.2, 0.8)
    calls = [
        lambda: Binning().codes(X), lambda: Binning().table(), lambda: iv_table(Binning()),
        lambda: WOEEncoder().transform(X), lambda: IVSelector().get_support(),
        lambda: Scorecard().decision_function(X), lambda: Scorecard().points(X),
        lambda: Scorecard().summary(),
        lambda: Scorecard().probability(600), lambda: Scorecard().explain(X.iloc[[0]]),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(NotFittedError):
            call()


def test_names_and_tags():
    X, y = rates(0.2, 0.8)
    for model in (Binning(), WOEEncoder(), IVSelector(), Scorecard()):
        tags = get_tags(model)
        assert tags.target_tags.required
        assert (tags.input_tags.allow_nan, tags.input_tags.string, tags.input_tags.categorical) == (True,) * 3
        assert not tags.classifier_tags.multi_class
        model.fit(X, y)
        assert model.feature_names_in_.tolist() == ["x"]
        assert model.n_features_in_ == 1
    assert WOEEncoder().fit(X.to_numpy(), y).n_features_in_ == 1
    fitted = Binning().fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(X.rename(columns={"x": "z"}))
    with pytest.raises(ValueError, match="had numbers in fit and now has 'much'"):
        fitted.transform(pd.DataFrame({"x": ["much"]}))


# -- bins ----------------------------------------------------------------------------------------------------


def test_bin_tables_of_light_rows():
    """Weights of 0.05: no bin has a weight of 1, and everything is as for whole rows."""
    X, y = rates(0.2, 0.8)
    light = Binning().fit(X, y, sample_weight=np.full(20, 0.05))
    whole = Binning().fit(X, y)
    found, expected = light.table(), whole.table()
    for name in ("event_rate", "share", "woe", "iv"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
    assert found["share"].tolist() == pytest.approx([0.5, 0.5, 0.0])
    assert iv_table(light)["bins"].tolist() == [2]
    assert light.trend_of("x") == "ascending"
    both = Binning().fit(X.assign(z=X["x"]), y)
    assert both.table().index.tolist() == list(range(6))
    second = iv_table(Binning().fit(X.assign(z=0.0)[["z", "x"]], y))
    assert (second["variable"].tolist(), second.index.tolist()) == (["x", "z"], [0, 1])


@pytest.mark.parametrize(
    ("found", "trend"),
    [
        ([0.2, 0.5, 0.8], "ascending"),
        ([0.2, 0.2, 0.8], "ascending"),
        ([0.8, 0.5, 0.5], "descending"),
        ([0.2, 0.8, 0.5], "peak"),
        ([0.8, 0.2, 0.5], "valley"),
        ([0.5, 0.5, 0.5], "flat"),
        ([0.2, 0.8, 0.2, 0.8], "none"),
        ([0.8, 0.2, 0.8, 0.2], "none"),
        ([0.2, 0.8, 0.2, 0.8, 0.2], "none"),
    ],
)
def test_trends(found, trend):
    X, y = rates(*found)
    edges = [k + 0.5 for k in range(len(found) - 1)]
    assert Binning(edges={"x": edges}).fit(X, y).trend_of("x") == trend
    # an empty bin in between has no rate
    assert Binning(edges={"x": [*edges[:1], edges[0] + 0.1, *edges[1:]]}).fit(X, y).trend_of("x") == trend


@pytest.mark.parametrize("edges", [[1.0, np.inf], [1.0, 1.0], [2.0, 1.0], [[1.0]], [np.nan]])
def test_edges_that_are_no_intervals(edges):
    with pytest.raises(ValueError, match="must be finite ascending numbers"):
        Binning(edges={"x": edges}).fit(*rates(0.2, 0.8))


@pytest.mark.parametrize("method", ["optimal", "quantile"])
def test_weights_of_very_different_size(method):
    """The non-events weigh less than the rounding of the weight of all rows."""
    X, y = rates(0.2, 0.8)
    found = Binning(method).fit(X, y, sample_weight=np.where(y == 1, 1e16, 1e-3))
    assert found.totals_ == (pytest.approx(1e17), pytest.approx(1e-2))
    assert np.isfinite(found.table()[["woe", "iv"]]).all(axis=None)


def test_rows_of_weight_zero_do_not_count():
    event, weight = np.array([True, False, True]), np.array([1.0, 0.0, 2.0])
    rows = EventRows(event, weight, weight)
    assert rows.counted.tolist() == [True, False, True]
    assert rows.only_counted.weight.tolist() == [1.0, 2.0]
    assert rows.totals == (3.0, 0.0)
    assert EventRows(event, np.ones(3), None).counted is None


@pytest.mark.parametrize("method", ["quantile", "width", "optimal"])
def test_special_numbers_are_outside_the_intervals(method):
    """A special value in the middle of the others: the cuts are those of the rows without it."""
    X, y = rates(0.1, 0.3, 0.5, 0.7, 0.9)
    special = pd.DataFrame({"x": np.append(X["x"], [2.5] * 20 + [np.nan])})
    target = np.append(y, [1] * 20 + [0])
    found = Binning(method, max_bins=3, special_values=[2.5], min_share=0.0).fit(special, target)
    plain = Binning(method, max_bins=3, min_share=0.0).fit(
        special.assign(x=special["x"].replace(2.5, np.nan)), target
    )
    np.testing.assert_array_equal(found.bins_[0].edges, plain.bins_[0].edges)
    np.testing.assert_array_equal(found.counts_[0][:, :3], plain.counts_[0][:, :3])
    assert special_rows(Column("x", np.array([1.0, 2.0, 3.0]), True), (1.0, 3.0)).tolist() == [
        True,
        False,
        True,
    ]


def test_special_categories_are_in_no_group():
    X, y = column_of(("a", 2, 8), ("b", 8, 2), ("s", 5, 5))
    for categories in ("group", "each", "ordered"):
        found = Binning(special_values=["s"], categories=categories).fit(X, y)
        assert sorted(value for group in found.bins_[0].groups for value in group) == ["a", "b"]
        assert found.table("x").set_index("bin")["count"]["special s"] == 10


def test_intervals_of_exactly_the_least_share_are_kept():
    """Quantiles need no merging where every bin is large enough, even if two have the same rate."""
    X, y = rates(0.2, 0.2, 0.6, 0.8)
    assert Binning("quantile", max_bins=4, min_share=0.25).fit(X, y).bins_[0].n_regular == 4
    assert Binning("quantile", max_bins=4, min_share=0.26).fit(X, y).bins_[0].n_regular < 4
    assert Binning("quantile", max_bins=4, min_events=2).fit(X, y).bins_[0].n_regular == 4
    assert Binning("quantile", max_bins=4, min_events=3).fit(X, y).bins_[0].n_regular < 4


def test_rare_categories():
    """With "each", categories below the share or with too few events are joined; not those at the bound."""
    X, y = column_of(("a", 20, 20), ("b", 10, 10), ("c", 5, 5), ("d", 1, 4), ("e", 2, 3), ("f", 0, 20))
    assert len(y) == 100

    def groups(**options):
        return Binning(categories="each", min_share=0.0, **options).fit(X, y).bins_[0].groups

    singles = tuple((value,) for value in "abcdef")
    assert groups(rare_share=0.05) == singles
    assert groups(rare_share=0.06) == (("a",), ("b",), ("c",), ("f",), ("d", "e"))
    assert groups(rare_share=0.0, min_events=1) == singles  # one category alone is not joined
    assert groups(rare_share=0.0, min_events=2) == (("a",), ("b",), ("c",), ("e",), ("d", "f"))
    assert groups(rare_share=0.0, min_events=2, max_bins=5) == (("a",), ("b",), ("c",), ("e",), ("d", "f"))
    assert groups(rare_share=0.0, max_bins=6) == singles
    assert groups(rare_share=0.0, max_bins=5) == (("a",), ("b",), ("c",), ("f",), ("d", "e"))
    grouped = Binning(categories="group", min_share=0.0, rare_share=0.0, min_events=2).fit(X, y)
    assert grouped.counts_[0][:, : grouped.bins_[0].n_regular].min() >= 2
    assert all(
        set(group) != {"d", "f"} or len(grouped.bins_[0].groups) == 1 for group in grouped.bins_[0].groups
    )


def test_many_categories_are_joined_evenly():
    """Weights 4, 1, 1, 2, 2 reach 0.4, 0.5, 0.6, 0.8 and 1 of all: five halves make two parts."""
    cells = np.array([[2.0, 1.0, 0.0, 1.0, 0.0], [2.0, 0.0, 1.0, 1.0, 2.0]])
    atoms, joined = _even_prebins([[7], [8], [9], [5], [6]], cells, 2)
    assert atoms == [[7], [8, 9, 5, 6]]
    assert joined.tolist() == [[2.0, 2.0], [2.0, 4.0]]
    atoms, joined = _even_prebins([[7], [8], [9], [5], [6]], cells, 5)
    assert atoms == [[7, 8], [9], [5, 6]]
    assert joined.sum() == cells.sum()
    # as many categories as pre-bins: nothing is joined before the search
    X, y = column_of(("a", 1, 9), ("b", 3, 7), ("c", 8, 22), ("d", 9, 1))
    assert len(Binning(n_prebins=4, min_share=0.0).fit(X, y).bins_[0].groups) == 4
    assert len(Binning(n_prebins=3, min_share=0.0).fit(X, y).bins_[0].groups) < 4


# -- cuts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_columns_without_a_cut(method):
    for x in ([], [3.0], [3.0, 3.0]):
        found = cut_points(method, np.array(x), np.zeros(len(x), dtype=bool), None, 4, 0.0)
        assert found.shape == (0,)


def test_cuts_of_equal_width_and_of_quantiles():
    assert width_cuts(0.0, 8.0, 4).tolist() == [2.0, 4.0, 6.0]
    assert width_cuts(2.0, 2.0, 4).tolist() == []
    four, event = np.repeat([0.0, 1.0, 2.0, 3.0], 3), np.zeros(12, dtype=bool)
    assert cut_points("quantile", four, event, None, 4, 0.0).tolist() == [0.5, 1.5, 2.5]
    assert len(cut_points("quantile", four, event, None, 3, 0.0)) == 2
    assert cut_points("quantile", four, event, None, 2, 0.0).tolist() == [1.5]
    assert cut_points("quantile", four, event, np.repeat([9.0, 1.0, 1.0, 1.0], 3), 2, 0.0).tolist() == [0.5]


def test_nearest_places():
    places = np.array([1.0, 2.0, 3.0, 4.0])
    targets = {0.0: 0, 1.5: 0, 1.6: 1, 2.5: 1, 3.4: 2, 3.5: 2, 3.6: 3, 9.0: 3}
    for target, place in targets.items():
        assert nearest_places(places, np.array([target])).tolist() == [place]
    assert nearest_places(places, np.array([1.9, 2.1, 3.9])).tolist() == [1, 3]


def test_a_leaf_of_a_tree_has_its_share_of_all_rows():
    ordered, event = np.arange(4.0), np.array([True, False, False, False])
    weight = np.array([1.0, 1.0, 1.0, 5.0])  # a quarter is 2: the first row alone is too light
    assert tree_gaps(ordered, event, weight, 2, 0.25).tolist() == [1]
    assert tree_gaps(ordered, event, weight, 2, 0.125).tolist() == [0]


# -- columns in pieces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -1.0])
def test_weights_of_pieces_are_finite_and_not_negative(wrong):
    X, y = rates(0.2, 0.8)
    weight = np.ones(20)
    weight[3] = wrong
    with pytest.raises(ValueError, match="piece 0 must be finite and not negative"):
        Binning().fit(from_array(X.to_numpy(), y, weight, rows=10))


def test_pieces_are_fitted_and_transformed_as_a_table():
    X, y = rates(0.2, 0.5, 0.8)
    pieces = from_array(X.to_numpy(), y, rows=7)
    for model in (Binning(), WOEEncoder()):
        found = np.concatenate(list(model.fit_transform(pieces)))
        np.testing.assert_array_equal(found, model.fit_transform(X.to_numpy(), y))
    with pytest.raises(ValueError, match="min_share"):
        Binning(min_share=-0.1).fit(pieces)


def test_cells_that_hold_the_ranks():
    """Cells up to 1, up to 2 and above, of weight 2 each: thirds of 6 end with the first and the second."""
    cells = np.full(3, 2.0), np.array([0.0, 1.5, 3.0]), np.array([1.0, 2.0, 4.0])
    found = compress._narrow(np.array([1.0, 2.0]), cells, 3)
    assert (found.low.tolist(), found.high.tolist()) == ([-np.inf, 1.0], [1.0, 2.0])
    assert (found.before.tolist(), found.total) == ([0.0, 2.0], 6.0)
    assert (found.below.tolist(), found.above.tolist()) == ([-np.inf, 1.0], [1.5, 3.0])


@pytest.mark.parametrize(("weight", "cuts"), [([10.0, 1.0, 1.0], [1.5]), ([1.0, 1.0, 10.0], [2.5])])
def test_cuts_lie_between_values(weight, cuts):
    """Ranks 3, 6 and 9 of 12 are nearer to the ends than to a gap, but no cut lies outside the values."""
    one = np.array([-np.inf]), np.array([np.inf])
    narrowed = compress._Narrowed(*one, np.zeros(1), *one, 12.0)
    counts = np.array([weight, np.zeros(3)])
    sketch = NumberSketch(np.array([1.0, 2.0, 3.0]), counts, True, {}, np.zeros(2), 1.0, 3.0)
    assert compress._read_cuts(narrowed, sketch, 4).tolist() == cuts


def a_sketch(values, weight, *, exact: bool = True) -> NumberSketch:
    counts = np.array([weight, np.zeros(len(values))])
    return NumberSketch(np.array(values), counts, exact, {}, np.zeros(2), min(values), max(values))


def test_sketches_are_thinned_evenly():
    """Weights reach 4, 5, 6, 8 and 10: thirds of 10 end in the first, the fourth and the last value."""
    sketch = a_sketch([1.0, 2.0, 3.0, 4.0, 5.0], [4.0, 1.0, 1.0, 2.0, 2.0])
    found = thinned(sketch, 3)
    assert found.values.tolist() == [1.0, 4.0, 5.0]
    assert found.counts.tolist() == [[4.0, 4.0, 2.0], [0.0, 0.0, 0.0]]
    assert not found.exact
    assert thinned(sketch, 5) is sketch


def test_merged_sketches():
    exact, thin = a_sketch([1.0], [1.0]), a_sketch([2.0], [1.0], exact=False)
    assert not merge_sketches(exact, thin, "x", 9).exact
    assert not merge_sketches(thin, exact, "x", 9).exact
    nothing = sketch_column(
        Column("x", np.array([np.nan]), True), np.array([True]), np.ones(1), (), None, limit=9
    )
    assert (nothing.low, nothing.high) == (np.inf, -np.inf)
    words = CategorySketch({"a": np.array([1.0, 0.0])}, np.zeros(2))
    for pair in ((nothing, words), (words, nothing)):
        both = merge_sketches(*pair, "x", 9)
        assert list(both.counts) == ["a"]
        assert both.missing.tolist() == [1.0, 0.0]
    for pair in ((exact, words), (words, exact)):
        with pytest.raises(ValueError, match="numbers in one piece and categories in another"):
            merge_sketches(*pair, "x", 9)


# -- the best partition --------------------------------------------------------------------------------------


def a_problem(events, nonevents, **limits) -> PartitionProblem:
    events, nonevents = np.array(events, dtype=float), np.array(nonevents, dtype=float)
    settings = {"min_weight": 0.0, "max_bins": 10, "min_events": 0.0, "smoothing": 0.5, **limits}
    return PartitionProblem(
        events=events,
        nonevents=nonevents,
        all_events=events.sum(),
        all_nonevents=nonevents.sum(),
        **settings,
    )


def test_a_tie_of_trends_is_ascending():
    mirrored = a_problem([1, 3, 1], [3, 1, 3])
    assert optimal_partition(mirrored, "descending").tolist() == [2, 3]
    assert (
        optimal_partition(mirrored, "auto").tolist()
        == optimal_partition(mirrored, "ascending").tolist()
        == [1, 3]
    )


@pytest.mark.parametrize("unit", [1.0, 0.3, 0.05, 0.007])
def test_bins_of_exactly_the_least_weight_are_allowed(unit):
    """Five pre-bins of one fifth each; rounding of the sums must not take a bin away."""
    events, nonevents = unit * np.array([1, 2, 3, 4, 5]), unit * np.array([5, 4, 3, 2, 1])
    total = events.sum() + nonevents.sum()
    problem = a_problem(events, nonevents, min_weight=0.2 * total)
    assert optimal_partition(problem, "none").tolist() == [1, 2, 3, 4, 5]
    assert len(optimal_partition(a_problem(events, nonevents, min_weight=total / 4.9), "none")) == 2


def test_bent_trends_take_a_number_of_prebins():
    many = np.arange(1.0, 152.0)
    with pytest.raises(ValueError, match="at most 150 pre-bins, got 151"):
        optimal_partition(a_problem(many, many[::-1], max_bins=2), "concave")
    assert optimal_partition(a_problem(many[:150], many[:150][::-1], max_bins=2), "concave")[-1] == 150


# -- evidence ------------------------------------------------------------------------------------------------


def test_an_empty_cell_counts_as_half_a_row():
    assert weight_of_evidence([10, 0], [5, 5]) == pytest.approx(np.log([0.5 / 1.0, 0.5 / (0.5 / 10)]))
    assert iv_of_counts([10, 0], [5, 5]) == iv_of_counts([10, 0], [5, 5], smoothing=0.5)
    assert iv_of_counts([10, 0], [5, 5]) != pytest.approx(iv_of_counts([10, 0], [5, 5], smoothing=1.5))


@pytest.mark.parametrize(
    ("events", "nonevents"),
    [([5, -1], [5, 5]), ([5, 5], [-1, 8]), ([0, 0], [5, 5]), ([5, 5], [0, 0]), ([], [])],
)
def test_counts_that_are_no_counts(events, nonevents):
    with pytest.raises(ValueError, match="Counts must be >= 0 with both classes present"):
        iv_of_counts(events, nonevents)
    for smoothing in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="must be positive"):
            weight_of_evidence([1, 2], [2, 1], smoothing=smoothing)


# -- stability -----------------------------------------------------------------------------------------------


def test_worked_stability():
    """Shares (1/4, 3/4, 0) and (1/2, 1/4, 1/4): (a - e) log(a / e), and half a row for the empty cell."""
    result = population_stability(list("abbb"), list("aabc"))
    assert result.table["bin"].tolist() == ["a", "b", "c"]
    assert result.table.index.tolist() == [0, 1, 2]
    assert list(result.table.columns) == ["bin", "expected", "actual", "psi"]
    assert result.table["expected"].tolist() == [0.25, 0.75, 0.0]
    assert result.table["actual"].tolist() == [0.5, 0.25, 0.25]
    parts = [0.25 * np.log(2), -0.5 * np.log(1 / 3), (0.25 - 0.125) * np.log(2)]
    assert result.table["psi"].tolist() == pytest.approx(parts)
    assert population_stability(list("abbb"), list("bbbb")).table["bin"].tolist() == ["a", "b"]
    assert population_stability([1.0], [1.0]).psi == 0.0
    with pytest.raises(ValueError, match="expected has no rows"):
        population_stability([], [1.0])
    with pytest.raises(ValueError, match="must be positive"):
        population_stability([1.0], [1.0], smoothing=0.0)


def test_the_least_stable_variable_comes_first():
    X, y = column_of(("a", 2, 8), ("b", 8, 2))
    X = X.assign(same=X["x"])
    moved = X.assign(x=["b"] * 15 + ["c"] * 5)
    binning = Binning(categories="each").fit(X[["same", "x"]], y)
    found = variable_stability(binning, X[["same", "x"]], moved[["same", "x"]])
    assert found["variable"].tolist() == ["x", "same"]
    assert found.index.tolist() == [0, 1]
    assert found["unseen"].tolist() == [0.25, 0.0]
    again = variable_stability(binning, X[["same", "x"]], moved[["same", "x"]], smoothing=0.5)
    assert found["psi"].tolist() == again["psi"].tolist()
    assert found["psi"][0] > 0
    with pytest.raises(ValueError, match="must be positive"):
        variable_stability(binning, X[["same", "x"]], moved[["same", "x"]], smoothing=0.0)


# -- scorecards ----------------------------------------------------------------------------------------------


@pytest.fixture
def card() -> Scorecard:
    X, y = rates(0.2, 0.5, 0.8)
    z = np.random.default_rng(0).random(30) + 0.3 * y
    return Scorecard(intercept="separate", min_iv=0.0).fit(X.assign(z=z), y)


def test_a_log_odds_of_zero_is_the_first_class(card, monkeypatch):
    monkeypatch.setattr(type(card), "decision_function", lambda self, X: np.array([-1.0, 0.0, 1.0]))
    assert card.predict(np.zeros((3, 2))).tolist() == [0, 0, 1]


def test_a_card_of_one_column():
    X, y = rates(0.2, 0.8)
    card = Scorecard(round_points=False).fit(X, y)
    assert (
        card.points(X).tolist()
        == card.points(X.iloc[[0]]).tolist() * 10 + card.points(X.iloc[[19]]).tolist() * 10
    )
    assert list(card.summary().columns) == [
        "iv", "js", "bins", "reading", "trend", "coefficient", "std_error", "z", "p_value", "sign", "used"
    ]  # fmt: skip


def test_points_of_a_base(card):
    points = card.points_
    assert points["variable"][0] == "(base)"
    assert points["points"][0] == card.base_points_
    assert points.index.tolist() == list(range(len(points)))
    told = card.explain(pd.DataFrame({"x": [1.0], "z": [0.5]}))
    assert told.iloc[0][["variable", "points", "lost"]].tolist() == ["(base)", card.base_points_, 0.0]
    assert told.index.tolist() == [0, 1, 2]
    by_name = points.set_index(["variable", "bin"])["points"]
    for _, row in told.iloc[1:].iterrows():
        here = by_name[row["variable"]]
        assert row["points"] == here[row["bin"]]
        assert row["lost"] == here.drop("missing").max() - here[row["bin"]]


def test_rows_of_any_kind_are_explained():
    X, y = rates(0.2, 0.8)
    plain = Scorecard().fit(X.to_numpy(), y)
    for row in (np.array([[1.0]]), np.array([1.0]), [[1.0]]):
        told = plain.explain(row)
        assert told["value"].tolist() == [1.0]
        assert told["points"].sum() == plain.points(np.array([[1.0]]))[0]
    two = np.column_stack([X["x"] % 2, np.arange(20) % 5 * (1 + y)])
    plain = Scorecard(min_iv=0.0).fit(two, y)
    told = plain.explain(two[19])
    assert told["points"].sum() == plain.points(two[19:])[0]
    orders = [plain.explain(row) for row in two]
    assert all(found.index.tolist() == list(range(len(plain.variables_))) for found in orders)
    assert {found["variable"][0] for found in orders} == set(plain.variables_) == {"x0", "x1"}


def test_bins_without_rows_are_not_the_best():
    """The bin of missing values has no rows and evidence 0, here the best points of all."""
    X, y = column_of((0.0, 9, 1), (1.0, 8, 2), (2.0, 9, 1), (3.0, 1, 9))
    card = Scorecard(round_points=False).fit(X, y, sample_weight=np.full(40, 0.05))
    worst_first = card.explain({"x": 0.0})["lost"][0]
    assert worst_first == pytest.approx(card.points(X).max() - card.points(X.iloc[[0]])[0])
    assert card.explain({"x": 3.0})["lost"][0] == 0.0


def test_only_an_unpenalised_regression_has_standard_errors():
    X, y = rates(0.2, 0.5, 0.8)
    assert Scorecard().fit(X, y).summary()["std_error"].notna().all()
    penalised = Scorecard(estimator=LogisticRegression(C=1.0)).fit(X, y)
    assert penalised.summary()["std_error"].isna().all()


def test_signs_of_coefficients(card):
    """A coefficient of 0 is not wrong; one of 0.5 is."""
    card.coef_ = np.array([0.0, 0.5])
    assert card._statistics()["sign"].tolist() == ["right", "wrong"]
    with pytest.warns(ScorecardWarning, match=r"for z: the variable"):
        card._warn()
    card.coef_ = np.array([0.0, -0.5])
    card._warn()
    assert card.notes_ == []


def test_warnings_point_to_the_line_of_the_user(card):
    X, y = rates(0.2, 0.8)
    with pytest.warns(ScorecardWarning) as caught:
        Scorecard().fit(X.assign(constant=1.0), y)
    assert caught[0].filename == __file__
    words, y = column_of(("a", 2, 8), ("b", 8, 2))
    encoder, model = WOEEncoder().fit(words, y), Scorecard().fit(words, y)
    for call in (encoder.transform, model.points, model.explain):
        with pytest.warns(UserWarning, match="unseen category") as caught:
            call(pd.DataFrame({"x": ["new"]}))
        assert caught[0].filename == __file__
