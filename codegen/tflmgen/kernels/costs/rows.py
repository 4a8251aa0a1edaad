"""The terms of kernels without windows: matrices, elements, and recurrent layers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from tflmgen.kernels.costs.term import Blocking, Numbers, Term, is_clamped


@dataclass(frozen=True, slots=True)
class CountedCall:
    """One call: its numbers, and what the kernel computes at a time."""

    n: Numbers
    by: Blocking

    def flag(self, name: str) -> int:
        """A number of the layer, 0 where it has none of this name."""
        return self.n.get(name, 0)

    @property
    def is_inlined(self) -> bool:
        """Whether the kernel is specialised for its numbers in place of a call."""
        return False


class Matrix(CountedCall):
    """FULLY_CONNECTED: batches of rows times units."""

    @property
    def rows(self) -> int:
        """Rows of the input."""
        return self.n["batches"]

    @property
    def units(self) -> int:
        """Rows of the weights."""
        return self.n["units"]

    @property
    def depth(self) -> int:
        """Values of each row."""
        return self.n["depth"]

    @property
    def steps(self) -> int:
        """Steps over one row, the last perhaps not whole."""
        return ceil(self.depth / self.by.values)

    @property
    def blocks(self) -> int:
        """Blocks of units in all rows, the last of a row perhaps not whole."""
        return self.rows * ceil(self.units / self.by.channels)

    @property
    def grouped(self) -> int:
        """Blocks of units but those that are computed one by one."""
        return self.rows * ceil((self.units - self.flag("singles")) / self.by.channels)

    @property
    def rest(self) -> int:
        """Units beyond whole blocks, in all rows."""
        return self.rows * (self.units % self.by.channels)

    @property
    def outputs(self) -> int:
        """Elements of the output."""
        return self.rows * self.units


MATRIX_TERMS: dict[str, Term[Matrix]] = {
    "row": Term("rows of the input", lambda m: m.rows),
    "row_step": Term("steps of values of rows", lambda m: m.rows * m.steps),
    "value": Term("values of rows", lambda m: m.rows * m.depth),
    "odd_value": Term("values of rows that are no whole words", lambda m: m.rows * m.depth * (m.depth % 4 > 0)),
    "copied_step": Term("steps of rows copied to the stack", lambda m: (m.depth % 16 > 0) * m.rows * m.steps),
    "widened_value": Term(
        "values of rows, widened for every 64 units", lambda m: m.rows * ceil(m.units / 64) * m.depth
    ),
    "unit": Term("outputs", lambda m: m.outputs),
    "mac": Term("products", lambda m: m.outputs * m.depth),
    "block": Term("blocks of units", lambda m: m.blocks),
    "step": Term("steps in blocks", lambda m: m.blocks * m.steps),
    "partial_block": Term("blocks whose last step is not full", lambda m: m.blocks * (m.depth % m.by.values > 0)),
    "left_value": Term("values of blocks beyond eights", lambda m: m.blocks * (m.depth % 8)),
    "grouped_row": Term("rows with blocks of units", lambda m: m.rows * (m.grouped > 0)),
    "grouped_step": Term("steps of blocks but of single units", lambda m: m.grouped * m.steps),
    "single": Term("units computed one by one", lambda m: m.rows * m.flag("singles")),
    "single_step": Term("steps of units computed one by one", lambda m: m.rows * m.flag("singles") * m.steps),
    "lone": Term("units of layers with less than a block", lambda m: m.outputs * (m.units < m.by.channels)),
    "rest": Term("units beyond whole blocks", lambda m: m.rest),
    "rest_mac": Term("products of units beyond whole blocks", lambda m: m.rest * m.depth),
    "own_scale": Term("outputs with a scale of their own", lambda m: m.n["own_scales"] * m.outputs),
    "signed": Term("outputs of kernels whose results may be negative", lambda m: m.n["signed"] * m.outputs),
    "clamp": Term("outputs clamped in a pass of their own", lambda m: m.outputs * is_clamped(m.n)),
    "rectified": Term("float outputs with a lower limit", lambda m: m.outputs * m.n["rectified"]),
}


class Product(CountedCall):
    """BATCH_MATMUL: batches of products of two matrices."""

    @property
    def pairs(self) -> int:
        """Pairs of matrices."""
        return self.n["batches0"] * self.n["batches1"] * self.n["batches2"]

    @property
    def groups(self) -> int:
        """Blocks of columns of the right matrix, of each pair of matrices; of other sizes where they lie side by side
        and the kernel does not bring them into order."""
        size = self.by.channels if self.by_columns or self.n["panel"] else self.by.pixels
        return self.pairs * ceil(self.n["columns"] / size)

    @property
    def panels(self) -> int:
        """Parts of the right matrix for each of which all rows of the left one are brought into order."""
        return self.pairs * ceil(self.n["columns"] / self.n["panel"])

    @property
    def by_columns(self) -> bool:
        """Whether the kernel walks down columns of the right operand that are not contiguous."""
        return self.n["right_column_stride"] != 1

    @property
    def steps(self) -> int:
        """Steps over the depth, the last perhaps not whole."""
        return ceil(self.n["depth"] / self.by.values)

    @property
    def rows(self) -> int:
        """Blocks of rows of a left operand; one row alone is one."""
        return ceil(self.n["rows"] / self.by.pixels)

    @property
    def blocks(self) -> int:
        """Blocks of rows times blocks of columns."""
        return self.groups * self.rows


PRODUCT_TERMS: dict[str, Term[Product]] = {
    "group": Term("blocks of columns, brought into order", lambda p: p.groups),
    "packed_value": Term(
        "values of columns brought into order row by row", lambda p: p.groups * p.n["depth"] * (not p.by_columns)
    ),
    "packed_step": Term(
        "steps of columns brought into order column by column", lambda p: p.groups * p.steps * p.by_columns
    ),
    "row": Term("rows brought into order for each panel", lambda p: p.panels * p.rows),
    "row_step": Term("steps of rows brought into order for each panel", lambda p: p.panels * p.rows * p.steps),
    "block": Term("rows times blocks of columns", lambda p: p.blocks),
    "step": Term("steps of rows times blocks of columns", lambda p: p.blocks * p.steps),
    "value_step": Term(
        "steps of rows times blocks of columns that lie side by side", lambda p: p.blocks * p.steps * (not p.by_columns)
    ),
}


class Elements(CountedCall):
    """ADD, MUL and tables, of one row, or of rows that a nest of loops goes through."""

    @property
    def extents(self) -> list[int]:
        """Elements along each loop of the nest, the innermost last."""
        if "extent0" not in self.n:
            return [self.n.get("count", self.n.get("elements", 0))]
        return [self.n[f"extent{loop}"] for loop in range(self.n["rank"])]

    @property
    def is_inlined(self) -> bool:
        """Whether it is one row of few elements."""
        return len(self.extents) == 1 and self.count <= self.by.inlined

    @property
    def rows(self) -> int:
        """Runs of the innermost loop."""
        return prod(self.extents[:-1])

    @property
    def count(self) -> int:
        """Elements of the innermost loop."""
        return self.extents[-1]

    @property
    def elements(self) -> int:
        """Elements of the output."""
        return self.rows * self.count

    @property
    def vectors(self) -> int:
        """Vectors of all innermost loops, the last of each perhaps not whole."""
        return self.rows * ceil(self.count / self.by.values)

    @property
    def rest(self) -> int:
        """Elements beyond whole vectors, of all innermost loops."""
        return self.rows * (self.count % self.by.values)

    @property
    def is_broadcast(self) -> bool:
        """Whether rows of one operand meet a single element of the other."""
        innermost = len(self.extents) - 1
        return "extent0" in self.n and any(self.n[f"stride{operand}{innermost}"] == 0 for operand in (1, 2))

    @property
    def restarts(self) -> int:
        """Number of times that a loop over rows begins anew."""
        outer = self.extents[:-1]
        return sum(prod(outer[:loop]) for loop in range(len(outer)))

    @property
    def clamped(self) -> int:
        """Elements of an output with limits within int8, else 0."""
        limits = self.n.get("least", -128), self.n.get("greatest", 127)
        return self.elements * (limits[0] > -128 or limits[1] < 127)


ELEMENT_TERMS: dict[str, Term[Elements]] = {
    "row": Term("rows of calls", lambda e: e.rows * (not e.is_inlined)),
    "inlined": Term("calls of few elements, computed in their place", lambda e: int(e.is_inlined)),
    "restart": Term("loops over rows that begin anew", lambda e: e.restarts),
    "broadcast_row": Term(
        "rows of calls that meet a single element", lambda e: e.rows * e.is_broadcast * (not e.is_inlined)
    ),
    "vector": Term("vectors of elements", lambda e: e.vectors),
    "full_vector": Term("vectors of rows that meet rows", lambda e: e.vectors * (not e.is_broadcast)),
    "element": Term("elements", lambda e: e.elements),
    "rest": Term("elements beyond whole vectors", lambda e: e.rest),
    "full_rest": Term("elements beyond whole vectors, of rows that meet rows", lambda e: e.rest * (not e.is_broadcast)),
    "clamp": Term("elements clamped in a pass of their own", lambda e: e.clamped),
}


class Filters(CountedCall):
    """SVDF: filters of the input, and of their results in time."""

    @property
    def rows(self) -> int:
        """Rows of the input: batches."""
        return self.n["batches"]

    @property
    def filters(self) -> int:
        """Filters of all batches: `rank` for each unit."""
        return self.rows * self.n["units"] * self.n["rank"]

    @property
    def steps(self) -> int:
        """Steps over the input for all blocks of filters."""
        count = ceil(self.n["units"] * self.n["rank"] / self.by.channels)
        return self.rows * count * ceil(self.n["inputs"] / self.by.values)


SVDF_TERMS: dict[str, Term[Filters]] = {
    "row": Term("rows of the input", lambda s: s.rows),
    "value": Term("values of rows", lambda s: s.rows * s.n["inputs"]),
    "unit": Term("outputs", lambda s: s.rows * s.n["units"]),
    "filter": Term("filters", lambda s: s.filters),
    "step": Term("steps of values of blocks of filters", lambda s: s.steps),
    "mac": Term("products with the input", lambda s: s.filters * s.n["inputs"]),
    "state": Term("values of the state", lambda s: s.filters * s.n["memory"]),
    "state_word": Term("words of states", lambda s: s.filters * s.n["memory"] * (1 + s.n["wide"]) / 4),
    "wide_state": Term("values of a state of int16", lambda s: s.n["wide"] * s.filters * s.n["memory"]),
}


class LstmSequence(CountedCall):
    """LSTM over a sequence, without peepholes, normalisation and projection."""

    @property
    def times(self) -> int:
        """Time steps of all batches."""
        return self.n["batches"] * self.n["steps"]

    @property
    def outputs(self) -> int:
        """Elements of the output state."""
        return self.n.get("outputs", self.n["cells"])

    @property
    def steps(self) -> int:
        """Steps over input and output state for one gate."""
        return ceil(self.n["inputs"] / self.by.values) + ceil(self.outputs / self.by.values)

    @property
    def blocks(self) -> int:
        """Blocks of cells at all time steps."""
        return self.times * ceil(self.n["cells"] / self.by.channels)


LSTM_TERMS: dict[str, Term[LstmSequence]] = {
    "time": Term("time steps", lambda s: s.times),
    "value": Term("values of inputs and of the last outputs", lambda s: s.times * (s.n["inputs"] + s.outputs)),
    "cell": Term("cells", lambda s: s.times * s.n["cells"]),
    "block": Term("blocks of cells", lambda s: s.blocks),
    "step": Term("steps of values in blocks", lambda s: s.blocks * s.steps),
    "mac": Term("products of a gate", lambda s: s.times * s.n["cells"] * (s.n["inputs"] + s.outputs)),
}
