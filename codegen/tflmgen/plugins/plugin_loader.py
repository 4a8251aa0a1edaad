"""Loads custom operators from Python files on the command line and from installed packages.

A package registers each operator in the entry point group `tflmgen.operators`, under its custom code:

    [project.entry-points."tflmgen.operators"]
    Erfinv = "erfinv_tflmgen:Erfinv"

It is imported only for a model with this operator, and only if neither tflmgen nor a plug-in file defines it.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import zlib
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from tflmgen.frontend.tflite import CUSTOM
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.operators import CustomOperator
from tflmgen.kernels.specification import OperatorSpec, Rule
from tflmgen.plugins.plugin_calls import PluginError, describe_fault, guarded_row

GROUP = "tflmgen.operators"
_HEADERS, _SOURCES = ".h", ".c"


def load_operators(paths: Iterable[Path], model_operators: Iterable[str]) -> tuple[OperatorSpec, ...]:
    """Operators of the files `paths`, and those of `model_operators` that only installed packages define.

    Raises PluginError for a faulty plug-in.
    """
    loaded: dict[str, tuple[Path, OperatorSpec]] = {}
    for path in paths:
        for cls in _classes(path, _load(path)):
            _add(loaded, path, _operator(cls, path))
    for name in dict.fromkeys(model_operators):
        if name.startswith(CUSTOM) and name not in OPERATORS and name not in loaded:
            for cls in _installed(name.removeprefix(CUSTOM)):
                path = Path(inspect.getfile(cls))
                _add(loaded, path, _operator(cls, path))
    _check_file_names(loaded.values())
    return tuple(operator for _, operator in loaded.values())


def installed_names() -> tuple[str, ...]:
    """Names of the operators that installed packages register, with the prefix CUSTOM:."""
    return tuple(sorted({CUSTOM + point.name for point in entry_points(group=GROUP)}))


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise PluginError(f"{path}: there is no such plug-in file")
    name = f"tflmgen_plugin_{path.stem}_{zlib.crc32(str(path.resolve()).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path}: a plug-in is a Python file, NAME.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(describe_fault(path, error)) from error
    return module


def _classes(path: Path, module: ModuleType) -> list[type[CustomOperator]]:
    defined = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, CustomOperator) and cls.__module__ == module.__name__
    ]
    operators = [
        cls
        for cls in defined
        if cls.name or not any(issubclass(derived, cls) for derived in defined if derived is not cls)
    ]
    if not operators:
        raise PluginError(f"{path}: it defines no operator: no class derived from tflmgen.plugin.CustomOperator")
    return operators


def _installed(name: str) -> list[type[CustomOperator]]:
    """Classes that packages register under this name; at most one package may."""
    points = list(entry_points(group=GROUP, name=name))
    if len(points) > 1:
        packages = ", ".join(sorted(_package_of(point) for point in points))
        raise PluginError(f"custom operator '{name}' is offered by several packages: {packages}. Uninstall one of them")
    classes = []
    for point in points:
        label = f"entry point {GROUP}: {name} = {point.value} ({_package_of(point)})"
        try:
            cls = point.load()
        except (Exception, SystemExit) as error:
            raise PluginError(f"{label}: {type(error).__name__}: {error}") from error
        if not (isinstance(cls, type) and issubclass(cls, CustomOperator)):
            raise PluginError(f"{label}: it is not a class derived from tflmgen.plugin.CustomOperator")
        if cls.name != name:
            raise PluginError(f"{label}: the class is for the operator '{cls.name}'")
        classes.append(cls)
    return classes


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unnamed package"


def _operator(cls: type[CustomOperator], path: Path) -> OperatorSpec:
    """The class as a row of the operator table. Raises PluginError if it is incomplete."""
    problem = _problem(cls)
    if not problem:
        names = [name for name in cls.files if not path.with_name(name).is_file()]
        problem = f"there is no file {path.with_name(names[0])}, which 'files' names" if names else ""
    if problem:
        raise PluginError(f"{path}: class {cls.__name__}: {problem}")
    try:
        row = cls().row(tuple(path.with_name(name) for name in cls.files))
    except (Exception, SystemExit) as error:
        raise PluginError(describe_fault(path, error)) from error
    return guarded_row(row, cls, path)


def _problem(cls: type[CustomOperator]) -> str:
    abstract = sorted(getattr(cls, "__abstractmethods__", ()))
    pair, stateful = cls.inputs, cls.state is not CustomOperator.state
    problems = (
        (not isinstance(cls.name, str) or not cls.name, "it lacks 'name', the operator's custom code"),
        (abstract, f"it lacks {' and '.join(f'{name}()' for name in abstract)}"),
        (not _is_tuple_of(cls.files, str), "'files' is not a tuple of file names"),
        (
            _is_tuple_of(cls.files, str) and _has_invalid_file_name(cls.files),
            "'files' may name .h and .c files beside it only",
        ),
        (not _is_tuple_of(pair, int) or len(pair) != 2, "'inputs' is not (least, greatest number of inputs)"),
        (type(cls.outputs) is not int or cls.outputs < 1, "'outputs' is not a number of at least 1"),
        (not _is_tuple_of(cls.rules, Rule), "'rules' is not a tuple of Rule"),
        (stateful and len(set(pair)) != 1, "an operator that keeps a state has a fixed number of inputs"),
    )
    return next((text for wrong, text in problems if wrong), "")


def _has_invalid_file_name(names: Sequence[str]) -> bool:
    return any(Path(name).name != name or not name.endswith((_HEADERS, _SOURCES)) for name in names)


def _is_tuple_of(value: object, kind: type) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, kind) for item in value)


def _add(loaded: dict[str, tuple[Path, OperatorSpec]], path: Path, operator: OperatorSpec) -> None:
    name = operator.name.removeprefix(CUSTOM)
    if operator.name in OPERATORS:
        raise PluginError(f"{path}: tflmgen has custom operator '{name}' itself")
    if operator.name in loaded:
        raise PluginError(f"{path}: custom operator '{name}' is in {loaded[operator.name][0]} too")
    loaded[operator.name] = path, operator


def _check_file_names(loaded: Iterable[tuple[Path, OperatorSpec]]) -> None:
    """Raises PluginError for equal file names with different contents: all are copied into the same two folders."""
    tflmgen_files = {
        entry.name
        for folder in ("kernels", "runtime")
        for entry in files("tflmgen.firmware").joinpath(folder).iterdir()
    }
    names: dict[str, Path] = {}
    for path, operator in loaded:
        for file in operator.files:
            if file.name in tflmgen_files:
                raise PluginError(f"{path}: {file.name} is the name of a file of tflmgen's own; rename it")
            first_file = names.setdefault(file.name, file)
            if first_file != file and first_file.read_bytes() != file.read_bytes():
                raise PluginError(f"{path}: its {file.name} and {first_file} have the same name, but other contents")
