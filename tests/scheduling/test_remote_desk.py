"""The desk over loopback: workers that die, strangers, garbage, and a controller that is gone."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_llmkg.errors import ConnectorError
from pytest_llmkg.scheduling.budget import Bill
from pytest_llmkg.scheduling.desk import CallReport, ModelLimits
from pytest_llmkg.scheduling.prices import Bid
from pytest_llmkg.scheduling.remote_desk import DeskAddress, DeskServer, RemoteDesk
from tests.scheduling.desks import ANSWERED, Served, in_flight, served, settle, waiting
from tests.scheduling.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Coroutine


async def visit(place: Served, *lines: bytes) -> bytes:
    """What the server says to these lines, until it ends the connection or has nothing to say any more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", place.address.port)
    heard = b""
    try:
        writer.writelines(lines)
        await settle()
        while not reader.at_eof():
            heard += await asyncio.wait_for(reader.read(2**16), 1)
    except (TimeoutError, ConnectionError):
        pass
    finally:
        writer.close()
        await settle()
    return heard


async def die(desk: RemoteDesk) -> None:
    """Ends a connection as the system does for a process that was killed."""
    assert desk._writer is not None
    desk._writer.transport.abort()
    await settle()


async def both_told(*work: Coroutine[object, object, object]) -> None:
    """Every one of these ends with the news that the controller is gone."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        assert isinstance(result, ConnectorError)
        assert "controls this run" in str(result)


def test_a_worker_that_dies_gives_back_all_and_its_dialogues_are_lost() -> None:
    async def scenario() -> None:
        async with served({"m": ModelLimits(2), "n": ModelLimits(1)}, max_cost=9.0) as place:
            dying, other = RemoteDesk(place.address), RemoteDesk(place.address)
            assert await dying.begin_dialogue("m", "priced", Bid()) is None
            dying.end_dialogue("m", "priced", Bill(0.1))
            for key in ("one", "two", "done"):
                assert await dying.begin_dialogue("m", key, Bid()) is None
            dying.end_dialogue("m", "done", Bill(0.1))
            assert await other.begin_dialogue("m", "three", Bid()) is None
            held = [await dying.enter("m", urgent=False), await dying.enter("n", urgent=False)]
            held.append(await dying.enter("m", urgent=False))
            assert {permit.number for permit in held} == {1, 2, 3}
            waits = asyncio.ensure_future(dying.enter("m", urgent=True))
            follower = asyncio.ensure_future(other.enter("m", urgent=False))
            await settle()
            assert (in_flight(place.local), waiting(place.local)) == (2, 2)
            await die(dying)
            permit = await follower
            with pytest.raises(ConnectorError):
                await waits
            assert place.server.lost == {("m", "one"), ("m", "two")}
            assert place.local.held == {("m", "three")}
            assert (in_flight(place.local), in_flight(place.local, "n"), waiting(place.local)) == (1, 0, 0)
            assert place.local.budget.spent == pytest.approx(0.2)
            other.leave("m", permit, ANSWERED)
            other.end_dialogue("m", "three", Bill(0.1))
            await other.close()
            await settle()
            assert place.server.lost == {("m", "one"), ("m", "two")}
            assert place.local.held == set()

    run(scenario())


def test_a_worker_that_dies_while_it_waits_for_the_budget_begins_nothing() -> None:
    async def scenario() -> None:
        async with served(5, max_cost=1.0) as place:
            first, dying = RemoteDesk(place.address), RemoteDesk(place.address)
            assert await first.begin_dialogue("m", "1", Bid()) is None
            waits = asyncio.ensure_future(dying.begin_dialogue("m", "2", Bid()))
            await settle()
            await die(dying)
            await both_told(asyncio.wait_for(waits, 5))
            first.end_dialogue("m", "1", Bill(0.1))
            await settle()
            assert place.local.held == set()
            assert place.server.lost == set()
            await first.close()

    run(scenario())


ENTER = b'{"do": "enter", "id": 1, "model": "m", "urgent": true}\n'


@pytest.mark.parametrize(
    "token", [b"", b"\n", b"guess\n", b"0" * 32 + b"\n", b"\xff\xfe\n", b"x" * 3_000_000, b"GET / HTTP/1.1\r\n\r\n"]
)
def test_a_stranger_gets_nothing(token: bytes) -> None:
    async def scenario() -> None:
        async with served() as place:
            assert await visit(place, token, ENTER) == b""
            assert in_flight(place.local) == waiting(place.local) == 0
            own = RemoteDesk(place.address)
            assert await own.enter("m", urgent=False)
            await own.close()

    run(scenario())


def test_the_token_is_new_for_each_server_and_too_long_to_guess() -> None:
    async def scenario() -> None:
        async with served() as one, served() as two:
            assert one.address.token != two.address.token
            assert len(one.address.token) >= 32
            wrong = RemoteDesk(DeskAddress(one.address.port, two.address.token))
            with pytest.raises(ConnectorError, match="gone"):
                await wrong.enter("m", urgent=False)
            await wrong.close()

    run(scenario())


ODD_LINES = [
    b"not json\n",
    b"[1, 2]\n",
    b"null\n",
    b"7\n",
    b'"do"\n',
    b"{}\n",
    b'{"model": "m"}\n',
    b'{"do": "enter"}\n',
    b'{"do": "enter", "id": 2, "model": "m"}\n',
    b'{"do": "enter", "id": 2, "model": ["m"], "urgent": false}\n',
    b'{"do": "enter", "id": 2, "model": "unknown", "urgent": false}\n',
    b'{"do": "begin", "id": 2, "model": "m"}\n',
    b'{"do": "begin", "id": 2, "model": "m", "key": "k", "bid": 7}\n',
    b'{"do": "begin", "id": 2, "model": "m", "key": "k", "bid": {"size": "much"}}\n',
    b'{"do": "begin", "id": 2, "model": "m", "key": "k", "bid": {"size": 0, "turns": 0}}\n',
    b'{"do": "begin", "id": 2, "model": "m", "key": {}}\n',
    b'{"do": "leave", "model": "m"}\n',
    b'{"do": "leave", "model": "m", "number": 1, "report": {"ending": "answer", "more": 1}}\n',
    b'{"do": "leave", "model": "m", "number": 1, "report": 7}\n',
    b'{"do": "leave", "model": "m", "number": [], "report": {}}\n',
    b'{"do": "end", "model": "m", "key": [[]]}\n',
    b"\xff\xfe\x00\n",
    b"[" * 100_000 + b"\n",
    b"{" + b'"a":{' * 100_000 + b"\n",
    b" " * 2_000_000 + b"\n",
]


@pytest.mark.parametrize("line", ODD_LINES, ids=lambda line: str(line[:60]))
def test_a_line_that_is_no_message_ends_that_connection_only(line: bytes) -> None:
    async def scenario() -> None:
        async with served(2) as place:
            own = RemoteDesk(place.address)
            permit = await own.enter("m", urgent=False)
            await visit(place, place.address.token.encode() + b"\n", ENTER, line)
            assert in_flight(place.local) == 1
            own.leave("m", permit, ANSWERED)
            assert await own.enter("m", urgent=False)
            await own.close()
            await settle()
            assert in_flight(place.local) == waiting(place.local) == 0

    run(scenario())


@settings(max_examples=25)
@given(st.lists(st.binary(max_size=60) | st.sampled_from(ODD_LINES[:18]), max_size=5))
def test_no_bytes_hold_anything_for_longer_than_their_connection(lines: list[bytes]) -> None:
    async def scenario() -> None:
        async with served(2, max_cost=5.0) as place:
            await visit(place, place.address.token.encode() + b"\n", ENTER, *lines)
            await settle()
            assert in_flight(place.local) == waiting(place.local) == 0
            assert place.local.held == set()
            assert place.local.budget.verdict("m", Bid()) is True

    run(scenario())


def test_what_is_not_held_cannot_be_given_back() -> None:
    """Neither another worker's permit nor its dialogue."""

    async def scenario() -> None:
        async with served(2, max_cost=5.0) as place:
            one, two = RemoteDesk(place.address), RemoteDesk(place.address)
            permit = await one.enter("m", urgent=False)
            assert await one.begin_dialogue("m", "1", Bid()) is None
            await two.enter("m", urgent=False)
            two.leave("m", permit, ANSWERED)
            two.end_dialogue("m", "1", Bill(4.0))
            await settle()
            assert in_flight(place.local) == 2
            assert place.local.held == {("m", "1")}
            assert place.local.budget.spent == 0
            await one.close()
            await two.close()

    run(scenario())


