"""Values by case from arrays, for simulations whose true means are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_llmkg.analysis.values import CaseValues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray


def one_label(models: Mapping[str, Sequence[float | tuple[float, ...] | None]], label: str = "L") -> CaseValues:
    """Values of cases 0, 1, 2 ... of one label; None is a case that was asked but gave no value."""
    by_case = {}
    for model, cases in models.items():
        for number, found in enumerate(cases):
            values = () if found is None else found if isinstance(found, tuple) else (float(found),)
            by_case[model, label, f"c{number:03}"] = values
    return CaseValues(dict(sorted(by_case.items())), {label: "T"}, {}, {})


def from_arrays(labels: Mapping[str, NDArray[np.float64]], tasks: Mapping[str, str] | None = None) -> CaseValues:
    """Arrays of shape (models, cases, iterations) by label; a task of its own for each label unless told otherwise."""
    by_case = {
        (f"m{m:03}", label, f"c{c:03}"): tuple(cell)
        for label, values in labels.items()
        for m, cases in enumerate(values.tolist())
        for c, cell in enumerate(cases)
    }
    return CaseValues(dict(sorted(by_case.items())), dict(tasks or {label: label for label in labels}), {}, {})
