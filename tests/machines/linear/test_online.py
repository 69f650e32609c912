"""The online learners: the loop against plain Python, bounds, partial_fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

import maxmargin as mm
from maxmargin.problems.multiclass import binary_tasks
from maxmargin.solvers.online.online_loop import OnlineLoop, Schedule


def _data(n=80, p=5, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X @ np.linspace(1, -1, p) + 0.3 + noise * rng.normal(size=n) > 0, 1, -1)
    return X, y


def _plain(
    rule, X, y, weights, *, eta0=1.0, lam=0.0, C=np.inf, schedule="constant", radius=0.0, decay_bias=False
):
    """The algorithms as Fuentes prints them, rows in order: last iterate, average, mistakes."""
    w, b, total, mistakes = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[1] + 1), 0
    for t, (x, label, weight) in enumerate(zip(X, y, weights, strict=True), start=1):
        f = w @ x + b
        m = label * f
        eta = {
            "constant": eta0,
            "inverse_root": eta0 / np.sqrt(t),
            "strongly_convex": 1 / (lam * t) if lam else 0.0,
            "inverse_decay": eta0 / (1 + eta0 * lam * t),
        }[schedule]
        mistakes += m <= 0
        if rule == "perceptron":
            g = weight * label * (m <= 0)
        elif rule == "squares":
            g = weight * (label - f)
        elif rule == "hinge":
            g = weight * label * (m < 1)
        else:
            size = x @ x + 1
            g = label * (m < 1)
            eta = (
                min((1 - m) / size, C * weight) if rule == "pa1" else (1 - m) / (size + 1 / (2 * C * weight))
            )
        keep = 1 - eta * lam
        w = keep * w + eta * g * x
        b = (keep if decay_bias else 1) * b + eta * g
        length = np.sqrt(w @ w + (b * b if decay_bias else 0))
        if radius and length > radius:
            w = w * radius / length
            b = b * radius / length if decay_bias else b
        total += np.append(w, b)
    return np.append(w, b), total / len(y), int(mistakes)


CASES = [
    ("perceptron", {}),
    ("pa1", {"C": 0.3}),
    ("pa2", {"C": 0.3}),
    ("hinge", {"schedule": "strongly_convex", "lam": 0.1, "decay_bias": True}),
    ("hinge", {"schedule": "strongly_convex", "lam": 0.1, "decay_bias": True, "radius": 1 / np.sqrt(0.1)}),
    ("hinge", {"schedule": "constant", "eta0": 0.05}),
    ("squares", {"schedule": "inverse_decay", "eta0": 0.02, "lam": 0.1}),
    ("squares", {"schedule": "inverse_root", "eta0": 0.02}),
]


@pytest.mark.parametrize(("rule", "options"), CASES, ids=lambda case: str(case))
@pytest.mark.parametrize("as_sparse", [False, True])
def test_loop_is_the_text(rule, options, as_sparse):
    X, y = _data(noise=0.5)
    weights = np.linspace(0.5, 1.5, len(y))
    loop = OnlineLoop(
        rule=rule,
        schedule=Schedule(options.get("schedule", "constant"), options.get("eta0", 1.0)),
        decay=options.get("lam", 0.0),
        C=options.get("C", np.inf),
        decay_bias=options.get("decay_bias", False),
        radius=options.get("radius", 0.0),
        average=True,
    )
    state = loop.start(5, 0)
    mistakes, _ = loop.run(
        state, sparse.csr_matrix(X) if as_sparse else X, y.astype(float), weights, shuffle=False
    )
    last, average, expected = _plain(rule, X, y, weights, **options)
    np.testing.assert_allclose(state.theta(average=False), last, atol=1e-9)
    np.testing.assert_allclose(state.theta(average=True), average, atol=1e-9)
    if rule != "squares":
        assert mistakes == expected


def test_average_survives_many_projections():
    """A small lambda shrinks the scale of w thousands of times; the average must not lose its digits."""
    X, y = _data(n=3000, noise=0.5)
    options = {"schedule": "strongly_convex", "lam": 1e-3, "decay_bias": True, "radius": 1 / np.sqrt(1e-3)}
    last, average, _ = _plain("hinge", X, y, np.ones(3000), **options)
    model = mm.Pegasos(1e-3, max_iter=1, shuffle=False).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), average, rtol=1e-8)
    model = mm.Pegasos(1e-3, max_iter=1, shuffle=False, average=False).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), last, rtol=1e-8)


@pytest.mark.parametrize("average", [False, True])
def test_perceptron_keeps_novikoffs_bound(average):
    X, y = _data()
    model = mm.Perceptron(average=average, max_iter=5000, random_state=0).fit(X, y)
    assert model.converged_
    assert "all points are right" in model.stopped_
    assert pytest.approx(np.sqrt(np.max(np.sum(X**2, axis=1)) + 1)) == model.R_
    # the reached margin is at most the best one, so that its bound is at least Novikoff's
    assert model.n_mistakes_[0] <= model.bound_[0]
    assert model.history_["mistakes"].sum() == model.n_mistakes_[0]
    if not average:
        assert model.margin_[0] > 0
        assert model.score(X, y) == 1.0


def test_perceptron_says_that_it_gave_up():
    X, y = _data(noise=3.0)
    with pytest.warns(ConvergenceWarning, match="may not be separable"):
        model = mm.Perceptron(max_iter=5, random_state=0).fit(X, y)
    assert not model.converged_
    assert np.isnan(model.bound_[0])


def test_passive_aggressive_lam_is_one_over_C():
    X, y = _data(noise=1.0)
    one = mm.PassiveAggressive(lam=4.0, random_state=0).fit(X, y)
    other = mm.PassiveAggressive(C=0.25, random_state=0).fit(X, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="give one"):
        mm.PassiveAggressive(C=2.0, lam=4.0).fit(X, y)


def test_passive_aggressive_says_that_its_loss_still_fell():
    X, y = _data(n=400, noise=0.1)
    with pytest.warns(ConvergenceWarning, match="was still falling after 3 passes; raise max_iter=3"):
        mm.PassiveAggressive(max_iter=3, random_state=0).fit(X, y)
    mm.PassiveAggressive(max_iter=3, tol=None, random_state=0).fit(X, y)  # warnings are errors


def _penalised_optimum(X, y, lam, weights=None):
    """lambda/2 ||(w, b)||^2 + mean hinge by our own exact solver, the intercept as a column."""
    wide = np.column_stack([X, np.ones(len(X))])
    exact = mm.LinearSVC(1 / (lam * len(y)), loss="hinge", fit_intercept=False, tol=1e-8)
    exact.fit(wide, y, sample_weight=weights)
    return lam * exact.certificate_.primal


def test_pegasos_and_subgradients_keep_their_bounds():
    X, y = _data(n=300, noise=0.5)
    best = _penalised_optimum(X, y, 0.05)
    for model in (
        mm.Pegasos(0.05, max_iter=50, random_state=0),
        mm.SubgradientDescent(mode="stochastic", lam=0.05, random_state=0),
        mm.SubgradientDescent(mode="batch", lam=0.05, max_iter=2000),
    ):
        model.fit(X, y)
        assert best - 1e-9 <= model.objective_[0] <= best + model.bound_


def test_constant_steps_keep_their_bound():
    X, y = _data(n=200)
    best = mm.LinearSVC(1e3, loss="hinge").fit(X, y)
    length = float(np.hypot(np.linalg.norm(best.coef_), best.intercept_[0]))
    reach = np.mean(np.maximum(0, 1 - y * best.decision_function(X)))
    model = mm.SubgradientDescent(mode="batch", step="constant", B=length, max_iter=3000).fit(X, y)
    assert model.objective_[0] <= reach + model.bound_


@pytest.mark.parametrize("name", ["Perceptron", "PassiveAggressive", "Pegasos", "SubgradientDescent"])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_partial_fit_in_order_is_one_pass_of_fit(name, multiclass):
    X, y = _data(n=120)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    options = {"multiclass": multiclass, "shuffle": False}
    chunks = getattr(mm, name)(**options)
    for rows in np.array_split(np.arange(120), 4):
        chunks.partial_fit(sparse.csr_matrix(X[rows]), y[rows], classes=[0, 1, 2])
    whole = getattr(mm, name)(max_iter=1, **options).fit(X, y)
    np.testing.assert_allclose(chunks.coef_, whole.coef_, atol=1e-9)
    np.testing.assert_allclose(chunks.intercept_, whole.intercept_, atol=1e-9)


def test_partial_fit_names_strange_labels():
    with pytest.raises(ValueError, match="needs classes"):
        mm.Perceptron().partial_fit([[1.0]], [1])
    with pytest.raises(ValueError, match="not in classes"):
        mm.Perceptron().partial_fit([[1.0]], [7], classes=[0, 1])


def _share_of_the_heavy_class(model):
    """What scikit-learn's check_class_weight_classifiers does, for one model."""
    X, y = make_blobs(centers=2, random_state=0, cluster_std=20)
    X_fit, X_test, y_fit, _ = train_test_split(X, y, test_size=0.5, random_state=0)
    model.set_params(class_weight={0: 1000, 1: 0.0001}, random_state=0).fit(X_fit, y_fit)
    return np.mean(model.predict(X_test) == 0)


