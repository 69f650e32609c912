"""The result, the other paths, leave-one-out, interruption, bad input."""

from __future__ import annotations

import warnings
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import maxmargin as mm
from maxmargin.kernels import Subsequence
from maxmargin.solvers.dual.gram import leave_one_out
from maxmargin.solvers.dual.gram.warm_starts import PlacedProblem
from maxmargin.tuning import search as search_module
from maxmargin.tuning.grid import C_VALUES, EPSILON_VALUES, GAMMA_VALUES, default_grid
from maxmargin.tuning.search import GridRun
from tests.clocks import warm


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:120], y[:120]


def test_the_result_tells_all(data):
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1]}
    result = mm.tune(mm.SVC(), *data, grid, cv=4)
    assert list(result.table.columns) == ["C", "gamma", "error", "dispersion", "seconds", "status"]
    assert set(result.table["status"]) == {"converged"}
    assert result.folds.shape == (6, 4)
    np.testing.assert_allclose(result.table["error"], result.folds.mean(axis=1))
    np.testing.assert_allclose(result.table["dispersion"], result.folds.std(axis=1, ddof=1))
    assert result.best_error == result.table["error"].min()
    assert result.best_params["C"] == result.best_estimator.C
    near = result.best_error + result.table["dispersion"].iloc[result.best_index] / 2
    assert result.table["error"].iloc[result.one_standard_error_index] <= near
    assert "best parameters" in str(result)


def test_an_edge_of_the_grid_is_reported(data):
    with_edge = mm.tune(mm.SVC(gamma=0.01), *data, {"C": [1e-3, 1e-2, 1e-1]}, cv=3)
    assert with_edge.edges() == ["C"]
    assert "edge of the grid" in str(with_edge)
    with pytest.warns(UserWarning, match="edge of the grid"):
        with_edge.display()


def test_the_picture_holds_the_errors(data):
    result = mm.tune(
        mm.SVC(), *data, {"C": [0.01, 0.1, 1e3, 1.0], "gamma": [0.02, 1e-5, 10.0]}, cv=3, refit=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where the best cell lies is not the matter here
        display = mm.displays.TuneDisplay.from_result(result)
    display.plot()
    assert display.x_values == [0.01, 0.1, 1.0, 1e3]
    assert display.errors[display.best] == result.best_error
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), display.errors)
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels == ["simplest within one standard error", "best"]
    assert "logarithmic" in display.ax_.get_xlabel()


def test_default_grids_are_those_of_the_texts():
    assert (len(C_VALUES), C_VALUES[0], C_VALUES[-1]) == (11, 2.0**-5, 2.0**15)
    assert (len(GAMMA_VALUES), GAMMA_VALUES[0], GAMMA_VALUES[-1]) == (10, 2.0**-15, 2.0**3)
    assert (EPSILON_VALUES[0], EPSILON_VALUES[-1]) == (2.0**-8, 2.0**-1)
    assert set(default_grid(make_pipeline(StandardScaler(), mm.SVR()))) == {
        "svr__C",
        "svr__gamma",
        "svr__epsilon",
    }
    assert set(default_grid(mm.SVC(kernel="linear"))) == {"C"}
    with pytest.raises(ValueError, match="no default grid"):
        default_grid(mm.NuSVC())


def test_everything_else_is_fitted_cell_by_cell_and_says_so(data):
    result = mm.tune(LogisticRegression(), *data, {"C": [0.1, 1.0]}, cv=3, n_jobs=1)
    assert "scikit-learn" in result.path
    expected = [1 - cross_val_score(LogisticRegression(C=c), *data, cv=3).mean() for c in (0.1, 1.0)]
    np.testing.assert_allclose(result.table["error"], expected)


@pytest.mark.parametrize("model", [mm.SVC(C=1.0), LogisticRegression()])
def test_the_step_of_a_pipeline_that_shares_nothing_is_named(data, model):
    end = type(model).__name__
    steps = make_pipeline(StandardScaler(), PCA(2), model)
    result = mm.tune(steps, *data, {f"{end.lower()}__C": [1.0]}, cv=3, refit=False)
    assert result.path.endswith(f": {'PCA' if end == 'SVC' else end} has no shared path")


