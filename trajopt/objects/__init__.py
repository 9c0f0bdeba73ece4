"""Common behaviour of objects: explanations of wrong calls and attributes, immutability, lazy imports."""