def test_why_an_average_fails_the_check_of_class_weights():
    """The weights are right: the last iterate passes (above 0.87), and so does the average of more steps.

    The rows are 60 long and the steps 1/(lambda t), so that the first iterates fill the ball of radius
    1/sqrt(lambda); after the check's 1000 passes over 50 rows the theorem's bound is still above 1000.
    """
    short = mm.Pegasos(max_iter=1000)
    assert _share_of_the_heavy_class(short) < 0.87
    assert short.bound_ > 1000
    assert _share_of_the_heavy_class(mm.Pegasos(max_iter=1000, average=False)) > 0.87
    assert _share_of_the_heavy_class(mm.Pegasos(max_iter=20_000)) > 0.87
    assert _share_of_the_heavy_class(mm.SubgradientDescent(max_iter=20_000)) > 0.87


ALL = [
    mm.Perceptron(max_iter=3),
    mm.PassiveAggressive(max_iter=3),
    mm.PassiveAggressive(variant="pa2", max_iter=3),
    mm.Pegasos(0.1, max_iter=3),
    mm.SubgradientDescent(lam=0.1, max_iter=3),
    mm.SubgradientDescent(step="constant", max_iter=3),
    mm.SubgradientDescent(mode="batch", lam=0.1, max_iter=3),
    mm.SubgradientDescent(mode="batch", step="constant", max_iter=3),
    mm.KernelPerceptron(gamma=0.5, max_iter=3),
]


