"""Inputs of WAV files (windows of the input's length) and PNG files (one image), in the input's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tflmgen.input_sets.array_file import Array, VectorsError
from tflmgen.input_sets.wav_file import read_sound
from tflmgen.ir import DType
from tflmgen.ir.graph import Port
from tflmgen.user_files import DATA_LIMIT, open_regular

_INTEGERS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32)

_WHOLE_STEP = 0.5
"""Quantisation scale from which an input's real numbers are the file's own integers, pixels of 0 to 255 say: with real
numbers of 0 to 1 and a step of 1/2 or more, an input would tell no more than three values apart."""


def wav_sets(path: Path, port: Port) -> list[tuple[Array, str]]:
    """Consecutive windows of the file with a label each, the start in seconds. What is left at the end is dropped.

    Real numbers are from -1 to 1. Raises VectorsError where the file is no WAV file, or does not fit the input.
    """
    sound = read_sound(path)
    samples, channels, rate = sound.samples, sound.channels, sound.rate
    axes = [size for size in port.type.max_shape if size != 1] or [1]
    own_channels = axes.pop() if len(axes) > 1 else 1
    words = f"input '{port.name}' is {port.type}"
    if len(axes) > 1:
        raise VectorsError(f"{path}: {words}: a WAV file fills an axis of samples, and a last axis of channels")
    if channels != own_channels:
        axis = f"a last axis of {own_channels} channels" if own_channels > 1 else "one channel"
        raise VectorsError(f"{path}: {channels} channel{'s' * (channels != 1)} at {rate} Hz, and {words}: {axis}")
    length = axes[0]
    if len(samples) < length:
        raise VectorsError(f"{path}: {len(samples)} samples per channel at {rate} Hz, and {words}: {length} at least")
    count = len(samples) // length
    windows = samples[: count * length].reshape(count, *port.type.max_shape)
    stored = _stored(path, windows, sound.bits, port)
    return [(stored[k], f"{path.name} {k * length / rate:.3f} s") for k in range(count)]


def png_set(path: Path, port: Port) -> Array:
    """The image as the input's array: height, width and channels, or channels first where the input has them first.

    Real numbers are from 0 to 1. Raises VectorsError where pillow is missing, or the image does not fit the input.
    """
    shape = port.type.max_shape
    pixels, bits = _pixels(path, port)
    for image in (pixels, pixels.transpose(2, 0, 1)):
        if [size for size in image.shape if size != 1] == [size for size in shape if size != 1]:
            return _stored(path, image.reshape(shape) / (2.0**bits - 1), bits, port)
    size = " x ".join(map(str, pixels.shape))
    raise VectorsError(f"{path}: the image is {size} (height, width, channels), and input '{port.name}' is {port.type}")


def _pixels(path: Path, port: Port) -> tuple[NDArray[np.int64], int]:
    """Pixels [height, width, channel] from 0, and bits of a pixel.

    Raises VectorsError before an image is unpacked that has more pixels than the input has elements.
    """
    try:
        from PIL import Image
    except ImportError as error:
        advice = "Install it: pip install 'tflmgen[images]'"
        raise VectorsError(f"{path}: PNG needs the package pillow. {advice}") from error
    try:
        with open_regular(path, DATA_LIMIT) as file, Image.open(file, formats=["PNG"]) as opened:
            image: Image.Image = opened
            if image.width * image.height > port.type.elements:
                size = f"{image.height} x {image.width} (height, width)"
                raise VectorsError(f"{path}: the image is {size}, and input '{port.name}' is {port.type}")
            if image.mode == "P":
                image = image.convert("RGBA" if "transparency" in image.info else "RGB")
            elif image.mode == "1":
                image = image.convert("L")
            pixels = np.asarray(image).astype(np.int64)
            bits = 16 if image.mode.startswith("I") else 8
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise VectorsError(f"{path}: not a PNG file, or a damaged one: {error}") from error
    return pixels.reshape(*pixels.shape[:2], -1), bits


def _stored(path: Path, real: NDArray[np.float64], bits: int, port: Port) -> Array:
    """Real numbers as the input's elements.

    bits  the file's own integers are `real` times 2^bits, for sound, or 2^bits - 1, for pixels
    """
    dtype, quantization = port.type.dtype, port.type.quantization
    if dtype.numpy.kind == "f":
        return real.astype(dtype.numpy)
    if dtype not in _INTEGERS:
        raise VectorsError(f"{path}: input '{port.name}' is {port.type}: neither sound nor a picture. Use .npz")
    limits = np.iinfo(dtype.label)
    is_sound = path.suffix.lower() == ".wav"
    if quantization is not None and not quantization.per_channel and quantization.scale > 0:
        largest = 2.0**bits - (not is_sound) if quantization.scale >= _WHOLE_STEP else 1.0
        numbers = real * largest / quantization.scale + quantization.zero_point
    elif is_sound:
        numbers = real * 2.0 ** (dtype.bits - 1) + (0 if limits.min < 0 else 2 ** (dtype.bits - 1))
    else:
        numbers = real * 255 + (-128 if dtype is DType.INT8 else 0)
    return np.clip(np.rint(numbers), limits.min, limits.max).astype(dtype.numpy)
