"""Measure how well language models work with knowledge graphs."""

__version__ = "0.1.0"

__all__ = ["__version__"]
