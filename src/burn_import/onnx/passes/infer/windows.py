"""Rules of operators that slide a window or look at regions: convolutions, pooling, regions, grids, transforms."""

from __future__ import annotations

from collections.abc import Sequence

from burn.dim import Dim, is_at_least, maximum
from burn_import.onnx.ir.types import ElementType, Size
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule


def window_sizes(op: Inference, spatial: Sequence[Size], kernel: Sequence[Size]) -> list[Size]:
    """The sizes that a sliding window leaves, by the node's pads, strides, dilations and rounding."""
    count = len(spatial)
    strides = op.attribute("strides") or (1,) * count
    dilations = op.attribute("dilations") or (1,) * count
    pads = op.attribute("pads") or (0,) * (2 * count)
    mode = op.attribute("auto_pad", "NOTSET") or "NOTSET"
    result: list[Size] = []
    for axis, size in enumerate(spatial):
        width = sizes.calculate(lambda k, d: (k - 1) * d + 1, kernel[axis], dilations[axis])
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            result.append(sizes.ceil_divide(size, strides[axis]))
            continue
        first, last = (0, 0) if mode == "VALID" else (pads[axis], pads[axis + count])
        room = sizes.calculate(lambda n, w, f=first, e=last: n + f + e - w, size, width)
        if not op.attribute("ceil_mode", 0):
            # A pool's window that is wider than the data still gives one element: numbers round towards 0.
            if isinstance(room, int):
                steps: Size = int(room / strides[axis])
            else:
                steps = sizes.floor_divide(room, strides[axis])
            found = sizes.add(steps, 1)
            narrow = "Pool" in op.node.op_type and isinstance(room, Dim) and not is_at_least(room, 0)
            result.append(sizes.calculate(lambda n: maximum(n, 1), found) if narrow else found)
            continue
        result.append(_rounded_up(size, room, strides[axis], first, last, width))
    return result


def _rounded_up(size: Size, room: Size, stride: int, first: int, last: int, width: Size) -> Size:
    """Rounding up adds a window unless it would begin in the padding behind the data."""
    found = sizes.add(sizes.ceil_divide(room, stride), 1)
    if type(found) is int and type(size) is int:
        return found - 1 if (found - 1) * stride >= size + first else found
    # an open size: surely none to take back when the window reaches over the padding
    return found if type(width) is int and last + stride <= width else None


@rule("Conv", "ConvInteger", "QLinearConv", "FusedConv")
def convolution(op: Inference) -> None:
    data = op.shape(0)
    weight = 3 if op.node.op_type == "QLinearConv" else 1
    filters = op.shape(weight)
    dtype = op.dtype(0)
    if op.node.op_type == "ConvInteger":
        dtype = ElementType.i32
    elif op.node.op_type == "QLinearConv":
        dtype = op.dtype(7)
    if data is None:
        op.set(None if filters is None else (None, filters[0], *([None] * (len(filters) - 2))), dtype=dtype)
        return
    spatial = data[2:]
    kernel = op.attribute("kernel_shape") or (filters[2:] if filters is not None else (None,) * len(spatial))
    op.set((data[0], op.size(weight, 0), *window_sizes(op, spatial, kernel)), dtype=dtype)


@rule("DeformConv")
def deformable(op: Inference) -> None:
    convolution(op)


@rule("ConvTranspose")
def transposed_convolution(op: Inference) -> None:
    data, filters = op.shape(0), op.shape(1)
    if data is None:
        return
    spatial = data[2:]
    count = len(spatial)
    channels = sizes.calculate(lambda n: n * op.attribute("group", 1), op.size(1, 1))
    target = op.attribute("output_shape")
    if target:
        op.set((data[0], channels, *target[-count:]))
        return
    kernel = op.attribute("kernel_shape") or (filters[2:] if filters is not None else (None,) * count)
    strides = op.attribute("strides") or (1,) * count
    dilations = op.attribute("dilations") or (1,) * count
    extra = op.attribute("output_padding") or (0,) * count
    pads = op.attribute("pads") or (0,) * (2 * count)
    mode = op.attribute("auto_pad", "NOTSET") or "NOTSET"
    result: list[Size] = []
    for axis, size in enumerate(spatial):
        if mode in ("SAME_UPPER", "SAME_LOWER"):
            result.append(sizes.calculate(lambda n, s=strides[axis]: n * s, size))
            continue
        cut = 0 if mode == "VALID" else pads[axis] + pads[axis + count]
        grow = extra[axis] - cut
        result.append(
            sizes.calculate(
                lambda n, k, s=strides[axis], d=dilations[axis], g=grow: (n - 1) * s + (k - 1) * d + 1 + g,
                size,
                kernel[axis],
            )
        )
    op.set((data[0], channels, *result))


