"""Row streams: layers that are computed row by row, through lines of memory between them.

In: graphs and kernels. Out: a RowStream.
Decided here: what is kept between rows.
"""

from tflmgen.ir.streams.row_stream import (
    STREAM_VARIANT,
    Called,
    Computation,
    LineBuffer,
    LineMove,
    MovingPointer,
    RowCall,
    RowStage,
    RowStream,
)

__all__ = [
    "STREAM_VARIANT",
    "Called",
    "Computation",
    "LineBuffer",
    "LineMove",
    "MovingPointer",
    "RowCall",
    "RowStage",
    "RowStream",
]
