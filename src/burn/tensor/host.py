"""What only the host can do: counts of token sequences, and pictures from the bytes of a file."""

from burn.ops.text import count_sequences, decode_image

__all__ = ["count_sequences", "decode_image"]
