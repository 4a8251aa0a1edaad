"""The C API of a model: its signatures with their functions, tensors and places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tflmgen.backend.c_names import identifier, unique_identifiers
from tflmgen.backend.c_text import comment, float_literal
from tflmgen.backend.emit_body import BodyWriter
from tflmgen.backend.handle import RESERVED_ENTRIES
from tflmgen.ir import DType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.ir.program import Access, Flash, Program, ProgramFunction, Slot

_CONVERTED = frozenset({DType.INT8, DType.UINT8, DType.INT16})
"""Element types that tflmgen_values.h converts: differences of elements and zero points are exact in a float."""


@dataclass(frozen=True, slots=True)
class ApiDim:
    """A dynamic dimension: axis, greatest extent, and the C expression of the place that keeps its size."""

    axis: int
    max_extent: int
    place: str


@dataclass(frozen=True, slots=True)
class ApiRows:
    """C API of a tensor's dynamic dimensions; `bytes` is the size of one element of these dimensions.

    function: name of the C function that sets the dimensions of an input (`is_shape`: it takes the whole shape, else
    the number of rows) or gets the shape of an output. variable: name of the static variable or member that keeps them.
    """

    dims: tuple[ApiDim, ...]
    bytes: int
    function: str
    variable: str

    @property
    def is_shape(self) -> bool:
        """Whether the dimensions are more than the outermost one alone, so that the API takes a whole shape."""
        return [dim.axis for dim in self.dims] != [0]

    @property
    def max_rows(self) -> int:
        """Largest size of the first dynamic dimension."""
        return self.dims[0].max_extent


@dataclass(frozen=True, slots=True)
class ApiTensor:
    """One input or output in the C API.

    pushed  rows per input if each invoke takes one row, else 0
    window  rows of a sliding window, of which each invoke takes the newest, else 0
    """

    port: Port
    role: str
    macro: str
    function: str
    place: str
    rows: ApiRows | None
    pushed: int = 0
    window: int = 0

    @property
    def c_type(self) -> str:
        """C type of one element."""
        return self.port.type.dtype.c_type

    @property
    def is_bool(self) -> bool:
        """Whether elements are Booleans, which the API takes as C's bool."""
        return self.port.type.dtype is DType.BOOL

    @property
    def items(self) -> int:
        """Number of elements of the C array; for packed nibbles the number of bytes."""
        return self.port.type.elements if self.port.type.dtype.bits >= 8 else self.port.type.bytes

    @property
    def text(self) -> str:
        """Name and type of the tensor, as text within a C comment."""
        return comment(f"'{self.port.name}': {self.port.type}")

    @property
    def scale(self) -> str | None:
        """The scale as a C float literal; None without quantisation or with a scale per channel."""
        quantization = self.port.type.quantization
        return float_literal(quantization.scale) if quantization and not quantization.per_channel else None

    @property
    def zero_point(self) -> int | None:
        """The zero point; None without quantisation or with a scale per channel."""
        quantization = self.port.type.quantization
        return quantization.zero_point if quantization and not quantization.per_channel else None

    @property
    def conversion(self) -> str:
        """Direction of the macro that converts elements: "from_real", "to_real", or empty without one."""
        if self.scale is None or self.port.type.dtype not in _CONVERTED:
            return ""
        return "to_real" if self.role == "output" else "from_real"

    @property
    def fixed_dims(self) -> tuple[tuple[int, int], ...]:
        """(axis, extent) of each static dimension."""
        return tuple((axis, dim) for axis, dim in enumerate(self.port.type.shape) if isinstance(dim, int))

    @property
    def shape(self) -> str:
        """The largest shape as text, sizes with commas between; "1" for a scalar."""
        return ", ".join(map(str, self.port.type.max_shape)) or "1"


@dataclass(frozen=True, slots=True)
class ApiEntry:
    """One signature in the C API.

    success  C for the status after a run
    pushes   invokes until all sliding windows are complete
    """

    key: str
    invoke: str
    push: str
    body: str
    fails: bool
    inputs: tuple[ApiTensor, ...]
    outputs: tuple[ApiTensor, ...]
    success: str
    pushes: int

    @property
    def windows(self) -> tuple[ApiTensor, ...]:
        """Inputs whose windows slide."""
        return tuple(tensor for tensor in self.inputs if tensor.window)

    @property
    def takes_rows(self) -> bool:
        """Whether several invokes take one set of inputs."""
        return any(tensor.pushed or tensor.window for tensor in self.inputs)

    def is_written_once(self, tensor: ApiTensor) -> bool:
        """Whether an input is written before the first row alone: between rows the arena holds intermediate rows."""
        return not tensor.pushed and any(other.pushed for other in self.inputs)

    @property
    def push_parameters(self) -> str:
        """Parameters of the function that takes the newest rows of all sliding windows."""
        names = ["rows"] if len(self.windows) == 1 else [f"rows_{i}" for i in range(len(self.windows))]
        return ", ".join(f"const {t.c_type} *{name}" for t, name in zip(self.windows, names, strict=True))

    @property
    def text(self) -> str:
        """Begin of the sentence that describes the function in the header, as text within a C comment."""
        return comment(f"Signature '{self.key}': runs" if self.key else "Runs")


