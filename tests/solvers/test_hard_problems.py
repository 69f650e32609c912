"""Any C and any scale: small problems on which pairwise steps crawl are solved by an interior point."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.problems.formulations import Classification, NuRegression, Regression
from maxmargin.problems.solution import Status
from maxmargin.solvers.dual.gram import gram_problem
from maxmargin.solvers.dual.gram.gram_problem import GramProblem
from maxmargin.solvers.dual.gram.interior_point import interior_point
from tests.small_problems import make_problem, solve

CANCER, LABELS = load_breast_cancer(return_X_y=True)
Z = StandardScaler().fit_transform(CANCER)


def low_rank() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20))
    return X, np.sign(X[:, 0] + 0.5 * rng.normal(size=300))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        pytest.param(mm.SVC(kernel="linear", C=1e6), low_rank(), id="low rank, C = 1e6"),
        pytest.param(mm.SVC(kernel="linear", C=1e8), low_rank(), id="low rank, C = 1e8"),
        pytest.param(mm.SVC(kernel="linear"), (1000 * Z, LABELS), id="columns times 1000"),
        pytest.param(mm.SVC(kernel="linear", C=1000.0, tol=1e-6), (Z, LABELS), id="C = 1000, tol = 1e-6"),
        pytest.param(mm.SVC(kernel="poly", C=1e4), (Z[:, :5], LABELS), id="polynomial, C = 1e4"),
        pytest.param(mm.SVR(C=1e6, gamma=1e-3), (Z[:200, :4], Z[:200, 4]), id="regression, C = 1e6"),
    ],
)
def test_small_problems_converge_in_few_steps(model: Any, data: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model.fit(*data)
    assert fitted.certificate_.kkt <= model.tol
    assert np.sum(fitted.n_iter_) < 2_000_000


@pytest.mark.parametrize("seed", [3, 9, 15])
def test_a_heavy_tail_and_a_huge_cost_converge(seed: int) -> None:
    """Kernel values of neighbours far from the centre were wrong by 1e-9, and multipliers reach 1e10."""
    rng = np.random.default_rng(seed)
    x = 1000 * rng.normal(size=600) ** 5
    y = np.where(x + 0.01 * x.std() * rng.normal(size=600) > np.median(x), 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = mm.SVC(C=1e10, gamma=10.0).fit(x[:, None], y)
    assert fitted.certificate_.kkt <= fitted.tol
    assert fitted.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("form", ["classification", "regression", "nu"])
def test_an_interior_point_ends_near_the_solution(form: str, C: float) -> None:
    """Against the conditions of the problem alone: bounds, sums, and no pair that could improve."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    target = X[:, 0] + 0.3 * rng.normal(size=60)
    forms = {
        "classification": Classification(C=C),
        "regression": Regression(C=C, epsilon=0.1),
        "nu": NuRegression(C=C, nu=0.5),
    }
    y = np.sign(target) if form == "classification" else target
    rows = np.arange(60)
    problem = forms[form].build(None, rows, y, np.ones(60))
    gram = GramProblem.of(problem, K, rows, np.array([[0, 60]]))
    start = problem.s * problem.start
    t = interior_point(K, gram.signed, gram.n_groups, start, 1e-6)
    assert t is not None
    assert ((gram.signed.lo <= t) & (t <= gram.signed.hi)).all()
    sums = np.bincount(gram.signed.group, weights=t, minlength=gram.n_groups)
    np.testing.assert_allclose(sums, problem.delta, atol=1e-9 * C * 60)
    assert gram.violation(t, gram.sums_of(t)) <= 1e-2 < gram.violation(start, gram.sums_of(start))


def test_what_float64_cannot_decide_is_said() -> None:
    """Kernel values of 1e13 leave about 1e-3 of rounding in every decision: no tolerance below is reached."""
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        fitted = mm.SVC(kernel="linear", tol=1e-5, time_limit=5).fit(1000 * CANCER[:, :10], LABELS)
    assert fitted.certificate_.kkt > 1e-5
    assert fitted.machines_[0].solution.status is not Status.CONVERGED


