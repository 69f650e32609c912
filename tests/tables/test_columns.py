"""Tables from files and from bytes; the kinds of their columns."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maxmargin.tables.column_kinds import ColumnKind, numbers, recognised
from maxmargin.tables.columns import Schema, prepare
from maxmargin.tables.reading import read_table
from maxmargin.tables.refusals import Refusal, UsageRefusal
from maxmargin.tables.table_settings import ColumnSettings, Reading, Task


def _parquet(table: pd.DataFrame) -> bytes:
    raw = BytesIO()
    table.to_parquet(raw)
    return raw.getvalue()


TABLE = pd.DataFrame({"x": [1.5, 2.5, -1.0], "home": ["own", "rent", "own"]})
CSV = TABLE.to_csv(index=False).encode()
ZIPPED = gzip.compress(CSV, mtime=0)  # no time stamp: test names are the same in all workers


@pytest.mark.parametrize(
    ("name", "content", "notes"),
    [
        ("t.csv", CSV, 0),
        ("t.csv", b"\xef\xbb\xbf" + CSV, 0),
        ("t.csv", TABLE.to_csv(index=False, sep=";", decimal=",").encode(), 1),
        ("t.csv", TABLE.to_csv().encode(), 1),
        ("t.tsv", TABLE.to_csv(index=False, sep="\t").encode(), 0),
        ("t.csv.gz", ZIPPED, 0),
        ("t.parquet", _parquet(TABLE), 0),
    ],
)
def test_bytes_and_files_are_the_same_table(tmp_path: Path, name: str, content: bytes, notes: int) -> None:
    said: list[str] = []
    from_bytes = read_table(Path(name), Reading(), said.append, content=content)
    assert len(said) == notes
    (tmp_path / name).write_bytes(content)
    from_file = read_table(tmp_path / name, Reading(), said.append)
    pd.testing.assert_frame_equal(from_bytes, from_file)
    pd.testing.assert_frame_equal(from_bytes, TABLE, check_dtype=False)


def test_the_target_of_a_libsvm_file_is_known() -> None:
    table = read_table(Path("t.libsvm"), Reading(), print, content=b"1 1:0.5\n-1 2:2\n1 1:1\n-1 2:3\n")
    data = prepare(table, Path("t.libsvm"), ColumnSettings(), Task.AUTO, print)
    assert data.y.tolist() == [1, -1, 1, -1]
    assert data.numbers == ["x1", "x2"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b""), ("t.csv.gz", ZIPPED[:-9]), ("t.csv.gz", b"no"), ("t.parquet", b"PAR1PAR1")],
)
def test_broken_content_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(Refusal, match=name):
        read_table(Path(name), Reading(), print, content=content)


def test_a_schema_makes_the_same_columns_again() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "price": [f"${v:,.2f}" for v in rng.uniform(900, 2000, 40)],
            "day": pd.date_range("2024-01-01", periods=40, freq="9D").strftime("%d/%m/%Y"),
            "y": rng.choice(["a", "b"], 40),
        }
    )
    data = prepare(table, Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, print)
    assert Schema.of(data.schema.as_dict()) == data.schema
    assert list(data.X) == ["price", "day (days)", "day (weekday)"]


def test_a_table_without_a_named_target_is_refused() -> None:
    with pytest.raises(UsageRefusal, match="--target"):
        prepare(TABLE, Path("t.csv"), ColumnSettings(), Task.AUTO, print)


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["$1,234.50", "$2", "($3.5)"], [1234.5, 2.0, -3.5]),
        (["1.234,50 €", "2 €", "-3,5 €"], [1234.5, 2.0, -3.5]),
        (["12 %", "7.5%", "-1 %"], [12.0, 7.5, -1.0]),
        (["AR$ 1.234,50", "AR$ 2", "-AR$ 3,5"], [1234.5, 2.0, -3.5]),
        (["S/ 1,234.50", "S/ 2", "S/ 3.5"], [1234.5, 2.0, 3.5]),
        (["1 234 zł", "2 zł", "-3,5 zł"], [1234.0, 2.0, -3.5]),
        (["₩1,234", "₩2", "-₩3"], [1234.0, 2.0, -3.0]),
    ],
)
def test_money_and_percent(texts: list[str], values: list[float]) -> None:
    column = pd.Series(texts, name="x")
    found = recognised(column)
    assert found.kind is ColumnKind.NUMBER
    assert numbers(column, found.decimal).tolist() == values


def _read(content: str, suffix: str = "csv") -> pd.DataFrame:
    return read_table(Path(f"t.{suffix}"), Reading(), lambda note: None, content=content.encode())


@pytest.mark.parametrize(
    ("weights", "other", "expected"),
    [
        (["0,345", "1,250", "2,875"], ["a", "b", "a"], 1.25),  # no thousands start with 0
        (["3,345", "1,250", "2,875"], ["1.234,50 €", "99,00 €", "7,25 €"], 1.25),  # as in the next column
        (["3,345", "1,250", "2,875"], ["$1,234.50", "$99.00", "$7.25"], 1250.0),
        (["3,345", "1,250", "2,875"], ["0.5", "1.5", "2.5"], 1250.0),
        (["3,345", "1,250", "2,875"], ["a", "b", "a"], 1250.0),  # nothing else is known
    ],
)
def test_decimal_commas_are_recognised_from_the_whole_table(
    weights: list[str], other: list[str], expected: float
) -> None:
    lines = [f"{w}\t{o}\t{k}" for k, (w, o) in enumerate(zip(weights, other, strict=True))]
    table = _read("weight\tother\ty\n" + "\n".join(lines), "tsv")
    settings = ColumnSettings(target="y", columns=["weight=number"])
    data = prepare(table, Path("t.tsv"), settings, Task.CLASSIFICATION, lambda note: None)
    assert data.X["weight"].iloc[1] == expected


def test_a_target_is_read_with_the_decimal_mark_of_its_table() -> None:
    """In a file with semicolons 1.250 is one thousand two hundred and fifty."""
    table = _read("x;price\n" + "\n".join(f"{k},5;{k}.250" for k in range(1, 40)))
    settings = ColumnSettings(target="price")
    data = prepare(table, Path("t.csv"), settings, Task.AUTO, lambda note: None)
    assert data.y.iloc[0] == 1250.0


def test_numbers_of_many_digits_that_differ_are_an_identifier() -> None:
    found = recognised(pd.Series([10**17 + 3 * k for k in range(50)], name="card"))
    assert found.is_identifier
    accounts = [10**17 + 3 * k for k in range(50)]
    assert recognised(pd.Series([*accounts, *accounts[:20]], name="card")).is_identifier  # rows come twice
    twice = pd.Series([10**17 + 3 * (k // 2) for k in range(50)], name="card")
    with pytest.raises(Refusal, match="too large to be exact"):
        recognised(twice)


def test_a_date_of_another_form_is_named() -> None:
    column = pd.Series(["01/02/2020", "23/04/1996"], name="birth")
    with pytest.raises(Refusal, match=r"'23/04/1996', which is not a date of the form month/day/year: corr"):
        recognised(column, "date:%m/%d/%Y")


@pytest.mark.parametrize(
    ("dates", "form"),
    [
        (["23/04/2021 09:30", "01/05/2021 17:05"], "%d/%m/%Y %H:%M"),
        (["04/23/2021 09:30:10", "05/01/2021 17:05:00"], "%m/%d/%Y %H:%M:%S"),
        (["04/23/2021 09:30 AM", "05/01/2021 05:05 PM"], "%m/%d/%Y %I:%M %p"),
        (["23.04.2021 09:30", "01.05.2021 17:05"], "%d.%m.%Y %H:%M"),
    ],
)
def test_dates_with_times(dates: list[str], form: str) -> None:
    found = recognised(pd.Series(dates * 30, name="when"))
    assert (found.kind, found.form) == (ColumnKind.DATE, form)


def test_spaces_around_classes_and_categories_do_not_count() -> None:
    notes: list[str] = []
    content = "x,home,y\n" + "\n".join(
        f"{k}.5,{'own ' if k % 2 else 'own'},{' Yes' if k % 3 else 'no'}" for k in range(30)
    )
    data = prepare(
        _read(content + "\n7,rent,yes"), Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, notes.append
    )
    assert data.classes == ["Yes", "no", "yes"]
    assert set(data.X["home"]) == {"own", "rent"}
    assert notes == ["classes 'Yes' and 'yes' differ in capital letters only: correct them if they are one."]


def test_the_line_with_the_separator_above_the_header_is_skipped() -> None:
    table = _read("sep=;\nx;y\n1,5;2\n")
    assert table.to_dict("list") == {"x": [1.5], "y": [2]}
    with pytest.raises(Refusal, match="header"):
        _read("sep=;\nx;y\n")


def _distinct(n: int, span: int, start: int = 0) -> pd.Series:
    numbers_ = np.random.default_rng(1).choice(span, n, replace=False) + start
    return pd.Series(numbers_, name="ticket")


def test_distinct_whole_numbers_are_an_identifier_where_chance_would_repeat_them() -> None:
    """300 independent numbers out of 3000 are all distinct with probability below exp(-14)."""
    assert recognised(_distinct(300, 3000)).is_identifier
    assert recognised(_distinct(300, 3000), "number").kind is ColumnKind.NUMBER
    assert recognised(_distinct(300, 10**7)).kind is ColumnKind.NUMBER  # an amount of money may be this
    assert recognised(_distinct(40, 60)).kind is ColumnKind.NUMBER  # too few rows to say
    assert recognised(_distinct(300, 3000).rename("amount").astype(float)).is_identifier
    repeated = _distinct(300, 3000).replace(_distinct(300, 3000).iloc[0], _distinct(300, 3000).iloc[1])
    assert recognised(repeated).kind is ColumnKind.NUMBER


@pytest.mark.parametrize(("separator", "form"), [(",", "csv"), (";", "csv"), ("\t", "tsv")])
@pytest.mark.parametrize("gap", [False, True])
def test_codes_with_leading_zeros_stay_text(separator: str, form: str, gap: bool) -> None:
    codes = ["01234", "90210", "" if gap else "00501"] * 20
    lines = [f"{code}{separator}{k % 7}{separator}{k % 2}" for k, code in enumerate(codes)]
    table = _read(f"zip{separator}x{separator}y\n" + "\n".join(lines), form)
    assert table["zip"].iloc[0] == "01234"
    assert pd.api.types.is_integer_dtype(table["x"])
    notes: list[str] = []
    settings = ColumnSettings(target="y")
    data = prepare(table, Path("t.csv"), settings, Task.CLASSIFICATION, notes.append)
    assert data.categories == ["zip"]
    assert notes == ["zip: codes with leading zeros, read as text; --columns zip=number reads numbers."]
    settings = ColumnSettings(target="y", columns=["zip=number"])
    data = prepare(table, Path("t.csv"), settings, Task.CLASSIFICATION, notes.append)
    assert data.X["zip"].iloc[0] == 1234.0
    assert len(notes) == 1
    spaced = table.rename(columns={"zip": "zip code"})
    prepare(spaced, Path("t.csv"), ColumnSettings(target="y"), Task.CLASSIFICATION, notes.append)
    assert "--columns 'zip code'=number reads" in notes[-1]  # as a shell takes it


def test_codes_of_currency_letters_with_leading_zeros_stay_text() -> None:
    codes = pd.Series([f"CAD-{k % 7:04d}" for k in range(60)], name="part")
    assert recognised(codes).kind is ColumnKind.CATEGORY
    assert recognised(codes.str.replace("-000", " 12.")).kind is ColumnKind.NUMBER


def test_zeros_before_a_point_are_numbers() -> None:
    table = _read("a,b,y\n" + "\n".join(f"0{k % 10}.5,{10 * (k % 3)},{k % 2}" for k in range(60)))
    assert all(pd.api.types.is_numeric_dtype(table[name]) for name in "ab")


IDENTIFIERS = {
    "uuid": lambda k: f"{(k + 7) * 0x9E3779B97F4A7C15 % 2**64:016x}-{k * 0xC2B2AE3D27D4EB4F % 2**64:016x}",
    "iban": lambda k: f"ES{k % 89 + 10}{k * 7919 % 10**10:010d}{k * 104729 % 10**10:010d}",
    "e-mail": lambda k: (
        f"{'abcdefghij'[k % 10]}.{'klmnopqrst'[k // 10 % 10]}{'uvwxyz'[k // 100]}@example.com"
    ),
    "address": lambda k: f"https://example.com/{k * 7919 % 10**6}",
}


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_codes_and_addresses_of_rows_are_identifiers(kind: str) -> None:
    found = recognised(pd.Series([IDENTIFIERS[kind](k) for k in range(300)], name=kind))
    assert found.is_identifier


@pytest.mark.parametrize("symbols", ["ACGT", "ACDEFGHIKLMNPQRSTVWY", "CNO()=#"])
def test_sequences_of_symbols_are_text(symbols: str) -> None:
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list(symbols), 30)) for _ in range(300)]
    assert recognised(pd.Series(texts, name="gene")).symbols


def test_cells_that_look_empty_are_missing() -> None:
    table = _read("x,home,y\n" + "1.5,own,a\n2.5,  ,b\n   ,rent,a\n" * 10 + "3,own,  \n")
    assert table["x"].dtype == float
    assert table.isna().sum().to_dict() == {"x": 10, "home": 10, "y": 1}


def test_classes_that_differ_in_capital_letters_make_one_note() -> None:
    notes: list[str] = []
    content = "x,y\n" + "".join(f"{k}.5,{('Yes', 'yes', 'YES', 'no')[k % 4]}\n" for k in range(40))
    prepare(_read(content), Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, notes.append)
    assert notes == [
        "classes 'Yes', 'yes' and 'YES' differ in capital letters only: correct them if they are one."
    ]


def test_a_missing_value_of_a_misspelt_column_is_refused() -> None:
    table = _read("glucose,age,y\n" + "".join(f"{k % 5}.5,{k},{k % 2}\n" for k in range(40)))
    settings, source = ColumnSettings(target="y"), Path("t.csv")
    with pytest.raises(
        Refusal, match=r"--na 'glucos=0': there is no column 'glucos': did you mean 'glucose'"
    ):
        prepare(table, source, settings, Task.AUTO, print, ["glucos=0"])
    data = prepare(table, source, settings, Task.AUTO, print, ["glucose=0", "x=?", "-9"])
    assert data.schema.missing == ("glucose=0", "x=?", "-9")


@pytest.mark.parametrize(("mark", "said"), [(",", "','"), (".", "'.'")])
def test_the_decimal_mark_beside_semicolons_is_the_one_of_the_file(mark: str, said: str) -> None:
    content = "a;b;y\n" + "".join(f"{k % 7}.25;{k}.5;{'uv'[k % 2]}\n" for k in range(40)).replace(".", mark)
    notes: list[str] = []
    table = read_table(Path("t.csv"), Reading(), notes.append, content=content.encode())
    assert notes == [f"t.csv: columns are separated by ';', decimals are written with {said}."]
    data = prepare(table, Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, print)
    assert data.X["a"].tolist()[:2] == [0.25, 1.25]


def test_rows_without_a_target_are_counted_beside_all_rows() -> None:
    notes: list[str] = []
    content = "x,y\n3,\n" + "".join(f"{k}.5,{'ab'[k % 2]}\n" for k in range(40))
    prepare(_read(content), Path("t.csv"), ColumnSettings(target="y"), Task.AUTO, notes.append)
    assert notes == ["rows without a target are left out: 1 of 41."]
