"""Contents of a .pt2 file, checked before PyTorch reads it: a program is data here, and PyTorch takes it for code.

torch.export.load (PyTorch 2.13) unpickles weights, constants and sample inputs, loads compiled libraries, evaluates
symbolic sizes as Python, writes names into the Python that it runs, and calls any function below torch by its name.
Everything that reaches it from the file is therefore of an allowed form here, or the file is refused; and PyTorch
reads a copy that is written anew, so that both see the same members.
"""

from __future__ import annotations

import ast
import io
import json
import math
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.user_files import DAMAGED_ZIP, MEGABYTE, MODEL_LIMIT, open_regular, parse_json, read_member

Json = Any

_PROGRAM_LIMIT = 256 * MEGABYTE
"""Largest JSON of a program. A program of 1,000 operators takes 2 MB."""

DAMAGED = (*DAMAGED_ZIP, AttributeError, IndexError, KeyError, RecursionError, SyntaxError, TypeError)
"""Exceptions that archives and JSON of another structure than PyTorch's raise."""

_EXPANSION_BYTES = 64 * MEGABYTE
"""Bytes that tensors may have beyond those of their members, as expanded tensors do."""

_SAMPLE_GLOBALS = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor_v2|parameter)|torch (\w*Storage|Size|device|\w+)"
)
"""Classes of sample inputs: tensors, containers, and PyTorch's types of elements."""

_PAYLOADS = re.compile(r"data/(weights|constants)/[\w.]+")
_PROGRAM = "models/model.json"
_SAMPLES = "data/sample_inputs/model.pt"
_CONFIGURATIONS = {folder: f"data/{folder}/model_{folder}_config.json" for folder in ("weights", "constants")}
_SETTINGS = ("archive_format", "archive_version", "byteorder", ".data/version")

_NAME = re.compile(r"[A-Za-z_]\w*|")
_DOTTED = re.compile(r"[\w.]*")
_PLAIN_TEXT = re.compile(r"[\w .:/-]*")

_NAMES = {"name", "as_name", "forward_arg_names", "field_names", "user_input_name"}
"""Keys whose texts become names in the Python that PyTorch generates."""

_DOTTED_NAMES = {"", "parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name", "fqn"}
"""Keys whose texts are paths of attributes; '' stands for keys themselves."""

_FREE_TEXTS = {"as_string", "as_strings", "torch_version"}
"""Keys whose texts PyTorch passes on as values."""

_OPERATORS = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed|torchao|torchvision|pt2e_quant|_c10d_functional)(\.\w+){1,2}"
    r"|torch\.ops\.higher_order\.(cond|while_loop|scan|map_impl|associative_scan|invoke_subgraph|strict_mode"
    r"|wrap_with_set_grad_enabled|wrap_with_autocast|auto_functionalized|auto_functionalized_v2)"
    r"|_operator\.(add|sub|mul|truediv|floordiv|mod|pow|neg|pos|abs|eq|ne|lt|le|gt|ge|and_|or_|not_|xor|lshift|rshift"
    r"|getitem)"
    r"|math\.(ceil|floor|trunc|sqrt|log2|log|exp|sin|cos|tan|asin|acos|atan|sinh|cosh|tanh)"
    r"|torch\.(sym_(int|float|ite|max|min|not|sqrt|sum)|_sym_\w+)"
)
"""Targets of nodes: operators that compute tensors, control flow, and arithmetic of sizes."""

_FILE_OPERATORS = re.compile(r"torch\.ops\.aten\.(from_file|_print|save)\b.*")
"""Operators of these libraries that open files or write to the terminal."""

_SYMPY_CALL = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Mod|Max|Min|Abs|floor|ceiling|And|Or|Not|Eq|Ne|Equality|Unequality"
    r"|GreaterThan|LessThan|StrictGreaterThan|StrictLessThan|Ge|Gt|Le|Lt|FloorDiv|ModularIndexing|Where|PythonMod"
    r"|CleanDiv|CeilToInt|FloorToInt|CeilDiv|LShift|RShift|PowByNatural|FloatPow|FloatTrueDiv|IntTrueDiv|TruncToFloat"
    r"|TruncToInt|RoundToInt|RoundDecimal|ToFloat|Identity|IsNonOverlappingAndDenseIndicator|Piecewise|ExprCondPair"
    r"|Tuple"
)
_SYMPY_NAME = re.compile(r"true|false|oo|int_oo|zoo|nan|(s|u|zuf|zf)\d+")
_POWERS = {"Pow", "PowByNatural", "FloatPow", "LShift", "RShift"}
_LARGEST_EXPONENT = 64
"""Largest exponent of a power of sizes: larger ones take unbounded time and memory."""

