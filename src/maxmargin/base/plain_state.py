"""Objects whose tables are pickled as columns: skops cannot store dataframes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from maxmargin.base.shown import ShownTable
from maxmargin.base.typing import AnyArray


@dataclass(frozen=True)
class _PlainTable:
    names: list[Any]
    columns: list[AnyArray]
    types: list[str]
    index: AnyArray

    @classmethod
    def of(cls, table: pd.DataFrame) -> Self:
        columns = [table.iloc[:, place] for place in range(table.shape[1])]
        kinds = [str(column.dtype) for column in columns]
        return cls(list(table), [column.to_numpy() for column in columns], kinds, table.index.to_numpy())

    def table(self) -> pd.DataFrame:
        pairs = enumerate(zip(self.columns, self.types, strict=True))
        columns = {place: pd.Series(values, self.index, dtype=kind) for place, (values, kind) in pairs}
        return ShownTable(columns, index=self.index).set_axis(self.names, axis=1)


class PlainState:
    """Base class: the state of an object holds no dataframe."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {
            name: _PlainTable.of(value) if isinstance(value, pd.DataFrame) else value
            for name, value in state.items()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(
            {
                name: value.table() if isinstance(value, _PlainTable) else value
                for name, value in state.items()
            }
        )