@pytest.mark.parametrize("model", ALL, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # three passes are meant
def test_a_row_of_weight_zero_does_nothing(model):
    X, y = _data(noise=0.5)
    weights = np.tile([1.0, 0.0, 2.0, 1.0], 20)
    X[1] *= 100.0  # far away, where R and the bounds would notice
    kept = weights > 0
    model = clone(model).set_params(shuffle=False)
    light, few = clone(model).fit(X, y, weights), clone(model).fit(X[kept], y[kept], weights[kept])
    np.testing.assert_allclose(light.decision_function(X), few.decision_function(X), rtol=1e-10)
    pd.testing.assert_frame_equal(light.history_, few.history_)
    for name in ("R_", "bound_", "objective_"):
        np.testing.assert_allclose(getattr(light, name, 0.0), getattr(few, name, 0.0), rtol=1e-12)


@pytest.mark.parametrize("model", [mm.Pegasos(0.1), mm.SubgradientDescent(lam=0.1)], ids=str)
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_every_pair_of_classes_has_its_own_weighted_mean(model, multiclass):
    """A heavy third class leaves the machine of the two others what it was; all keep the bound."""
    X, _ = _data(n=240)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    heavy = {0: 1.0, 1: 1.0, 2: 20.0}
    model = clone(model).set_params(max_iter=60, multiclass=multiclass, class_weight=heavy, random_state=0)
    model.fit(X, y)
    weights = np.array([heavy[label] for label in y])
    for task, value in zip(binary_tasks(y, 3, multiclass), model.objective_, strict=True):
        mine = weights[task.rows]
        best = _penalised_optimum(X[task.rows], task.signs, 0.1, mine / mine.mean())
        assert best - 1e-9 <= value <= best + model.bound_
    if multiclass == "ovo":
        np.testing.assert_array_equal(
            model.coef_[0], clone(model).set_params(class_weight=None).fit(X, y).coef_[0]
        )


@pytest.mark.parametrize("model", [*ALL[:5], ALL[-1]], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # three passes are meant
def test_more_rows_after_a_fit(model):
    """They go on from its weights; what was said of the fit alone is gone; the classes stay."""
    X, y = _data(noise=0.5)
    model = clone(model).set_params(shuffle=False).fit(X, y)
    before, history = model.decision_function(X), model.history_
    model.partial_fit(X[:20], -y[:20], classes=[-1, 1])  # all of them wrong
    assert np.abs(model.decision_function(X) - before).max() > 1e-3
    pd.testing.assert_frame_equal(model.history_.iloc[:3], history)
    assert model.n_iter_ == len(model.history_) == 4
    for name in ("R_", "margin_", "bound_", "objective_", "converged_", "stopped_"):
        assert not hasattr(model, name)
    with pytest.raises(ValueError, match="a stream keeps its classes"):
        model.partial_fit(X, y, classes=[-1, 0, 1])


def test_the_kernel_perceptron_has_the_perceptron_s_history():
    X, y = _data(noise=0.5)
    weights = np.linspace(0.0, 2.0, len(y))
    with pytest.warns(ConvergenceWarning):
        plain = mm.Perceptron(shuffle=False, max_iter=4).fit(X, y, weights)
    with pytest.warns(ConvergenceWarning):
        kernel = mm.KernelPerceptron("linear", shuffle=False, max_iter=4).fit(X, y, weights)
    pd.testing.assert_frame_equal(kernel.history_, plain.history_)
