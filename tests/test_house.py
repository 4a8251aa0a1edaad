"""The repository's own papers: what they say holds, and nothing in it belongs to one machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.repository import ROOT, sources, syntax, tracked_files
from tflmgen import __version__

BINARY = frozenset({".tflite", ".npz", ".png", ".bin"})
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/" + r"(?:work|root|tmp|home|opt/pypi)\b")
REGISTRY_HOST = re.compile(
    r"\b(?:" + "|".join(("py" + "pi", "python" + "hosted", "regis" + r"try\.[a-z]+")) + r")\.(?:org|com|io)\b"
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
MENTIONED = re.compile(r"`((?:\.ci|boards|codegen|examples|firmware|schema|templates|tests)/[\w./*-]*)`")
EMPTY_WORDS = frozenset({
    "apart", "close", "echo", "fast", "few", "found", "given", "gone", "here", "how", "ladder", "made", "maker",
    "makers", "most", "one", "over", "rung", "rungs", "said", "some", "stuff", "there", "thing", "things", "told",
    "way", "ways", "what", "why", "worth",
})  # fmt: skip
"""Words that point, ask or praise: a name of them says nothing of the value."""
PROTOCOLS = frozenset({"close"})
"""Methods that Python's own protocols name."""


def texts() -> dict[str, str]:
    paths = [path for path in tracked_files() if path.suffix not in BINARY]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def documents() -> list[str]:
    return [name for name in texts() if name.endswith(".md")]


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY_HOST], ids=["path", "host"])
def test_no_file_names_a_machine(pattern: re.Pattern[str]) -> None:
    mentions = [f"{name}: {match[0]}" for name, text in texts().items() for match in pattern.finditer(text)]
    assert not mentions


def test_no_file_has_work_left_in_it() -> None:
    mark = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    assert not [name for name, text in texts().items() if mark.search(text) and name != "LICENSE"]


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme, ci = (ROOT / "README.md").read_text(encoding="utf-8"), (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    section = readme.split("## Set-up\n")[1].split("\n## ")[0]
    commands = [
        part.strip() for _, block in FENCE.findall(section) for line in block.splitlines() for part in line.split("&&")
    ]
    assert len(commands) >= 4
    assert not [command for command in commands if command not in ci]


def test_the_changelog_has_this_version() -> None:
    assert f"\n## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_and_its_exception_are_there() -> None:
    assert "Version 2.0, January 2004" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "firmware/" in (ROOT / "LICENSE-EXCEPTION").read_text(encoding="utf-8")


def test_links_and_paths_in_documents_exist() -> None:
    broken = []
    for name in documents():
        text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
        targets = [(ROOT / name).parent / link for link in LINK.findall(text) if "://" not in link]
        targets += [ROOT / path for path in MENTIONED.findall(text)]
        broken += [f"{name}: {target}" for target in targets if not list(target.parent.glob(target.name or "."))]
    assert not broken


def test_lines_of_pages_are_at_most_120_characters_long() -> None:
    generated = {"docs/use/operators.md", "docs/use/onnx-operators.md", "docs/understand/performance.md"}
    long = [
        f"{name}:{line}"
        for name in documents()
        if name.startswith("docs/") and name not in generated
        for text in [FENCE.sub(lambda block: "\n" * block[0].count("\n"), (ROOT / name).read_text(encoding="utf-8"))]
        for line, content in enumerate(text.splitlines(), start=1)
        if len(content) > 120 and not content.startswith(("|", "#"))
    ]
    assert not long


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert not [
        page.name for page in (ROOT / "docs").glob("*/*.md") if f"({page.parent.name}/{page.name})" not in index
    ]


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Names that a module gives: of classes, functions, parameters, variables and attributes, with their lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, lineno=line) | ast.ClassDef(name=name, lineno=line):
                yield name, line
            case ast.arg(arg=name, lineno=line) | ast.Name(id=name, ctx=ast.Store(), lineno=line):
                yield name, line
            case ast.Attribute(attr=name, ctx=ast.Store(), lineno=line):
                yield name, line


def empty_names(path: Path) -> list[str]:
    tree = syntax(path)
    protocols = {
        (item.name, item.lineno)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for item in owner.body
        if isinstance(item, ast.FunctionDef) and item.name in PROTOCOLS
    }
    names = [(path.stem, 1), *bound_names(tree)]
    return [
        f"{path.name}:{line}: {name}"
        for name, line in names
        if name.strip("_") in EMPTY_WORDS and (name, line) not in protocols
    ]


@pytest.mark.parametrize("folder", ["codegen", "tests"])
def test_names_say_what_they_hold(folder: str) -> None:
    assert not [name for path in sources((folder,), ".py") for name in empty_names(path)]


def test_an_empty_name_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("class A:\n    def close(self, how): self.made = 1\nfor _one in (): given = 2\n", encoding="utf-8")
    assert sorted(empty_names(path)) == ["m.py:2: how", "m.py:2: made", "m.py:3: _one", "m.py:3: given"]


TABLE_CALLS = frozenset({"bytes", "dict", "frozenset", "list", "set", "tuple"})
FRAMEWORK_NAMES = frozenset({"pytestmark"})
"""Names that a framework looks for."""


