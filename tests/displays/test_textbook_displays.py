"""The displays that draw the figures of the texts."""

from __future__ import annotations

import doctest
import importlib
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import displays
from maxmargin.feature_selection import Relief

PEOPLE = pd.DataFrame(
    {"height": [170, 147, 150, 154, 175, 152, 173, 177], "weight": [85, 75, 77, 81, 79, 80, 82, 84]}
)
TALL = np.array(["tall", "short", "short", "short", "tall", "short", "tall", "tall"])


@pytest.mark.parametrize(
    "name",
    [
        "machines.boundary_display",
        "machines.sigmoid_display",
        "machines.descent_display",
        "machines.ridge_display",
        "machines.discriminant_display",
        "choices.neighbour_display",
    ],
)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"maxmargin.displays.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(40, centers=[(-2.0, 0.0), (2.0, 1.0)], cluster_std=0.7, random_state=0)
    return X, np.where(y == 1, 1, -1)


@pytest.mark.parametrize("name", [name for name in mm.displays.__all__ if name.endswith("Display")])
def test_a_display_does_not_print_its_arrays(name):
    assert getattr(mm.displays, name).__repr__ is object.__repr__


def test_boundaries_of_several_models(blobs):
    X, y = blobs
    models = {
        "perceptron, seed 0": mm.Perceptron(random_state=0).fit(X, y),
        "perceptron, seed 1": mm.Perceptron(random_state=1).fit(X, y),
        "least squares": mm.LeastSquares().fit(X, y),
        "radial": mm.SVC().fit(X, y),
    }
    display = displays.BoundaryDisplay.from_estimator(models, X, y).plot()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["-1", "1", *models]
    at = np.array([[display.lattice[0][7], display.lattice[1][11]]])
    for name, model in models.items():
        f = model.predict(at) if name == "least squares" else model.decision_function(at)
        assert display.surfaces[name][11, 7] == pytest.approx(float(f[0]))
    assert display.arrow is None


def test_projections_are_the_nearest_points_of_the_boundary(blobs):
    X, y = blobs
    hard = mm.HardMarginSVC(kernel="linear").fit(X, y)
    rows = [0, 5, 9]
    display = displays.BoundaryDisplay.from_estimator(
        {"hard": hard}, X, y, normal="hard", project=rows
    ).plot()
    feet = display.projections[:, 1]
    np.testing.assert_allclose(hard.decision_function(feet), 0.0, atol=1e-9)
    distance = np.abs(hard.decision_function(X[rows])) / np.linalg.norm(hard.coef_)
    np.testing.assert_allclose(np.linalg.norm(X[rows] - feet, axis=1), distance)
    np.testing.assert_allclose(display.arrow[1], hard.coef_[0])
    assert hard.decision_function(display.arrow[:1]) == pytest.approx(0.0, abs=1e-9)
    assert display.ax_.get_aspect() == 1.0


def test_boundaries_that_cannot_be_drawn(blobs):
    X, y = blobs
    radial = mm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="no normal vector"):
        displays.BoundaryDisplay.from_estimator({"radial": radial}, X, y, normal="radial")
    with pytest.raises(ValueError, match="not one of the models radial"):
        displays.BoundaryDisplay.from_estimator({"radial": radial}, X, y, normal="linear")
    with pytest.raises(ValueError, match="models is empty"):
        displays.BoundaryDisplay.from_estimator({}, X, y)
    with pytest.raises(ValueError, match="y has 3"):
        displays.BoundaryDisplay.from_estimator({"radial": radial}, X, np.arange(40) % 3)
    wide = np.column_stack([X, X])
    with pytest.raises(ValueError, match="two variables"):
        displays.BoundaryDisplay.from_estimator({"wide": mm.SVC().fit(wide, y)}, wide, y)


def test_the_sigmoid_of_one_variable():
    x = PEOPLE[["weight"]].astype(float)
    model = mm.LogisticRegression().fit(x, TALL)
    display = displays.SigmoidDisplay.from_estimator(model, x, TALL).plot()
    assert display.classes == ("short", "tall")
    boundary = -model.intercept_[0] / model.coef_[0, 0]  # p = 1/2 where the odds are 1
    np.testing.assert_allclose(display.half, [boundary], rtol=1e-6)
    assert (np.diff(display.probability) > 0).all()
    assert display.ax_.get_ylabel() == "probability of tall"
    with pytest.raises(ValueError, match="one variable"):
        displays.SigmoidDisplay.from_estimator(mm.LogisticRegression(C=1.0).fit(PEOPLE, TALL), PEOPLE, TALL)
    with pytest.raises(TypeError, match="no predict_proba"):
        displays.SigmoidDisplay.from_estimator(mm.LinearSVC().fit(x, TALL), x, TALL)


