"""Subsequence kernels: worked values, literal enumeration, positive semidefiniteness, safety, text in."""

from __future__ import annotations

import pickle
import warnings
from collections import defaultdict
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maxmargin as mm
from maxmargin.kernels import Linear, Spectrum, Subsequence, mercer_check

few = settings(derandomize=True, deadline=None, max_examples=40)
short = st.text(alphabet="abc", max_size=7)
decays = st.floats(0.05, 0.95)


def enumerated(s, t, length, decay):
    """The definition: every subsequence of both strings, weighted by the room it takes."""

    def features(string):
        weights = defaultdict(float)
        for places in combinations(range(len(string)), length):
            weights[tuple(string[i] for i in places)] += decay ** (places[-1] - places[0] + 1)
        return weights

    left, right = features(s), features(t)
    return sum(weight * right[u] for u, weight in left.items() if u in right)


# -- values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decay", [0.5, 0.25, 0.1, 0.9])
def test_worked_values(decay):
    """The one common pair is "SV"; "SVM" holds SV, VM (span 2) and SM (span 3)."""
    plain = Subsequence(length=2, decay=decay, normalize=False)
    np.testing.assert_allclose(plain(["SVM"], ["SVA"]), [[decay**4]], rtol=1e-15)
    np.testing.assert_allclose(plain.diag(["SVM"]), [2 * decay**4 + decay**6], rtol=1e-15)
    normalised = Subsequence(length=2, decay=decay)(["SVM"], ["SVA"])
    np.testing.assert_allclose(normalised, [[1 / (2 + decay**2)]], rtol=1e-15)


@few
@given(
    st.lists(short, min_size=1, max_size=5),
    st.lists(short, min_size=1, max_size=3),
    st.integers(1, 5),
    decays,
)
def test_equals_enumeration(X, Z, length, decay):
    K = Subsequence(length, decay, normalize=False)
    expected = [[enumerated(s, t, length, decay) for t in Z] for s in X]
    np.testing.assert_allclose(K(X, Z), expected, rtol=1e-12)
    np.testing.assert_allclose(K.diag(X), [enumerated(s, s, length, decay) for s in X], rtol=1e-12)
    summed = [[sum(enumerated(s, t, k + 1, decay) for k in range(length)) for t in Z] for s in X]
    np.testing.assert_allclose(Subsequence(length, decay, False, up_to=True)(X, Z), summed, rtol=1e-12)


def test_many_strings_of_uneven_length_fill_several_tiles():
    """More strings than a tile and than the lanes, in no order: every value is where it belongs."""
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abcd"), rng.integers(0, 12))) for _ in range(150)]
    K = Subsequence(3, 0.6, normalize=False)
    full = K(X, n_jobs=2)
    for i, j in rng.integers(0, len(X), (200, 2)):
        assert full[i, j] == pytest.approx(enumerated(X[i], X[j], 3, 0.6), rel=1e-12)
    np.testing.assert_array_equal(full, full.T)
    np.testing.assert_allclose(full, K(X, X, n_jobs=1), rtol=1e-13)


@few
@given(
    st.lists(st.text(alphabet="abcdé ", max_size=12), min_size=2, max_size=12),
    st.integers(1, 4),
    decays,
    st.booleans(),
)
def test_positive_semidefinite(X, length, decay, up_to):
    for normalize in (True, False):
        assert mercer_check(Subsequence(length, decay, normalize, up_to), X)


@few
@given(st.lists(short, min_size=2, max_size=6), decays)
def test_normalised_is_a_cosine(X, decay):
    plain = Subsequence(2, decay, normalize=False)
    K = Subsequence(2, decay)(X)
    np.testing.assert_allclose(K, plain.normalized()(X), rtol=1e-12, atol=1e-300)
    assert (K <= 1 + 1e-12).all()
    np.testing.assert_array_equal(np.diag(K), [float(len(s) >= 2) for s in X])