_CONTAINERS = {
    None,
    "builtins.tuple",
    "builtins.list",
    "builtins.dict",
    "collections.OrderedDict",
    "collections.namedtuple",
    "collections.deque",
}
"""Types of arguments and results. PyTorch imports modules that a file names for a defaultdict and an enumeration."""


def checked_archive(path: Path, can_read_as_weights: Callable[[bytes], bool]) -> io.BytesIO:
    """A .pt2 file for torch.export.load: the same program in an archive of verified members.

    can_read_as_weights  whether PyTorch reads a pickle that it restricts to tensors and containers
    Raises ModelError that says what is refused.
    """
    try:
        with open_regular(path, MODEL_LIMIT) as file, zipfile.ZipFile(file) as archive:
            members = _members(path, archive)
            _check_payloads(path, members)
            _check_program(path, _json(members[_PROGRAM]))
    except DAMAGED as error:
        raise _refusal(path, f"no program of torch.export, or a damaged one: {error}") from error
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror or error}") from error
    if not (_is_stored(members[_SAMPLES]) and can_read_as_weights(members[_SAMPLES])):
        raise _refusal(path, "its sample inputs are a pickle of more than tensors and numbers, which could run code")
    verified = io.BytesIO()
    with zipfile.ZipFile(verified, "w") as copy:
        for name, contents in members.items():
            copy.writestr(f"model/{name}", contents)
    verified.seek(0)
    return verified


def _refusal(path: Path, rule: str, advice: str = "") -> ModelError:
    return ModelError([Problem(Location(str(path)), rule, advice)])


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The members that a program needs, by their names below the archive's folder. Raises ModelError."""
    names = [info.filename for info in archive.infolist()]
    listed = {name.partition("/")[2] for name in names}
    if "version" in names and any(name.startswith("serialized_") for name in names):
        raise _refusal(path, "saved by PyTorch 2.7 or older", "Export it again: torch.export.save(program, FILE)")
    if any(name.startswith("data/aotinductor/") for name in listed):
        raise _refusal(path, "holds compiled code (AOTInductor), which is not run", "Save torch.export's program alone")
    if _PROGRAM not in listed:
        raise _refusal(path, "no program of torch.export: it has no models/model.json")
    if len({name.partition("/")[0] for name in names}) != 1 or len(listed) != len(names):
        raise ValueError("members of one name, or in several folders")
    members = {}
    for info in archive.infolist():
        name = info.filename.partition("/")[2]
        is_payload = _PAYLOADS.fullmatch(name) is not None
        if not (is_payload or name in (_PROGRAM, _SAMPLES, *_SETTINGS)):
            continue  # files beside the program: further models, notes, versions
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"'{name}' is compressed, which PyTorch never does")
        members[name] = read_member(archive, info.filename, _PROGRAM_LIMIT if name == _PROGRAM else info.file_size)
    if any(re.fullmatch(r"data/(weights|constants)/model\.pt", name) for name in members):
        raise _refusal(
            path, "its weights are one pickle, which could run code", "Save it anew with PyTorch 2.9 or later"
        )
    for required in (*_CONFIGURATIONS.values(), _SAMPLES, "archive_version"):
        if required not in members:
            raise ValueError(f"it has no {required}")
    return members


def _is_stored(samples: bytes) -> bool:
    """Whether sample inputs, which may be absent, are an archive of tensors that is no larger unpacked.

    A pickle that PyTorch restricts may still make as many bytes as it likes: only what makes tensors is taken.
    """
    if not samples:
        return True
    try:
        with zipfile.ZipFile(io.BytesIO(samples)) as archive:
            if sum(info.file_size for info in archive.infolist()) > len(samples):
                return False
            pickles = [archive.read(name) for name in archive.namelist() if name.endswith(".pkl")]
        return all(_SAMPLE_GLOBALS.fullmatch(name) for data in pickles for name in _globals_of(data))
    except DAMAGED:
        return False


def _globals_of(data: bytes) -> Iterator[str]:
    """Names that a pickle takes from modules, "module name"; a name that is computed is "?"."""
    texts: list[str] = []
    for operation, argument, _ in pickletools.genops(data):
        if operation.name in ("GLOBAL", "INST"):
            yield str(argument)
        elif operation.name == "STACK_GLOBAL":
            yield " ".join(texts[-2:]) if len(texts) > 1 else "?"
        elif isinstance(argument, str):
            texts.append(argument)


def _json(contents: bytes) -> Json:
    return parse_json(contents.decode("utf-8"))


