"""Steps that several commands share before the end of a run: split, folds, sentences about a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from maxmargin.cli.screen import Screen
from maxmargin.tables.columns import Prepared
from maxmargin.tables.refusals import Refusal, UsageRefusal

_LEAST_ROWS = 10


@dataclass(frozen=True)
class Split:
    """Training rows and held-out rows."""

    X: pd.DataFrame
    X_test: pd.DataFrame
    y: pd.Series
    y_test: pd.Series


def split(data: Prepared, share: float, seed: int, screen: Screen) -> Split:
    """Hold out a share of the rows, the same share of every class."""
    check_enough(data)
    if data.classifies and round(share * len(data.y)) < len(data.classes):
        raise UsageRefusal(f"--test-share {share:g} holds out fewer rows than there are classes.")
    stratify = data.y if data.classifies else None
    parts = train_test_split(data.X, data.y, test_size=share, random_state=seed, stratify=stratify)
    X, X_test, y, y_test = (part.reset_index(drop=True) for part in parts)
    screen.line("split", f"{len(X)} training rows, {len(X_test)} held out (seed {seed})")
    screen.tell(split={"training": len(X), "held_out": len(X_test), "seed": seed})
    return Split(X, X_test, y, y_test)


def check_enough(data: Prepared) -> None:
    """Refuse tables that are too small to be split."""
    n = len(data.X)
    if n < _LEAST_ROWS:
        raise Refusal(f"{data.source}: {n} rows are too few; at least {_LEAST_ROWS} are needed.")
    if data.classifies:
        sizes = data.y.value_counts()
        if sizes.min() < 4:
            rarest = min(data.classes, key=lambda label: int(sizes[label]))
            raise Refusal(
                f"class {rarest!r} is too rare (rows: {int(sizes.min())}): every class needs at "
                "least 4. Leave it out (--na calls a value missing), or use --task regression if the target "
                "is a quantity."
            )


def folds_for(y: pd.Series, folds: int, *, classifies: bool, screen: Screen) -> int:
    """The number of folds, reduced with a note if the smallest class has fewer rows."""
    most = int(y.value_counts().min()) if classifies else len(y)
    if folds > most:
        screen.note(f"{most} folds instead of {folds}: the smallest class has {most} training rows.")
    return min(folds, most)


def plain_names(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters without the name of the pipeline's step."""
    return {name.removeprefix("model__"): value for name, value in params.items()}


def say_edges(found: Any, screen: Screen) -> None:
    """A note if the best cell lies on the edge of the grid."""
    names = ", ".join(plain_names(dict.fromkeys(found.edges())))
    if names:
        screen.note(f"the best cell lies on the edge of the grid in {names}: try more values with --grid.")


def say_model(model: Any, screen: Screen) -> None:
    """The model and its certificate."""
    machine = model.steps[-1][1] if hasattr(model, "steps") else model
    name = type(machine).__name__
    if hasattr(machine, "support_"):
        screen.line("model", f"{name}, {len(machine.support_)} support vectors")
    else:
        screen.line("model", name)
    certificate = getattr(machine, "certificate_", None)
    if certificate is not None:
        screen.line("proof", screen.parts(certificate.sentence))
    screen.tell(machine=name, certificate=None if certificate is None else dict(vars(certificate)))
