"""The height and weight examples of Gómez 2024 (examples 0.1 and 2.1 to 2.13).

    python examples/reproduce/height_weight.py

Eight people, tall or short, with their height, weight and a column of noise. If a printed value
cannot be right, the script says why.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from _common import heading, side_by_side
from maxmargin.discretize import conditional_entropy, entropy, information_gain, symmetrical_uncertainty
from maxmargin.feature_selection import (
    RFE,
    SBS,
    SFS,
    FisherScore,
    Genetic,
    LeaveOneOutError,
    Relief,
    SimulatedAnnealing,
    SubsetSelector,
    cfs_merit,
)

PEOPLE = pd.DataFrame(
    {
        "height": [170.0, 147, 150, 154, 175, 152, 173, 177],
        "weight": [85.0, 75, 77, 81, 79, 80, 82, 84],
        "noise": [0.011, 0.34, 0.034, 0.092, 0.065, 0.358, 0.36, 0.757],
    }
)
TALL = np.array(["tall", "short", "short", "short", "tall", "short", "tall", "tall"])
MACHINE = make_pipeline(StandardScaler(), mm.SVC(kernel="linear", C=1.0))


def threshold() -> None:
    heading("Example 0.1: tall or short by the height alone")
    cut = (154 + 170) / 2
    print(f"halfway between 154 and 170: {cut:g} cm; 165 cm is {'tall' if cut <= 165 else 'short'}.")
    print("The thesis calls 165 cm short; by its own rule it is tall.")
    hard = mm.HardMarginSVC(kernel="linear").fit(PEOPLE[["height"]], TALL)
    print(f"The hard margin puts the boundary at {-hard.intercept_[0] / hard.coef_[0, 0]:.3f} cm as well.")


def filters() -> None:
    heading("Example 2.1: Fisher's score")
    two = PEOPLE[["height", "weight"]]
    rows: dict[str, dict[str, object]] = {"published": {"height": 4.44, "weight": 0.91}}
    for kind, name in (
        ("signal_to_noise", "|m+ - m-| / (s+ + s-)"),
        ("difference_over_variance", "(2.1) as printed"),
    ):
        scores = FisherScore(kind=kind).fit(two, TALL).scores_
        rows[name] = dict(zip(two.columns, scores, strict=True))
    side_by_side(rows, "formula")
    print("The example used the first formula, not (2.1), whose denominator has squares.")

    heading("Example 2.2: Relief with rows 1 and 6")
    raw = _relief_by_hand()
    scaled = Relief(n_instances=[0, 5]).fit(two, TALL).scores_
    side_by_side(
        {
            "published": {"height": 0.7, "weight": 0.1},
            "raw distance, miss of row 6 = row 7": dict(zip(two.columns, raw, strict=True)),
            "Relief(n_instances=[0, 5]), scaled": dict(zip(two.columns, scaled, strict=True)),
        },
        "J",
    )
    print("J(height) = (0.53 + 0.7)/2 - (0.1 + 0.07)/2 = 0.53; the published 0.7 is an arithmetic error.")


def _relief_by_hand() -> np.ndarray:
    """(2.4) with the published choice between two misses of row 6 at equal distance (rows 1 and 7)."""
    X = PEOPLE[["height", "weight"]].to_numpy()
    reach = np.ptp(X, axis=0)
    neighbours = {0: (6, 3), 5: (3, 6)}  # row: (hit, miss)
    return np.mean(
        [(np.abs(X[i] - X[m]) - np.abs(X[i] - X[h])) / reach for i, (h, m) in neighbours.items()], axis=0
    )


def correlations() -> None:
    heading("Examples 2.3 and 2.4: entropy, information gain, symmetrical uncertainty")
    x, z = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]
    law = [1 / 6, 1 / 15, 4 / 15, 1 / 6, 4 / 15, 1 / 15]
    side_by_side(
        {
            "published": {"E(X,Z)": 2.39958, "E(X|Z)": 0.81461, "IG": 0.18539, "SU": 0.14344},
            "ours": {
                "E(X,Z)": entropy(x, z, sample_weight=law),
                "E(X|Z)": conditional_entropy(x, z, sample_weight=law),
                "IG": information_gain(x, z, sample_weight=law),
                "SU": symmetrical_uncertainty(x, z, sample_weight=law),
            },
        },
        "measure",
    )
    heading("Example 2.5: merit of subsets (CFS)")
    r_cf = np.array([0.95, 0.8, 0.7])
    r_ff = np.array([[1, 0.5, 0.33], [0.5, 1, 0.75], [0.33, 0.75, 1]])
    subsets = {"{1,2,3}": [0, 1, 2], "{1,2}": [0, 1], "{1,3}": [0, 2], "{2,3}": [1, 2]}
    text = dict(zip(subsets, (1.22, 1.11, 1.08, 0.9), strict=True))
    side_by_side(
        {
            name: {
                "published": text[name],
                "(2.5) as printed": cfs_merit(r_cf[s], r_ff[np.ix_(s, s)], kind="per_column"),
                "Hall's": cfs_merit(r_cf[s], r_ff[np.ix_(s, s)]),
            }
            for name, s in subsets.items()
        },
        "subset",
    )
    print("(2.5) prints k - 1 where Hall has k(k - 1). By Hall's the best subset is {1,3}.")


def wrappers() -> None:
    heading("Examples 2.6 to 2.9: leave-one-out errors of a linear SVM, C = 1")
    text = {
        ("height",): "0/8",
        ("weight",): "3/8",
        ("noise",): "8/8",
        ("height", "weight"): "0/8",
        ("height", "noise"): "0/8",
        ("weight", "noise"): "4/8",
    }
    rows = {}
    for columns, printed in text.items():
        rows[" + ".join(columns)] = {"published": printed, "ours": _left_out(PEOPLE[list(columns)])}
    side_by_side(rows, "columns")
    backward = SBS(MACHINE, 1, cv=LeaveOneOut()).fit(PEOPLE, TALL)
    forward = SFS(MACHINE, 1, cv=LeaveOneOut()).fit(PEOPLE, TALL)
    print(
        f"\nbackward to one column: {backward.selected_}; forward: {forward.selected_}  (published: height)"
    )

    heading("Example 2.10: two wrong records make the weight decide")
    wrong_records = PEOPLE[["height", "weight"]].copy()
    wrong_records.loc[3] = [165.0, 78.0]
    wrong_records.loc[4] = [149.0, 85.0]
    rows = {}
    for column, printed in (("height", "2/8"), ("weight", "0/8")):
        rows[column] = {"published": printed, "ours": _left_out(wrong_records[[column]])}
    side_by_side(rows, "column")


def _left_out(columns: pd.DataFrame) -> str:
    error = mm.tune(MACHINE, columns, TALL, {"svc__C": [1.0]}, cv="loo", refit=False).best_error
    return f"{round(8 * error)}/8"


def by_chance() -> None:
    heading("Examples 2.11 and 2.12: simulated annealing and a genetic search")
    print("The published random numbers are unknown; both searches return the best subset they have seen.")
    annealing = SimulatedAnnealing(T0=10.0, T1=3.0, m=2, cooling=0.4)
    genetic = Genetic(population=3, generations=5, p_crossover=0.7, p_mutation=0.7)
    for name, search in (("annealing", annealing), ("genetic", genetic)):
        found = SubsetSelector(search, LeaveOneOutError(MACHINE), random_state=0).fit(PEOPLE, TALL)
        print(f"{name}: {found.selected_}, error {found.score_:g}, {found.n_evaluations_} subsets evaluated")


def embedded() -> None:
    heading("Example 2.13: recursive feature elimination")
    Z = (PEOPLE - PEOPLE.mean()) / PEOPLE.std()
    three = mm.SVC(kernel="linear", tol=1e-6).fit(Z, TALL)
    two = mm.SVC(kernel="linear", tol=1e-6).fit(Z[["height", "weight"]], TALL)
    side_by_side(
        {
            "published, three columns": {"height": 1.336, "weight": 0.285, "noise": -0.04},
            "ours": dict(zip(Z.columns, three.coef_[0], strict=True)),
            "published, two columns": {"height": 1.341, "weight": 0.291},
            "ours (two)": dict(zip(Z.columns[:2], two.coef_[0], strict=True)),
        },
        "w",
    )
    print(f"our certificate: KKT violation {mm.certify(three, Z, TALL).kkt:.1e}, so 1.336 is not optimal.")
    rfe = RFE(mm.SVC(kernel="linear"), 1).fit(Z, TALL)
    order = [name for removed in rfe.history_["removed"] for name in removed]
    print(f"removed: {order}, kept: {rfe.selected_}  (published: noise, weight; kept: height)")


def main() -> None:
    for part in (threshold, filters, correlations, wrappers, by_chance, embedded):
        part()


if __name__ == "__main__":
    main()
