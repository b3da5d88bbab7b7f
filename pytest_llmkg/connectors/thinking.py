"""Separates what a model thought from what it answered.

Servers send thoughts in three ways: in a field of their own (``reasoning_content``, ``reasoning``,
``thinking_blocks``), as parts of the content, or as a block of tags at the head of the text. Only the answer is
scored; the thoughts are stored beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["message_text", "split_thinking"]

_OPENING = re.compile(r"[\s\ufeff]*<(think|thinking|reasoning)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_BLANK_LINES = re.compile(r"\A(?:[ \t]*\r?\n)+")


def split_thinking(text: str, *, cut: bool = False) -> tuple[str, str | None]:
    """The answer and the thoughts before it, None when there are none.

    Thoughts are a block ``<think>…</think>`` (also ``thinking``, ``reasoning``) that begins the text; some chat
    templates write the opening tag themselves, so that only the closing one arrives. Tags further down, in fenced
    code or in backticks belong to the answer. White space around the thoughts and blank lines at the head of the
    answer go with the tags; an answer without thoughts is not touched at all.

    Args:
        text: what the model wrote.
        cut: whether the token limit ended it; a block that was never closed is all thought then, and the answer
            is empty.
    """
    opening = _OPENING.match(text)
    if opening is not None:
        closing = re.compile(f"</{opening.group(1)}>", re.IGNORECASE).search(text, opening.end())
        if closing is None:
            return ("", text[opening.end() :].strip() or None) if cut else (text, None)
        return _parted(text, opening.end(), closing)
    lone = _CLOSING.search(text)
    if lone is None or not _is_lone(text, lone):
        return text, None
    return _parted(text, 0, lone)


def message_text(message: Mapping[str, object], *, cut: bool = False) -> tuple[str, str | None] | None:
    """The answer and the thoughts of a chat completion's message; None when its content is no text.

    Args:
        message: ``content`` as text, as parts or absent (then an OpenAI ``refusal`` is what the model said), beside
            the thoughts' own fields.
        cut: see `split_thinking`.
    """
    content = message.get("content")
    if content is None:
        content = message.get("refusal") or ""
    if isinstance(content, str):
        text, own = content, None
    elif isinstance(content, Sequence):
        text, own = _parts(content, "text"), _parts(content, "thinking")
    else:
        return None
    answer, tagged = split_thinking(text, cut=cut)
    thoughts = [message.get("reasoning_content") or message.get("reasoning") or _blocks(message), own, tagged]
    told = dict.fromkeys(thought for thought in thoughts if isinstance(thought, str) and thought)
    return answer, "\n\n".join(told) or None


def _parted(text: str, start: int, closing: re.Match[str]) -> tuple[str, str | None]:
    answer = _BLANK_LINES.sub("", text[closing.end() :])
    return answer, text[start : closing.start()].strip() or None


def _is_lone(text: str, closing: re.Match[str]) -> bool:
    """Whether a closing tag without an opening one at the head ends thoughts, or is part of an answer about tags."""
    before = text[: closing.start()]
    opened = re.search(rf"<{closing.group(1)}\b", before, re.IGNORECASE)
    fenced = len(_FENCE.findall(before)) % 2 == 1
    quoted = before.rpartition("\n")[2].count("`") % 2 == 1
    return opened is None and not fenced and not quoted


def _blocks(message: Mapping[str, object]) -> str:
    blocks = message.get("thinking_blocks")
    return _parts(blocks, "thinking") if isinstance(blocks, Sequence) and not isinstance(blocks, str) else ""


def _parts(parts: Sequence[object], kind: str) -> str:
    """The texts of all parts of ``kind``; the thoughts of a part may be parts themselves."""
    texts = []
    for part in parts:
        if not isinstance(part, Mapping) or part.get("type") != kind:
            continue
        text = part.get(kind)
        if isinstance(text, str):
            texts.append(text)
        elif isinstance(text, Sequence):
            texts.append(_parts(text, "text"))
    return "".join(texts)
