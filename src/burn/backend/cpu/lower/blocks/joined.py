"""Images side by side without a copy: convolutions write where their channels belong.

Where the channels of several images are put behind each other, and kernels of our own make each of them for that
alone, they write into the whole image at once.
"""

from __future__ import annotations

from burn.backend.cpu.lower.blocks.stage import block_of
from burn.dtype import f32
from burn.engine.lower.epilogue import epilogue_of
from burn.engine.schedule.access import Access, whole
from burn.engine.schedule.images import is_last
from burn.program.fused import IMAGE, Epilogue
from burn.program.program import Node, Program


def homes_of(program: Program) -> dict[int, Access]:
    """Where results of convolutions lie that are part of a joined image."""
    uses, producer, outputs = program.uses(), program.producer(), set(program.outputs)
    found: dict[int, Access] = {}
    for position, node in enumerate(program.nodes):
        if node.op.name != "cat" or node.results[0] in outputs:
            continue
        parts, whole_image = node.reads(), whole(node.results[0], tuple(program.values[node.results[0]].shape))
        if len(set(parts)) < len(parts) or node.attributes != (len(whole_image.shape) - 1,):
            continue
        makers = [program.nodes[producer[number]] if number in producer else None for number in parts]
        alone = all(uses[number] == [position] and number not in outputs for number in parts)
        if not alone or not all(maker is not None and _writes_anywhere(program, maker) for maker in makers):
            continue
        begin = 0
        for number in parts:
            shape = tuple(program.values[number].shape)
            found[number] = Access(node.results[0], shape, whole_image.strides, begin)
            begin += shape[-1]
    return found


def _writes_anywhere(program: Program, node: Node) -> bool:
    """Whether a node is a convolution that reads nothing where it writes."""
    value = program.values[node.results[0]]
    if node.op.name != "conv" or not is_last(node) or value.dtype is not f32:
        return False
    block = block_of(node)
    if block is not None:
        return not _reads_images(block.stages[-1].epilogue)
    epilogue, _ = epilogue_of(node)
    return not _reads_images(epilogue)


def _reads_images(epilogue: Epilogue | None) -> bool:
    return epilogue is not None and IMAGE in epilogue.kinds
