"""The data set of an experiment."""

from __future__ import annotations

from functools import lru_cache
from inspect import signature
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from rankpursuit.datasets import Ratings, load_named, load_ratings, make_ratings
from rankpursuit.datasets.files import column_names, is_separator
from rankpursuit.datasets.synthetic import MOST_NOISE, Scale, most_ratings, too_large
from rankpursuit.errors import DataError
from rankpursuit.experiments.syntax.faults import Faults, shown
from rankpursuit.experiments.syntax.files import is_path
from rankpursuit.experiments.syntax.sections import Section


def _can_be_path(path: str) -> str:
    if not is_path(path):
        raise Faults(f"expected the path of a file, got {shown(path)}")
    return path


FilePath = Annotated[str, Field(min_length=1), AfterValidator(_can_be_path)]
Count = Annotated[int, Field(ge=1)]


_LONGEST_COLUMN = 1000


def _column(value: Any) -> str | int:
    if isinstance(value, str) and 1 <= len(value) <= _LONGEST_COLUMN:
        return value
    if type(value) is int and value >= 1:
        return value
    raise Faults(f"expected the name of a column, or its number, got {shown(value)}")


def _separator(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and is_separator(value)):
        return value
    raise Faults(f"expected one character, or null, got {shown(value)}")


def _header(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value or None
    raise Faults(f"expected true, or null if there is no header, got {shown(value)}")


Column = Annotated[
    str | int,
    BeforeValidator(_column),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": _LONGEST_COLUMN},
                {"type": "integer", "minimum": 1},
            ]
        }
    ),
]
Separator = Annotated[
    str | None,
    BeforeValidator(_separator),
    WithJsonSchema({"type": ["string", "null"], "minLength": 1, "maxLength": 1}),
]
Header = Annotated[
    bool | None, BeforeValidator(_header), WithJsonSchema({"type": ["boolean", "null"]})
]


class JesterSpec(Section):
    """Jester data set 1."""

    name: Literal["jester"]
    path: FilePath | None = None
    """Where it is; null: in the usual places, see ``rp-data``."""


class MovieLensSpec(Section):
    """MovieLens 1M."""

    name: Literal["movielens"]
    path: FilePath | None = None
    """Where it is; null: in the usual places, see ``rp-data``."""


class RatingsSpec(Section):
    """A file of ratings of one's own."""

    name: Literal["ratings"]
    path: FilePath
    """A .csv, .tsv or .parquet file; relative to the file in which it is written."""
    user: Column = "user"
    """Name of the column of users; without a header, its number."""
    item: Column = "item"
    """Name of the column of items; without a header, its number."""
    rating: Column = "rating"
    """Name of the column of ratings; without a header, its number."""
    separator: Separator = None
    """What separates the fields; null: as the ending of the file says."""
    header: Header = True
    """Whether the first line has the names of the columns; null: there is no such line."""

    @model_validator(mode="after")
    def _three_columns(self) -> Self:
        try:
            columns = self.columns
        except DataError as error:
            at, message = str(error).split(": ", 1)
            raise Faults(message, at=at) from error
        if len(set(columns)) < 3:
            raise Faults(f"expected three different columns, got {', '.join(columns)}")
        return self

    @property
    def columns(self) -> tuple[str, str, str]:
        """Names, or numbers, of the columns of users, items and ratings."""
        return column_names(self.user, self.item, self.rating, header=self.header is not None)


def _default(parameter: str) -> Any:
    return signature(make_ratings).parameters[parameter].default


class SyntheticSpec(Section):
    """Synthetic ratings, with the parameters of `rankpursuit.datasets.make_ratings`."""

    name: Literal["synthetic"]
    n_users: Count = _default("n_users")
    """Number of users."""
    n_items: Count = _default("n_items")
    """Number of items."""
    seed: Annotated[int, Field(ge=0)] = _default("seed")
    """Seed of the draw of the ratings, apart from the seed of the experiment."""
    scale: Scale = _default("scale")
    """Real numbers from -10 to 10, or whole numbers from 1 to 5."""
    n_tastes: Count = _default("n_tastes")
    """Number of tastes."""
    noise: Annotated[float, Field(ge=0, le=MOST_NOISE)] = _default("noise")
    """Spread of the noise; a taste has spread 1."""
    min_ratings: Count = _default("min_ratings")
    """Least ratings of a user."""
    max_ratings: Count | None = _default("max_ratings")
    """Most ratings of a user; null: 300, or all items."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        excess = too_large(self.n_users, self.n_items, self.n_tastes)
        if excess:
            raise Faults(excess)
        most = most_ratings(self.n_items, self.max_ratings)
        if most > self.n_items:
            raise Faults(
                f"expected at most n_items, {self.n_items}, got {most}",
                at="max_ratings",
            )
        if self.min_ratings > most:
            raise Faults(
                f"expected at most {most}, the most ratings of a user, got {self.min_ratings}",
                at="min_ratings",
            )
        return self


DataSpec = JesterSpec | MovieLensSpec | RatingsSpec | SyntheticSpec

DATA_SPECS: dict[str, type[Section]] = {
    get_args(spec.model_fields["name"].annotation)[0]: spec for spec in get_args(DataSpec)
}
"""The class of each name."""


@lru_cache(maxsize=1)
def ratings_of(data: DataSpec) -> Ratings:
    """Load the ratings that a config declares, once in each process.

    Parameters
    ----------
    data : DataSpec
        ``experiment.data``.

    Returns
    -------
    Ratings

    Raises
    ------
    DataNotFoundError, DataError
        As the data set's own loader.
    """
    if isinstance(data, SyntheticSpec):
        return make_ratings(**data.model_dump(exclude={"name"}))
    if isinstance(data, RatingsSpec):
        options = data.model_dump(exclude={"name", "path", "header"})
        return load_ratings(data.path, header=data.header is not None, **options)
    return load_named(data.name, data.path)
