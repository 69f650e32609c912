"""The full certificate of a fitted model."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from maxmargin.problems.certificate import Certificate


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """Check every training row of a fitted machine in float64, from its multipliers alone.

    ``X``, ``y`` and ``sample_weight`` are what the model was fitted on. Costs O(n n_SV p). With several
    classes the certificate of the worst binary machine is returned.

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = mm.SVC(kernel="linear").fit(X, y)
    >>> mm.certify(model, X, y).complete
    True
    """
    check_is_fitted(model)
    check = getattr(model, "_certificates", None)
    if check is None:
        where = ": that of its fit is in certificate_" if hasattr(model, "certificate_") else ""
        raise TypeError(
            f"certify checks SVC, NuSVC, SVR, NuSVR, OneClassSVM and SVDD, not {type(model).__name__}{where}."
        )
    certificate: Certificate = check(X, y, sample_weight)
    return certificate
