"""Gives each worker of pytest-xdist its whole share of the tests at once, so that it can run ahead of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from xdist.report import report_collection_diff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdist.workermanage import WorkerController

__all__ = ["ShareScheduling"]


class ShareScheduling:
    """A scheduler of pytest-xdist (`xdist.scheduler.protocol.Scheduling`).

    Tests are dealt out in blocks of consecutive tests, in turns. What a worker leaves behind when it dies goes to the
    one that replaces it, or to those that have nothing else to do. A worker's last test begins when it knows that no
    other follows; so all are told to end when all have come to their last one.

    Args:
        config: of the controlling process.
        workers: how many take part.
        block: tests that stay together, e.g. those of one case.

    Attributes:
        config: the same; plugins such as pytest-rerunfailures look for it, as pytest-xdist's own schedulers have it.
    """

    def __init__(self, config: pytest.Config, workers: int, block: int) -> None:
        self.config, self._workers, self._block = config, workers, block
        self._collections: dict[WorkerController, list[str]] = {}
        self._given: dict[WorkerController, list[int]] = {}
        self._left: list[int] = []
        self._collection: list[str] | None = None

    @property
    def nodes(self) -> list[WorkerController]:
        """The workers."""
        return list(self._given)

    @property
    def collection_is_completed(self) -> bool:
        """Whether all workers have collected."""
        return len(self._collections) >= self._workers

    @property
    def tests_finished(self) -> bool:
        """Whether no worker has more than its last test to run."""
        return self.collection_is_completed and not self._left and all(len(g) < 2 for g in self._given.values())

    @property
    def has_pending(self) -> bool:
        """Whether there is a test that did not run yet."""
        return bool(self._left) or any(self._given.values())

    def add_node(self, node: WorkerController) -> None:
        """A worker is there."""
        self._given[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """A worker has collected its tests; a late one that has others than the rest is sent home."""
        known, given = self._collection, list(collection)
        text = None if known is None else report_collection_diff(known, given, "the others", node.gateway.id)
        if text is None:
            self._collections[node] = given
            return
        # Sent home, since the tests that are left would wait for it for ever if it were the last worker.
        self._report(node, text)
        node.shutdown()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002
        """A test has run."""
        self._given[node].remove(item_index)
        self._share_left()

    def mark_test_pending(self, item: str) -> None:
        """A test has to run again."""
        if self._collection is not None:
            self._left.insert(0, self._collection.index(item))
            self._share_left()

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        """Nothing is ever taken away from a worker."""
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """A worker ended; the test that it was running if it died, None if it had nothing left to do."""
        given = self._given.pop(node)
        if self._collection is None:
            self._collections.pop(node, None)
            return None
        if not given:
            return None
        self._left.extend(given[1:])
        self._share_left()
        return self._collection[given[0]]

    def schedule(self) -> None:
        """Deals the tests out, or what is left of them to workers that came later."""
        if self._collection is None:
            if not self._all_the_same():
                return
            self._collection = next(iter(self._collections.values()))
            nodes = self.nodes
            # With few tests, smaller blocks give each worker about the same.
            block = max(1, min(self._block, len(self._collection) // (4 * len(nodes))))
            shares: list[list[int]] = [[] for _ in nodes]
            for index in range(len(self._collection)):
                shares[index // block % len(nodes)].append(index)
            for node, share in zip(nodes, shares, strict=True):
                self._give(node, share)
        self._share_left()

    def _share_left(self) -> None:
        """Gives what is left to workers that have come to their last test, and ends all when there is nothing."""
        idle = [
            node
            for node, given in self._given.items()
            if len(given) < 2 and node in self._collections and not node.shutting_down
        ]
        if idle:
            left, self._left = self._left, []
            for number, node in enumerate(idle):
                self._give(node, left[number :: len(idle)])
        if self.tests_finished:
            for node in self._given:
                if not node.shutting_down:
                    node.shutdown()

    def _give(self, node: WorkerController, share: list[int]) -> None:
        if share:
            self._given[node].extend(share)
            with suppress(OSError):  # it died, of which `remove_node` will tell
                node.send_runtest_some(share)

    def _all_the_same(self) -> bool:
        """Whether all workers collected the same tests; a difference is reported as an error of collection."""
        (first, collection), *others = self._collections.items()
        differences = {
            node: report_collection_diff(collection, other, first.gateway.id, node.gateway.id) for node, other in others
        }
        for node, text in differences.items():
            if text:
                self._report(node, text)
        return not any(differences.values())

    def _report(self, node: WorkerController, text: str) -> None:
        report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[])
        self.config.hook.pytest_collectreport(report=report)
