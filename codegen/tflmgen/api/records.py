"""Sequences of records that become tables of pandas."""

from __future__ import annotations

from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from tflmgen.errors import TflmgenError

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class MissingPackageError(TflmgenError):
    """An optional package is not installed."""


class Records(tuple[T, ...]):
    """A tuple of frozen dataclasses of one kind."""

    __slots__ = ()

    def to_dataframe(self) -> pd.DataFrame:
        """The records as a pandas.DataFrame: a row each, a column per field.

        Raises MissingPackageError without pandas, which tflmgen does not install.
        """
        if find_spec("pandas") is None:
            raise MissingPackageError("to_dataframe() needs the package pandas. Install it: pip install pandas")
        pandas: Any = import_module("pandas")
        columns = [field.name for record in self[:1] if is_dataclass(record) for field in fields(record)]
        rows = [asdict(record) for record in self if is_dataclass(record) and not isinstance(record, type)]
        frame: pd.DataFrame = pandas.DataFrame(rows, columns=columns or None)
        return frame
