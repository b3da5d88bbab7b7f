"""Tests of this package drive pytest itself."""

pytest_plugins = ["pytester"]
