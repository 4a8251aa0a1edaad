"""TFLite_Detection_PostProcess: what single-shot detectors end with, in float32.

Inputs: 0 box encodings [1, boxes, 4 or more], 1 class predictions [1, boxes, classes, with a background class before
them or not], 2 anchors [boxes, 4]. Outputs: boxes [1, detections, 4], classes and scores [1, detections], their number.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Scratch, Target
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.specification.operator import Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import flag, integer, real
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type, one_type

LARGEST_OPTION = 2**20
"""Above any real count of boxes and classes; products of two stay within 64 bits."""
PER_CLASS = 100
"""Detections per class where the options don't say."""

BoxScales = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class DetectionAttributes:
    """`scales` are those of y, x, height and width; `regular`: suppression in each class of its own."""

    detections: int
    per_class: int
    classes: int
    regular: bool
    score_threshold: float
    overlap_threshold: float
    scales: BoxScales


def parse(options: Options) -> DetectionAttributes:
    """Thresholds, scales and limits of the post-processing. Raises ValueError for what is missing or out of range."""
    regular = flag(options, "use_regular_nms") if "use_regular_nms" in options else False
    per_class = (
        integer(options, "detections_per_class", 1, LARGEST_OPTION) if "detections_per_class" in options else PER_CLASS
    )
    classes = integer(options, "num_classes", 1, LARGEST_OPTION)
    per_detection = min(integer(options, "max_classes_per_detection", 1, LARGEST_OPTION), classes)
    if per_detection > 1 and not regular:
        raise ValueError("max_classes_per_detection is more than 1: each box can have its best class only")
    overlap = real(options, "nms_iou_threshold")
    if not 0 < overlap <= 1:
        raise ValueError(f"nms_iou_threshold is {overlap:g}, but must be more than 0, at most 1")
    y, x, h, w = (real(options, f"{side}_scale") for side in "yxhw")
    if 0 in (y, x, h, w):
        raise ValueError("a scale of the boxes is 0")
    detections = integer(options, "max_detections", 1, LARGEST_OPTION)
    threshold = real(options, "nms_score_threshold")
    return DetectionAttributes(detections, per_class, classes, regular, threshold, overlap, (y, x, h, w))


def _boxes(op: OperatorInstance) -> int:
    return input_shape(op)[1]


def _shapes_fit(op: OperatorInstance) -> bool:
    boxes, scores, anchors = (input_shape(op, i) for i in range(3))
    return boxes[:2] == scores[:2] == (1, boxes[1]) and boxes[2] >= 4 and anchors == (boxes[1], 4) and boxes[1] > 0


class DetectionPostProcess(CustomOperator):
    """The best boxes of a detector, without those that better ones overlap."""

    name = "TFLite_Detection_PostProcess"
    inputs = (3, 3)
    outputs = 4
    rules = (
        *COMMON,
        one_type(DType.FLOAT32),
        Rule(
            "box encodings and class predictions of 3 dimensions, and anchors of 2",
            lambda op: [len(input_type(op, i).shape) for i in range(3)] == [3, 3, 2],
        ),
        Rule("one batch, and as many anchors, encodings of 4 numbers and predictions as boxes", _shapes_fit),
        Rule(
            "predictions of num_classes columns, or one more for the background",
            lambda op: input_shape(op, 1)[2] - op.attributes.classes in (0, 1),
        ),
    )

    def attributes(self, options: Options) -> DetectionAttributes:
        return parse(options)

    def infer(self, op: OperatorInstance) -> tuple[Shape, ...]:
        detections = op.attributes.detections
        return (1, detections, 4), (1, detections), (1, detections), (1,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        a, boxes = op.attributes, _boxes(op)
        columns = input_shape(op, 1)[2]
        fields = (
            ("boxes", boxes),
            ("coordinates", input_shape(op)[2]),
            ("columns", columns),
            ("background", columns - a.classes),
            ("detections", a.detections),
            ("per_class", a.per_class),
            ("score_threshold", a.score_threshold),
            ("overlap_threshold", a.overlap_threshold),
            *((f"{side}_scale", value) for side, value in zip("yxhw", a.scales, strict=True)),
        )
        tensors = (Input(0), Input(1), Input(2), Output(0), Output(1), Output(2), Output(3))
        bests = () if a.regular else (Scratch(4 * boxes), Scratch(4 * boxes))
        return Kernel(
            "tflmgen_detection_regular" if a.regular else "tflmgen_detection_fast",
            "detection.h",
            (*tensors, Scratch(16 * boxes), *bests, Scratch(boxes, 1)),
            Params("tflmgen_detection", fields),
            error="TFLMGEN_ERROR_ARGUMENT",
        )


OPERATORS = (DetectionPostProcess().row(),)