@pytest.mark.parametrize("offset", [1e4, 1e8, -1e8])
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(mm.SVC(kernel="linear"), id="SVC"),
        pytest.param(mm.NuSVC(nu=0.6, kernel="linear"), id="NuSVC"),
        pytest.param(mm.SVR(kernel="linear"), id="SVR"),
        pytest.param(mm.NuSVR(kernel="linear"), id="NuSVR"),
        pytest.param(mm.SVDD(kernel="linear", C=0.05), id="SVDD"),
    ],
)
def test_an_offset_changes_nothing(model: Any, offset: float) -> None:
    """Engine, certificate, prediction, weights and a second certificate agree about shifted columns."""
    rng = np.random.default_rng(2)
    X = np.round(rng.normal(size=(60, 3)), 3)
    target = X @ [1.0, -2.0, 0.5] + rng.normal(size=60)
    y = np.sign(target) if isinstance(model, (mm.SVC, mm.NuSVC)) else target
    moved = X.copy()
    moved[:, 1] += offset
    plain, far = clone(model).fit(X, y), clone(model).fit(moved, y)
    decide = "predict" if isinstance(model, (mm.SVR, mm.NuSVR)) else "decision_function"
    decisions = getattr(far, decide)(moved)
    np.testing.assert_allclose(decisions, getattr(plain, decide)(X), atol=5e-3)
    assert far.certificate_.kkt <= far.tol
    assert mm.certify(far, moved, y).kkt == pytest.approx(far.certificate_.kkt, abs=1e-6)
    # the solver's own sums are of float32 kernel values, whose last digit depends on the processor
    np.testing.assert_allclose(far.machines_[0].decisions, decisions, atol=1e-5)
    if not isinstance(model, mm.SVDD):
        np.testing.assert_allclose(moved @ far.coef_[0] + far.intercept_[0], decisions, atol=1e-5)


def test_an_offset_with_several_classes() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(90, 3)), np.repeat([0, 1, 2], 30)
    X += 2 * np.eye(3)[y]
    moved = X + np.array([0.0, 1e8, 0.0])
    plain, far = mm.SVC(kernel="linear").fit(X, y), mm.SVC(kernel="linear").fit(moved, y)
    np.testing.assert_allclose(far.decision_function(moved), plain.decision_function(X), atol=2e-3, rtol=2e-3)


def test_a_search_on_columns_with_an_offset() -> None:
    rng = np.random.default_rng(4)
    X, first = rng.normal(size=(60, 3)), np.array([1.0, 0.0, 0.0])
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=60))
    grid = {"C": [0.1, 1.0, 10.0], "kernel": ["linear", "poly"]}
    found = [
        mm.tune(mm.SVC(), X + offset * first, y, grid={"C": [0.1, 1.0, 10.0], "kernel": ["linear"]}, cv=5)
        for offset in (0.0, 1e8)
    ]
    np.testing.assert_array_equal(found[0].table["error"], found[1].table["error"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a polynomial does change with the offset
        both = mm.tune(mm.SVC(), X + 1e4 * first, y, grid=grid, cv=5).table
    linear = both[both["kernel"] == "linear"]["error"].to_numpy()
    np.testing.assert_array_equal(np.sort(linear), np.sort(found[0].table["error"].to_numpy()))


def _overlapping(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 8))
    return X, X[:, 0] + 0.7 * X[:, 1] ** 2 - 0.5 + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("machine", "C"),
    [(mm.SVC, 1e6), (mm.SVC, 1e8), (mm.SVR, 1e6), (mm.SVR, 1e8), (mm.NuSVR, 1e6), (mm.NuSVR, 1e7)],
)
def test_a_huge_cost_leaves_no_wide_gap(machine: Any, C: float) -> None:
    """Each violation of 5e-4 costs C: at this tolerance the objective was up to 90 times its minimum."""
    X, target = _overlapping()
    fitted = machine(C=C).fit(X, np.sign(target) if machine is mm.SVC else target)
    assert fitted.certificate_.kkt <= fitted.tol
    assert fitted.certificate_.relative_gap <= 0.1
    assert not fitted.certificate_.is_wide
    assert fitted.machines_[0].solution.status is Status.CONVERGED


def test_a_wide_gap_is_said() -> None:
    """The textbook solver stops at its tolerance, and the certificate says what that does not show."""
    X, target = _overlapping(60)
    with pytest.warns(ConvergenceWarning, match=r"tol=0\.1, but the duality gap is .* of the dual value"):
        model = mm.SVC(1e9, solver="smo", tol=0.1).fit(X, np.sign(target))
    assert model.machines_[0].solution.status is Status.WIDE_GAP
    assert model.certificate_.kkt <= 0.1
    assert "does not show that the objective is near its minimum" in str(model.certificate_)
    exact = mm.SVC(1e9).fit(X, np.sign(target))
    assert "near its minimum" not in str(exact.certificate_)
    assert model.certificate_.primal > 1.1 * exact.certificate_.primal