def test_a_matrix_that_does_not_fit_uses_the_row_store(data):
    small = mm.tune(mm.SVC(cache_size=0.05), *data, {"C": [0.1, 1.0]}, cv=3)
    large = mm.tune(mm.SVC(), *data, {"C": [0.1, 1.0]}, cv=3)
    assert "row store" in small.path
    np.testing.assert_allclose(small.folds, large.folds)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_leave_one_out_is_exact(C, data):
    X, y = data
    model = mm.SVC(C=C, gamma=0.05, tol=1e-6)
    result = mm.tune(model, X, y, {"C": [C]}, cv="loo", refit=False)
    np.testing.assert_allclose(result.folds[0], 1 - cross_val_score(model, X, y, cv=LeaveOneOut()))


@pytest.mark.parametrize("model", [mm.SVC(kernel="linear"), mm.SVC(gamma=0.5), mm.SVR(kernel="linear")])
def test_leave_one_out_with_a_huge_cost(model):
    """Pairwise steps alone took 46 s for the first; forty fits take 1 s."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=40)
    y = y if isinstance(model, mm.SVR) else (y > 0).astype(int)
    model.set_params(C=1e6)
    result, seconds = warm(lambda: mm.tune(model, X, y, {"C": [1e6]}, cv="loo", refit=False))
    assert seconds < 20
    scoring = "neg_mean_squared_error" if isinstance(model, mm.SVR) else "accuracy"
    plain = cross_val_score(model, X, y, cv=LeaveOneOut(), scoring=scoring)
    np.testing.assert_allclose(result.folds[0], (scoring == "accuracy") - plain, rtol=1e-2, atol=1e-6)
    assert result.table["status"].tolist() == ["converged"]


def test_leave_one_out_of_regression_is_exact():
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:60], y[:60] / 100
    model = mm.SVR(C=2.0, gamma=0.05, tol=1e-8)
    result = mm.tune(model, X, y, {"C": [2.0], "epsilon": [0.05, 0.3]}, cv="loo", refit=False)
    for k, epsilon in enumerate([0.05, 0.3]):
        plain = cross_val_score(
            mm.SVR(C=2.0, gamma=0.05, tol=1e-8, epsilon=epsilon),
            X,
            y,
            cv=LeaveOneOut(),
            scoring="neg_mean_squared_error",
        )
        np.testing.assert_allclose(result.folds[k], -plain, atol=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        mm.SVC(gamma="scale", tol=1e-6),
        mm.SVC(gamma=0.05, class_weight="balanced", tol=1e-6),
        mm.NuSVC(nu=0.2, gamma=0.05, tol=1e-6),
        make_pipeline(StandardScaler(), mm.SVC(gamma=0.05, tol=1e-6)),
    ],
    ids=["scale", "balanced", "nu", "scaler"],
)
def test_leave_one_out_refits_what_depends_on_all_rows(model, data):
    X, y = data[0][:50], data[1][:50]
    name = "svc__tol" if hasattr(model, "steps") else "tol"
    result = mm.tune(model, X, y, {name: [1e-6]}, cv="loo", refit=False)
    np.testing.assert_allclose(result.folds[0], 1 - cross_val_score(model, X, y, cv=LeaveOneOut()))


def test_leave_one_out_solves_support_vectors_only(data, monkeypatch):
    X, y = data
    seen = []
    original = leave_one_out._points_that_matter

    def spy(problem, t):
        seen.append(len(original(problem, t)))
        return original(problem, t)

    monkeypatch.setattr(leave_one_out, "_points_that_matter", spy)
    mm.tune(mm.SVC(gamma=0.01), X, y, {"C": [1.0]}, cv="loo", refit=False)
    n_support = len(mm.SVC(C=1.0, gamma=0.01).fit(X, y).support_)
    assert 0 < seen[0] < len(y)
    assert abs(seen[0] - n_support) <= 3


def test_folds_start_from_each_other(monkeypatch):
    """Seeding a fold by the last one must save a fifth of the steps at least, at the same errors.

    With 20 folds of 569 rows, more than the 512 up to which all cells of a fold go along C.
    """
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    original = PlacedProblem.state
    steps = []

    def spy(self, *args):
        state = original(self, *args)
        steps.append(state.ending.n_iter)
        return state

    def total():
        steps.clear()
        result = mm.tune(mm.SVC(gamma=0.02), X, y, {"C": [0.1, 1.0, 10.0]}, cv=20, refit=False, n_jobs=1)
        return sum(steps), result.folds

    monkeypatch.setattr(PlacedProblem, "state", spy)
    seeded, errors = total()
    monkeypatch.setattr(PlacedProblem, "start_from_fold", lambda *_: None)
    cold, cold_errors = total()
    assert seeded < 0.8 * cold
    np.testing.assert_allclose(errors, cold_errors)


def test_interruption_returns_the_finished_cells(data, monkeypatch):
    original = search_module.SharedTask.run
    calls = []

    def stop_at_second(self, *args):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(search_module.SharedTask, "run", stop_at_second)
    result = mm.tune(mm.SVC(), *data, {"C": [0.1, 1.0], "gamma": [0.01, 0.1]}, cv=3)
    assert result.interrupted
    assert len(result.table) == 2
    assert result.best_estimator is None
    calls.append(1)
    calls[:] = [1]
    with pytest.raises(KeyboardInterrupt):
        mm.tune(mm.SVC(), *data, {"C": [0.1, 1.0]}, cv=3)


def test_a_cell_that_cannot_be_fitted_has_no_error_and_a_reason(data):
    X, y = data
    with pytest.warns(UserWarning, match="nu=0.99 is infeasible"):
        result = mm.tune(mm.NuSVC(gamma=0.05), X, y, {"nu": [0.2, 0.99]}, cv=3)
    assert np.isnan(result.folds[1]).all()
    assert result.best_params == {"nu": 0.2}


def test_bad_input():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="grid is empty"):
        mm.tune(mm.SVC(), X, y, {})
    with pytest.raises(ValueError, match="cv='boot' is unknown"):
        mm.tune(mm.SVC(), X, y, {"C": [1.0]}, cv="boot")
    with pytest.raises(ValueError, match="one class only"):
        mm.tune(mm.SVC(), X, np.zeros(len(y)), {"C": [1.0]}, cv=3)
    with pytest.raises(ValueError, match="C=-1"):
        mm.tune(mm.SVC(C=-1), X, y, {"gamma": [1.0]}, cv=3)
    for estimator, grid in [
        (mm.SVC(), {"C": [1.0, "a"]}),
        (mm.SVR(), {"C": [1.0, -1.0]}),
        (mm.NuSVC(), {"nu": [0.1, 2.0]}),
        (mm.KernelRidge(), {"alpha": [1.0, "a"]}),
        (mm.SVC(), {"gamma": [1.0, "a"]}),
    ]:
        (name, (_, wrong)), *_ = grid.items()
        with pytest.warns(UserWarning, match=rf"1 cell failed .*{name}.* failed: .*{name}={wrong!r}"):
            result = mm.tune(estimator, X, y, grid, cv=3)
        assert np.isnan(result.folds[1]).all()  # the cell that is impossible has no error
        assert np.isfinite(result.folds[0]).all()  # the rest of the grid runs
        assert result.best_index == 0
        assert list(result.table["status"])[1] == "failed"
        with pytest.raises(ValueError, match=rf"no cell could be evaluated: .*{name}={wrong!r}"):
            mm.tune(estimator, X, y, {name: [wrong]}, cv=3)
    with pytest.raises(ValueError, match="sample_weight holds negative numbers"):
        mm.tune(mm.SVC(), X, y, {"C": [1.0]}, cv=3, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="X has 150 rows and y has 149"):
        mm.tune(mm.SVC(), X, y[:-1], {"C": [1.0]}, cv=3)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mm.tune(mm.SVC(), X, y, {"C": [1.0]}, cv=3)


def test_a_grid_whose_cells_all_fail_in_some_fold_is_refused():
    """The classes have the same size in the first fold, and not in the second, where nu is too large."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.repeat([0, 1], [26, 14])
    folds = [(np.r_[:14, 26:40], np.r_[14:20]), (np.r_[:26, 26:34], np.r_[34:40])]
    with pytest.raises(ValueError, match=r"no cell could be evaluated: .*nu=0\.7 is infeasible"):
        mm.tune(mm.NuSVC(), X, y, {"nu": [0.7]}, cv=folds)


