"""Shows that the public header and the descriptor of generic callers say what the Program's signatures do.

Both files are parsed again. The descriptor is followed by its references: from the model to its signatures, their
tensors, and the functions that these name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import TensorType
from tflmgen.ir.graph import Port
from tflmgen.ir.program import Program
from tflmgen.proof.c_fault_checks import FaultText
from tflmgen.proof.c_library_text import arena_sizes
from tflmgen.proof.c_syntax import Node, field, integer, literal, parse, parts, text_of, unwrapped, words_of
from tflmgen.proof.signature_functions import BLOB_HEADER_BYTES, Entry, dimension_verb

_DEFINE = re.compile(r"^#define (\w+) (.+)$", re.MULTILINE)
_CONVERSION = re.compile(r"^#define (\w+\(\w*\)) (?:\\\n *)?(.+)$", re.MULTILINE)
"""A macro with a parameter; its text may stand in the next line."""
_LIMITS = {"int8": "-128, 127", "uint8": "0, 255", "int16": "-32768, 32767"}
"""Element type -> least and greatest element, for types that tflmgen_values.h converts."""
_QUOTED = ("MODEL_SHA256", "TFLMGEN_VERSION", "TFLMGEN_OPTIONS")
"""Macros with texts about the file and tflmgen, for people."""
_CPP = re.compile(r'#ifdef __cplusplus\n(?:extern "C" \{|\})\n#endif\n')


@dataclass(frozen=True, slots=True)
class _ApiPort:
    """A port with the C function that tells where its tensor is."""

    port: Port
    function: str
    is_input: bool
    pushes: int

    @property
    def type(self) -> TensorType:
        return self.port.invoke_type

    @property
    def macro(self) -> str:
        return self.function.upper()


def check_api(header: str, descriptor: str, name: str, entries: Sequence[Entry], faults: FaultText) -> None:
    """Raises ValueError where header or descriptor differ from the Program's signatures.

    name: how all public names begin.
    """
    signatures = [_ports(faults.program, number, entry) for number, entry in enumerate(entries)]
    _check_macros(header, name, [port for ports in signatures for port in ports], faults)
    _check_prototypes(header, name, entries, signatures, faults)
    _Descriptor(parse(descriptor), name).check(faults.program, entries, signatures)


def _ports(program: Program, number: int, entry: Entry) -> list[_ApiPort]:
    signature = program.signatures[number]
    inputs = (_ApiPort(p, f, True, signature.pushes) for p, f in zip(signature.inputs, entry.inputs, strict=True))
    outputs = (_ApiPort(p, f, False, 1) for p, f in zip(signature.outputs, entry.outputs, strict=True))
    return [*inputs, *outputs]


def _check_macros(header: str, name: str, ports: Sequence[_ApiPort], faults: FaultText) -> None:
    prefix, program = name.upper(), faults.program
    behind_arena = faults.guard_bytes if faults.has_guards and faults.has_arena else 0
    wanted: dict[str, str] = {f"{prefix}_ARENA_BYTES": str(program.arena_bytes + behind_arena)}
    if program.state_bytes:
        wanted[f"{prefix}_STATE_BYTES"] = str(program.state_bytes)
        wanted[f"{prefix}_STATE_BLOB_BYTES"] = str(program.state_bytes + BLOB_HEADER_BYTES)
    for port in ports:
        wanted.update((f"{port.macro}{ending}", value) for ending, value in _tensor_macros(port))
    written = dict(_DEFINE.findall(header))
    for ending in _QUOTED:
        if not written.pop(f"{prefix}_{ending}", "").startswith('"'):
            raise ValueError(f"the header has no {prefix}_{ending}")
    if len(_DEFINE.findall(header)) != len(written) + len(_QUOTED) or written.keys() != wanted.keys():
        raise ValueError(f"the header has other macros: {sorted(written.keys() ^ wanted.keys())[:4]}")
    conversions = [line for port in ports for line in _conversions(port)]
    if _CONVERSION.findall(header) != conversions:
        raise ValueError("the header converts elements in another way")
    sizes = {str(size + behind_arena) for size in arena_sizes(program)}
    if written[f"{prefix}_ARENA_BYTES"] in sizes:
        wanted[f"{prefix}_ARENA_BYTES"] = written[f"{prefix}_ARENA_BYTES"]
    for macro, value in wanted.items():
        if not _same_values(macro, written[macro], value):
            raise ValueError(f"the header says {macro} is {written[macro]}, not {value}")


def _tensor_macros(port: _ApiPort) -> Iterator[tuple[str, str]]:
    type_ = port.type
    yield "_BYTES", str(type_.bytes)
    yield "_ELEMENTS", str(type_.elements)
    yield "_RANK", str(len(type_.max_shape))
    yield "_SHAPE", "{" + (", ".join(map(str, type_.max_shape)) or "1") + "}"
    if type_.quantization and len(type_.quantization.scales) == 1:
        yield "_SCALE", repr(float(np.float32(type_.quantization.scales[0])))
        yield "_ZERO_POINT", f"({type_.quantization.zero_points[0] if type_.quantization.zero_points else 0})"
    if port.is_input and port.port.pushed:
        yield "_ROWS", str(port.port.type.max_shape[1])
    if port.port.slide is not None:
        yield "_WINDOW_ROWS", str(port.port.type.max_shape[port.port.slide.axis])
        yield "_PUSHES", str(port.pushes)


def _conversions(port: _ApiPort) -> Iterator[tuple[str, str]]:
    """Name with parameter, and text, of the macro that converts the port's elements from or to real numbers."""
    quantization, dtype = port.type.quantization, port.type.dtype
    if dtype.label not in _LIMITS or not quantization or len(quantization.scales) != 1:
        return
    scale = f"{port.macro}_SCALE, {port.macro}_ZERO_POINT"
    if port.is_input:
        yield (
            f"{port.macro}_QUANTIZE(real)",
            f"(({dtype.c_type})tflmgen_quantize(real, {scale}, {_LIMITS[dtype.label]}))",
        )
    else:
        yield f"{port.macro}_DEQUANTIZE(element)", f"tflmgen_dequantize(element, {scale})"