@pytest.mark.parametrize("up_to", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_one_pass_gives_all_lengths(normalize, up_to):
    X, Z = ["gattaca", "tacag", "g", "", "attac" * 3], ["catga", "ac"]
    kernel = Subsequence(4, 0.7, normalize, up_to)
    for other in (None, Z):
        together = kernel.by_length(X, other, n_jobs=2)
        assert together.shape == (4, len(X), len(X if other is None else Z))
        for length in range(1, 5):
            alone = kernel.with_params(length=length)(X, other)
            np.testing.assert_allclose(together[length - 1], alone, rtol=1e-13, atol=1e-300)


# -- numerical safety --------------------------------------------------------------------------------


def test_short_and_empty_strings_are_the_zero_vector():
    K = Subsequence(length=3)(["", "ab", "abc"])
    np.testing.assert_array_equal(K, np.diag([0.0, 0.0, 1.0]))
    assert Subsequence(3)(["", ""]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_no_underflow_where_decay_to_the_2m_underflows():
    """0.01^(2 * 100) = 1e-400 is no double, but the cosine of equal strings of length 100 is 1."""
    s = "".join(chr(0x4E00 + i) for i in range(100))
    kernel = Subsequence(length=100, decay=0.01)
    K = kernel([s, s, s[::-1]])
    np.testing.assert_allclose(K, [[1, 1, 0], [1, 1, 0], [0, 0, 1]], rtol=1e-12)
    assert kernel.with_params(normalize=False)([s]).tolist() == [[0.0]]


def test_long_strings_with_slow_decay_stay_finite():
    K = Subsequence(length=12, decay=0.99)(["ab" * 400, "ba" * 400, "a" * 800])
    assert np.isfinite(K).all()
    assert (np.diag(K) == 1).all()
    assert K[0, 1] > 0.99  # the same alternation, shifted by one place


def test_length_beyond_doubles_is_refused():
    """One subsequence of 200 symbols counts 2^-10 for each: 2^-2000 is no double."""
    s = "".join(chr(0x4E00 + i) for i in range(200))
    with pytest.raises(ValueError, match=r"overflows on these strings: use a shorter length"):
        Subsequence(length=200, decay=0.999)([s])


def test_long_work_is_announced():
    with pytest.warns(UserWarning, match="steps, minutes or more"):
        Subsequence(length=4, normalize=False).prepare(["x" * 1_000_000])


# -- text --------------------------------------------------------------------------------------------


def test_code_points_are_the_characters():
    """An astral character is one symbol; a letter with a combining accent is two."""
    plain = Subsequence(length=1, decay=0.5, normalize=False)
    assert plain.diag(["\U0001f600", "e\u0301", "\u00e9", "\ud800"]).tolist() == [0.25, 0.5, 0.25, 0.25]
    assert plain(["\U0001f600"], ["\U0001f600"]).tolist() == [[0.25]]


def test_words_and_functions_as_tokens():
    words = Subsequence(2, 0.5, normalize=False, tokens="words")
    assert words(["free prize, now"], ["a free  prize"]).tolist() == [[0.5**4]]
    pairs = Subsequence(
        1, 0.5, normalize=False, tokens=lambda text: [text[i : i + 2] for i in range(0, len(text), 2)]
    )
    assert pairs(["abcd"], ["cdab"]).tolist() == [[0.5]]


def test_new_words_match_each_other_but_no_old_ones():
    kernel = Subsequence(1, 0.5, normalize=False, tokens="words")
    old = kernel.prepare(["a b"])
    new = kernel.prepare(["c d", "c a"], like=old)
    assert kernel.gram(new, old).tolist() == [[0.0], [0.25]]
    assert kernel.gram(new).tolist() == [[0.5, 0.25], [0.25, 0.5]]


def test_all_containers_give_the_same_values():
    texts = ["abra", "cadabra", "alakazam"]
    kernel = Subsequence(2)
    expected = kernel(texts)
    frame = {"n": [1.0, 2.0, 3.0], "message": texts}
    for X in (
        tuple(texts),
        np.array(texts),
        np.array(texts, dtype=object)[:, None],
        pd.Series(texts),
        pl.Series(texts),
    ):
        np.testing.assert_array_equal(kernel(X), expected)
    for frame_type in (pd.DataFrame, pl.DataFrame):
        np.testing.assert_array_equal(Subsequence(2, features="message")(frame_type(frame)), expected)
    both = Subsequence(2, features="message") * 2.0 + Linear(features=["n"])
    np.testing.assert_allclose(both(pd.DataFrame(frame)), 2 * expected + np.outer([1, 2, 3], [1, 2, 3]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "one string"),
        (["a", None], "row 1 is None of type NoneType"),
        (pd.Series(["a", None]), r"row 1 .* fill missing values"),
        ([["a", "b"]], r"shape \(1, 2\).*features="),
        ([1.0, 2.0], "row 0 is 1.0 of type float"),
    ],
)
def test_what_is_no_text_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        Subsequence()(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 0}, "length=0"),
        ({"length": 2.0}, "length=2.0"),
        ({"decay": 1.0}, "decay=1.0"),
        ({"decay": "slow"}, "decay='slow'"),
        ({"tokens": "letters"}, "tokens='letters'"),
    ],
)
def test_parameters_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Subsequence(**arguments)


def test_prints_compares_and_pickles():
    kernel = Subsequence(3, 0.8, tokens="words", features="message")
    assert repr(kernel) == "Subsequence(length=3, decay=0.8, tokens='words', features='message')"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert kernel.whole
    assert (kernel + Linear()).whole
    assert (2 * kernel).normalized().whole
    assert not (Linear() + Linear()).whole


def test_points_cut_by_rows():
    points = Subsequence(1, normalize=False).prepare(["ab", "", "cde", "f"])
    for rows in (slice(1, 3), slice(0, 0), slice(0, 4, 2), np.array([3, 0, 0]), np.array([], dtype=int)):
        cut = points.take(rows)
        texts = [
            "".join(map(chr, cut.codes[a:b])) for a, b in zip(cut.starts[:-1], cut.starts[1:], strict=True)
        ]
        assert texts == list(np.array(["ab", "", "cde", "f"], dtype=object)[rows])
    assert points.astype(np.float32).dtype == np.float32


