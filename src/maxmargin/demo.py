"""The main job on bundled data: tune, fit, certify, evaluate, and one page to look at.

python -m maxmargin.demo [FOLDER]
"""

from __future__ import annotations

import base64
import html
import io
import sys
import warnings
from pathlib import Path
from typing import Any

import maxmargin as mm


def main(folder: str = "results/demo") -> Path:
    """Run the job, print each step, write the page and return where it is."""
    import matplotlib

    matplotlib.use("Agg")
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = load_breast_cancer(as_frame=True)
    names = [str(name) for name in data.target_names]
    X, X_test, y, y_test = train_test_split(data.data, data.target, stratify=data.target, random_state=0)
    print(f"breast cancer: {len(X)} rows to learn from, {len(X_test)} held out, {X.shape[1]} columns")

    model = make_pipeline(StandardScaler(), mm.SVC())
    grid = {"svc__C": [10.0**k for k in range(-2, 4)], "svc__gamma": [10.0**k for k in range(-4, 1)]}
    found = mm.tune(model, X, y, grid, cv=10, random_state=0)
    print(f"{len(found.table)} cells x 10 folds in {found.seconds:.2f} s; best {found.best_params}")

    machine = found.best_estimator[-1]
    print(machine.certificate_)
    evaluation = mm.evaluate(found.best_estimator, X_test, y_test, names=names)
    print(evaluation)

    page = _page(found, machine, evaluation)
    path = Path(folder) / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    print(f"\nThe report is in {path.resolve()}")
    return path


def _page(found: Any, machine: Any, evaluation: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the text below says where the best cell lies
        pictures = [
            found.display().figure_,
            mm.displays.EvaluationDisplay.from_result(evaluation).plot().figure_,
        ]
    sections = [
        "<h1>maxmargin: breast cancer</h1>",
        "<h2>Tuning</h2>",
        _image(pictures[0]),
        f"<pre>{html.escape(str(found))}</pre>",
        "<h2>The machine and its proof</h2>",
        f"<pre>{html.escape(repr(machine))}\n{html.escape(str(machine.certificate_))}</pre>",
        "<h2>Held-out rows</h2>",
        f"<pre>{html.escape(str(evaluation))}</pre>",
        _image(pictures[1]),
    ]
    style = (
        "body{font-family:sans-serif;max-width:60rem;margin:auto;padding:1rem}"
        "img{max-width:100%}pre{overflow-x:auto}"
    )
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><title>maxmargin demo</title>"
        f"<style>{style}</style><body>{''.join(sections)}</body></html>"
    )


def _image(figure: Any) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return f"<img alt='' src='data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}'>"


if __name__ == "__main__":
    main(*sys.argv[1:2])