def is_table(node: ast.expr | None) -> bool:
    """Whether an expression is a literal, a table of anything, or one of these made by a call of its type."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
            return True
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return True
        case ast.UnaryOp(operand=operand) | ast.BinOp(left=operand):
            return is_table(operand)
        case ast.Call(func=ast.Name(id=name)):
            return name in TABLE_CALLS
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name)):
            return (module, name) in {("np", "array"), ("re", "compile")}
    return False


def constants_in_lower_case(path: Path) -> list[str]:
    """Names that a module binds to a literal or a table, but that are not capitals."""
    bound: list[tuple[ast.expr, ast.expr | None]] = []
    for node in syntax(path).body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                bound += zip(names, values, strict=False)
            case ast.Assign(targets=targets, value=value):
                bound += [(target, value) for target in targets]
            case ast.AnnAssign(target=target, value=value):
                bound.append((target, value))
    return [
        f"{path.name}:{name.lineno}: {name.id}"
        for name, value in bound
        if isinstance(name, ast.Name) and is_table(value)
        if not name.id.strip("_").isupper() and not name.id.startswith("__") and name.id not in FRAMEWORK_NAMES
    ]


@pytest.mark.parametrize("folder", ["codegen", "tests", "examples"])
def test_constants_are_capitals(folder: str) -> None:
    assert not [name for path in sources((folder,), ".py") for name in constants_in_lower_case(path)]


def test_a_constant_in_lower_case_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("a, B = 1, f()\nC = d = {}\ne: int = -2\nF = tuple(x)\ng = h(1)\nJ = int | str\n", encoding="utf-8")
    assert sorted(constants_in_lower_case(path)) == ["m.py:1: a", "m.py:2: d", "m.py:3: e"]


def is_number(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Tuple(elts=values):
            return bool(values) and all(map(is_number, values))
    return False


def unexplained_numbers(path: Path) -> list[str]:
    """Statements of a module that name numbers, without a docstring behind them."""
    body = syntax(path).body
    bound = [
        (node, follower)
        for node, follower in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_number(node.value)
    ]
    return [
        f"{path.name}:{node.lineno}"
        for node, follower in bound
        if not (isinstance(follower, ast.Expr) and isinstance(follower.value, ast.Constant))
    ]


def test_numbers_have_docstrings() -> None:
    assert not [name for path in sources(("codegen",), ".py") for name in unexplained_numbers(path)]


def test_a_number_without_docstring_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        'A = 1\n"""Seconds."""\nB = -(2**3)\nC, D = 1, 2\nE = True\nF = "f"\nG: int = 4\n', encoding="utf-8"
    )
    assert unexplained_numbers(path) == ["m.py:3", "m.py:4", "m.py:7"]


def described(node: ast.ClassDef | ast.FunctionDef) -> bool:
    return len((ast.get_docstring(node) or "").split()) >= 2


def undocumented(paths: list[Path]) -> list[str]:
    """Public names without a docstring of two words or more. A method may have it in a base class among these files."""
    modules = {path: syntax(path).body for path in paths}
    classes = {node.name: node for body in modules.values() for node in body if isinstance(node, ast.ClassDef)}

    def inherits(owner: ast.ClassDef, method: str) -> bool:
        bases = [classes[name] for base in owner.bases if (name := ast.unparse(base).split("[")[0]) in classes]
        own = [node for base in bases for node in base.body if isinstance(node, ast.FunctionDef)]
        return any(node.name == method and described(node) for node in own) or any(inherits(b, method) for b in bases)

    missing = []
    for path, body in modules.items():
        owners = [node for node in body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for owner, nodes in [(None, body), *((node, node.body) for node in owners)]:
            for node in nodes:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                    continue
                if not described(node) and not (owner and inherits(owner, node.name)):
                    missing.append(f"{path.name}:{node.lineno}: {node.name}")
    return missing


def test_public_names_have_docstrings() -> None:
    assert not undocumented(sources(("codegen",), ".py"))


POINTING = re.compile(r"(?:Those|These|Another|The same|What|Of|How|Why|Who|Which|Where|Both|So that)\b(?!-)")
"""First words of docstrings that point at something outside of them, or ask, instead of naming the thing."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings of a module, its classes, functions and constants, with their lines."""
    for owner in ast.walk(syntax(path)):
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef):
            before = [True, *(isinstance(node, ast.Assign | ast.AnnAssign) for node in owner.body)]
            for is_described, node in zip(before, owner.body, strict=False):
                match node:
                    case ast.Expr(value=ast.Constant(value=str(text)), lineno=line) if is_described:
                        yield line, text


def test_docstrings_name_the_thing() -> None:
    assert not [
        f"{path.name}:{line}: {text.splitlines()[0]}"
        for path in sources(("codegen",), ".py")
        for line, text in docstrings(path)
        if POINTING.match(text)
    ]


def test_a_docstring_that_points_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        '"""What it is."""\nA = 1\n"""Of a thing."""\ndef f():\n    """Which one."""\n    x = 1\n    """Number."""\n',
        encoding="utf-8",
    )
    assert [line for line, text in docstrings(path) if POINTING.match(text)] == [1, 3, 5]


def test_a_name_without_docstring_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(
        'class A:\n    """An example."""\n    def f(self):\n        """What it does."""\n\n'
        'class B(A):\n    """Another."""\n    def f(self): pass\n    def g(self): pass\n    def _h(self): pass\n',
        encoding="utf-8",
    )
    assert undocumented([path]) == ["m.py:6: B", "m.py:9: g"]