def test_all_who_wait_hear_that_the_controller_is_gone_and_so_do_later_ones() -> None:
    async def scenario() -> None:
        connections: list[asyncio.StreamWriter] = []

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(writer)

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        desk = RemoteDesk(DeskAddress(server.sockets[0].getsockname()[1], "t"))
        waits = [asyncio.ensure_future(desk.enter("m", urgent=False)) for _ in range(3)]
        budget = asyncio.ensure_future(desk.begin_dialogue("m", "1", Bid()))
        await settle()
        server.close()
        connections[0].transport.abort()
        await both_told(*(asyncio.wait_for(task, 5) for task in (*waits, budget)))
        await both_told(desk.enter("m", urgent=True), desk.begin_dialogue("m", "2", Bid()))
        desk.end_dialogue("m", "1", Bill(0.1))  # says nothing to nobody
        await desk.close()
        assert desk._waiting == {}

    run(scenario())


@pytest.mark.parametrize("said", [b"what?\n", b"[]\n", b'{"id": []}\n', b"x" * 3_000_000 + b"\n"])
def test_a_controller_that_talks_nonsense_is_none(said: bytes) -> None:
    trouble: list[object] = []

    async def scenario() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: trouble.append(context))

        async def mad(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(said)

        server = await asyncio.start_server(mad, "127.0.0.1", 0)
        desk = RemoteDesk(DeskAddress(server.sockets[0].getsockname()[1], "t"))
        await both_told(asyncio.wait_for(desk.enter("m", urgent=False), 60))
        await desk.close()
        server.close()

    run(scenario())
    assert trouble == []


def test_a_controller_that_cannot_be_reached_is_told_with_the_reason() -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        desk = RemoteDesk(DeskAddress(port, "t"))
        with pytest.raises(ConnectorError, match=r"controls this run cannot be reached: .*refused|Connect call failed"):
            await desk.enter("m", urgent=False)
        await desk.close()

    run(scenario())


def test_an_answer_that_nobody_waits_for_any_more_is_undone() -> None:
    async def scenario() -> None:
        async with served(1, max_cost=1.0) as place:
            busy, quitting = RemoteDesk(place.address), RemoteDesk(place.address)
            permit = await busy.enter("m", urgent=False)
            assert await busy.begin_dialogue("m", "1", Bid()) is None
            tasks = [
                asyncio.ensure_future(quitting.enter("m", urgent=False)),
                asyncio.ensure_future(quitting.begin_dialogue("m", "2", Bid())),
            ]
            await settle()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            assert all(task.cancelled() for task in tasks)
            busy.leave("m", permit, ANSWERED)
            busy.end_dialogue("m", "1", Bill(0.1))
            await settle()
            assert in_flight(place.local) == waiting(place.local) == 0
            assert place.local.held == set()
            assert place.local.budget.verdict("m", Bid()) is True
            assert place.local.budget.spent == pytest.approx(0.1)
            for desk in (busy, quitting):
                await desk.close()
            await settle()
            assert place.server.lost == set()

    run(scenario())


def test_closing_tells_who_waits_and_gives_all_back() -> None:
    async def scenario() -> None:
        async with served(1) as place:
            desk = RemoteDesk(place.address)
            await desk.enter("m", urgent=False)
            waits = asyncio.ensure_future(desk.enter("m", urgent=False))
            await settle()
            await desk.close()
            await both_told(asyncio.wait_for(waits, 5))
            await settle()
            assert in_flight(place.local) == waiting(place.local) == 0
            await desk.close()
            await RemoteDesk(place.address).close()  # that was never used

    run(scenario())


def test_a_stopped_server_lets_nobody_in_and_may_be_stopped_again() -> None:
    async def scenario() -> None:
        async with served() as place:
            early = RemoteDesk(place.address)
            permit = await early.enter("m", urgent=False)
            await place.server.stop()
            await place.server.stop()
            late = RemoteDesk(place.address)
            with pytest.raises(ConnectorError, match="cannot be reached"):
                await late.enter("m", urgent=False)
            early.leave("m", permit, ANSWERED)  # what was there goes on
            assert await early.enter("m", urgent=False)
            await early.close()
            await late.close()

    run(scenario())


def test_many_at_once_share_one_connection() -> None:
    async def scenario() -> None:
        async with served(50) as place:
            desk = RemoteDesk(place.address)
            permits = await asyncio.gather(*(desk.enter("m", urgent=False) for _ in range(50)))
            assert len({permit.number for permit in permits}) == 50
            assert in_flight(place.local) == 50
            for permit in permits:
                desk.leave("m", permit, CallReport("answer"))
            await settle()
            assert in_flight(place.local) == 0
            await desk.close()

    run(scenario())


def test_any_text_may_be_a_model_a_key_or_a_reason() -> None:
    names = ['a"\n\\b', "é\u2028\u202e", "x" * 5000]

    async def scenario() -> None:
        async with served({name: ModelLimits(1) for name in names}) as place:
            desk = RemoteDesk(place.address)
            for name in names:
                for _ in range(3):
                    assert await desk.begin_dialogue(name, name, Bid()) is None
                    desk.end_dialogue(name, name, Bill(None))
                    permit = await desk.enter(name, urgent=False)
                    desk.leave(name, permit, CallReport("refused", reason=name + "\ud800"))
                assert (await desk.enter(name, urgent=False)).refusal == name + "\ufffd"
            await desk.close()

    run(scenario())


def test_messages_are_lines_of_json() -> None:
    """So that a message can never be taken for two."""

    async def scenario() -> bytes:
        async with served() as place:
            return await visit(place, place.address.token.encode() + b"\n", ENTER, ENTER.replace(b"1", b"2"))

    (line,) = run(scenario()).splitlines()
    assert json.loads(line) == {"id": 1, "permit": {"number": 1, "patient": True, "refusal": None}}


def test_a_server_that_was_never_started_can_be_stopped() -> None:
    async def scenario() -> None:
        async with served() as place:
            await DeskServer(place.local).stop()

    run(scenario())


def test_what_must_be_ready_before_any_dialogue_begins() -> None:
    """E.g. the run file, so that an answer of a worker that dies is found."""
    reasons = [None, "the disk is full"]

    async def scenario() -> None:
        async with served(2, max_cost=1.0) as place:
            server = DeskServer(place.local, lambda: reasons.pop(0))
            desk = RemoteDesk(await server.start())
            assert await desk.begin_dialogue("m", "1", Bid()) is None
            assert await desk.begin_dialogue("m", "2", Bid()) == "the disk is full"
            assert place.local.held == {("m", "1")}
            await desk.close()
            await settle()
            assert server.lost == {("m", "1")}
            await server.stop()

    run(scenario())


def test_who_knows_of_a_death_waits_for_the_dialogues_that_it_cost() -> None:
    async def scenario() -> None:
        async with served(2) as place:
            desk = RemoteDesk(place.address)
            for key in ("1", "2"):
                assert await desk.begin_dialogue("m", key, Bid()) is None
            waits = asyncio.ensure_future(place.server.wait_for_loss(0, 60.0))
            await settle()
            assert not waits.done()
            await die(desk)
            assert await waits == 2
            before = asyncio.get_running_loop().time()
            assert await place.server.wait_for_loss(2, 3.0) == 2  # another death, of one that held nothing
            assert asyncio.get_running_loop().time() - before == pytest.approx(3.0, abs=0.1)

    run(scenario())
