"""
Can an SVM classify text without features?
==========================================

A string kernel counts common subsequences and discounts gaps. The input is a list of strings, and the
support vectors are strings.
"""

import numpy as np

import maxmargin as mm
from maxmargin.kernels import Spectrum, Subsequence

rng = np.random.default_rng(0)
words = {
    "fruit": ["apple", "banana", "cherry", "orange", "grapefruit", "pineapple", "strawberry", "raspberry"],
    "tool": ["hammer", "screwdriver", "spanner", "pliers", "chisel", "sander", "drill", "wrench"],
}


def misspelt(word):
    """Remove one letter and double another."""
    letters = list(word)
    del letters[rng.integers(len(letters))]
    letters.insert(rng.integers(len(letters)), rng.choice(letters))
    return "".join(letters)


texts = [misspelt(word) for kind in words for word in words[kind] for _ in range(8)]
y = np.repeat(list(words), 64)
print(texts[:4], texts[-4:])

for kernel in (
    Subsequence(length=2, decay=0.5),
    Subsequence(length=3, decay=0.5, up_to=True),
    Spectrum(length=3),
):
    found = mm.tune(mm.SVC(), texts, y, {"kernel": [kernel], "C": [10.0]}, cv=5, random_state=0)
    print(f"{kernel!r:60} error {found.best_error:.3f}")

# %%
# "SVM" and "SVA" share one pair; "SVM" shares three with itself: 1 / (2 + 0.25).
print(Subsequence(length=2, decay=0.5)(["SVM"], ["SVA"]))
