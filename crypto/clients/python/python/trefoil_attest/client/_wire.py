"""A request of lines over HTTP/1.1, which is answered with lines while it is sent."""

from __future__ import annotations

import http.client
import queue
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

from ._duplex import Duplex
from ._errors import UnexpectedAnswer

LINE_BYTES_MAX = 1 << 18
"""Longest line of an answer that is read: a full attestation in base64 has 30 KB."""
UNTAKEN_MAX = 34
"""Lines that are kept until they are taken: as many as may be in flight, the last one, and the end."""


class Wire:
    """One thread sends lines, another takes their answers. Answers are read as they come, by a thread, and kept until they are taken: the
    service disconnects who is slow to read one."""

    def __init__(self, duplex: Duplex, head: str, headers: Mapping[str, str], timeout: float) -> None:
        """Sends the head, and waits for that of the answer, whatever it says. An answer is due in `timeout` seconds."""
        self._duplex, self._timeout = duplex, timeout
        fields = [head, "Transfer-Encoding: chunked", *(f"{name}: {value}" for name, value in headers.items())]
        duplex.sendall("".join(f"{field}\r\n" for field in [*fields, ""]).encode("ascii"))
        self.response = http.client.HTTPResponse(cast(socket.socket, duplex), method="POST")
        self.response.begin()
        self._lines: queue.Queue[bytes | Exception | None] = queue.Queue(UNTAKEN_MAX)
        self._sent = self._received = 0
        self._sent_at = 0.0

    def start(self) -> None:
        """Begins to read."""
        self._duplex.may_wait = self._may_wait
        threading.Thread(target=self._read, name="trefoil-answers", daemon=True).start()

    def _may_wait(self) -> bool:
        """Whether no line has waited for its answer for as long as one may take."""
        return self._received == self._sent or time.monotonic() - self._sent_at < self._timeout

    def send(self, line: bytes) -> None:
        """Sends a line without its end, which will have an answer. A connection that broke says so where it is read."""
        self._sent += 1
        self._sent_at = time.monotonic()
        self._send(b"%x\r\n%b\n\r\n" % (len(line) + 1, line))

    def end(self) -> None:
        """No line follows."""
        self._send(b"0\r\n\r\n")

    def _send(self, chunk: bytes) -> None:
        with suppress(OSError):
            self._duplex.sendall(chunk)

    def _read(self) -> None:
        try:
            while (line := self._line()) is not None:
                self._received += 1
                self._lines.put(line)
            self._lines.put(None)
        except (OSError, http.client.HTTPException, UnexpectedAnswer) as cause:
            self._lines.put(cause)
        # The connection was closed on this side.
        except ValueError:
            self._lines.put(None)

    def _line(self) -> bytes | None:
        line = self.response.readline(LINE_BYTES_MAX)
        if not line:
            return None
        if line.endswith(b"\n"):
            return line
        if len(line) == LINE_BYTES_MAX:
            raise UnexpectedAnswer(f"a line of the answer has more than {LINE_BYTES_MAX} bytes")
        raise http.client.IncompleteRead(line)

    def next(self) -> bytes | None:
        """The next line, or `None` at the end. `OSError` or `HTTPException` if the connection broke or an answer did not come in time."""
        line = self._lines.get()
        if isinstance(line, Exception):
            raise line
        return line

    def close(self) -> None:
        """Ends the connection, and the thread."""
        self._duplex.close()
        with suppress(queue.Empty):
            while True:
                self._lines.get_nowait()