@rule("MaxPool", "AveragePool", "LpPool")
def pooling(op: Inference) -> None:
    data = op.shape(0)
    if data is None:
        return
    shape = (*data[:2], *window_sizes(op, data[2:], op.attribute("kernel_shape")))
    op.set(shape)
    op.set(shape, dtype=ElementType.i64, index=1)


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pooling(op: Inference) -> None:
    data = op.shape(0)
    op.set(None if data is None else (*data[:2], *([1] * (len(data) - 2))))


@rule("MaxUnpool")
def unpooling(op: Inference) -> None:
    data = op.shape(0)
    if data is None:
        return
    target = op.elements(2) if op.has(2) else None
    if op.has(2):
        op.set(target if target is not None else (None,) * len(data))
        return
    count = len(data) - 2
    kernel = op.attribute("kernel_shape")
    strides = op.attribute("strides") or (1,) * count
    pads = op.attribute("pads") or (0,) * (2 * count)
    grown = [
        sizes.calculate(lambda n, a=axis: (n - 1) * strides[a] - pads[a] - pads[a + count] + kernel[a], size)
        for axis, size in enumerate(data[2:])
    ]
    op.set((*data[:2], *grown))


@rule("MaxRoiPool")
def region_pooling(op: Inference) -> None:
    op.set((op.size(1, 0), op.size(0, 1), *op.attribute("pooled_shape")))


@rule("RoiAlign")
def region_align(op: Inference) -> None:
    size = (op.attribute("output_height", 1), op.attribute("output_width", 1))
    op.set((op.size(1, 0), op.size(0, 1), *size))


@rule("GridSample")
def grid_sample(op: Inference) -> None:
    data, grid = op.shape(0), op.shape(1)
    if data is not None and grid is not None:
        op.set((data[0], data[1], *grid[1:-1]))


@rule("AffineGrid")
def affine_grid(op: Inference) -> None:
    target = op.elements(1)
    if target is None:
        count = op.size(1, 0)
        op.set(
            (*(sizes.unknown(count - 1) or ()), count - 2)
            if isinstance(count, int) and count <= sizes.MAX_RANK
            else None
        )
    else:
        op.set((target[0], *target[2:], len(target) - 2))


@rule("Col2Im")
def column_to_image(op: Inference) -> None:
    image, block = op.elements(1), op.ints(2)
    if image is None:
        count = op.size(1, 0)
        op.set(sizes.unknown(sizes.add(count, 2)))
        return
    area = 1
    for each in block or ():
        area *= each
    op.set((op.size(0, 0), sizes.floor_divide(op.size(0, 1), area) if block else None, *image))


@rule("DFT")
def fourier(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        return
    axes = op.ints(2) if op.has(2) else [-2]
    result = list(shape)
    single = bool(op.attribute("onesided", 0))
    inverse = bool(op.attribute("inverse", 0))
    result[-1] = 1 if inverse and single else 2
    if axes is None:
        op.set([None] * (len(shape) - 1) + [result[-1]])
        return
    axis = sizes.normalise(axes[0], len(shape))
    length = op.elements(1) if op.has(1) else None
    if op.has(1):
        result[axis] = length[0] if length is not None else None
        if inverse and single and length is None:
            result[axis] = None
    elif inverse and single:
        result[axis] = sizes.calculate(lambda n: (n - 1) * 2, shape[axis])
    if single and not inverse:
        result[axis] = sizes.add(sizes.floor_divide(result[axis], 2), 1)
    op.set(result)


@rule("STFT")
def short_time_fourier(op: Inference) -> None:
    signal = op.shape(0)
    step = op.elements(1)
    frame = op.elements(3)[0] if op.has(3) and op.elements(3) else op.size(2, 0)  # type: ignore[index]
    if signal is None:
        op.set((None, None, None, 2))
        return
    frames = None
    if step is not None:
        frames = sizes.add(sizes.floor_divide(sizes.calculate(lambda n, f: n - f, signal[1], frame), step[0]), 1)
    bins = sizes.add(sizes.floor_divide(frame, 2), 1) if op.attribute("onesided", 1) else frame
    op.set((signal[0], frames, bins, 2))


@rule("BlackmanWindow", "HannWindow", "HammingWindow")
def window(op: Inference) -> None:
    size = op.elements(0)
    op.set((size[0] if size is not None else None,), dtype=ElementType(op.attribute("output_datatype", 1)))


@rule("MelWeightMatrix")
def mel_weights(op: Inference) -> None:
    bins, length = op.elements(0), op.elements(1)
    rows = sizes.add(sizes.floor_divide(length[0], 2), 1) if length is not None else None
    op.set((rows, bins[0] if bins is not None else None), dtype=ElementType(op.attribute("output_datatype", 1)))


@rule("ImageDecoder")
def image_decoder(op: Inference) -> None:
    channels = 1 if op.attribute("pixel_format", "RGB") == "Grayscale" else 3
    op.set((None, None, channels), dtype=ElementType.u8)