def _same_values(macro: str, written: str, wanted: str) -> bool:
    if macro.endswith("_SCALE"):
        return bool(np.float32(literal(written)) == np.float32(float(wanted)))
    return written == wanted


def _check_prototypes(
    header: str, name: str, entries: Sequence[Entry], signatures: Sequence[Sequence[_ApiPort]], faults: FaultText
) -> None:
    root = parse(_CPP.sub("\n", header))
    written = sorted(words_of(node) for node in _declarations(root))
    wanted = [f"void {name}_reset ( void ) ;", f"extern const tflmgen_model {name}_model ;"]
    if faults.checks.has_any:
        wanted.append(f"tflmgen_status {name}_check ( void ) ;")
    if faults.program.state_bytes:
        wanted += [f"void {name}_state_save ( void * blob ) ;"]
        wanted += [f"tflmgen_status {name}_state_load ( const void * blob ) ;"]
    if len(entries) > 1:
        keys = [entry.invoke.removeprefix(name).upper() for entry in entries]
        places = " , ".join(f"{name.upper()}_ENTRY{key} = {place}" for place, key in enumerate(keys))
        wanted.append(f"typedef enum {{ {places} }} {name}_entry ;")
    for entry, ports in zip(entries, signatures, strict=True):
        wanted += [f"tflmgen_status {entry.invoke} ( void ) ;", *(p for port in ports for p in _prototypes(port))]
        c_types = [port.type.dtype.c_type for port in ports if port.is_input and port.port.pushed]
        wanted += [f"tflmgen_status {entry.push} ( const {c_type} * row ) ;" for c_type in c_types]
        windows = [port.type.dtype.c_type for port in ports if port.port.slide is not None]
        names = ["rows"] if len(windows) == 1 else [f"rows_{i}" for i in range(len(windows))]
        rows = " , ".join(f"const {c_type} * {name}" for c_type, name in zip(windows, names, strict=True))
        wanted += [f"tflmgen_status {entry.push} ( {rows} ) ;"] if windows else []
    if written != sorted(wanted):
        raise ValueError(f"the header declares other functions: {sorted(set(written) ^ set(wanted))[:2]}")


def _prototypes(port: _ApiPort) -> Iterator[str]:
    constant = "" if port.is_input else "const "
    yield f"{constant}{port.type.dtype.c_type} * {port.function} ( void ) ;"
    if port.type.dynamic_axes:
        verb = dimension_verb(port.port, port.is_input)
        returns, parameters = {
            "set_rows": ("void ", "int32_t rows"),
            "set_shape": ("void ", "const int32_t * shape"),
            "shape": ("const int32_t * ", "void"),
        }[verb]
        yield f"{returns}{port.function}_{verb} ( {parameters} ) ;"


def _declarations(root: Node) -> Iterator[Node]:
    for node in parts(root):
        if node.type in ("declaration", "type_definition"):
            yield node
        elif node.type.startswith("preproc_if"):
            yield from _declarations(node)
        elif node.type not in ("preproc_include", "preproc_def", "preproc_function_def", "identifier"):
            raise ValueError(f"the header has something else: {text_of(node)[:40]}")