@pytest.mark.parametrize("C", [1e7, 1e9, 1e11])
@pytest.mark.parametrize("machine", [mm.SVC, mm.SVR, mm.NuSVR])
def test_no_converged_fit_has_a_wide_gap(machine: Any, C: float) -> None:
    """NuSVR with C = 1e9 stopped at a gap of many times its dual value, without a word."""
    X, target = _overlapping()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = machine(C=C).fit(X, np.sign(target) if machine is mm.SVC else target)
    converged = model.machines_[0].solution.status is Status.CONVERGED
    assert not (converged and model.certificate_.is_wide)
    assert any(issubclass(one.category, ConvergenceWarning) for one in seen) is not converged


def test_a_stall_says_what_rounding_explains() -> None:
    X, target = _overlapping()
    scales = 10.0 ** np.random.default_rng(0).uniform(-6, 6, 8)
    with pytest.warns(ConvergenceWarning, match=r"rounding alone can cause .* use LinearSVC") as seen:
        mm.SVC(1e4, kernel="linear").fit(X * scales, np.sign(target))
    assert "gamma" not in str(seen[0].message)


@pytest.mark.parametrize("scale", [1e-18, 1e-15, 1e15, 1e18])
def test_rows_beyond_float32_are_computed_in_float64(scale: float) -> None:
    """Squares and gamma of such rows overflow or vanish in float32, so that predictions were wrong."""
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(40, 3))).astype(np.float32)
    y = np.sign(X[:, 0].astype(float))
    narrow, wide = mm.SVC().fit(X, y), mm.SVC().fit(X.astype(float), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decisions = narrow.decision_function(X)
    np.testing.assert_allclose(decisions, wide.decision_function(X.astype(float)), atol=1e-5)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_kernel_values_beyond_float32_are_computed_in_float64(scale: float) -> None:
    """Fifth powers of 1e18 made float32 values infinite, and a fit refused multipliers "up to nan"."""
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(60, 3)), [(np.arange(40), np.arange(40, 60))]
    y = np.sign(X[:, 0] ** 3 + 0.1 * rng.normal(size=60))
    plain = mm.SVC(1.0, kernel="poly", gamma=1.0, degree=5)
    far = mm.SVC(scale**-10, kernel="poly", gamma=1.0, degree=5)  # w is shorter by as much as rows are longer
    expected = plain.fit(X[:40], y[:40]).decision_function(X[40:])
    model = far.fit(scale * X[:40], y[:40])
    assert model.machines_[0].solution.status is Status.CONVERGED
    np.testing.assert_allclose(model.decision_function(scale * X[40:]), expected, atol=0.01)
    result = mm.tune(far, scale * X, y, {"C": [far.C]}, cv=folds, refit=False)
    assert result.table["status"].tolist() == ["converged"]
    assert result.best_error == np.mean(np.sign(expected) != y[40:])


def test_rounds_without_steps_do_not_go_on() -> None:
    """Kernel values of 1e25: Newton steps that gain nothing went on for 40 000 rounds, half a minute."""
    from tests.random_fits import SUBJECTS, try_fit

    subject = next(one for one in SUBJECTS if one.name == "NuSVC")
    outcome = try_fit(subject, seed=3, number=60)
    assert outcome.passed
    assert outcome.seconds < 10


def test_rounds_of_few_steps_count_as_what_they_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel values of 1e20: rounds that read the matrix for a few steps each took most of the time."""
    rng = np.random.default_rng(3)
    X = 1000 * rng.normal(size=(150, 40))[rng.integers(0, 150, 600)]
    y, steps = X[:, 0] / 1000 + rng.normal(size=600), []
    for reads in (gram_problem._WORK_OF_STEP, 10**18):
        monkeypatch.setattr(gram_problem, "_WORK_OF_STEP", reads)
        with pytest.warns(ConvergenceWarning, match="rounding alone can cause"):
            model = mm.NuSVR(C=0.01, nu=0.4, kernel="poly", gamma=0.1).fit(X, y)
        assert model.machines_[0].solution.status is Status.STALLED
        steps.append(np.sum(model.n_iter_))
    assert steps[0] < 0.9 * steps[1]  # 0.78 of them, on different processors


@pytest.mark.parametrize(("name", "number"), [("SVR", 53), ("SVR", 64), ("NuSVR", 13)])
def test_an_interior_point_ends_on_the_right_bounds(name: str, number: int) -> None:
    """Iterates with the smallest residual are far from their bounds: gaps of 510, 0.64 and 0.57 were left."""
    result = solve(name, 2, number)
    assert result.status == "converged"
    assert result.gap < 1e-2


def test_narrowing_a_gap_ends_where_variables_have_no_smaller_change() -> None:
    """Two huge variables of a sample nearly cancel: 490 000 steps for digits that float64 does not have."""
    model, arguments, _ = make_problem("NuSVR", 2, 48)
    with pytest.warns(ConvergenceWarning, match="gap"):
        model.fit(*arguments)
    assert np.sum(model.n_iter_) < 200_000


def test_parts_of_a_problem_that_is_not_convex_are_solved_once(monkeypatch) -> None:
    """688 rounds had 50 calls each for the same three variables: they left out what the others add.

    Whether pairwise steps then converge or stall depends on the processor: with C = 7e10 the last digit of a
    float64 gradient is 0.004, and a sigmoid kernel has no certificate.
    """
    solves, original = [], GramProblem.solve

    def counted(self, *args, **options):
        solves.append(self)
        return original(self, *args, **options)

    monkeypatch.setattr(GramProblem, "solve", counted)
    solve("NuSVR", 2, 109)
    assert 1 < len(solves) < 20


def test_float32_that_is_too_coarse_at_few_rows_is_left() -> None:
    """Rows far out are told apart by float64 only; the sample of rows that is compared had none of them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(600, 3))
    X[:, 0] = 1000 * rng.standard_t(1.5, size=600)
    y = rng.random(600) < 0.5
    model = mm.SVC(C=1e10, gamma=10.0).fit(X, y)
    assert model.solution_.status is Status.CONVERGED
    assert model.certificate_.relative_gap < 1e-2


