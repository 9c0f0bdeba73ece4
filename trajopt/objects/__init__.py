"""Manners of objects: they explain wrong calls and unknown attributes, stay as built, and load when needed."""
