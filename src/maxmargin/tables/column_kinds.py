"""The kind of a column (number, category, date, text, ...), and the values that a model gets from it."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from maxmargin.base.typing import FloatArray
from maxmargin.tables.refusals import Refusal

_WHOLE = 2**53  # beyond it a float64 skips whole numbers
_MANY = 50  # distinct values from which a column of text can be an identifier or free text
_WORDS = 3.0  # words per value, on average, from which text is free text
_SYMBOLS, _LENGTH = 30, 15  # most symbols and least length of text without spaces that is a sequence
_CODED = 0.12  # share of digits from which text without spaces is a code, not a sequence
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$£¥\u20a0-\u20c0]|S/\.?|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|MXN|ARS|BRL|CLP|COP|PEN|UYU|"
    r"SEK|NOK|DKK|PLN|kr|zł)"
)
_UNIT = (
    r"(?:k?g|mg|lbs?|oz|[kcm]?m|k?m²|m2|ha|mi|ft|[mc]?[lL]|km/h|mph|[kM]?Wh?|°[CF]?|h|min|m?s|days?|years?|%)"
)
_UNIT_AFTER = re.compile(rf"(?<=\d)\s*{_UNIT}$")
_FORMULA_SAFE = re.compile(r"[\s'’_]")
_NAMED_ID = re.compile(r"(^|[_\s.-])(id|no|nr|num|key|code|index|uuid)$|^(id|key|uuid)([_\s.-]|$)", re.I)
_DATES = {
    "%Y-%m-%d": "year-month-day",
    "%Y-%m-%d %H:%M": "year-month-day hour:minute",
    "%Y-%m-%d %H:%M:%S": "year-month-day hour:minute:second",
    "ISO8601": "ISO 8601",
    "%Y/%m/%d": "year/month/day",
    "%d/%m/%Y": "day/month/year",
    "%m/%d/%Y": "month/day/year",
    "%d.%m.%Y": "day.month.year",
    "%d-%m-%Y": "day-month-year",
    "%d/%m/%y": "day/month/year",
    "%m/%d/%y": "month/day/year",
    "%d %b %Y": "day month year",
    "%d %B %Y": "day month year",
    "%b %d, %Y": "month day, year",
    "%B %d, %Y": "month day, year",
    "%d-%b-%Y": "day-month-year",
    "%d-%b-%y": "day-month-year",
    "%d/%m/%Y %H:%M": "day/month/year hour:minute",
    "%d/%m/%Y %H:%M:%S": "day/month/year hour:minute:second",
    "%m/%d/%Y %H:%M": "month/day/year hour:minute",
    "%m/%d/%Y %H:%M:%S": "month/day/year hour:minute:second",
    "%m/%d/%Y %I:%M %p": "month/day/year hour:minute AM/PM",
    "%m/%d/%Y %I:%M:%S %p": "month/day/year hour:minute:second AM/PM",
    "%d.%m.%Y %H:%M": "day.month.year hour:minute",
}
DATE_PARTS = ("days", "month", "weekday")
_DIGITS = re.compile(r"\d")
_IDENTIFIER = "an identifier"
_PREFIX = rf"(?:{_CURRENCY}-?)?"  # of a code whose letters could mean money
_OWN_VALUES = f"{_IDENTIFIER}: almost every row has its own value"
DAYS = " (days)"  # after the name of a date
_EPOCH = pd.Timestamp("2000-01-01")
_WEEKDAYS = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)


class ColumnKind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    STRING = "string"  # text as it is, for a string kernel
    DROP = "drop"


@dataclass(frozen=True)
class TableColumn:
    """A column of the user's table, and how the model's columns come out of it.

    Attributes
    ----------
    name, kind : of the column.
    decimal : decimal mark of numbers that are written as text, with thousands separators, currency signs or
        percent signs; empty for numbers as the file format knows them.
    form : format of dates, as strptime takes it; empty where the file holds dates.
    parts : what a date becomes: "days" (since 2000-01-01), "month", "weekday".
    unit : currency or unit of numbers that are written as text.
    symbols : True for text that is a sequence of symbols without words.
    why : the reason why a column is left out.
    """

    name: str
    kind: ColumnKind
    decimal: str = ""
    form: str = ""
    parts: tuple[str, ...] = ()
    unit: str = ""
    symbols: bool = False
    why: str = ""

    def as_dict(self) -> dict[str, Any]:
        """What differs from the defaults, for a model file."""
        return {key: value for key, value in asdict(self).items() if value}

    @classmethod
    def of(cls, given: dict[str, Any]) -> TableColumn:
        """From what `as_dict` gave; TypeError or ValueError if it did not come from there."""
        parts = given.get("parts", [])
        texts = [value for key, value in given.items() if key not in ("parts", "symbols")]
        if not all(isinstance(text, str) for text in texts) or not set(parts) <= set(DATE_PARTS):
            raise TypeError("a column is not described by texts.")
        return cls(**{**given, "kind": ColumnKind(given["kind"]), "parts": tuple(parts)})

    @property
    def made(self) -> dict[str, ColumnKind]:
        """Names and kinds of the columns that the model gets."""
        if self.kind is not ColumnKind.DATE:
            return {} if self.kind is ColumnKind.DROP else {self.name: self.kind}
        return {
            f"{self.name} ({part})": ColumnKind.NUMBER if part == "days" else ColumnKind.CATEGORY
            for part in self.parts
        }

    @property
    def is_identifier(self) -> bool:
        """True if the column was left out because it identifies rows."""
        return self.why.startswith(_IDENTIFIER)

    @property
    def converted(self) -> bool:
        """True if the column is not simply used as numbers or categories."""
        return self.kind not in (ColumnKind.NUMBER, ColumnKind.CATEGORY) or bool(self.decimal)

    @property
    def use(self) -> str:
        """A description of what is done to the column."""
        if self.kind is ColumnKind.DROP:
            return f"left out: {self.why}"
        if self.kind is ColumnKind.DATE:
            form = _DATES.get(self.form, self.form) or "as stored"
            return f"dates ({form}), used as {', '.join(self.parts)}"
        if self.kind is ColumnKind.STRING:
            return "text as it is, for the string kernel"
        if self.kind is ColumnKind.TEXT:
            parts = "groups of three symbols" if self.symbols else "words"
            return f"text, used as {parts} weighted by TF-IDF"
        return f"numbers with '{self.decimal}' before the decimals" if self.decimal else self.kind.value

    def values(self, column: pd.Series) -> dict[str, pd.Series]:
        """The columns that the model gets, from this column of a table."""
        if self.kind is ColumnKind.NUMBER:
            other = (
                {_unit(text) for text in column.dropna().unique()} - {"", self.unit} if self.unit else set()
            )
            if other:
                raise Refusal(
                    f"column {self.name!r} holds {min(other)}, and the model was fitted to {self.unit}: "
                    "convert it first."
                )
            return {self.name: numbers(column, self.decimal)}
        if self.kind is ColumnKind.CATEGORY:
            return {self.name: categories(column)}
        if self.kind in (ColumnKind.TEXT, ColumnKind.STRING):
            texts = np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)
            return {self.name: pd.Series(texts, index=column.index, name=column.name, dtype=object)}
        if self.kind is ColumnKind.DATE:
            return self._date_values(column)
        return {}

    def _date_values(self, column: pd.Series) -> dict[str, pd.Series]:
        dates = as_dates(column, self.form)
        if dates is None:
            wrong = next(
                value for value in column.dropna() if as_dates(pd.Series([value]), self.form) is None
            )
            raise Refusal(
                f"column {self.name!r} holds {str(wrong)[:30]!r}, which is not a date of the form "
                f"{_DATES.get(self.form, self.form)}: correct it, or use --columns {self.name}=category."
            )
        made = {
            "days": (dates - _EPOCH) / pd.Timedelta(days=1),
            "month": dates.dt.month.map(lambda m: np.nan if pd.isna(m) else f"{int(m):02d}"),
            "weekday": dates.dt.day_of_week.map(lambda d: np.nan if pd.isna(d) else _WEEKDAYS[int(d)]),
        }
        return {
            f"{self.name} ({part})": made[part].astype(float if part == "days" else object)
            for part in self.parts
        }


# -- which kind ----------------------------------------------------------------------------------------------


def recognised(column: pd.Series, named: str | None = None, decimal: str = ".") -> TableColumn:
    """The kind of a column: what the user says, or what its values look like.

    ``decimal`` is the decimal mark of the file where a text such as 1,234 can be read in two ways.
    """
    name = str(column.name)
    if named is not None:
        return _as_named(column, named, decimal)
    if column.isna().all():
        return TableColumn(name, ColumnKind.DROP, why="no value in any row")
    if column.nunique(dropna=False) == 1:
        return TableColumn(name, ColumnKind.DROP, why="the same value in every row")
    if pd.api.types.is_datetime64_any_dtype(column):
        return dates_of(column)
    if pd.api.types.is_timedelta64_dtype(column):
        return TableColumn(name, ColumnKind.DROP, why="durations")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return TableColumn(name, ColumnKind.CATEGORY)
    if pd.api.types.is_numeric_dtype(column):
        return _number_column(column, "")
    if leading_zeros(column):
        return _text_column(column)
    form = date_form(column)
    if form:
        return dates_of(column, form)
    mark = decimal_mark(column, decimal)
    if mark is not None:
        return _number_column(column, mark)
    return _text_column(column)


def _as_named(column: pd.Series, named: str, decimal: str) -> TableColumn:
    """A column of the kind that the user gave, such as "number" or "date:%d/%m/%y"."""
    name, (kind, _, form) = str(column.name), named.partition(":")
    if kind == ColumnKind.DROP:
        return TableColumn(name, ColumnKind.DROP, why="--columns or --drop")
    if kind == ColumnKind.NUMBER:
        typed = pd.api.types.is_numeric_dtype(column)
        return TableColumn(
            name, ColumnKind.NUMBER, decimal="" if typed else decimal_mark(column, decimal) or decimal
        )
    if kind == ColumnKind.DATE and not pd.api.types.is_datetime64_any_dtype(column):
        form = form or date_form(column)
        if not form:
            raise Refusal(
                f"column {name!r} does not hold dates of one known form: give it, such as --columns "
                f"{name}=date:%d/%m/%Y."
            )
        TableColumn(name, ColumnKind.DATE, form=form).values(column)  # refuses other values
    if kind == ColumnKind.DATE:
        return dates_of(column, form)
    return TableColumn(name, ColumnKind(kind), symbols=kind == ColumnKind.TEXT and _is_sequence(column))


def _number_column(column: pd.Series, decimal: str) -> TableColumn:
    name = str(column.name)
    if _has_long_digits(column) and column.nunique() > 0.5 * len(column):
        return TableColumn(name, ColumnKind.DROP, why=_OWN_VALUES)
    known = numbers(column, decimal)
    whole = bool((np.rint(known.to_numpy()) == known.to_numpy()).all())  # False where values are missing
    if whole and known.is_unique and len(known) > 2:
        if known.max() - known.min() + 1 == len(known):
            return TableColumn(name, ColumnKind.DROP, why=f"{_IDENTIFIER}: it counts the rows")
        if _NAMED_ID.search(name) or differ_on_purpose(known):
            return TableColumn(name, ColumnKind.DROP, why=f"{_IDENTIFIER}: every row has its own number")
    units = {_unit(text) for text in column.dropna().unique()} - {""} if decimal else set()
    return TableColumn(name, ColumnKind.NUMBER, decimal=decimal, unit=min(units, default=""))


def differ_on_purpose(values: pd.Series) -> bool:
    """True if distinct whole numbers lie so close that independent ones would repeat (p < 0.0001).

    n independent numbers in a range of R values are all distinct with probability at most exp(-n(n-1) / 2R),
    however they are distributed.
    """
    n, span = len(values), float(values.max() - values.min()) + 1.0
    return n >= _MANY and n * (n - 1) / (2.0 * span) > -np.log(1e-4)


def leading_zeros(column: pd.Series) -> bool:
    """True for whole numbers as text, some of which begin with zero: codes such as 01234 or CAD-0012."""
    if not pd.api.types.is_string_dtype(column.dtype):
        return False
    texts = column.dropna().drop_duplicates().astype(str).str.strip()
    return bool(texts.str.fullmatch(_PREFIX + r"\d+").all() and texts.str.fullmatch(_PREFIX + r"0\d+").any())


def _has_long_digits(column: pd.Series) -> bool:
    """True if all values are whole numbers of 16 or more digits."""
    if pd.api.types.is_float_dtype(column):
        return False
    if pd.api.types.is_integer_dtype(column):
        return bool((column >= 10**15).all())
    return bool(column.astype(str).str.fullmatch(r"\d{16,}").all())


def _text_column(column: pd.Series) -> TableColumn:
    name, distinct = str(column.name), column.nunique()
    if distinct <= _MANY or distinct <= 0.5 * len(column):
        return TableColumn(name, ColumnKind.CATEGORY)
    words = float(np.mean([len(str(text).split()) for text in column.dropna()]))
    if words >= _WORDS:
        return TableColumn(name, ColumnKind.TEXT)
    if _is_sequence(column):
        return TableColumn(name, ColumnKind.TEXT, symbols=True)
    return TableColumn(name, ColumnKind.DROP, why=_OWN_VALUES)


def _is_sequence(column: pd.Series) -> bool:
    """True for text such as ACGT...: few symbols, hardly a space or a digit, no addresses."""
    sample = column.dropna().astype(str).iloc[:1000]
    spaced = sample.str.contains(r"\s|\w@\w[\w-]*\.\w|://").mean() > 0.1
    joined = "".join(sample)
    coded = len(_DIGITS.findall(joined)) > _CODED * len(joined)  # such as 7f1c-..., ES91 2100 ...
    few = len(set(joined)) <= _SYMBOLS
    return few and not spaced and not coded and bool(sample.str.len().mean() >= _LENGTH)


# -- numbers -------------------------------------------------------------------------------------------------


def _pattern(decimal: str) -> re.Pattern[str]:
    """Numbers with thousands separators, a currency sign before or after, a unit, or in brackets."""
    groups = r"[,\s'’]" if decimal == "." else r"[.\s'’]"
    digits = rf"(?:[1-9]\d{{0,2}}(?:{groups}\d{{3}})+|\d+)(?:{re.escape(decimal)}\d*)?(?:[eE][-+]?\d+)?"
    body = rf"[-+−]?\s*{_CURRENCY}?\s*[-+−]?(?:{digits}|{re.escape(decimal)}\d+)\s*(?:{_CURRENCY}|{_UNIT})?"
    return re.compile(rf"\s*(?:{body}|\(\s*{body}\s*\))\s*")


_PATTERNS = {mark: _pattern(mark) for mark in ".,"}


def decimal_of(table: pd.DataFrame, decimal: str) -> str:
    """The decimal mark of a text file: ``decimal`` unless columns that can be read in one way only differ."""
    floats = (table[name].to_numpy() for name, dtype in table.dtypes.items() if dtype.kind == "f")
    if any(np.any((values % 1 != 0) & np.isfinite(values)) for values in floats):
        return decimal
    columns = (table[name].dropna() for name, dtype in table.dtypes.items() if dtype.kind not in "biuf")
    texts = [
        column.drop_duplicates().iloc[:1000] for column in columns if pd.api.types.is_string_dtype(column)
    ]
    found = {_only_mark(text.astype(str)) for text in texts} - {None}
    return str(found.pop()) if len(found) == 1 else decimal


def _only_mark(texts: pd.Series) -> str | None:
    """The decimal mark with which all texts are numbers, if the other one does not fit."""
    fits = [mark for mark, form in _PATTERNS.items() if all(form.fullmatch(text) for text in texts)]
    return fits[0] if len(fits) == 1 else None


def decimal_mark(column: pd.Series, decimal: str) -> str | None:
    """The decimal mark with which most values are numbers; None where they are not numbers.

    If all but a few values are numbers, the column is refused: the others are more often mistakes than
    categories.
    """
    texts = column.dropna().astype(str)
    other = "," if decimal == "." else "."
    if texts.empty:
        return decimal
    counts = texts.value_counts(sort=False)
    shares = {
        mark: sum(int(n) for t, n in counts.items() if _PATTERNS[mark].fullmatch(str(t))) / len(texts)
        for mark in (decimal, other)
    }
    mark = max(shares, key=lambda m: (shares[m], m == decimal))
    units = {found[0].strip() for text in counts.index if (found := _UNIT_AFTER.search(str(text).strip()))}
    # 500 g and 1 kg are categories, and so are 2 years and 3 weeks
    if shares[mark] < 0.5 or len(units) > 1 or (shares[mark] < 1.0 and units - {"%"}):
        return None
    if shares[mark] < 1.0:
        wrong = texts[~texts.map(lambda t: bool(_PATTERNS[mark].fullmatch(t))).astype(bool)]
        raise Refusal(
            f"column {column.name!r} holds numbers except {str(wrong.iloc[0])[:30]!r} in row "
            f"{int(wrong.index[0]) + 1} ({len(wrong)} such values): correct the value, use --na "
            f"{shlex.quote(str(wrong.iloc[0])[:30])} if it means missing, or --categorical {column.name}."
        )
    signs = {sign for text in texts.unique() for sign in re.findall(_CURRENCY, text)}
    if len(signs) > 1:
        raise Refusal(
            f"column {column.name!r} holds several currencies ({', '.join(sorted(signs))}): convert them "
            f"to one first, or leave the column out with --drop {column.name}."
        )
    return mark


def numbers(column: pd.Series, decimal: str = "") -> pd.Series:
    """The column as floats; refuses infinities and whole numbers that a float cannot hold."""
    if pd.api.types.is_bool_dtype(column):
        return column.astype(float)
    plain = column
    if not pd.api.types.is_numeric_dtype(column):
        plain = column.map(lambda value: _number(value, decimal or "."), na_action="ignore")
    if column.dtype == np.float64:
        _check_range(column, plain, column.to_numpy())
        return column
    values = pd.to_numeric(plain, errors="coerce").astype("Float64").to_numpy(np.float64, na_value=np.nan)
    lost = np.isnan(values) & column.notna().to_numpy()
    if lost.any():
        row = int(lost.argmax())
        raise Refusal(
            f"column {column.name!r} holds text ({str(column.iloc[row])[:30]!r} in row {row + 1}) where "
            "numbers are needed: correct it, or treat the column as categories (--categorical "
            f"{column.name}) when fitting."
        )
    _check_range(column, plain, values)
    return pd.Series(values, index=column.index, name=column.name)


def _number(value: Any, decimal: str) -> Any:
    """A number written as text, such as "$1,234.50", "(12)" or "3,5 %"."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    sign = -1.0 if text.startswith("(") else 1.0
    text = _UNIT_AFTER.sub("", re.sub(_CURRENCY, "", text.strip("()"))).replace("−", "-")
    text = _FORMULA_SAFE.sub("", text).replace("." if decimal == "," else ",", "").replace(decimal, ".")
    try:
        number = int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return np.nan
    return sign * number if sign < 0 else number


def _unit(value: Any) -> str:
    """The currency or the unit in a number written as text."""
    found = re.search(_CURRENCY, str(value)) or _UNIT_AFTER.search(str(value).strip())
    return found[0].strip() if found else ""


def _check_range(column: pd.Series, plain: pd.Series, values: FloatArray) -> None:
    if np.isinf(values).any():
        raise Refusal(
            f"column {column.name!r} holds infinity in row {int(np.flatnonzero(np.isinf(values))[0]) + 1}: "
            "correct it, or use --na inf."
        )
    large = np.abs(values) > _WHOLE
    if large.any() and (
        pd.api.types.is_integer_dtype(plain) or all(isinstance(v, int) for v in plain.dropna())
    ):
        row = int(np.flatnonzero(large)[0])
        raise Refusal(
            f"column {column.name!r} holds whole numbers too large to be exact ({column.iloc[row]} in row "
            f"{row + 1}). If it is an identifier, use --drop {column.name} or --categorical {column.name}."
        )


# -- dates and categories ------------------------------------------------------------------------------------


def date_form(column: pd.Series) -> str:
    """The format in which all values are dates; empty where there is none. Day before month if both fit."""
    texts = column.dropna().astype(str).str.strip()
    sample = texts.drop_duplicates().iloc[:200]
    if not sample.map(lambda text: 6 <= len(text) <= 40 and len(_DIGITS.findall(text)) >= 3).all():
        return ""
    for form in _DATES:
        if as_dates(sample, form) is not None and as_dates(texts, form) is not None:
            return form
    return ""


def as_dates(column: pd.Series, form: str) -> pd.Series | None:
    """The column as dates of one format; None where a value does not fit."""
    if pd.api.types.is_datetime64_any_dtype(column):
        found = column
    else:
        texts = column.map(lambda value: str(value).strip(), na_action="ignore")
        found = pd.to_datetime(texts, format=form, errors="coerce", utc=form == "ISO8601")
        if (found.isna() & column.notna()).any():
            return None
    return found.dt.tz_localize(None) if found.dt.tz is not None else found


def dates_of(column: pd.Series, form: str = "") -> TableColumn:
    """A column of dates: days since 2000-01-01; the month if a year is covered; the weekday if it varies."""
    dates = as_dates(column, form)
    assert dates is not None  # the caller found the format
    known = dates.dropna()
    if known.nunique() < 2:
        return TableColumn(str(column.name), ColumnKind.DROP, why="the same value in every row")
    parts = ["days"]
    if known.max() - known.min() >= pd.Timedelta(days=360) and known.dt.month.nunique() > 1:
        parts.append("month")
    if known.dt.day_of_week.nunique() > 1:
        parts.append("weekday")
    return TableColumn(str(column.name), ColumnKind.DATE, form=form, parts=tuple(parts))


def categories(column: pd.Series) -> pd.Series:
    """Text, with NaN for missing values."""
    texts = [np.nan if pd.isna(value) else _category(value) for value in column.astype(object)]
    return pd.Series(
        np.array([*texts, None], dtype=object)[:-1], index=column.index, name=column.name, dtype=object
    )


def _category(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value).strip()
