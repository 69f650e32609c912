"""Fitted models as scikit-learn's own objects, for everything that only knows those (ONNX, SHAP, ...)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from maxmargin.base.tables import as_dense
from maxmargin.base.typing import FloatArray
from maxmargin.io.libsvm import libsvm_kernel
from maxmargin.kernels import Precomputed
from maxmargin.machines.linear import LeastSquares, LinearSVC, LinearSVR, LogisticRegression, Ridge
from maxmargin.machines.svm import SVC, SVR, HardMarginSVC, NuSVC, NuSVR, OneClassSVM

_KERNEL_NAMES = {"polynomial": "poly"}
_LINEAR: dict[type, tuple[type, tuple[str, ...]]] = {
    LinearSVC: (svm.LinearSVC, ("C", "loss", "penalty", "fit_intercept", "tol", "max_iter", "class_weight")),
    LinearSVR: (svm.LinearSVR, ("C", "loss", "epsilon", "fit_intercept", "tol", "max_iter")),
    LogisticRegression: (linear_model.LogisticRegression, ("C", "fit_intercept", "tol", "class_weight")),
    Ridge: (linear_model.Ridge, ("fit_intercept", "tol")),
    LeastSquares: (linear_model.LinearRegression, ("fit_intercept",)),
}
_DUAL: dict[type, tuple[type, tuple[str, ...]]] = {
    SVC: (svm.SVC, ("C", "class_weight", "decision_function_shape", "break_ties")),
    HardMarginSVC: (svm.SVC, ("C", "decision_function_shape", "break_ties")),
    NuSVC: (svm.NuSVC, ("nu", "class_weight", "decision_function_shape", "break_ties")),
    SVR: (svm.SVR, ("C", "epsilon")),
    NuSVR: (svm.NuSVR, ("C", "nu")),
    OneClassSVM: (svm.OneClassSVM, ("nu",)),
}


def to_sklearn(model: Any) -> Any:
    """The fitted scikit-learn object with the predictions of this model.

    For SVC, HardMarginSVC, NuSVC, SVR, NuSVR and OneClassSVM with a kernel of LIBSVM, LinearSVC, LinearSVR,
    LogisticRegression, Ridge, LeastSquares, searches (their best model) and pipelines that end in one of
    them. Sums are added up in another order, so decisions agree up to rounding. What scikit-learn's class
    cannot hold is refused.

    >>> import maxmargin as mm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mm.SVC().fit(X, y)
    >>> theirs = mm.to_sklearn(model)
    >>> type(theirs).__module__, bool((theirs.predict(X) == model.predict(X)).all())
    ('sklearn.svm._classes', True)
    """
    if isinstance(model, Pipeline):
        steps = [(name, step if _is_foreign(step) else to_sklearn(step)) for name, step in model.steps]
        return Pipeline(steps, memory=model.memory, verbose=model.verbose)
    if hasattr(model, "best_estimator_"):
        return to_sklearn(model.best_estimator_)
    if _is_foreign(model):
        return model
    check_is_fitted(model)
    if type(model) in _LINEAR:
        return _linear(model)
    if type(model) in _DUAL:
        return _dual(model)
    names = ", ".join(kind.__name__ for kind in (*_DUAL, *_LINEAR))
    raise ValueError(
        f"to_sklearn does not convert {type(model).__name__}: it is for {names}, searches and pipelines."
    )


def _is_foreign(model: Any) -> bool:
    return not type(model).__module__.startswith("maxmargin.")


def _copied(model: Any, kind: type, names: tuple[str, ...], **others: Any) -> Any:
    """An object of scikit-learn's class with these parameters and the columns of the model."""
    made: Any = kind(**{name: getattr(model, name) for name in names}, **others)
    for name in ("n_features_in_", "feature_names_in_", "classes_"):
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    return made


