"""Recorded answers of whole files through the rules again: in this process, in several, or on a Ray cluster."""
