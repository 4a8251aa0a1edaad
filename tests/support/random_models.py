"""Random models of every kind that tests have, imported with bounds that leave their dynamic dimensions dynamic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from tflmgen.errors import ModelError
from tflmgen.frontend import import_model
from tflmgen.frontend.shape_bounds import NO_BOUNDS, Bounds
from tflmgen.frontend.tflite import Model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.graph import Module

from support.random_chain import random_chain
from support.random_constants import constant_program
from support.random_images import CHANNELS, random_image_model
from support.random_layers import random_layers
from support.random_patterns import random_pattern
from support.random_program import Seeded, random_program
from support.random_rows import MAX_ROWS, random_model


@dataclass(frozen=True)
class RandomModels:
    """make: the file of a seed; bounds: of its dynamic dimensions."""

    make: Callable[[int], bytes]
    bounds: Bounds = NO_BOUNDS

    def models(self, kind: str, seed: int) -> tuple[Model, Module] | None:
        """A file and its graph as imported; None for a model that is refused, as one of ever more rows is."""
        model = parse_model(self.make(seed), f"{kind} {seed}")
        try:
            return model, import_model(model, self.bounds)
        except ModelError:
            return None


IMAGES = Bounds({(0, 0): (1, 6, 5, CHANNELS)}, 24)
"""Images are at least 5 high and wide."""
ROWS = Bounds({(0, 0): (4, 2), (0, 1): (4, 2)}, MAX_ROWS)

MAKERS: Mapping[str, RandomModels] = {
    "control flow": RandomModels(lambda seed: random_program(Seeded(seed))),
    "int8 network": RandomModels(random_chain),
    "float network": RandomModels(lambda seed: random_chain(seed, "float32")),
    "int8 layers": RandomModels(lambda seed: random_layers(np.random.default_rng(seed), "int8")[0]),
    "float layers": RandomModels(lambda seed: random_layers(np.random.default_rng(seed), "float32")[0]),
    "constants": RandomModels(constant_program),
    "dynamic rows": RandomModels(lambda seed: random_model(Random(seed)), ROWS),
    "patterns": RandomModels(random_pattern),
    "dynamic images": RandomModels(lambda seed: random_image_model(Random(seed)), IMAGES),
}
