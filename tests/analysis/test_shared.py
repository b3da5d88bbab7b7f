from __future__ import annotations

from pytest_llmkg.analysis.aggregates import Counts, LabelRow
from pytest_llmkg.analysis.shared import SharedMeans, shared_means


def rows(**means: str) -> list[LabelRow]:
    """Rows from e.g. ``good="A.8 B.5"``."""
    return [
        LabelRow(model, "T", cell[0], "f1", Counts(1), float(cell[1:]) if cell[1:] else None, None)
        for model, text in means.items()
        for cell in text.split()
    ]


def test_equal_labels_need_no_sentence() -> None:
    assert shared_means(rows(a="A.1 B.2", b="B.3 A.4"), ["a", "b"]) == ()
    assert shared_means(rows(a="A.1 B.2"), ["a"]) == ()
    assert shared_means([], []) == ()


def test_a_model_with_fewer_labels_is_compared_under_those_it_has() -> None:
    found = shared_means(
        rows(full="A.5 B.7 C0", best="A1 B.5 C1", part="A.8 B.6", base="A.2 B.4 C.9"), ["full", "best"]
    )
    assert found == (
        SharedMeans(("A", "B"), (("best", 0.75), ("part", 0.7), ("full", 0.6), ("base", 0.30000000000000004))),
    )


def test_a_reference_with_more_labels_is_compared_under_those_of_the_ranked() -> None:
    (found,) = shared_means(rows(good="A.75 B.25", base="A.25 B.25 C1"), ["good"])
    assert found == SharedMeans(("A", "B"), (("good", 0.5), ("base", 0.25)))


def test_models_that_share_nothing_are_left_out_and_a_label_without_mean_is_not_shared() -> None:
    assert shared_means(rows(a="A.1 B", b="B.2"), []) == ()
    assert shared_means(rows(a="A.1 B", b="B.2 A.5"), ["b"]) == (SharedMeans(("A",), (("b", 0.5), ("a", 0.1))),)


def test_without_ranked_models_all_are_compared_and_groups_are_told_apart() -> None:
    assert shared_means(rows(a="A.1 B.2", b="B.3 C.4"), []) == (SharedMeans(("B",), (("b", 0.3), ("a", 0.2))),)
    two = shared_means(rows(r="A.5 B.5 C.5", a="A.1 B.3", b="C.3"), ["r"])
    assert [(one.labels, [model for model, _ in one.means]) for one in two] == [
        (("A", "B"), ["r", "a"]),
        (("C",), ["r", "b"]),
    ]