def _linear(model: Any) -> Any:
    kind, names = _LINEAR[type(model)]
    if hasattr(model, "classes_") and len(model.classes_) > 2:
        wanted = "multinomial" if isinstance(model, LogisticRegression) else "ovr"
        if model.multiclass != wanted:
            raise ValueError(f"{kind.__name__} of scikit-learn has multiclass={wanted!r} only: fit with it.")
    if isinstance(model, (LinearSVC, LinearSVR)):
        names = tuple(name for name in names if name != "penalty" or model.penalty in ("l1", "l2"))
        if model.loss == "logistic":
            raise ValueError("scikit-learn's LinearSVC has no logistic loss: use LogisticRegression.")
    others = {"alpha": model.alpha_} if isinstance(model, Ridge) else {}
    made = _copied(model, kind, names, **others)
    made.coef_, made.intercept_ = model.coef_, model.intercept_
    made.n_iter_ = getattr(model, "n_iter_", None)
    return made


def _dual(model: Any) -> Any:
    if len(getattr(model, "classes_", ())) > 2 and model.multiclass != "ovo":
        raise ValueError("scikit-learn's SVC votes over pairs of classes: fit with multiclass='ovo'.")
    factor, lines = libsvm_kernel(model.kernel_)
    values = dict(line.split(" ", 1) for line in lines)
    name = values.pop("kernel_type")
    numbers = {key: int(text) if key == "degree" else float(text) for key, text in values.items()}
    kind, names = _DUAL[type(model)]
    made = _copied(model, kind, (*names, "tol", "shrinking"), kernel=_KERNEL_NAMES.get(name, name), **numbers)
    if getattr(model, "probability", False):
        raise ValueError(
            "probability=True is a calibration around the model, which scikit-learn's SVC does not hold: fit "
            "CalibratedClassifierCV(mm.SVC(), ensemble=False) and convert its estimator, or use "
            "probability=False."
        )
    _store_expansion(made, model, factor)
    made._gamma = numbers.get("gamma", 0.0)
    made._probA = made._probB = np.empty(0)
    made._effective_probability = False
    made.fit_status_, made.shape_fit_ = 0, getattr(model, "shape_fit_", (0, model.n_features_in_))
    if hasattr(model, "n_iter_"):
        made._num_iter = made.n_iter_ = model.n_iter_
    return made


def _store_expansion(made: Any, model: Any, factor: float) -> None:
    """Support vectors, coefficients and intercepts; LIBSVM has the opposite sign for two classes."""
    classifies = hasattr(model, "classes_")
    sign = -1.0 if classifies and len(model.classes_) == 2 else 1.0
    vectors = model.support_vectors_
    precomputed = isinstance(model.kernel_, Precomputed)
    made._sparse = sp.issparse(vectors)
    coef = factor * model.dense_dual_coef
    if made._sparse:
        made.support_vectors_ = sp.csr_matrix(vectors, dtype=np.float64)
        made.dual_coef_, made._dual_coef_ = _full_csr(coef), _full_csr(sign * coef)
    else:
        rows = np.empty((0, 0)) if precomputed else as_dense(vectors)
        made.support_vectors_ = np.ascontiguousarray(rows, dtype=np.float64)
        made.dual_coef_, made._dual_coef_ = coef, np.ascontiguousarray(sign * coef)
    made.intercept_ = np.array(model.intercept_, dtype=np.float64)
    made._intercept_ = sign * made.intercept_
    made.support_ = model.support_.astype(np.int32)
    counts = model.n_support_ if classifies else [len(model.support_), len(model.support_)]
    made._n_support = np.asarray(counts, dtype=np.int32)
    if classifies:
        made.class_weight_ = getattr(model, "class_weight_", np.ones(len(model.classes_)))
    if isinstance(model, OneClassSVM):
        made.offset_ = -made._intercept_


def _full_csr(coef: FloatArray) -> Any:
    """Coefficients as CSR with their zeros: scikit-learn reads the stored values as a full array."""
    n_rows, n_vectors = coef.shape
    columns = np.tile(np.arange(n_vectors, dtype=np.int32), n_rows)
    starts = np.arange(n_rows + 1, dtype=np.int32) * n_vectors
    return sp.csr_matrix((np.ascontiguousarray(coef).ravel(), columns, starts), shape=coef.shape)