@pytest.mark.parametrize("number", [3, 6, 17])
def test_a_stall_is_not_worse_than_its_start(number: int) -> None:
    """Rounding made the value of an interior point seem to fall without end: gaps reached 4e63."""
    model, (X, y), _ = make_problem("SVC", 21, number)
    with pytest.warns(ConvergenceWarning, match="no longer made useful progress"):
        model.fit(X, y)
    assert model.certificate_.primal <= model.C * len(X) * (1 + 1e-9)  # that of alpha = 0


def test_steps_from_the_start_again_count_and_keep_to_the_limits() -> None:
    """After a stall 40 000 more steps were made, which no limit stopped and ``n_iter_`` did not count."""
    model, (X, y), _ = make_problem("SVC", 21, 3)
    with pytest.warns(ConvergenceWarning, match="no longer made useful progress"):
        n_iter = int(model.fit(X, y).n_iter_[0])
    assert n_iter > 100_000
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.set_params(max_iter=n_iter - 30_000).fit(X, y)
    assert model.n_iter_[0] == n_iter - 30_000


def test_both_variables_of_a_row_give_way() -> None:
    """An interior point stopped half-way keeps both; what they share only costs digits."""
    model, (X, y), _ = make_problem("SVR", 21, 7)
    with pytest.warns(ConvergenceWarning, match="no longer made useful progress"):
        model.fit(X, y)
    a = model.solution_.x.reshape(2, -1)
    assert np.minimum(a[0], a[1]).max() <= 1e-9 * a.max()
    assert model.certificate_.kkt <= 1e4  # 3.5e6 before


@pytest.mark.parametrize(("machine", "number"), [("SVC", 23), ("SVR", 37)])
def test_huge_values_that_hardly_differ_converge(machine: str, number: int) -> None:
    """Blocks in float32 led away from the start again and again; pairs in float64 need 2500 steps."""
    model, (X, y), _ = make_problem(machine, 21, number)
    model.fit(X, y)
    assert model.certificate_.kkt <= model.tol
    assert np.sum(model.n_iter_) < 20_000


def test_sums_of_variables_that_cancel() -> None:
    rows = np.array([[1.0], [2.0]])
    kernel = mm.kernels.Linear()
    dual = Regression(C=1e20, epsilon=0.1).build(kernel, kernel.prepare(rows), np.zeros(2), np.ones(2))
    problem = GramProblem.of(dual, rows @ rows.T, np.arange(2), np.array([[0, 2]]))
    t = np.array([1e17, 3.0, -1e17, -1.0])
    np.testing.assert_array_equal(problem.sums_of(t), [4.0, 8.0])


def test_a_matrix_of_zeros_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    """BLAS wrote on standard error."""
    kernel = mm.kernels.Linear()
    rows, y = np.zeros((4, 1)), np.array([-1.0, 1.0, 3.0, -4.0])
    dual = Regression(C=1.0, epsilon=0.1).build(kernel, kernel.prepare(rows), y, np.ones(4))
    gram = GramProblem.of(dual, np.zeros((4, 4)), np.arange(4), np.array([[0, 4]]))
    interior_point(gram.K, gram.signed, gram.n_groups, np.zeros(8), 1e-6)
    assert capfd.readouterr() == ("", "")
