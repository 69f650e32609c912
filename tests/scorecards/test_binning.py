"""Binning: bins, tables, missing and special values, categories, edits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.scorecards import Binning, IVSelector, Scorecard, WOEEncoder, information_value
from maxmargin.scorecards.cuts import cut_points

METHODS = ("optimal", "quantile", "width", "mdl", "tree")


@pytest.fixture(scope="module")
def table():
    """A table with numbers, spikes, missing values, special values and categories of all sizes."""
    rng = np.random.default_rng(0)
    n = 3000
    age = rng.integers(18, 80, n).astype(float)
    income = np.exp(rng.normal(size=n))
    income[rng.random(n) < 0.3] = 0.0
    income[rng.random(n) < 0.1] = np.nan
    income[rng.random(n) < 0.05] = -999.0
    shares = [0.4, 0.3, 0.15, 0.1, 0.04, 0.006, 0.004]
    city = rng.choice(list("abcdefg"), n, p=shares).astype(object)
    city[rng.random(n) < 0.05] = None
    effect = 0.03 * (50 - age) + 0.8 * (city == "a") - 0.5 * (np.nan_to_num(income) == 0)
    y = (rng.random(n) < 1 / (1 + np.exp(1 - effect))).astype(int)
    return pd.DataFrame({"age": age, "income": income, "city": city}), y


@parametrize_with_checks([Binning(), WOEEncoder(), IVSelector(), Scorecard()])
@pytest.mark.filterwarnings("ignore")  # tiny tables of the checks separate the classes, which is said
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", METHODS)
def test_every_row_is_counted_once(table, method):
    X, y = table
    binning = Binning(method, special_values={"income": [-999.0]}).fit(X, y)
    for name in X:
        bins = binning.table(name)
        assert bins["count"].sum() == len(X)
        assert bins["events"].sum() == y.sum()
    codes = binning.transform(X)
    for j, name in enumerate(X):
        np.testing.assert_array_equal(
            np.bincount(codes[:, j], minlength=len(binning.table(name))), binning.table(name)["count"]
        )


@pytest.mark.parametrize("method", METHODS)
def test_limits_hold(table, method):
    X, y = table
    binning = Binning(method, max_bins=4, min_share=0.12, min_events=20, rare_share=0.0).fit(X, y)
    for bins, counts in zip(binning.bins_, binning.counts_, strict=True):
        regular = counts[:, : bins.n_regular]
        assert bins.n_regular <= 4
        assert regular.sum(axis=0).min() >= 0.12 * len(X)
        assert regular.min() >= 20


def test_missing_and_special_values_have_their_bins(table):
    X, y = table
    binning = Binning(special_values=[-999.0]).fit(X, y)
    bins = binning.table("income").set_index("bin")["count"]
    assert bins["missing"] == X["income"].isna().sum()
    assert bins["special -999.0"] == (X["income"] == -999).sum()
    assert binning.bins_[1].edges.min() > -999
    assert binning.table("city").set_index("bin")["count"]["missing"] == X["city"].isna().sum()
    by_name = Binning(special_values={"city": ["b"]}).fit(X, y)
    assert by_name.table("city").set_index("bin")["count"]["special b"] == (X["city"] == "b").sum()
    assert "special -999.0" not in by_name.table("income")["bin"].tolist()


def test_optimal_follows_the_trend(table):
    X, y = table
    ivs = {}
    for trend in ("ascending", "descending", "auto", "none"):
        binning = Binning(trend=trend).fit(X[["age", "income"]], y)
        ivs[trend] = binning.table("age")["iv"].sum()
        if trend in ("ascending", "descending"):
            assert binning.trend_of("age") in (trend, "flat")
        if trend == "auto":
            assert binning.trend_of("age") == "descending"  # the young have more events in this table
    assert ivs["none"] >= ivs["auto"] == max(ivs["ascending"], ivs["descending"])
    mixed = Binning(trend={"age": "ascending"}).fit(X[["age", "income"]], y)
    assert mixed.table("age")["iv"].sum() == pytest.approx(ivs["ascending"])


def test_optimal_beats_the_other_methods_under_the_same_limits(table):
    X, y = table
    best = Binning(trend="none", n_prebins=100, max_bins=5).fit(X[["age"]], y).table(0)["iv"].sum()
    for method in METHODS[1:]:
        other = Binning(method, max_bins=5).fit(X[["age"]], y).table(0)["iv"].sum()
        assert best >= other - 1e-12  # age has 62 values, so the pre-bins hold every possible cut


def test_quantile_cuts_go_around_spikes():
    x = np.r_[np.zeros(600), np.linspace(1, 2, 400)]
    y = np.arange(1000) % 2
    binning = Binning("quantile", max_bins=10, min_share=0.0).fit(x[:, None], y)
    assert binning.counts_[0][:, 0].sum() == 600
    uniform = Binning("quantile", max_bins=10).fit(np.arange(1000.0)[:, None], y)
    assert uniform.counts_[0].sum(axis=0)[:-1].tolist() == [100.0] * 10


def test_width_cuts():
    x = np.arange(101.0)
    binning = Binning("width", max_bins=4, min_share=0.0).fit(x[:, None], x > 30)
    assert binning.bins_[0].edges.tolist() == [25.0, 50.0, 75.0]


def test_tree_cuts_are_the_trees():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for j, n_leaves, sample_weight in product(range(0, 30, 3), (2, 6, 20), (None, weight)):
        x = X[:, j : j + 1].astype(np.float32)  # a tree of scikit-learn rounds to float32
        leaf = {"min_samples_leaf": 0.05} if sample_weight is None else {"min_weight_fraction_leaf": 0.05}
        tree = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0, **leaf).fit(
            x, y, sample_weight
        )
        expected = np.sort(tree.tree_.threshold[tree.tree_.children_left != -1])
        found = cut_points("tree", x[:, 0].astype(float), y == 1, sample_weight, n_leaves, 0.05)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_value_on_an_edge_lies_below_it():
    binning = Binning(edges={"x0": [1.0, 2.0]}).fit([[0.0], [1.0], [1.5], [2.0], [3.0]], [0, 1, 0, 1, 0])
    assert binning.transform([[1.0], [1.0000001], [2.0], [np.inf], [-np.inf], [np.nan]]).ravel().tolist() == [
        0,
        1,
        1,
        2,
        0,
        3,
    ]
    assert binning.table(0)["bin"].tolist() == ["(-inf, 1]", "(1, 2]", "(2, inf)", "missing"]


def test_close_edges_keep_distinct_labels():
    labels = Binning(edges={"x0": [1.0, 1.0 + 1e-9]}).fit([[0.0], [2.0]], [0, 1]).table(0)["bin"]
    assert labels.is_unique


def test_infinite_values_lie_in_the_outer_bins():
    x = np.r_[np.arange(50.0), [np.inf] * 3, [-np.inf] * 2]
    y = np.r_[np.zeros(25), np.ones(30)]
    binning = Binning().fit(x[:, None], y)
    assert np.isfinite(binning.bins_[0].edges).all()
    assert binning.table(0)["count"].sum() == 55


def test_categories(table):
    X, y = table
    each = Binning(categories="each", rare_share=0.05, min_share=0.0).fit(X[["city"]], y)
    assert each.bins_[0].groups == (("a",), ("b",), ("c",), ("d",), ("e", "f", "g"))
    ordered = Binning(categories="ordered", rare_share=0.05).fit(X[["city"]], y)
    rates = ordered.table(0)["event_rate"].to_numpy()[:-1]
    assert (np.diff(rates) >= 0).all()
    few = Binning(categories="each", max_bins=3, rare_share=0.0).fit(X[["city"]], y)
    assert few.bins_[0].groups == (("a",), ("b",), ("c", "d", "e", "f", "g"))
    grouped = Binning(rare_share=0.0, max_bins=3).fit(X[["city"]], y)
    assert grouped.bins_[0].n_regular <= 3
    assert grouped.trend_of("city") in ("ascending", "flat")


def test_grouping_of_categories_is_optimal():
    """Groups of neighbours in event rate are optimal among all groupings: every one of 5 categories."""
    rng = np.random.default_rng(5)
    city = rng.choice(list("abcde"), 400)
    y = (rng.random(400) < np.select([city == c for c in "abcde"], [0.2, 0.5, 0.3, 0.7, 0.4])).astype(int)
    binning = Binning(max_bins=3, min_share=0.1, rare_share=0.0).fit(city[:, None], y)
    counts = {c: np.array([y[city == c].sum(), (1 - y[city == c]).sum()]) for c in "abcde"}
    total = np.array([y.sum(), 400 - y.sum()])
    best = 0.0
    for code in np.ndindex(3, 3, 3, 3, 3):
        groups = [sum((counts["abcde"[i]] for i in range(5) if code[i] == g), np.zeros(2)) for g in range(3)]
        groups = np.array([g for g in groups if g.sum()])
        if groups.sum(axis=1).min() >= 40 and groups.min() > 0:
            p, q = (groups / total).T
            best = max(best, float(np.sum((q - p) * np.log(q / p))))
    assert binning.table(0)["iv"].sum() == pytest.approx(best)


def test_many_categories_are_put_in_prebins():
    rng = np.random.default_rng(6)
    city = rng.integers(0, 700, 5000)
    y = rng.integers(0, 2, 5000)
    binning = Binning(categorical_features=["city"], rare_share=0.0, n_prebins=30)
    binning.fit(pd.DataFrame({"city": city}), y)
    assert binning.bins_[0].n_regular <= 10
    assert binning.table(0)["count"].sum() == 5000


def test_numbers_as_categories_and_unseen_ones():
    X = pd.DataFrame({"code": [1, 1, 2, 2, 3, 3], "x": np.arange(6.0)})
    y = [0, 1, 0, 1, 1, 1]
    binning = Binning(categorical_features=["code"], categories="each").fit(X, y)
    assert binning.bins_[0].groups == ((1,), (2,), (3,))
    codes = binning.transform(pd.DataFrame({"code": [1, 9], "x": [0.0, 1.0]}))
    assert codes[:, 0].tolist() == [0, -1]
    assert binning.labels(pd.DataFrame({"code": [9], "x": [0.0]}))["code"].tolist() == ["unseen"]


def test_edits(table):
    X, y = table
    binning = Binning().fit(X, y)
    edited = binning.edit({"age": [30, 50], "city": [["a"], ["b", "c", "d", "e", "f", "g"]]}, X, y)
    assert edited.bins_[0].edges.tolist() == [30, 50]
    assert edited.bins_[2].groups[0] == ("a",)
    pd.testing.assert_frame_equal(edited.table("income"), binning.table("income"))
    again = edited.edit({"age": [40]}, X, y)
    assert again.bins_[2].groups == edited.bins_[2].groups
    assert binning.edges is None


def test_row_order_and_weights(table):
    X, y = table
    order = np.random.default_rng(1).permutation(len(y))
    binning = Binning().fit(X, y)
    shuffled = Binning().fit(X.iloc[order].reset_index(drop=True), y[order])
    pd.testing.assert_frame_equal(binning.table(), shuffled.table())
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    weighted = Binning().fit(X, y, sample_weight=weight).table()
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = Binning().fit(X.iloc[rows].reset_index(drop=True), y[rows]).table()
    pd.testing.assert_frame_equal(weighted, repeated)


def test_kinds_of_tables_agree(table):
    X, y = table
    expected = Binning().fit(X, y).transform(X)
    frame = pl.DataFrame({name: [None if pd.isna(v) else v for v in X[name]] for name in X})
    np.testing.assert_array_equal(Binning().fit(frame, y).transform(frame), expected)
    np.testing.assert_array_equal(Binning().fit(X.to_numpy(), y).transform(X.to_numpy()), expected)
    typed = X.assign(age=X["age"].astype("Int64"), city=X["city"].astype("category"))
    np.testing.assert_array_equal(Binning(n_jobs=2).fit(typed, y).transform(typed), expected)
    pandas_out = Binning().set_output(transform="pandas").fit(X, y).transform(X)
    assert list(pandas_out) == list(X)


def test_positive_label(table):
    X, y = table
    words = np.where(y == 1, "bad", "good")
    table_bad = Binning(positive="bad").fit(X, words).table()
    pd.testing.assert_frame_equal(table_bad, Binning().fit(X, y).table())
    table_good = Binning().fit(X[["city"]], words).table()
    assert table_good["events"].sum() == (y == 0).sum()


def test_one_class_values_still_give_evidence():
    """A number that separates the classes is suspicious, not useless."""
    x = np.arange(100.0)
    found = information_value(x[:, None], x > 49)
    assert found["reading"].tolist() == ["suspicious"]
    assert Binning().fit(x[:, None], x > 49).bins_[0].edges.tolist() == [49.5]
    assert (
        len(Binning(min_events=1, prebinning="width", n_prebins=2).fit(x[:, None], x > 49).bins_[0].edges)
        == 0
    )


def test_no_rows_to_cut():
    X = np.array([[np.nan, 1.0]] * 10)
    binning = Binning().fit(X, np.arange(10) % 2)
    assert [len(bins.edges) for bins in binning.bins_] == [0, 0]
    assert binning.table(0)["count"].tolist() == [0, 10]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "best"}, "method='best' is unknown"),
        ({"prebinning": "optimal"}, "prebinning='optimal' is unknown"),
        ({"categories": "merge"}, "categories='merge' is unknown"),
        ({"trend": "up"}, "trend='up' is unknown"),
        ({"trend": {"age": "up"}}, "trend='up' is unknown"),
        ({"method": "tree", "trend": "ascending"}, "needs method='optimal'"),
        ({"max_bins": 0}, "must be a whole number >= 1"),
        ({"min_share": 1.0}, "must lie in"),
        ({"min_events": -1}, "must be a finite number >= 0"),
        ({"smoothing": 0.0}, "must be positive"),
        ({"positive": "x"}, "is not one of the classes"),
        ({"edges": {"age": [2.0, 1.0]}}, "finite ascending numbers"),
        ({"edges": {"nope": [2.0]}}, "does not have a column 'nope': its columns are"),
        ({"edges": {"city": ["a", "b"]}}, "lists of categories"),
        ({"edges": {"city": [["a"]]}}, "leave out"),
        ({"categorical_features": ["nope"]}, "does not have a column 'nope'"),
    ],
)
def test_settings_are_checked(table, options, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        Binning(**options).fit(X, y)


def test_tables_are_checked(table):
    X, y = table
    with pytest.raises(TypeError, match="holds dates or times in column 'day': turn them into numbers"):
        Binning().fit(X.assign(day=pd.Timestamp("2020-01-01")), y)
    with pytest.raises(ValueError, match="had numbers in fit"):
        Binning().fit(X, y).transform(X.assign(age="old"))
    with pytest.raises(ValueError, match="one class"):
        Binning().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Only binary"):
        Binning().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="no row of the class 0 has a positive weight"):
        Binning().fit(X, y, sample_weight=y)


def test_pandas_categories_of_numbers_are_categories():
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 2, 3] * 5), "flag": [True, False] * 10})
    binning = Binning(categories="each").fit(X, [0, 1] * 10)
    assert not binning.is_number("code")
    assert binning.is_number("flag")
    plain = X.assign(code=X["code"].astype(int))
    np.testing.assert_array_equal(binning.transform(plain), binning.transform(X))


def test_names_of_columns():
    X = pd.DataFrame(np.arange(20.0).reshape(10, 2))  # names are numbers, so scikit-learn has none
    assert Binning().fit(X, np.arange(10) % 2).table()["variable"].unique().tolist() == ["x0", "x1"]
    twice = pd.DataFrame(np.arange(20.0).reshape(10, 2), columns=["a", "a"])
    with pytest.raises(ValueError, match="several columns with the name 'a': rename"):
        Binning().fit(twice, np.arange(10) % 2)


def test_special_values_of_another_type_are_ignored_by_a_column(table):
    X, y = table
    binning = Binning(special_values=["b", -999.0]).fit(X, y)
    counts = binning.table().set_index(["variable", "bin"])["count"]
    assert counts["age", "special b"] == 0
    assert counts["city", "special b"] == (X["city"] == "b").sum()
    assert counts["income", "special -999.0"] == (X["income"] == -999).sum()
