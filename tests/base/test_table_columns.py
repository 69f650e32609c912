"""The one reader of columns: what is a number, what is a category, and what is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import BaseEstimator

from maxmargin.base.table_columns import (
    Column,
    as_column,
    coded_table,
    column_mask,
    feature_names,
    read_columns,
)


class Estimator(BaseEstimator):
    """Learns the number and names of columns, as scikit-learn's estimators do."""


def kinds(X, **options):
    columns = read_columns(Estimator(), X, **options)
    return {c.name: "boolean" if c.is_boolean else "number" if c.is_number else "category" for c in columns}


@pytest.mark.parametrize("library", [pd, polars])
def test_kinds_of_columns_follow_from_what_they_hold(library):
    frame = library.DataFrame(
        {"age": [1.5, 2.0], "n": [1, 2], "city": ["a", None], "flag": [True, False], "gap": [1.0, None]}
    )
    assert kinds(frame) == {
        "age": "number",
        "n": "number",
        "city": "category",
        "flag": "boolean",
        "gap": "number",
    }


def test_objects_that_are_numbers_are_numbers():
    objects = {
        "mixed": [1, 2.5, None],
        "exact": [Decimal("1.5"), None, Decimal(2)],
        "truth": [True, None, False],
    }
    columns = read_columns(Estimator(), pd.DataFrame(objects, dtype=object))
    assert [c.is_number for c in columns] == [True, True, True]
    np.testing.assert_array_equal(columns[0].values, [1.0, 2.5, np.nan])
    np.testing.assert_array_equal(columns[1].values, [1.5, np.nan, 2.0])
    np.testing.assert_array_equal(columns[2].values, [1.0, np.nan, 0.0])


def test_nullable_types_of_pandas_keep_their_missing_values():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None], dtype="Int64"),
            "b": pd.array([True, None], dtype="boolean"),
            "s": ["u", pd.NA],
        }
    )
    n, b, s = read_columns(Estimator(), frame)
    np.testing.assert_array_equal(n.values, [1.0, np.nan])
    np.testing.assert_array_equal(b.values, [1.0, np.nan])
    assert b.is_boolean
    assert not s.is_number
    assert pd.isna(s.values).tolist() == [False, True]


def test_a_list_of_rows_keeps_numbers_beside_text():
    assert kinds([[1, "a"], [2, "b"]]) == {"x0": "number", "x1": "category"}


def test_categories_are_named_by_name_position_or_mask():
    frame = pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    for wanted in (["c"], [2], [-1], [np.int64(2)], [False, False, True]):
        assert kinds(frame, categorical=wanted) == {"a": "number", "b": "number", "c": "category"}
    assert column_mask([], ["a"]).tolist() == [False]
    for wrong in (["d"], [3], [-4]):
        with pytest.raises(ValueError, match=r"does not have a column .*: its columns are a, b, c"):
            kinds(frame, categorical=wrong)
    with pytest.raises(ValueError, match="has 2 entries for 3 columns"):
        kinds(frame, categorical=[True, False])
    with pytest.raises(ValueError, match="'abc': give a list of columns"):
        kinds(frame, categorical="abc")


@pytest.mark.parametrize(
    "values",
    [
        pd.date_range("2020", periods=2),
        pd.to_timedelta([1, 2]),
        pd.date_range("2020", periods=2, tz="UTC"),
        pd.period_range("2020", periods=2, freq="M"),
        [datetime.date(2020, 1, 1), None],
        [datetime.datetime(2020, 1, 1), None],
    ],
)
def test_dates_are_refused_in_every_form(values):
    frame = pd.DataFrame({"a": [1, 2], "day": values})
    for read in (read_columns, coded_table):
        with pytest.raises(TypeError, match="dates or times in column 'day': turn them into numbers"):
            read(Estimator(), frame)


def test_complex_numbers_and_containers_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported: column 'z'"):
        read_columns(Estimator(), pd.DataFrame({"z": [1j, 2j]}))
    for bad in ({}, [], set(), np.zeros(2)):
        with pytest.raises(TypeError, match=f"must be a string or a number, got {type(bad).__name__}"):
            as_column("c", np.array([bad, "a"], dtype=object))


def test_tables_without_rows_and_repeated_names_are_refused():
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        read_columns(Estimator(), pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="several columns with the name 'a'"):
        read_columns(Estimator(), pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_names_of_columns():
    assert feature_names(SimpleNamespace(n_features_in_=2)) == ["x0", "x1"]
    assert feature_names(SimpleNamespace(n_features_in_=1, feature_names_in_=np.array(["a"]))) == ["a"]


def test_take_keeps_the_kind():
    column = Column("a", np.array([1.0, 0.0, 1.0]), True, True)
    assert column.take(None) is column
    some = column.take(np.array([True, False, True]))
    assert (some.name, some.values.tolist(), some.is_number, some.is_boolean) == ("a", [1.0, 1.0], True, True)


# -- coded tables ----------------------------------------------------------------------------------------


def test_coded_table_codes_text_categories_and_booleans_by_appearance():
    frame = pd.DataFrame(
        {"x": [0.5, 1.5, 2.5], "t": ["b", "a", "b"], "f": [True, False, True], "c": pd.Categorical([7, 7, 3])}
    )
    table = coded_table(Estimator(), frame)
    assert table.categorical.tolist() == [False, True, True, True]
    assert table.values.tolist() == [[0.5, 0.0, 0.0, 0.0], [1.5, 1.0, 1.0, 0.0], [2.5, 0.0, 0.0, 1.0]]
    assert table.shape == (3, 4)


def test_coded_table_of_named_columns_takes_the_others_as_numbers():
    frame = pd.DataFrame({"x": [5, 6, 5], "f": [True, False, True]})
    table = coded_table(Estimator(), frame, ["x"])
    assert table.categorical.tolist() == [True, False]
    assert table.values.tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    assert not coded_table(Estimator(), frame, None).categorical.any()
    array = coded_table(Estimator(), frame.to_numpy(dtype=float), [0])
    np.testing.assert_array_equal(array.values, table.values)


def test_coded_table_refuses_what_it_cannot_code():
    text = pd.DataFrame({"t": ["a", "b"]})
    with pytest.raises(ValueError, match="column 't' holds values that are not numbers, such as 'a'"):
        coded_table(Estimator(), text, None)
    with pytest.raises(ValueError, match="categorical='all' is unknown: use 'auto', None, or a list"):
        coded_table(Estimator(), text, "all")
    with pytest.raises(ValueError, match="column 't' holds 1 missing or infinite"):
        coded_table(Estimator(), pd.DataFrame({"t": ["a", None]}))
    with pytest.raises(ValueError, match="column 'x' holds 2 missing or infinite"):
        coded_table(Estimator(), pd.DataFrame({"x": [np.inf, np.nan], "t": ["a", "b"]}))
    with pytest.raises(ValueError, match="NaN in column 'x'"):  # numbers only: the reader of whole tables
        coded_table(Estimator(), pd.DataFrame({"x": [1.0, np.nan]}))
