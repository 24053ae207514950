"""What the proxy costs: requests of 1 MB, beside a plain pass-through and without any proxy, in one run.

A session grows by one tool call with each request, as an agent's does. Each request is sent three times: to
the provider itself, through a program that only copies bytes, and through `mnemic proxy`. The provider is a
process of its own that answers at once with a short stream. Measured are the time to the first byte of the
response and to its end; what counts are the differences.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

BODY_BYTES = 1_000_000
RESULT_LINES = 120
REQUESTS = 100
PAUSE_S = 0.2
START_TIMEOUT_S = 120.0
MAIN = "from mnemic.cli.app import main; main()"
RESULTS = Path(__file__).parent / "results" / "proxy.json"

EVENTS: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"word {n} "}}
        for n in range(50)
    ),
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 60},
    },
    {"type": "message_stop"},
]


@dataclass
class Times:
    """Milliseconds of the requests of one way."""

    first_byte: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--bytes", type=int, default=BODY_BYTES)
    parser.add_argument("--window-tokens", type=int, default=200_000)
    options = parser.parse_args()
    with ExitStack() as stack:
        provider = stack.enter_context(_process(_provide))
        plain = stack.enter_context(_process(_copy_bytes, provider))
        proxy = stack.enter_context(_mnemic(provider, options.window_tokens))
        ways = {"direct": provider, "plain": plain, "mnemic": proxy}
        times = _measure(ways, options.requests, options.bytes)
    _report(times, options)


def _measure(ways: dict[str, int], count: int, size: int) -> dict[str, Times]:
    times = {name: Times() for name in ways}
    messages = _messages(size)
    for number in range(count):
        messages += _exchange(1_000 + number)
        body = _body(messages)
        # An agent runs a tool between two requests; meanwhile the proxy records the turn.
        time.sleep(PAUSE_S)
        for name, port in ways.items():
            first, total = _request(port, body)
            times[name].first_byte.append(first)
            times[name].total.append(total)
    return times


def _request(port: int, body: bytes) -> tuple[float, float]:
    """Milliseconds to the first byte of the body of the response, and to its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=START_TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = (
            "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            "x-api-key: sk-fake\r\nanthropic-version: 2023-06-01\r\nx-claude-code-session-id: bench\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        began_s = time.perf_counter()
        connection.sendall(head.encode() + body)
        received = b""
        first_s = 0.0
        while not received.endswith(b"0\r\n\r\n"):
            piece = connection.recv(1 << 16)
            assert piece, received[-300:]
            received += piece
            if not first_s and b"data:" in received:
                first_s = time.perf_counter()
        ended_s = time.perf_counter()
    assert received.startswith(b"HTTP/1.1 200"), received[:300]
    return (first_s - began_s) * 1000, (ended_s - began_s) * 1000


def _report(times: dict[str, Times], options: argparse.Namespace) -> None:
    direct = times["direct"]
    rows: dict[str, Any] = {}
    for name, measured in times.items():
        overhead = [own - other for own, other in zip(measured.total, direct.total, strict=True)]
        later = [own - other for own, other in zip(measured.first_byte, direct.first_byte, strict=True)]
        rows[name] = {
            "total_ms_p50": round(statistics.median(measured.total), 2),
            "overhead_ms_p50": round(statistics.median(overhead), 2),
            "overhead_ms_p95": round(_percentile(overhead, 0.95), 2),
            "first_byte_later_ms_p50": round(statistics.median(later), 2),
            "first_byte_later_ms_p95": round(_percentile(later, 0.95), 2),
        }
        print(f"{name:<8} {rows[name]}")
    RESULTS.parent.mkdir(exist_ok=True)
    found = {
        "requests": options.requests,
        "body_bytes": options.bytes,
        "window_tokens": options.window_tokens,
        "ways": rows,
    }
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, round(share * len(values)))]


def _messages(size: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please mend the parser."}]
    number = 0
    while len(json.dumps(messages)) < size:
        for _ in range(10):
            messages += _exchange(number)
            number += 1
    return messages


def _exchange(number: int) -> list[dict[str, Any]]:
    """A tool call and its result: a file of about 6 KB."""
    lines = (
        f"    value_{number}_{line} = compute({sha256(f'{number} {line}'.encode()).hexdigest()[:16]!r})"
        for line in range(RESULT_LINES)
    )
    text = f"def function_{number}(argument):\n" + "\n".join(lines)
    call = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "Read",
        "input": {"file_path": f"/src/file_{number}.py"},
    }
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": f"I read file {number}."}, call]},
        {"role": "user", "content": [result]},
    ]


def _body(messages: list[dict[str, Any]]) -> bytes:
    schema = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    tools = [{"name": "Read", "description": "Read a file.", "input_schema": schema}]
    return json.dumps(
        {"model": "m", "max_tokens": 100, "stream": True, "tools": tools, "messages": messages}
    ).encode()


@contextmanager
def _process(work: Any, *arguments: int) -> Iterator[int]:
    """The port of a server that runs in a process of its own."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(there, work, *arguments), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.kill()
        process.join()


def _serve(pipe: Connection, work: Any, *arguments: int) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(
            lambda reader, writer: work(reader, writer, *arguments), "127.0.0.1", 0, limit=1 << 20
        )
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


async def _provide(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The provider: reads a request, and answers with a stream, event by event."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lines = head.decode().lower().split("\r\n")
            length = next(line for line in lines if line.startswith("content-length:"))
            await reader.readexactly(int(length.partition(":")[2]))
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for event in EVENTS:
                data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _copy_bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
    """The plain pass-through: copies bytes in both directions."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(1 << 16):
                target.write(data)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()

    await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))


@contextmanager
def _mnemic(provider: int, window_tokens: int) -> Iterator[int]:
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        environment = {
            **os.environ,
            "MNEMIC_DATA_DIR": folder,
            "MNEMIC_EMBEDDER": "test",
            "MNEMIC_PROXY_ANTHROPIC_URL": f"http://127.0.0.1:{provider}",
            "MNEMIC_PROXY_WINDOW_TOKENS": str(window_tokens),
        }
        command = [sys.executable, "-c", MAIN, "proxy", "--port", "0", "--json", "--no-worker"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        text = ""
        try:
            while "}" not in text:
                line = process.stdout.readline()
                assert line, "the proxy did not start"
                text += line
            yield int(json.loads(text)["url"].rpartition(":")[2])
        finally:
            process.terminate()
            process.wait(START_TIMEOUT_S)


if __name__ == "__main__":
    main()
