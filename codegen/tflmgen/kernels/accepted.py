"""Element types that an operator accepts, found by asking its support rules.

Rules are run on stand-ins for tensors that know their element type only. A stand-in's type, and whether an optional
input is there at all, is chosen when a rule first asks for it; all choices are tried. A rule that asks for anything
else (a shape, a scale, an attribute, a constant's value) does not decide by types alone and is passed over. So a rule
on types asks for types first, operand by operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.specification.operator import OperatorSpec

Types = frozenset[DType | None]
"""Element types of one operand; None: it may be absent."""

ANY: Types = frozenset(DType)
MANY = 7
"""Number of inputs above which only the types of an operator's first input and first output are tried and listed."""


@dataclass(frozen=True, slots=True)
class AcceptedTypes:
    """Element types that go together: any choice out of each operand's set. `inputs` ends with the last one told."""

    inputs: tuple[Types, ...]
    outputs: tuple[Types, ...]


Question = tuple[str, str, int]
"""Question of a rule: "absent" or "type", of "input" or "output", which."""


class _OtherQuestion(BaseException):
    """A rule asks for more than element types. No rule's own handlers are to catch it."""


class _Choices:
    """Answers to the rules' questions, tried one after the other, with conflict-directed backjumping.

    P. Prosser, "Hybrid algorithms for the constraint satisfaction problem", Computational Intelligence 9 (1993): after
    a failure the next answer is tried for the latest question that took part in it.
    """

    def __init__(self) -> None:
        self._answers: dict[Question, tuple[Sequence[Any], int]] = {}
        self._blamed: dict[Question, set[Question]] = {}
        self.asked: set[Question] = set()

    def choose(self, question: Question, domain: Sequence[Any]) -> Any:
        self.asked.add(question)
        if question not in self._answers:
            self._answers[question] = domain, 0
            self._blamed[question] = set()
        answers, index = self._answers[question]
        return answers[index]

    def known(self, question: Question) -> Any:
        """The answer; None where nobody has asked."""
        answers, index = self._answers.get(question, ((None,), 0))
        return answers[index]

    @property
    def questions(self) -> set[Question]:
        return set(self._answers)

    def retreat(self, conflict: set[Question]) -> bool:
        """Tries other answers to these questions. False: there are none left."""
        while conflict:
            latest = next(q for q in reversed(self._answers) if q in conflict)
            for question in list(self._answers)[list(self._answers).index(latest) + 1 :]:
                del self._answers[question], self._blamed[question]
            self._blamed[latest] |= conflict - {latest}
            domain, index = self._answers[latest]
            if index + 1 < len(domain):
                self._answers[latest] = domain, index + 1
                return True
            conflict = self._blamed[latest]
            del self._answers[latest], self._blamed[latest]
        return False


class _Tensor:
    def __init__(self, choices: _Choices, side: str, index: int) -> None:
        self._choices = choices
        self._question = "type", side, index

    @property
    def dtype(self) -> DType:
        dtype: DType = self._choices.choose(self._question, tuple(DType))
        return dtype

    def __getattr__(self, name: str) -> Any:
        raise _OtherQuestion


class _Operands(Sequence[Any]):
    """Inputs or outputs; inputs from `least` on may be absent."""

    def __init__(self, choices: _Choices, side: str, count: int, least: int) -> None:
        self._choices = choices
        self._side = side
        self._count = count
        self._least = least

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        index %= self._count
        absent = index >= self._least and self._choices.choose(("absent", self._side, index), (False, True))
        return None if absent else _Tensor(self._choices, self._side, index)

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]


def _other_question(*_: object) -> Any:
    raise _OtherQuestion


class _Unknown:
    """A constant whose contents are unknown: rules may ask whether it is there, nothing else."""

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __array__ = __index__ = __float__ = _other_question
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _other_question
    __hash__ = None  # type: ignore[assignment]


class _Constants:
    """Constants of an operator's inputs: each is there, with unknown contents."""

    def __getitem__(self, index: int) -> _Unknown:
        return _Unknown()

    def __iter__(self) -> Iterator[Any]:
        raise _OtherQuestion


def accepted_types(operator: OperatorSpec) -> tuple[AcceptedTypes, ...]:
    """The element types that go together, as few Signatures as merging makes of them, in the order of DType."""
    least, greatest = operator.inputs
    # Of any number of operands, two stand for all.
    inputs, outputs = (greatest if greatest >= 0 else max(least, 2)), (operator.outputs if operator.outputs >= 0 else 1)
    tried = (inputs, outputs) if inputs <= MANY else (1, 1)
    rows = _merged(set(_solutions(operator, (inputs, outputs), tried)))
    return tuple(AcceptedTypes(row[: tried[0]], row[tried[0] :]) for row in rows)


def _solutions(operator: OperatorSpec, counts: tuple[int, int], tried: tuple[int, int]) -> Iterator[tuple[Types, ...]]:
    """Every choice that no rule refuses, by operand; what no rule asks for is ANY."""
    operands = [("input", i) for i in range(tried[0])] + [("output", i) for i in range(tried[1])]
    telling = {(question, *operand) for question in ("absent", "type") for operand in operands}
    choices = _Choices()
    going = True
    while going:
        conflict = _conflict(operator, choices, counts)
        if conflict is None:
            yield tuple(_types_of_operand(choices, *operand) for operand in operands)
            conflict = telling & choices.questions
        going = choices.retreat(conflict)


def _types_of_operand(choices: _Choices, side: str, index: int) -> Types:
    if choices.known(("absent", side, index)):
        return frozenset({None})
    dtype = choices.known(("type", side, index))
    return ANY if dtype is None else frozenset({dtype})


def _conflict(operator: OperatorSpec, choices: _Choices, counts: tuple[int, int]) -> set[Question] | None:
    """The questions that the first rule asked that doesn't hold; None where all do, or don't tell."""
    instance: Any = OperatorInstance(
        _Operands(choices, "input", counts[0], operator.inputs[0]),  # type: ignore[arg-type]
        _Operands(choices, "output", counts[1], counts[1]),  # type: ignore[arg-type]
        _Constants(),  # type: ignore[arg-type]
        _Unknown(),
    )
    for rule in operator.rules:
        choices.asked = set()
        try:
            if not rule.holds(instance):
                return choices.asked
        except _OtherQuestion:
            continue
    return None


def _merged(rows: set[tuple[Types, ...]]) -> list[tuple[Types, ...]]:
    """Rows that differ in one operand only become one, operand after operand until none is left."""
    before = 0
    while len(rows) != before:
        before = len(rows)
        for operand in reversed(range(len(next(iter(rows), ())))):
            groups: dict[tuple[Types, ...], Types] = {}
            for row in sorted(rows, key=_order):
                others = (*row[:operand], *row[operand + 1 :])
                groups[others] = groups.get(others, frozenset()) | row[operand]
            rows = {(*others[:operand], types, *others[operand:]) for others, types in groups.items()}
    return sorted(rows, key=_order)


def _order(row: tuple[Types, ...]) -> tuple[tuple[int, ...], ...]:
    places = {dtype: i for i, dtype in enumerate(DType)}
    return tuple(tuple(sorted(-1 if t is None else places[t] for t in types)) for types in row)
