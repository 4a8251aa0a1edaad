"""What a file is that is no .tflite file, and what its owner can do."""

from __future__ import annotations

import io
import zipfile

from tflmgen.user_files import DAMAGED_ZIP

_CONVERT = "Convert the model with tf.lite.TFLiteConverter"
_EXPORT = "Export the module: torch.export.save(torch.export.export(module, inputs), 'net.pt2')"
_STARTS = (
    (b"\x89HDF", f"It is an HDF5 file, perhaps Keras weights. {_CONVERT}"),
    (b"\x1f\x8b", "It is compressed with gzip. Unpack it first"),
    (b"\x80\x02", f"It is a Python pickle, perhaps of torch.save, which could run code and is not read. {_EXPORT}"),
)
_MEMBERS = (
    ("constants.pkl", f"It is a TorchScript archive, which could run code and is not read. {_EXPORT}"),
    ("data.pkl", f"It is a PyTorch pickle of torch.save, which could run code and is not read. {_EXPORT}"),
    ("models/model.json", "It is a program of torch.export. Give it the suffix .pt2"),
    ("model.weights.h5", "It is a Keras model. Give it the suffix .keras"),
)
"""End of a zip member's name that a format has, and what to say; the first that fits counts."""


def other_format(data: bytes) -> str:
    """A sentence on the contents of a file of another format, with advice; empty if it is unknown."""
    if data.startswith(b"PK\x03\x04"):
        names = _member_names(data)
        text = next((text for end, text in _MEMBERS if any(name.endswith(end) for name in names)), None)
        return text or f"It is a zip archive, perhaps a .keras file. {_CONVERT}"
    return next((text for start, text in _STARTS if data.startswith(start)), "")


def _member_names(data: bytes) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.namelist()
    except DAMAGED_ZIP:
        return []