def test_shuffled_folds_follow_random_state(data):
    first, second, other = (
        mm.tune(mm.SVC(), *data, {"C": [0.1, 1.0]}, cv=3, random_state=seed, refit=False)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.folds, second.folds)
    assert (first.folds != other.folds).any()


@parametrize_with_checks(
    [mm.GridSearch(mm.SVC(), {"C": [0.1, 1.0]}, cv=2), mm.GridSearch(mm.SVR(), {"C": [0.1, 1.0]}, cv=2)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "folds and gamma='scale' depend on repeated rows",
        "check_sample_weight_equivalence_on_sparse_data": "folds and gamma='scale' depend on repeated rows",
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_grid_search_and_nested_validation(data):
    X, y = data
    search = mm.GridSearch(mm.SVC(gamma=0.05), {"C": [0.1, 1.0]}, cv=3)
    scores = cross_val_score(search, X, y, cv=KFold(3))
    nested = mm.nested_error(mm.SVC(gamma=0.05), X, y, {"C": [0.1, 1.0]}, outer_cv=KFold(3), inner_cv=3)
    np.testing.assert_allclose(1 - scores, nested)
    search.fit(X, y)
    assert search.cv_results_["rank_test_score"][search.best_index_] == 1
    assert search.best_score_ == pytest.approx(1 - search.result_.best_error)


def test_a_cluster_gives_the_same_table(data):
    distributed = pytest.importorskip("dask.distributed")
    grid = {"C": [0.1, 1.0], "gamma": [0.01, 0.1]}
    here = mm.tune(mm.SVC(), *data, grid, cv=4, refit=False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        there = mm.tune(mm.SVC(), *data, grid, cv=4, refit=False)
    np.testing.assert_array_equal(here.folds, there.folds)


def test_lengths_of_a_string_kernel_share_one_recursion(monkeypatch):
    texts = [
        "free prize now",
        "win a prize",
        "prize to win",
        "see you at home",
        "home by six",
        "at home now",
    ] * 3
    y = np.array([1, 1, 1, 0, 0, 0] * 3)
    calls = []
    original = Subsequence.gram_by_length

    def spy(self, *args, **options):
        calls.append(self.length)
        return original(self, *args, **options)

    monkeypatch.setattr(Subsequence, "gram_by_length", spy)
    grid = {"kernel__length": [1, 2, 3], "kernel__decay": [0.3, 0.6], "C": [1.0, 10.0]}
    result = mm.tune(mm.SVC(kernel=Subsequence()), texts, y, grid, cv=3, refit=False)
    assert calls == [3, 3]  # once for each decay, at the largest length
    assert result.path == "shared Gram matrices"
    for k, cell in enumerate(result.params):
        model = mm.SVC(kernel=Subsequence()).set_params(**cell)
        errors = 1 - cross_val_score(model, np.array(texts, dtype=object), y, cv=3)
        np.testing.assert_allclose(result.folds[k], errors)


@pytest.mark.parametrize("front", [False, True])
def test_a_callback_hears_of_every_cell_once_and_can_stop(front):
    X, y = make_classification(80, 4, random_state=0)
    model = make_pipeline(StandardScaler(), mm.SVC()) if front else mm.SVC()
    name = "svc__" if front else ""
    grid = {f"{name}C": [0.1, 1, 10], f"{name}gamma": [0.1, 1.0]}
    heard = []
    result = mm.tune(model, X, y, grid, cv=5, callback=heard.append)
    cells = [cell for progress in heard for cell in progress.finished]
    assert sorted(cell["index"] for cell in cells) == list(range(6))
    for cell in cells:
        line = result.table.iloc[cell["index"]]
        assert cell["params"] == result.params[cell["index"]]
        assert cell["error"] == pytest.approx(line["error"])
        assert cell["dispersion"] == pytest.approx(line["dispersion"])
    done = [progress.n_done for progress in heard]
    assert done == sorted(done)
    assert done[-1] == heard[-1].n_total == 30
    assert not result.interrupted

    stopped = mm.tune(model, X, y, grid, cv=5, callback=lambda progress: len(progress.finished) > 0)
    assert stopped.interrupted
    assert 0 < len(stopped.table) < 6
    with pytest.raises(KeyboardInterrupt, match="no cell was finished"):
        mm.tune(mm.LinearSVC(), X, y, {"C": [0.1, 1]}, cv=5, callback=lambda progress: True)


def test_a_killed_process_costs_one_cell(data, monkeypatch):
    """joblib raises for the whole batch; the other cells of it are fitted again."""

    class Workers:
        def __init__(self, n_jobs):
            assert n_jobs == 2

        def __call__(self, calls):
            if any(arguments and arguments[1].C == 0.5 for _, arguments, _ in calls):
                raise BrokenProcessPool("a worker process was unexpectedly terminated")
            return [function(*arguments, **options) for function, arguments, options in calls]

    monkeypatch.setattr(search_module, "_WORTH_PROCESSES", 0.0)
    monkeypatch.setattr(joblib, "Parallel", Workers)
    model, grid = LogisticRegression(), {"C": [0.1, 0.5, 1.0]}
    with pytest.warns(UserWarning, match="1 cell failed.*C=0.5.*killed, perhaps for lack of memory"):
        result = mm.tune(model, *data, grid, cv=3, n_jobs=2)
    assert result.table["status"].tolist() == ["fitted", "failed", "fitted"]
    expected = [1 - cross_val_score(LogisticRegression(C=C), *data, cv=3).mean() for C in (0.1, 1.0)]
    np.testing.assert_allclose(result.table["error"][[0, 2]], expected)


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


ROWS, SIDES = np.arange(12.0)[:, None], np.repeat([0, 1], 6)


def assert_table_without_a_model(search: mm.GridSearch, n_cells: int) -> None:
    """The finished cells are there and agree with each other; nothing predicts."""
    assert search.result_.interrupted
    assert len(search.result_.table) == len(search.cv_results_["params"]) == n_cells
    assert search.best_params_ == search.result_.best_params
    assert search.n_splits_ == search.result_.folds.shape[1] == 2
    assert search.result_.best_estimator is None
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(NotFittedError):
        search.predict(ROWS)


@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1"]])
@pytest.mark.parametrize("shared", [True, False])
def test_an_interrupted_refit_keeps_the_table(monkeypatch, shared, scoring):
    """With and without an earlier model: table and model are never of different rows."""
    refit = "f1" if scoring else True
    options = {"cv": 2, "scoring": scoring, "refit": refit, "return_train_score": not shared}
    search = mm.GridSearch(mm.SVC(), {"C": [0.1, 1.0]}, **options)
    fit = mm.SVC.fit

    def of_all_rows(model, X, y=None):
        return interrupted() if len(X) == len(ROWS) else fit(model, X, y)

    for y in (SIDES, 1 - SIDES):
        with monkeypatch.context() as during:
            during.setattr(mm.SVC, "fit", of_all_rows)
            with pytest.raises(KeyboardInterrupt, match="result_ and cv_results_ have the finished cells"):
                search.fit(ROWS, y)
        assert_table_without_a_model(search, 2)
        assert search.result_.path.startswith("shared") == shared
        whole = mm.GridSearch(mm.SVC(), {"C": [0.1, 1.0]}, **options).fit(ROWS, y)
        np.testing.assert_array_equal(search.result_.folds, whole.result_.folds)
        assert search.fit(ROWS, y).predict([[0.0]]) == whole.predict([[0.0]])


def test_ctrl_c_ends_a_nested_validation(data, monkeypatch):
    """The search inside returns its finished cells; they were used, or there was no model to use."""
    plain = GridRun._take

    def interrupted_after_a_cell(self, batch):
        plain(self, batch)
        raise KeyboardInterrupt

    monkeypatch.setattr(GridRun, "_take", interrupted_after_a_cell)
    with pytest.raises(KeyboardInterrupt):
        mm.nested_error(mm.SVC(), *data, {"C": [0.1, 1.0], "gamma": [0.1, 1.0]}, outer_cv=3, inner_cv=3)


def test_an_interrupted_search_keeps_its_finished_cells(monkeypatch):
    search = mm.GridSearch(mm.SVC(), {"gamma": [0.1, 0.2, 0.3]}, cv=2).fit(ROWS, SIDES)
    whole, run = search.result_, search_module.SharedTask.run

    def second_fails(task, *args):
        return interrupted() if task.cells[0].index == stop else run(task, *args)

    with monkeypatch.context() as during:
        during.setattr(search_module.SharedTask, "run", second_fails)
        for stop in (0, 1):  # before the first cell is finished the search stays as it was
            with pytest.raises(KeyboardInterrupt, match=["no cell", "no model"][stop]):
                search.fit(ROWS, SIDES)
            if stop == 0:
                assert search.result_ is whole
                assert search.predict([[0.0]]).tolist() == [0]
    assert_table_without_a_model(search, 1)
    np.testing.assert_array_equal(search.result_.folds, whole.folds[:1])


def test_a_search_without_a_refit_forgets_the_model_of_an_earlier_fit():
    search = mm.GridSearch(mm.SVC(), {"C": [0.1, 1.0]}, cv=2).fit(ROWS, SIDES)
    search.set_params(refit=False).fit(ROWS, 1 - SIDES)
    assert search.result_.best_estimator is None
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="This 'GridSearch' has no attribute 'predict'"):
        search.predict([[0.0]])


def test_silence_is_kept_and_steps_in_front_are_compared_by_their_values(capsys):
    from sklearn.preprocessing import MinMaxScaler

    from maxmargin.base import progress

    X, y = load_iris(return_X_y=True)
    model = make_pipeline(MinMaxScaler(), mm.SVC())
    grid = {"minmaxscaler__feature_range": [(0, 1), (-1, 1)], "svc__C": [1.0]}
    found = mm.tune(model, X, y, grid, cv=3, verbose=-1)
    assert "changes what comes before" in found.path
    kept = mm.tune(model, X, y, {**grid, "minmaxscaler__feature_range": [(0, 1)]}, cv=3, verbose=-1)
    assert kept.path == "shared Gram matrices"
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        patch.setattr(progress.ProgressReport, "advance", lambda self, *_: seen.append(self._verbose))
        mm.tune(model, X, y, {"svc__C": [1.0, 2.0]}, cv=3, verbose=-1)
    assert set(seen) == {-1}


@pytest.mark.parametrize("seed", [0, "generator"])
def test_random_search_draws_and_scores_as_scikit_learn(seed) -> None:
    rows, sides = make_classification(80, 4, flip_y=0.2, random_state=0)
    grid = {"C": loguniform(0.1, 100), "gamma": [0.05, 0.5]}
    options = {"n_iter": 6, "cv": 3}
    first, second = (np.random.RandomState(4) if seed == "generator" else seed for _ in range(2))
    ours = mm.RandomSearch(mm.SVC(tol=1e-6), grid, random_state=first, **options).fit(rows, sides)
    theirs = RandomizedSearchCV(SVC(tol=1e-6), grid, random_state=second, **options).fit(rows, sides)
    assert ours.result_.path == "shared Gram matrices"
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert ours.best_params_ == theirs.best_params_
    other = mm.RandomSearch(LogisticRegression(), {"C": [0.1, 1.0]}, n_iter=2, random_state=0, cv=2)
    assert other.fit(rows, sides).result_.path.startswith("scikit-learn")


class Listener:
    """A callback of scikit-learn that notes which search it hears of."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def setup(self, estimator, context) -> None:
        self.heard.append(estimator)

    def teardown(self, estimator, context) -> None:
        self.heard.append(estimator)

    def on_fit_task_begin(self, estimator, context, **told) -> None:
        self.heard.append(estimator)

    def on_fit_task_end(self, estimator, context, **told) -> None:
        self.heard.append(estimator)


@pytest.mark.skipif(not hasattr(mm.GridSearch, "set_callbacks"), reason="needs scikit-learn 1.9")
def test_callbacks_hear_of_every_fit_of_this_search() -> None:
    listener = Listener()
    search = mm.GridSearch(mm.SVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(listener)
    assert search.fit(ROWS, SIDES) is search
    assert "callbacks hear of every fit" in search.result_.path
    n_tasks = 1 + 1 + 4 + 1  # the search, its cells, each cell in each fold, the refit
    assert len(listener.heard) == 2 + 2 * n_tasks
    assert all(one is search for one in listener.heard)
    model, result = search.best_estimator_, search.result_
    with pytest.raises(ValueError, match="n_splits=2"):
        search.fit(ROWS[:1], SIDES[:1])
    assert search.best_estimator_ is model
    assert search.result_ is result
