"""
Can a text have several labels?
===============================

One classifier for each label, against the rest: scikit-learn's ``OneVsRestClassifier`` around an SVC
with a string kernel. A text gets every label whose f is positive, so it may have several, or none
(Valera, chapter 7).
"""

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

import maxmargin as mm

texts = np.array(
    [
        "the bank raised its interest rate",
        "shares of the bank fell on the market",
        "the market fears a higher rate",
        "the team won the final match",
        "a late goal decided the match",
        "the coach praised his team",
        "the club sold shares on the market",
        "the bank will sponsor the team",
        "a record rate for the shares of the club",
        "rain stopped the match in the second half",
    ]
)
labels = [
    ("money",), ("money",), ("money",), ("sport",), ("sport",), ("sport",),
    ("money", "sport"), ("money", "sport"), ("money", "sport"), ("sport",),
]  # fmt: skip
binarizer = MultiLabelBinarizer().fit(labels)
kernel = mm.kernels.Subsequence(length=1, tokens="words")
model = OneVsRestClassifier(mm.SVC(kernel=kernel, C=10.0)).fit(texts, binarizer.transform(labels))
for text in ("the market of the bank", "the team and its coach", "the club talks to the bank"):
    print(
        f"{text}: {', '.join(binarizer.inverse_transform(model.predict(np.array([text])))[0]) or 'no label'}"
    )

# %%
# Each label has its own machine, with its own certificate.
print([round(machine.certificate_.kkt, 4) for machine in model.estimators_])
