"""Kernels, losses, convergence, feature maps, digits, confusion, importance, predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_circles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin import displays
from maxmargin.displays.machines.feature_map_display import plane_in_box
from maxmargin.kernels import RBF, Linear, Polynomial, Sigmoid, Spectrum
from maxmargin.machines.svm.certify import solve_in_stages


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


# -- kernels ---------------------------------------------------------------------------------------


def test_gram_is_ordered_by_class(iris):
    X, y = iris
    order = np.random.default_rng(0).permutation(len(X))
    kernel = RBF(gamma=0.5)
    display = displays.KernelDisplay.from_estimator(kernel, X.iloc[order], y[order]).plot()
    assert display.classes == ("setosa", "versicolor", "virginica")
    assert display.sizes == (50, 50, 50)
    image = display.axes_[0].get_images()[0].get_array()
    np.testing.assert_array_equal(image, display.gram)
    # rows of a class stay in the order in which they were given
    places = np.argsort(y[order], kind="stable")
    np.testing.assert_allclose(display.gram, kernel(X.iloc[order].iloc[places]))
    assert [t.get_text() for t in display.axes_[0].get_yticklabels()] == list(display.classes)


def test_spectrum_and_verdict(iris):
    X, y = iris
    good = displays.KernelDisplay.from_estimator(RBF(gamma=0.5), X, y).plot(part="spectrum")
    assert good.axes_[0].get_title() == "positive semidefinite on these 150 rows"
    drawn = good.axes_[0].get_lines()[0].get_ydata()
    np.testing.assert_allclose(drawn[:20], good.check.spectrum[::-1][:20])
    with pytest.warns(UserWarning, match="definite"):
        kernel = Sigmoid(gamma=0.1, coef0=-1.0)
    bad = displays.KernelDisplay.from_estimator(kernel, StandardScaler().fit_transform(X)).plot(
        part="spectrum"
    )
    assert "not positive semidefinite" in bad.axes_[0].get_title()
    assert "negative (size)" in [t.get_text() for t in bad.axes_[0].get_legend().get_texts()]


def test_section(iris):
    X, y = iris
    kernel = RBF(gamma=0.5)
    line = displays.KernelDisplay.from_estimator(kernel, X, y, feature="sepal width (cm)", x0=3).plot()
    x, values = line.axes_[2].get_lines()[0].get_xydata().T
    rows = pd.concat([X.iloc[[3]]] * len(x), ignore_index=True)
    rows["sepal width (cm)"] = x
    np.testing.assert_allclose(values, kernel(rows, X.iloc[[3]]).ravel())
    assert line.axes_[2].get_xlabel() == "sepal width (cm)"
    plane = displays.KernelDisplay.from_estimator(kernel, X.iloc[:, :2], y)
    assert plane.section.max() == pytest.approx(1.0, abs=0.01)
    assert plane.plot(part="section").axes_[0].get_ylabel() == "sepal width (cm)"
    words = displays.KernelDisplay.from_estimator(Spectrum(2), ["abab", "abba", "cdcd"], x0=0)
    assert words.section[0] == pytest.approx(1.0)
    assert words.plot(part="section").axes_[0].get_xlabel() == "rows, the most similar first"


def test_kernel_of_a_model_and_mistakes(iris):
    X, y = iris
    model = make_pipeline(StandardScaler(), mm.SVC(kernel=RBF(gamma=0.2) + Linear())).fit(X, y)
    display = displays.KernelDisplay.from_estimator(model, X, y, most=30)
    assert display.gram.shape == (30, 30)
    assert sum(display.sizes) == 30
    with pytest.raises(TypeError, match="no kernel_"):
        displays.KernelDisplay.from_estimator(mm.LinearSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="x0=900"):
        displays.KernelDisplay.from_estimator(RBF(gamma=1.0), X, y, x0=900)
    with pytest.raises(ValueError, match="not a variable"):
        displays.KernelDisplay.from_estimator(RBF(gamma=1.0), X, y, feature="width")
    with pytest.raises(ValueError, match="part="):
        display.plot(part="whole")


# -- losses ----------------------------------------------------------------------------------------


def test_losses_against_the_margin():
    ax = displays.LossDisplay.from_names().plot().ax_
    curves = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    m, hinge = curves["hinge"].T
    np.testing.assert_allclose(hinge, np.maximum(0, 1 - m))
    np.testing.assert_allclose(curves["logistic"][:, 1], np.log1p(np.exp(-m)))
    np.testing.assert_allclose(curves["zero one"][:, 1], m <= 0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("margin y f(x)", "loss")


def test_the_loss_of_a_model_is_thick():
    ax = displays.LossDisplay.from_estimator(mm.SVR(epsilon=0.3)).plot().ax_
    widths = {line.get_label(): line.get_linewidth() for line in ax.get_lines()}
    assert max(widths, key=widths.get) == "epsilon insensitive"
    r, values = next(ln for ln in ax.get_lines() if ln.get_label() == "epsilon insensitive").get_xydata().T
    np.testing.assert_allclose(values, np.maximum(0, np.abs(r) - 0.3), atol=1e-12)
    assert displays.LossDisplay.from_estimator(mm.LogisticRegression()).chosen == "logistic"
    assert displays.LossDisplay.from_estimator(mm.SVC(loss="squared_hinge")).chosen == "squared_hinge"
    with pytest.raises(TypeError, match="no loss"):
        displays.LossDisplay.from_estimator(mm.FisherDiscriminant())
    with pytest.raises(ValueError, match="loss='nothing'"):
        displays.LossDisplay.from_names(["nothing"])


# -- convergence -----------------------------------------------------------------------------------


def test_convergence_ends_with_the_certificate():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), mm.SVC(tol=1e-4)).fit(X, y)
    display = displays.ConvergenceDisplay.from_estimator(model, X, y).plot()
    assert (np.diff(display.steps) > 0).all()
    assert display.kkt[-1] <= 1e-4 < display.kkt[0]
    assert display.gap[-1] < 1e-4 < display.gap[0]
    assert display.n_support[-1] == pytest.approx(len(model[-1].support_), abs=3)
    labels = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert labels == ["KKT violation", "relative duality gap", "tol", "active rows", "support vectors"]
    np.testing.assert_array_equal(display.ax_.get_lines()[0].get_ydata(), display.kkt)


def test_a_trace_step_by_step():
    X, y = load_breast_cancer(return_X_y=True)
    model = mm.SVC(solver="smo", shrinking=False, trace=True).fit(X, y)
    display = displays.ConvergenceDisplay.from_result(model.trace_, tol=model.tol).plot()
    noted = model.trace_.dropna(subset=["violation"])
    np.testing.assert_array_equal(display.steps, noted["step"])
    np.testing.assert_array_equal(display.ax_.get_lines()[0].get_ydata(), noted["violation"])
    assert display.gap[-1] < 1e-2 < display.gap[0]
    with pytest.raises(ValueError, match="no steps of machine 3"):
        displays.ConvergenceDisplay.from_result(model.trace_, machine=3)
    linear = mm.LinearSVC().fit(X, y)
    with pytest.raises(TypeError, match="no dual problem"):
        displays.ConvergenceDisplay.from_estimator(linear, X, y)


@pytest.mark.parametrize("kind", ["SVR", "OneClassSVM", "NuSVC"])
def test_every_machine_can_be_told_again(kind, iris):
    X, y = iris
    model, target = {
        "SVR": (mm.SVR(), X.iloc[:, 3]),
        "OneClassSVM": (mm.OneClassSVM(), None),
        "NuSVC": (mm.NuSVC(nu=0.1), y),
    }[kind]
    found = solve_in_stages(model.fit(X, target), X, target)
    assert found.kkt[-1] <= model.tol
    with pytest.raises(ValueError, match="machine=9"):
        solve_in_stages(model, X, target, machine=9)


# -- feature maps ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def circles():
    X, y = make_circles(100, factor=0.4, noise=0.05, random_state=0)
    return X, np.where(y, "inner", "outer")


def test_the_plane_is_that_of_the_machine(circles):
    X, y = circles
    model = mm.SVC(kernel=Polynomial(degree=2, coef0=0, gamma=0.7), C=10).fit(X, y)
    display = displays.FeatureMapDisplay.from_estimator(model, X, y).plot()
    f = display.lifted @ display.normal + display.intercept
    np.testing.assert_allclose(f, model.decision_function(X), atol=1e-9)
    assert [type(part).__name__ for part in display.ax_.collections] == ["Poly3DCollection"] + 2 * [
        "Path3DCollection"
    ]
    box = display.lifted.min(axis=0), display.lifted.max(axis=0)
    corners = plane_in_box(display.normal, display.intercept, *box)
    np.testing.assert_allclose(corners @ display.normal + display.intercept, 0, atol=1e-9)
    assert display.ax_.get_zlabel() == "x2²"
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["inner", "outer"]


def test_maps(circles):
    X, y = circles
    named = pd.DataFrame(X, columns=["east", "north"])
    display = displays.FeatureMapDisplay.from_map("bowl", named, y)
    assert display.names == ("east", "north", "east² + north²")
    sides = display.lifted @ display.normal + display.intercept > 0
    assert (sides == (y == "outer")).all()
    own = displays.FeatureMapDisplay.from_map(lambda Z: np.column_stack([Z, Z[:, 0] * Z[:, 1]]), X, y)
    assert own.lifted.shape == (100, 3)
    with pytest.raises(ValueError, match="phi='cube'"):
        displays.FeatureMapDisplay.from_map("cube", X, y)
    with pytest.raises(ValueError, match="degree=2"):
        displays.FeatureMapDisplay.from_estimator(mm.SVC().fit(X, y), X, y)
    import matplotlib.pyplot as plt

    with pytest.raises(ValueError, match="3-D"):
        own.plot(plt.subplots()[1])


def test_plane_in_box():
    low, high = np.zeros(3), np.ones(3)
    hexagon = plane_in_box(np.ones(3), -1.5, low, high)
    assert len(hexagon) == 6
    sides = np.linalg.norm(hexagon - np.roll(hexagon, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, np.sqrt(0.5))
    assert len(plane_in_box(np.array([0.0, 0.0, 1.0]), -0.5, low, high)) == 4
    assert len(plane_in_box(np.ones(3), 5.0, low, high)) == 0


# -- digits ----------------------------------------------------------------------------------------


def test_digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    model = mm.SVC(gamma=0.001).fit(X, y)
    display = displays.DigitsDisplay.from_estimator(model, X, y, most=10).plot()
    weights = np.abs(model.dual_coef_).sum(axis=0)
    assert display.rows[0] == model.support_[weights.argmax()]
    assert (np.diff(display.weights) <= 0).all()
    images = display.ax_.get_images()
    assert len(images) == 10
    np.testing.assert_array_equal(images[0].get_array(), X[display.rows[0]].reshape(8, 8))
    assert display.labels == [str(y[row]) for row in display.rows]
    assert f"of {len(weights)} support vectors" in display.ax_.get_title()
    with pytest.raises(ValueError, match="needs the rows that the model was fitted on"):
        displays.DigitsDisplay.from_estimator(model, X[::2], y[::2])
    with pytest.raises(ValueError, match="do not fill an image of 7 x 8"):
        displays.DigitsDisplay.from_estimator(model, X, y, shape=(7, 8))
    with pytest.raises(TypeError, match="no support vectors"):
        displays.DigitsDisplay.from_estimator(mm.LinearSVC().fit(X, y), X, y)


# -- confusion, importance, predictions ------------------------------------------------------------


def test_confusion(iris):
    X, y = iris
    model = mm.SVC(C=0.05).fit(X, y)
    display = displays.ConfusionDisplay.from_estimator(model, X, y).plot()
    expected = mm.evaluate(model, X, y).confusion
    np.testing.assert_array_equal(display.counts, expected.counts)
    written = [int(text.get_text()) for text in display.ax_.texts]
    assert written == expected.counts.ravel().astype(int).tolist()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("truth", "predicted")
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == list(expected.names)
    image = display.ax_.get_images()[0].get_array()
    np.testing.assert_allclose(image.sum(axis=0), 1.0)


def test_importance(iris):
    X, y = iris
    display = displays.ImportanceDisplay.from_estimator(mm.SVC().fit(X, y), X, y, most=3).plot()
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert names == display.table["variable"].head(3).tolist()[::-1]
    np.testing.assert_allclose(
        [bar.get_width() for bar in display.ax_.patches], display.table["importance"].head(3)[::-1]
    )
    assert display.ax_.get_title() == "1 further variables are not shown"


def test_predictions(iris):
    X, _ = iris
    y = X.iloc[:, 3]
    model = mm.SVR().fit(X.iloc[:, :3], y)
    display = displays.PredictionDisplay.from_estimator(model, X.iloc[:, :3], y).plot()
    drawn = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(drawn, np.column_stack([y, model.predict(X.iloc[:, :3])]))
    assert display.ax_.get_xlabel() == "petal width (cm): truth"


# -- all of them -----------------------------------------------------------------------------------


def test_no_display_loads_matplotlib_before_it_draws():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "import maxmargin.displays as d\n"
        "[getattr(d, name) for name in d.__all__]\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", displays.__all__)
def test_every_display_has_a_way_in_and_an_example(name):
    kind = getattr(displays, name)
    assert hasattr(kind, "from_estimator") or hasattr(kind, "from_result")
    assert callable(kind.plot)
    assert ">>>" in kind.__doc__