class _Descriptor:
    """NAME_model.c: structs of constants, and functions that these name."""

    def __init__(self, root: Node, name: str) -> None:
        self._name = name
        self._structs: dict[str, Node] = {}
        self._bodies: dict[str, list[str]] = {}
        for node in parts(root):
            if node.type == "function_definition":
                declarator = field(node, "declarator")
                while declarator.type == "pointer_declarator":
                    declarator = field(declarator, "declarator")
                self._bodies[text_of(field(declarator, "declarator"))] = [*map(words_of, parts(field(node, "body")))]
            elif node.type == "declaration":
                declared = field(node, "declarator")
                target = field(declared, "declarator")
                while target.type == "array_declarator":
                    target = field(target, "declarator")
                self._structs[text_of(target)] = field(declared, "value")

    def check(self, program: Program, entries: Sequence[Entry], signatures: Sequence[Sequence[_ApiPort]]) -> None:
        model = _fields(self._structs[f"{self._name}_model"])
        if _string(model["name"]) != self._name or text_of(model["reset"]) != f"{self._name}_reset":
            raise ValueError("the descriptor is of another model")
        listed = list(parts(self._structs[text_of(model["signatures"])]))
        if integer(model["signature_count"]) != len(entries) or len(listed) != len(entries):
            raise ValueError("the descriptor has another number of signatures")
        if model.keys() != {"name", "signatures", "signature_count", "reset", "fingerprint"}:
            raise ValueError("the descriptor says something else of the model")
        for signature, entry, ports, node in zip(program.signatures, entries, signatures, listed, strict=True):
            written = _fields(node)
            if _string(written["key"]) != signature.key or text_of(written["invoke"]) != entry.invoke:
                raise ValueError(f"the descriptor has another signature than '{signature.key}'")
            for is_input, role in ((True, "inputs"), (False, "outputs")):
                self._tensors(written, role, [port for port in ports if port.is_input == is_input])

    def _tensors(self, written: Mapping[str, Node], role: str, ports: Sequence[_ApiPort]) -> None:
        count = f"{role[:-1]}_count"
        if not ports:
            if role in written or count in written:
                raise ValueError(f"the descriptor has {role} that the signature has not")
            return
        tensors = list(parts(self._structs[text_of(written[role])]))
        if integer(written[count]) != len(ports) or len(tensors) != len(ports):
            raise ValueError(f"the descriptor has another number of {role}")
        for node, port in zip(tensors, ports, strict=True):
            self._tensor(_fields(node), port)

    def _tensor(self, tensor: Mapping[str, Node], port: _ApiPort) -> None:
        wanted = {"name", "data", "bytes"} | ({"row_bytes", "dim"} if port.type.dynamic_axes else set())
        where = f"the descriptor says another thing of '{port.port.name}'"
        if tensor.keys() != wanted or _string(tensor["name"]) != port.port.name:
            raise ValueError(where)
        if self._bodies[text_of(tensor["data"])] != [f"return ( void * ) ( uintptr_t ) {port.function} ( ) ;"]:
            raise ValueError(f"{where}: its place")
        if integer(tensor["bytes"]) != port.type.bytes:
            raise ValueError(f"{where}: its bytes")
        if port.type.dynamic_axes and (
            integer(tensor["row_bytes"]) != port.type.unit_bytes
            or [s.replace("- 1 ", "-1 ") for s in self._bodies[text_of(tensor["dim"])]] != _dim_body(port)
        ):
            raise ValueError(f"{where}: its dimensions")


def _dim_body(port: _ApiPort) -> list[str]:
    """The statements that set or return dimension `dim` of those that are known at run time only."""
    verb, axes = dimension_verb(port.port, port.is_input), port.type.dynamic_axes
    function = f"{port.function}_{verb}"
    listed = f"static const uint8_t axes [ ] = {{ {' , '.join(map(str, axes))} }} ;"
    if verb == "shape":
        return [listed, "( void ) size ;", f"return dim < {len(axes)} ? {function} ( ) [ axes [ dim ] ] : -1 ;"]
    if verb == "set_rows":
        return ["if ( dim > 0 ) { return -1 ; }", f"{function} ( size ) ;", "return size ;"]
    shape = " , ".join(map(str, port.type.max_shape))
    return [
        listed,
        f"static int32_t shape [ ] = {{ {shape} }} ;",
        f"if ( dim >= {len(axes)} ) {{ return -1 ; }}",
        "shape [ axes [ dim ] ] = size ;",
        f"{function} ( shape ) ;",
        "return size ;",
    ]


def _fields(node: Node) -> dict[str, Node]:
    """Designated initializers."""
    fields: dict[str, Node] = {}
    for pair in parts(node):
        name = text_of(field(pair, "designator")).removeprefix(".").strip()
        if name in fields:
            raise ValueError(f"'{name}' has two values")
        fields[name] = unwrapped(field(pair, "value"))
    return fields


_ESCAPE = re.compile(rb"\\([0-7]{3})")


def _string(node: Node) -> str:
    """The text of a literal whose only escapes are octal."""
    text = text_of(node).encode()
    if text[:1] != b'"' or text[-1:] != b'"':
        raise ValueError("this is no text")
    return _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), text[1:-1]).decode()
