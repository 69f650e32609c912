"""Files that this and earlier versions wrote still load and predict the same."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import maxmargin as mm
from tests.io.kept_models import FOLDER, METHODS, read_rows

EXPECTED = json.loads((FOLDER / "predictions.json").read_text())
REFUSED: dict[str, str] = {}  # name of a file that can no longer be loaded: what the message must say


def test_no_file_is_left_out() -> None:
    assert {path.stem for path in FOLDER.glob("*.mm")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_kept_file_predicts_the_same(name: str) -> None:
    """Labels are equal; numbers are equal but for the last digit, in which processors differ."""
    said, path = EXPECTED[name], FOLDER / f"{name}.mm"
    if name in REFUSED:
        with pytest.raises(mm.io.ModelFileError, match=REFUSED[name]):
            mm.load(path)
        return
    rows: Any = read_rows(said["rows"], said["kind"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was written by another version
        model = mm.load(path)
        for method in METHODS:
            assert hasattr(model, method) == (method in said)
            if method not in said:
                continue
            given, expected = np.asarray(getattr(model, method)(rows)), np.array(said[method])
            if expected.dtype.kind == "f":
                digits = 1e-6 if said["kind"] == "float32" else 1e-14
                scale = np.abs(expected).max()
                np.testing.assert_allclose(given, expected, rtol=10 * digits, atol=10 * digits * scale)
            else:
                np.testing.assert_array_equal(given, expected)
