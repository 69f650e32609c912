"""The margin picture: what is drawn is where the model says it is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.displays import MarginDisplay
from maxmargin.displays.machines.support_display import crossings


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(80, noise=0.25, random_state=0)
    return pd.DataFrame(X, columns=["dose", "age"]), np.where(y, "ill", "well")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def contours(ax, level):
    """Points of the drawn contour lines at a level."""
    found = [c for c in ax.collections if hasattr(c, "levels") and list(c.levels) == [level]]
    return [np.concatenate([path.vertices for path in c.get_paths()]) for c in found]


def scattered(ax, label):
    mine = next(c for c in ax.collections if isinstance(c, PathCollection) and c.get_label() == label)
    return np.asarray(mine.get_offsets())


def test_two_variables(moons):
    X, y = moons
    model = mm.SVC(C=2, gamma=1.0).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot()
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "age")
    for level in (-1.0, 0.0, 1.0):
        (line,) = contours(ax, level)
        values = model.decision_function(pd.DataFrame(line, columns=X.columns))
        np.testing.assert_allclose(values, level, atol=0.03)  # linear interpolation between 200 x 200 values
    for label, kind in {
        "support vector on the margin": "free",
        "inside the margin": "inside",
        "misclassified": "misclassified",
    }.items():
        np.testing.assert_array_equal(scattered(ax, label), X[model.point_kinds_ == kind])
    assert set(legend_of(ax)) >= {"ill", "well", "boundary", "margins", "slack", "misclassified"}
    for name in ("ill", "well"):
        np.testing.assert_array_equal(scattered(ax, name), X[y == name])


def test_the_legend_hides_no_point(moons):
    X, y = moons
    ax = MarginDisplay.from_estimator(mm.SVC().fit(X, y), X, y).plot().ax_
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 <= ax.get_window_extent().y0


def test_slacks_end_on_the_margin_of_their_class(moons):
    X, y = moons
    model = mm.SVC(kernel="linear").fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    n_slack = int((model.slack_ > 2e-3).sum())
    assert n_slack - 2 <= len(display.slacks) <= n_slack + 2  # rows within the tolerance may count or not
    w = model.coef_[0]
    for start, end in display.slacks:
        row = int(np.flatnonzero((X.to_numpy() == start).all(axis=1))[0])
        f = (np.array([start, end]) @ w) + model.intercept_[0]
        assert f[1] == pytest.approx(signs[row], abs=1e-6)
        # the length of a slack is xi / ||w||, up to the step between two lines of the lattice
        expected = (1 - signs[row] * f[0]) / np.linalg.norm(w)
        assert np.linalg.norm(end - start) == pytest.approx(expected, rel=0.02, abs=0.02)
    drawn = [c for c in display.plot().ax_.collections if isinstance(c, LineCollection)]
    assert len(drawn[0].get_segments()) == len(display.slacks)


def test_one_variable():
    """On a line: boundary at -b/w, margins at (-1 - b)/w and (1 - b)/w."""
    height = np.array([170, 147, 150, 154, 175, 152, 173, 177, 160, 163, 165, 168.0])
    label = np.array(list("+---+-++-+-+"))
    X = pd.DataFrame({"height": height})
    model = mm.SVC(kernel="linear").fit(X, label)
    w, b = float(model.coef_[0, 0]), float(model.intercept_[0])
    ax = MarginDisplay.from_estimator(model, X, label).plot().ax_
    lines = {line.get_linestyle(): [] for line in ax.get_lines()}
    for line in ax.get_lines():
        lines[line.get_linestyle()].append(float(line.get_xdata()[0]))
    assert lines["-"] == pytest.approx([-b / w])
    assert sorted(lines["--"]) == pytest.approx(sorted([(-1 - b) / w, (1 - b) / w]))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["+", "-"]
    assert ax.get_xlabel() == "height"


@pytest.mark.parametrize("features", [None, "pca", ("mean radius", "worst texture"), "mean radius", (0, 3)])
def test_more_variables(features):
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target
    model = make_pipeline(StandardScaler(), mm.SVC()).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, features=features, resolution=20).plot()
    if features in (None, "pca"):
        assert display.ax_.get_title() == "plane of the first two principal components"
        assert "component 1" in display.ax_.get_xlabel()
        seen = model[:-1].transform(X)
        pca = PCA(2, svd_solver="full").fit(seen)
        placed = pca.transform(seen)
        signs = np.sign((placed * display.positions).sum(axis=0))  # a direction may point either way
        np.testing.assert_allclose(display.positions, placed * signs, atol=1e-8)
        point = np.array([display.lattice[0][7], display.lattice[1][3]])
        row = pca.mean_ + (point * signs) @ pca.components_
        assert display.surface[3, 7] == pytest.approx(model[-1].decision_function(row[None])[0])
    else:
        assert display.ax_.get_title() == "other variables at their median"
        column = "mean radius"
        row = X.median().to_frame().T
        row[column] = display.lattice[0][7]
        if len(display.names) == 2:
            row[display.names[1]] = display.lattice[1][3]
        expected = model.decision_function(row)[0]
        found = display.surface[3, 7] if len(display.names) == 2 else display.surface[7]
        assert found == pytest.approx(expected)
    assert len(display.slacks) == 0  # a segment in a cut would lie


def test_several_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.iloc[:, 2:]
    model = mm.SVC().fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, names=["a", "b", "c"]).plot()
    assert legend_of(display.ax_) == ["a", "b", "c", "support vector", "boundary"]
    np.testing.assert_array_equal(
        np.sort(scattered(display.ax_, "support vector"), axis=0), np.sort(X.iloc[model.support_], axis=0)
    )
    x, z = display.lattice
    corner = pd.DataFrame([[x[5], z[9]]], columns=X.columns)
    assert display.surface[9, 5] == model.predict(corner)[0]
    line = MarginDisplay.from_estimator(mm.SVC().fit(X.iloc[:, :1], y), X.iloc[:, :1], y).plot().ax_
    assert len(line.get_yticks()) == 3


def test_the_tube():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 6, (60, 1)), axis=0)
    y = pd.Series(np.sin(X[:, 0]) + 0.2 * rng.normal(size=60), name="wave")
    model = mm.SVR(C=10, gamma=0.5, epsilon=0.2).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y).plot()
    ax = display.ax_
    assert ax.get_ylabel() == "wave"
    assert len(display.slacks) == int((model.slack_ > 0).sum())
    lengths = np.abs(np.diff(display.slacks[:, :, 1], axis=1)).ravel()
    np.testing.assert_allclose(lengths, model.slack_[model.slack_ > 0], atol=1e-2)
    curve = ax.get_lines()[0].get_xydata()
    np.testing.assert_allclose(curve[:, 1], model.predict(curve[:, :1]))
    assert "tube of half width 0.2" in legend_of(ax)
    n_marked = sum(len(scattered(ax, f"support vector {where}")) for where in ("on the tube", "outside"))
    assert n_marked == len(model.support_)


def test_a_regression_on_two_variables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X[:, 0] ** 2 + X[:, 1]
    model = mm.SVR(C=10).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, resolution=15).plot()
    x, z = display.lattice
    assert display.surface[4, 6] == pytest.approx(model.predict([[x[6], z[4]]])[0])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x0", "x1")


@pytest.mark.parametrize("kind", ["OneClassSVM", "SVDD"])
def test_outliers(kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = mm.OneClassSVM(nu=0.2).fit(X) if kind == "OneClassSVM" else mm.SVDD(C=0.08).fit(X)
    display = MarginDisplay.from_estimator(model, X).plot()
    (line,) = contours(display.ax_, 0.0)
    assert np.abs(model.decision_function(line)).max() < 0.02 * np.ptp(display.surface)
    labels = legend_of(display.ax_)
    assert labels[0] == "rows"
    assert "support vector outside" in labels
    outside = scattered(display.ax_, "support vector outside")
    assert (model.decision_function(outside) < 1e-3).all()


def test_models_without_margins_have_none(moons):
    X, y = moons
    display = MarginDisplay.from_estimator(mm.LogisticRegression(C=1.0).fit(X, y), X, y)
    assert not display.margins
    assert display.kinds is None
    assert "margins" not in legend_of(display.plot().ax_)


def test_linear_machines_know_their_kinds(moons):
    X, y = moons
    model = mm.LinearSVC(tol=1e-8).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    np.testing.assert_array_equal(display.kinds == "misclassified", signs * model.decision_function(X) < 0)


def test_other_rows_have_no_support_vectors(moons):
    X, y = moons
    model = mm.SVC().fit(X[:40], y[:40])
    assert MarginDisplay.from_estimator(model, X[40:], y[40:]).kinds is None


def test_scikit_learns_machines_too(moons):
    from sklearn.svm import SVC

    X, y = moons
    display = MarginDisplay.from_estimator(SVC().fit(X, y), X, y)
    assert display.margins
    assert (display.kinds != "outside").sum() == len(SVC().fit(X, y).support_)


def test_mistakes_are_named(moons):
    X, y = moons
    model = mm.SVC().fit(X, y)
    with pytest.raises(ValueError, match="'height' is not a column"):
        MarginDisplay.from_estimator(model, X, y, features="height")
    with pytest.raises(ValueError, match="one or two different variables"):
        MarginDisplay.from_estimator(model, X, y, features=("age", "age"))
    with pytest.raises(ValueError, match="y is None"):
        MarginDisplay.from_estimator(model, X)
    with pytest.raises(ValueError, match="are not classes of the model"):
        MarginDisplay.from_estimator(model, X, np.where(y == "ill", "ill", "dead"))
    with pytest.raises(ValueError, match="missing values"):
        MarginDisplay.from_estimator(model, X.assign(age=np.nan), y)
    with pytest.raises(ValueError, match="not a number"):
        MarginDisplay.from_estimator(model, X.assign(age="old"), y)
    with pytest.raises(TypeError, match="is not a classifier"):
        MarginDisplay.from_estimator(StandardScaler().fit(X), X, y)


def test_crossings_of_a_plane_are_exact():
    x, z = np.linspace(0, 1, 7), np.linspace(0, 2, 9)
    surface = 3 * x[None, :] - z[:, None] + 0.1
    found = crossings([x, z], surface)
    np.testing.assert_allclose(3 * found[:, 0] - found[:, 1] + 0.1, 0, atol=1e-12)