def test_an_interrupted_gram_stops(monkeypatch):
    calls = []

    def interrupted(self, A, B, out):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Subsequence, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Subsequence(2)(["ab"] * 1000, n_jobs=1)
    assert len(calls) == 1


# -- spectrum ----------------------------------------------------------------------------------------


def neighbours(piece, mismatches, alphabet):
    from itertools import product

    return [
        u
        for u in product(alphabet, repeat=len(piece))
        if sum(a != b for a, b in zip(u, piece, strict=True)) <= mismatches
    ]


@few
@given(
    st.lists(st.text(alphabet="abc", min_size=1, max_size=6), min_size=1, max_size=4),
    st.integers(1, 3),
    st.data(),
)
def test_spectrum_equals_its_feature_map(X, length, data):
    mismatches = data.draw(st.integers(0, length - 1))
    alphabet = sorted(set("".join(X)))

    def features(string):
        counts = defaultdict(int)
        for i in range(len(string) - length + 1):
            for u in neighbours(string[i : i + length], mismatches, alphabet):
                counts[u] += 1
        return counts

    maps = [features(s) for s in X]
    expected = [[sum(n * b[u] for u, n in a.items() if u in b) for b in maps] for a in maps]
    kernel = Spectrum(length, mismatches, normalize=False)
    np.testing.assert_allclose(kernel(X), expected)
    np.testing.assert_allclose(kernel.diag(X), np.diag(expected))
    assert mercer_check(Spectrum(length, mismatches), X)


def test_spectrum_of_new_strings():
    kernel = Spectrum(2, normalize=False)
    old = kernel.prepare(["abab"])
    new = kernel.prepare(["abxy", "xyxy"], like=old)
    assert kernel.gram(new, old).tolist() == [[2.0], [0.0]]
    assert kernel.gram(old, new).tolist() == [[2.0, 0.0]]
    assert kernel.gram(new).tolist() == [[3.0, 2.0], [2.0, 5.0]]
    assert kernel.gram(old.astype(np.float32), new.astype(np.float32)).dtype == np.float32


def test_spectrum_up_to_sums_the_lengths():
    X = ["abcab", "bca", "", "a"]
    parts = sum(Spectrum(k, normalize=False)(X) for k in (1, 2, 3))
    np.testing.assert_allclose(Spectrum(3, normalize=False, up_to=True)(X), parts)
    np.testing.assert_array_equal(Spectrum(2)(["", "a"]), np.zeros((2, 2)))


def test_spectrum_refuses_too_many_neighbours():
    text = "".join(chr(97 + i) for i in range(26)) * 2
    with pytest.raises(ValueError, match="neighbours within 4 mismatches"):
        Spectrum(6, mismatches=4)([text])
    with pytest.raises(ValueError, match="mismatches=3"):
        Spectrum(3, mismatches=3)


def test_no_warning_on_ordinary_texts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Subsequence(4)(["ordinary text"] * 5)
        mm.SVC(kernel=Subsequence(2)).fit(["aa", "bb"], [0, 1])


@pytest.mark.parametrize("length", range(1, 14))
def test_every_number_of_passes(length):
    """Levels go four to a pass: 1 to 13 covers every remainder, with one, two and three full passes."""
    s, t = "abcabbacbabcab", "bacabcbaabcba"
    plain = Subsequence(length, 0.8, normalize=False)
    expected = enumerated(s, t, length, 0.8)
    np.testing.assert_allclose(
        plain([s, "", "ab"], [t]), [[expected], [0.0], [plain(["ab"], [t])[0, 0]]], rtol=1e-12
    )
    np.testing.assert_allclose(plain.diag([s]), [enumerated(s, s, length, 0.8)], rtol=1e-12)


@few
@given(short, short, st.integers(1, 4), decays)
def test_the_kernel_is_the_inner_product_of_its_features(s, t, length, decay):
    """Valera (7.1) and (7.2): K_m(s, t) is the sum over u of Phi_u(s) Phi_u(t)."""
    kernel = Subsequence(length, decay, normalize=False)
    every = {"".join(s[i] for i in places) for places in combinations(range(len(s)), length)}
    total = sum(float(np.prod(kernel.feature(u, [s, t]))) for u in every)
    assert total == pytest.approx(kernel([s], [t])[0, 0], rel=1e-9, abs=1e-300)


def test_features_of_the_worked_example():
    kernel = Subsequence(2, 0.5)
    values = [kernel.feature(u, ["SVM"])[0] for u in ("SV", "SM", "VM", "MV")]
    assert values == [0.5**2, 0.5**3, 0.5**2, 0.0]
    words = Subsequence(2, 0.5, tokens="words")
    assert words.feature("to be", ["to be or not to be"]).tolist() == [0.5**2 + 0.5**6 + 0.5**2]
    with pytest.raises(ValueError, match="u is empty"):
        kernel.feature("", ["SVM"])
    with pytest.raises(TypeError, match="u must be a string, not 3"):
        kernel.feature(3, ["SVM"])