@pytest.mark.parametrize(
    "make", [mm.Ridge, partial(mm.KernelRidge, kernel="rbf", gamma=0.1)], ids=["linear", "kernel"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_errors_are_those_of_single_fits(make, weighted):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 6)), rng.integers(1, 4, size=30) if weighted else np.ones(30)
    y, alphas = X[:, 0] + rng.normal(size=30), [10.0, 0.1, 1.0]  # in no order
    model = make_pipeline(StandardScaler(), make(alphas=alphas))
    model.fit(X, y, **{f"{model.steps[-1][0]}__sample_weight": weights})
    display = displays.RidgeDisplay.from_estimator(model, X, y, sample_weight=weights).plot()
    assert display.alphas.tolist() == [0.1, 1.0, 10.0]
    assert display.chosen == model[-1].alpha_
    assert display.left_out.min() == display.left_out[display.alphas == display.chosen][0]
    Z = model[0].transform(X)
    for k, alpha in enumerate(display.alphas):
        residuals = y - make(alpha=alpha).fit(Z, y, weights).predict(Z)
        assert display.training[k] == pytest.approx(np.average(residuals**2, weights=weights) ** 0.5)
        left = [(y[i] - make(alpha=alpha).fit(*but(i, Z, y, weights)).predict(Z[[i]])[0]) for i in range(30)]
        assert display.left_out[k] == pytest.approx(np.average(np.square(left), weights=weights) ** 0.5)
    assert [line.get_label() for line in display.ax_.get_lines()][:2] == ["training rows", "rows left out"]


def but(i, *arrays):
    """The arrays without row i."""
    return [np.delete(array, i, axis=0) for array in arrays]


def test_paths_that_cannot_be_drawn():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"Ridge has no path of penalties: fit Ridge\(alphas="):
        displays.RidgeDisplay.from_estimator(mm.Ridge().fit(X, y), X, y)
    two = np.column_stack([y, y])
    with pytest.raises(ValueError, match="to one target"):
        displays.RidgeDisplay.from_estimator(mm.Ridge(alphas=[1.0, 2.0]).fit(X, two), X, two)
    with pytest.raises(ValueError, match="SVR has no path"):
        displays.RidgeDisplay.from_estimator(mm.SVR().fit(X, y), X, y)
    with pytest.raises(ValueError, match="y has 9 rows, but the model was fitted to 150"):
        displays.RidgeDisplay.from_estimator(mm.Ridge(alphas=[1.0, 2.0]).fit(X, y), X[:9], y[:9])


def test_scores_of_three_and_two_classes():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    model = make_pipeline(StandardScaler(), mm.FisherDiscriminant()).fit(X, names)
    display = displays.DiscriminantDisplay.from_estimator(model, X, names).plot()
    assert display.classes == ("setosa", "versicolor", "virginica")
    for k in range(3):
        np.testing.assert_allclose(display.scores[y == k].mean(axis=0), display.centroids[k], atol=1e-9)
    # within the classes the scores have unit variance and are not correlated
    inside = display.scores - display.centroids[display.codes]
    np.testing.assert_allclose(inside.T @ inside / (150 - 3), np.eye(2), atol=1e-9)
    assert display.ax_.get_xlabel() == "axis 1 (99%)"
    assert len(display.cut_points) == 0
    pair = mm.FisherDiscriminant().fit(X[:100], y[:100])
    one = displays.DiscriminantDisplay.from_estimator(pair, X[:100], y[:100]).plot()
    assert one.scores.shape == (100, 1)
    assert one.cut_points[0] == pytest.approx(one.centroids.mean())
    assert [label.get_text() for label in one.ax_.get_yticklabels()] == ["0", "1"]
    with pytest.raises(TypeError, match="LinearSVC has no discriminant axes"):
        displays.DiscriminantDisplay.from_estimator(mm.LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="y has the class 2, but the model knows only 0, 1: drop its rows"):
        displays.DiscriminantDisplay.from_estimator(pair, X, y)


def test_a_descent_in_one_and_two_variables():
    def bowl(x):
        return float(x @ x)

    one = mm.subgradient_descent(np.abs, np.sign, [1.0], rho=1.0, B=1.0, max_iter=12)
    drawn = displays.DescentDisplay.from_result(one, np.abs, span=(-2.0, 2.0)).plot()
    assert drawn.lattice[0][[0, -1]].tolist() == [-2.0, 2.0]
    np.testing.assert_allclose(drawn.values, np.abs(drawn.lattice[0]))
    two = mm.subgradient_descent(bowl, lambda x: 2 * x, [1.0, -1.0], rho=4.0, B=2.0, max_iter=12)
    path = displays.DescentDisplay.from_result(two, bowl).plot()
    assert path.values.shape == (120, 120)
    assert path.values[3, 5] == pytest.approx(path.lattice[0][5] ** 2 + path.lattice[1][3] ** 2)
    np.testing.assert_array_equal(path.ax_.get_lines()[0].get_xdata(), two.iterates[:, 0])
    with pytest.raises(ValueError, match="one variable only"):
        displays.DescentDisplay.from_result(two, bowl, tangents=[(0.0, 0.0)])