def _check_payloads(path: Path, members: Mapping[str, bytes]) -> None:
    """Every weight and constant is plain bytes of a tensor, and none declares much more than it has."""
    declared = held = 0
    for folder, configuration in _CONFIGURATIONS.items():
        entries = _json(members[configuration])["config"]
        for name, entry in entries.items():
            if entry.get("use_pickle") is not False:
                raise _refusal(
                    path,
                    f"'{name}' is stored as a pickle, which could run code",
                    "A tensor subclass, as torchao's, is saved so: call torchao.utils.unwrap_tensor_subclass(model) "
                    "before torch.export.export",
                )
            if not _DOTTED.fullmatch(name) or not re.fullmatch(r"(weight|tensor)_\d+", entry["path_name"]):
                raise ValueError(f"'{name}' is in '{entry['path_name']}', which is no tensor's member")
            present = len(members[f"data/{folder}/{entry['path_name']}"])
            sizes = [size["as_int"] for size in entry["tensor_meta"]["sizes"]]
            declared, held = declared + 8 * math.prod(sizes), held + 8 * present
            if declared > held + _EXPANSION_BYTES:
                raise ValueError(f"'{name}' declares {math.prod(sizes):,} elements, and has {present:,} bytes")
            _check_program(path, entry)


def _check_program(path: Path, value: Json) -> None:
    """Every text of a program is of the form that PyTorch writes. Raises ModelError that names the first other one."""
    for key, text in _texts(value, ""):
        if not _is_allowed(key, text):
            shown = text if len(text) <= 60 else f"{text[:57]}..."
            raise _refusal(path, f"{key or 'a key'} {shown!r} is none that torch.export.save writes, and is not run")


def _texts(value: Json, key: str) -> Iterator[tuple[str, str]]:
    """Texts of a JSON value, each with the key that it stands at; '' for keys themselves."""
    if isinstance(value, dict):
        for own, inner in value.items():
            yield "", own
            if own == "metadata" and all(isinstance(text, str) for text in inner.values()):
                continue  # notes for people: where a node comes from
            yield from _texts(inner, own)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str):
        yield key, value


def _is_allowed(key: str, text: str) -> bool:
    if key in _FREE_TEXTS:
        return True
    if key in ("target", "as_operator"):
        return _OPERATORS.fullmatch(text) is not None and _FILE_OPERATORS.fullmatch(text) is None
    if key == "expr_str":
        return _is_size_expression(text)
    if key in ("in_spec", "out_spec"):
        return _is_structure(text)
    form = _NAME if key in _NAMES else _DOTTED if key in _DOTTED_NAMES else _PLAIN_TEXT
    return key != "guards_code" and form.fullmatch(text) is not None


def _is_size_expression(text: str) -> bool:
    """Whether SymPy, which evaluates texts as Python, finds arithmetic on sizes alone, of powers that stay small."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    return _is_size_term(tree)


def _is_size_term(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bool, float)) or (isinstance(node.value, int) and abs(node.value) < 2**63)
    if isinstance(node, ast.Name):
        return _SYMPY_NAME.fullmatch(node.id) is not None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _is_size_call(node.func.id, node.args, [word.value for word in node.keywords])
    if isinstance(node, ast.BinOp):
        return not isinstance(node.op, (ast.Pow, ast.LShift)) and _is_size_term(node.left) and _is_size_term(node.right)
    return isinstance(node, ast.UnaryOp) and _is_size_term(node.operand)


def _is_size_call(function: str, arguments: list[ast.expr], flags: list[ast.expr]) -> bool:
    """Whether a call makes a symbol or a number from a plain text, or computes on terms."""
    if not _SYMPY_CALL.fullmatch(function) or not all(isinstance(flag, ast.Constant) for flag in flags):
        return False
    if function in ("Symbol", "Float"):
        return all(isinstance(a, ast.Constant) and _PLAIN_TEXT.fullmatch(str(a.value)) for a in arguments)
    if function in _POWERS and not (len(arguments) == 2 and _is_small(arguments[1])):
        return False
    return all(map(_is_size_term, arguments))


def _is_small(node: ast.AST) -> bool:
    """Whether an exponent is a small number."""
    if isinstance(node, ast.UnaryOp):
        return _is_small(node.operand)
    if isinstance(node, ast.Call):
        return bool(node.args) and all(map(_is_small, node.args))
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value <= _LARGEST_EXPONENT


def _is_structure(text: str) -> bool:
    """Whether a structure of arguments is made of tuples, lists and dictionaries with plain keys."""
    if not text:
        return True
    _, root = _json(text.encode())
    remaining = [root]
    while remaining:
        spec = remaining.pop()
        remaining += spec["children_spec"]
        context = json.loads(spec["context"] or "null")
        keys = context if isinstance(context, list) else [] if context is None else [context]
        if spec["type"] not in _CONTAINERS or not all(isinstance(k, int) or _is_plain_key(k) for k in keys):
            return False
    return True


def _is_plain_key(key: Json) -> bool:
    return isinstance(key, str) and _PLAIN_TEXT.fullmatch(key) is not None
