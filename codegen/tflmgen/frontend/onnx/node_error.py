"""Errors of the ONNX front end before they have a place, and those that ask for an input's value."""

from __future__ import annotations

from tflmgen.errors import TflmgenError


class NodeError(TflmgenError):
    """A node that can't be expressed; `text` is a sentence without its subject: "has an axis that ...".

    advice  what the user can do
    """

    def __init__(self, text: str, advice: str = "") -> None:
        self.text = text
        self.advice = advice
        super().__init__(text)


class ShapeInputError(NodeError):
    """A shape depends on the values of the model's inputs, which are not known at build time.

    inputs  their names
    """

    def __init__(self, needed: str, inputs: frozenset[str]) -> None:
        self.inputs = inputs
        names = " and ".join(f"'{name}'" for name in sorted(inputs))
        options = " ".join(f"--constant {name}=..." for name in sorted(inputs))
        super().__init__(f"needs {needed} at build time, which the input {names} determines", f"Fix it by {options}")