def test_only_subgradients_are_drawn_as_tangents():
    path = mm.subgradient_descent(np.abs, np.sign, [1.0], rho=1.0, B=1.0, max_iter=5)
    displays.DescentDisplay.from_result(path, np.abs, tangents=[(0.0, s) for s in (-1.0, 0.3, 1.0)]).plot()
    for wrong in ((0.0, 1.2), (0.5, 0.9)):
        with pytest.raises(ValueError, match="is not a subgradient of f"):
            displays.DescentDisplay.from_result(path, np.abs, tangents=[wrong])


def test_neighbours_are_those_of_relief():
    # Gómez 2024, tables 2.2 and 2.3: distances 33 28 20 11 23 6 8 of row 1, 23 10 5 3 24 23 29 of row 6
    first = Relief(distance="raw").neighbour_table(PEOPLE, TALL, 0)
    assert first["distance"].tolist() == [33, 28, 20, 11, 23, 6, 8]
    assert first["height"].round(2).tolist() == [0.77, 0.67, 0.53, 0.17, 0.6, 0.1, 0.23]
    assert first["weight"].round(9).tolist() == [1.0, 0.8, 0.4, 0.6, 0.5, 0.3, 0.1]
    assert first["class"].tolist() == TALL[1:].tolist()
    assert first.index[first["role"] == "hit"].tolist() == [6]
    assert first.index[first["role"] == "miss"].tolist() == [3]
    sixth = Relief(distance="raw").neighbour_table(PEOPLE, TALL, 5)
    assert sixth["distance"].tolist() == [23, 10, 5, 3, 24, 23, 29]
    assert sixth.index[sixth["role"] == "hit"].tolist() == [3]
    assert sixth.index[sixth["role"] == "miss"].tolist() == [0]  # rows 1 and 7 are as near: the lowest
    relief = Relief(distance="raw", n_instances=[0, 5]).fit(PEOPLE, TALL)
    by_hand = np.zeros(2)
    for table in (first, sixth):
        columns = table[["height", "weight"]]
        by_hand += (
            columns[table["role"] == "miss"].to_numpy()[0] - columns[table["role"] == "hit"].to_numpy()[0]
        )
    np.testing.assert_allclose(relief.scores_, by_hand / 2)
    display = displays.NeighbourDisplay.from_estimator(Relief(distance="raw"), PEOPLE, TALL, [0, 5]).plot()
    assert display.neighbours == {0: {"hit": 6, "miss": 3}, 5: {"hit": 3, "miss": 0}}
    assert len(display.ax_.get_lines()) == 4


def test_neighbours_with_categories_and_errors():
    X = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": [1.0, 2.0, 3.0, 5.0]})
    table = Relief().neighbour_table(X, [0, 0, 1, 1], 0)
    assert table["colour"].tolist() == [0.0, 1.0, 1.0]
    assert table["distance"].tolist() == [0.25, 1.5, 2.0]
    with pytest.raises(ValueError, match="numbers only"):
        Relief(distance="raw").neighbour_table(X, [0, 0, 1, 1], 0)
    with pytest.raises(ValueError, match="row numbers"):
        Relief().neighbour_table(X, [0, 0, 1, 1], 4)


def test_images_of_rows():
    X, y = load_digits(return_X_y=True)
    display = displays.DigitsDisplay.from_rows(X, y, [3, 8]).plot()
    np.testing.assert_array_equal(display.images, X[[3, 8]].reshape(-1, 8, 8))
    assert display.labels == [str(y[3]), str(y[8])]
    assert display.ax_.get_title() == "2 of 1797 rows: class (blue)"
    assert len(displays.DigitsDisplay.from_rows(X, y).images) == 24
    with pytest.raises(ValueError, match="do not fill an image"):
        displays.DigitsDisplay.from_rows(X, y, shape=(7, 8))


def test_the_product_separates_by_the_plane_z_equals_zero():
    X = np.random.default_rng(0).uniform(-1, 1, size=(120, 2))
    X = X[np.abs(X.prod(axis=1)) > 0.05]
    display = displays.FeatureMapDisplay.from_map("product", X, X.prod(axis=1) > 0).plot()
    np.testing.assert_allclose(display.lifted[:, 2], X[:, 0] * X[:, 1])
    assert np.abs(display.normal / np.linalg.norm(display.normal))[2] > 0.95


def test_the_quadratic_loss_as_printed_is_another_one():
    names = ["squared_epsilon_insensitive", "squared_less_epsilon"]
    display = displays.LossDisplay.from_names(names, regression=True, epsilon=0.25)
    r = display.at
    np.testing.assert_allclose(display.values[names[1]], np.maximum(0.0, r**2 - 0.25))
    # zero up to sqrt(epsilon) = 0.5 and not only up to epsilon
    assert display.values[names[1]][np.abs(r) <= 0.5].max() == 0.0
    assert display.values[names[0]][np.abs(r) > 0.26].min() > 0.0
    with pytest.raises(ValueError, match="loss"):
        displays.LossDisplay.from_names(["squared_less_epsilon"])
