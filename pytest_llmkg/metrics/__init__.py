"""Metric families, one file each; plain functions of plain values."""
