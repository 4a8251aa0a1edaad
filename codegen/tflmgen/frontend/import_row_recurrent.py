"""Recurrent layers over sequences whose length is known at run time only.

Each runs over the steps in use, which its kernel gets as a number of the run time (dynamic_in_use.py), so that its
states are those after the last of them. Their size fixes the batches: any other number is an error at run time.
"""

from __future__ import annotations

from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, checked
from tflmgen.frontend.import_row_wise import mixing_error
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels.operators import in_use


def recurrent(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...]:
    """The output, then the new contents of the states. Raises RowError for channels, weights or states that vary."""
    sequence, positions = call.inputs[0], context.operators[call.op.name].updates
    states = [call.inputs[index] for index in positions if index < len(call.inputs)]
    _check_axes(context, call)
    time, batch = (0, 1) if (call.op.options or {}).get("time_major", False) else (1, 0)
    if sequence is not None and batch in context.extents[sequence] and states[0] is not None:
        batches, largest = states[0].type.max_shape[0], sequence.type.max_shape[batch]
        if batches > largest:
            raise RowError(
                f"{call.op.name} keeps states of {batches} batches, of which '{sequence.name}' has {largest}"
            )
        sequence = builder.exactly(sequence, batches, batch)
        call = replace(call, inputs=(sequence, *call.inputs[1:]))
    operator = checked(context, call, call.inputs)
    assert sequence is not None
    steps = context.extents.get(sequence, {}).get(time)
    output = context.value(call.tensors[0].name, operator.outputs[0])
    updated = [context.value(state.name, state.type) for state in states if state is not None]
    if steps is None:
        _add(context, builder, call, (output, *updated), operator.attributes)
        return (output, *updated)
    has_gaps = time == 1 and sequence.type.max_shape[0] > 1
    first = builder.dense(sequence) if has_gaps else sequence
    absent = (None,) * (context.operators[call.op.name].inputs[1] - len(call.inputs))
    counted = replace(call.op, name=in_use(call.op.name))
    call = replace(call, op=counted, inputs=(first, *call.inputs[1:], *absent, steps))
    _add(context, builder, call, (output, *updated), operator.attributes)
    context.extents[output] = {time: steps}
    if has_gaps:
        output = builder.spread(output, output.type, builder.shape(output), {time: steps})
    return (output, *updated)


def _check_axes(context: Context, call: DynamicCall) -> None:
    """Raises RowError unless nothing but the batches and the steps of the input vary."""
    for index, value in enumerate(call.inputs):
        for axis in context.extents.get(value, {}) if value is not None else ():
            if index or value is None or axis == len(value.type.shape) - 1:
                raise mixing_error(context, call, (index, axis))


def _add(context: Context, builder: Builder, call: DynamicCall, outputs: tuple[Value, ...], attributes: object) -> None:
    builder.nodes.append(Op(context.new_id(), call.op.name, call.inputs, outputs, attributes, call.origin))