def entry_names(keys: Sequence[str], is_reentrant: bool) -> tuple[str, ...]:
    """Infix of each signature's C functions, behind the model's name; empty for a single signature."""
    if len(keys) == 1:
        return ("",)
    names = unique_identifiers(keys, _RESERVED + RESERVED_ENTRIES * is_reentrant)
    tensors = tuple(f"{name}_{role}" for name in names for role in ("input", "output"))
    # A signature must not be called what a function for another one's tensor may be called.
    return tuple(f"_{name}_signature" if name.startswith(tensors) else f"_{name}" for name in names)


_RESERVED = ("invoke", "push_row", "push", "model", "reset", "check", "entry", "state_save", "state_load")


def api_entries(program: Program, writer: BodyWriter) -> list[ApiEntry]:
    """The signatures in the program's order, each with C names that no other one has."""
    names = entry_names([s.key for s in program.signatures], bool(writer.handle.type))
    return [_entry(program, writer, signature, name) for signature, name in zip(program.signatures, names, strict=True)]


def _entry(program: Program, writer: BodyWriter, signature: EntryPoint, infix: str) -> ApiEntry:
    function = program.function(signature.function)

    def tensors(ports: tuple[Port, ...], accesses: tuple[Access, ...], role: str) -> tuple[ApiTensor, ...]:
        def verb(port: Port) -> str:
            return "shape" if role == "output" else "set_rows" if port.type.dynamic_axes == (0,) else "set_shape"

        taken = [f"{identifier(p.name)}_{verb(p)}" for p in ports if not p.type.is_static]
        suffixes = [""] if len(ports) == 1 else [f"_{n}" for n in unique_identifiers((p.name for p in ports), taken)]
        names = [f"{infix}_{role}{suffix}" for suffix in suffixes]
        places = [_port_place(writer, function, access, i, role) for i, access in enumerate(accesses)]
        rows: dict[int, ApiRows] = {}
        further = iter(places[len(ports) :])
        for i, port in enumerate(ports):
            if port.type.is_static:
                continue
            kept = {"shape": "shape", "set_rows": "rows", "set_shape": "dims"}[verb(port)]
            variable = f"{writer.function_name(signature.function)}{names[i]}_{kept}"
            dims = tuple(ApiDim(axis, port.type.max_shape[axis], next(further)) for axis in port.type.dynamic_axes)
            rows[i] = ApiRows(dims, port.type.unit_bytes, f"{names[i]}_{verb(port)}", variable)
        return tuple(
            ApiTensor(
                _invoke_port(port), role, name.upper(), name, at, rows.get(i), _pushed_rows(port), _window_rows(port)
            )
            for i, (port, name, at) in enumerate(zip(ports, names, places, strict=False))
        )

    return ApiEntry(
        signature.key,
        infix or "_invoke",
        f"{infix}_push" if signature.counter else f"{infix}_push_row",
        writer.function_name(signature.function),
        writer.fails(signature.function),
        tensors(signature.inputs, function.inputs, "input"),
        tensors(signature.outputs, function.results, "output"),
        _success(program, writer, signature),
        signature.pushes,
    )


def _success(program: Program, writer: BodyWriter, signature: EntryPoint) -> str:
    """C for the status after a run: while sliding windows are incomplete, there is more to come."""
    if not signature.counter:
        return "TFLMGEN_OK"
    counter = next(variable.access for variable in program.state if variable.name == signature.counter)
    place = writer.places.access(counter)
    return f"*(const tflmgen_s32 *){place} < {signature.pushes} ? TFLMGEN_MORE : TFLMGEN_OK"


def _port_place(writer: BodyWriter, function: ProgramFunction, access: Access, index: int, role: str) -> str:
    """C for the place of an input or output of a function on entry or exit."""
    if isinstance(access.place, Flash) and access.value.type.dtype is DType.BOOL:
        # Arrays have a type that may alias others, the C API has not.
        return f"(const bool *){writer.places.access(access)}"
    if not isinstance(access.place, Slot):
        return writer.places.access(access)
    if role == "output":
        return writer.result_variable(function.name, index)
    return writer.places.start(function, access)


def _invoke_port(port: Port) -> Port:
    """The port with the type that a single invoke takes."""
    return replace(port, type=port.invoke_type)


def _pushed_rows(port: Port) -> int:
    return port.type.max_shape[1] if port.pushed else 0


def _window_rows(port: Port) -> int:
    return port.type.max_shape[port.slide.axis] if port.slide else 0
