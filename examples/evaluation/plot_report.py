"""
How do I hand over a fitted model?
==================================

``mm.report`` writes one self-contained HTML file, in English or Spanish: the data, the model, its quality on
held-out rows, the important variables, warnings, and the code that made it.
"""

import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

data = load_breast_cancer(as_frame=True)
X, y = data.data.iloc[:, :6], data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), mm.SVC(C=10.0, gamma=0.05)).fit(X_train, y_train)

with tempfile.TemporaryDirectory() as folder:
    path = mm.report(
        model,
        X_test,
        y_test,
        Path(folder) / "tumours.html",
        training=(X_train, y_train),
        names=["malignant", "benign"],
        question="Which tumours are malignant?",
    )
    print(f"{path.name}: {path.stat().st_size // 1024} kB")
