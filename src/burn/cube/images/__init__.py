"""Machine code from object files into memory, without LLVM: link objects to an image, keep it, map it.

    image = link({"kernel": compile_object(kernel)})
    mapped = map_image(Image.from_bytes(image.to_bytes()))
    CompiledKernel(mapped.addresses["kernel"], mapped)

What is not understood is `Unlinkable`, and LLVM's loader is there for it.
"""

from __future__ import annotations

from burn.cube.images.image import Image, Unlinkable
from burn.cube.images.linking import link
from burn.cube.images.mapping import Mapped, is_supported, map_image

__all__ = ["Image", "Mapped", "Unlinkable", "is_supported", "link", "map_image"]
