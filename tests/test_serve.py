"""The server over a real socket: every request is answered, whatever it holds; and its page in a real browser."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from tests.tiny import tiny_checkpoint
from tests.viewing.browser import browser, console

uvicorn = pytest.importorskip("uvicorn", reason="the extra letgraph[serve] is not installed")

from letgraph import serve as entry  # noqa: E402
from letgraph.viewing.service import Limits, create_app  # noqa: E402

PAIRS = [("花呗怎么还款", "怎么还花呗"), ("我的银行卡丢了", "银行卡怎么办理"), ("卡", "花呗")]
LIMITS = Limits(characters=20, pairs=8, seconds=600)  # a busy machine may take its time


@contextmanager
def running(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)


@contextmanager
def serving(matcher: Any, limits: Limits) -> Iterator[int]:
    """The port of a server that runs in a thread of this process."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = uvicorn.Server(uvicorn.Config(create_app(matcher, limits), log_level="critical"))
    with listener, running(lambda: server.run(sockets=[listener])):
        while not server.started:
            time.sleep(0.05)
        yield listener.getsockname()[1]
        server.should_exit = True


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(tiny_checkpoint(), "cpu")


@pytest.fixture(scope="module")
def port(matcher) -> Iterator[int]:
    with serving(matcher, LIMITS) as port:
        yield port


def ask(port: int, path: str, body: bytes | str | Any, method: str = "POST") -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def test_probabilities_are_the_matchers(port, matcher):
    status, answer = ask(port, "/match", {"pairs": PAIRS})
    assert status == 200
    np.testing.assert_allclose(answer["probabilities"], matcher.predict(PAIRS), rtol=1e-5)
    assert ask(port, "/match", {"pairs": []}) == (200, {"probabilities": []})


def test_who_asks_is_told_that_a_pair_was_cut():
    checkpoint = tiny_checkpoint()
    short = replace(checkpoint, preparation=replace(checkpoint.preparation, max_tokens=10))
    with serving(Matcher(short, "cpu"), LIMITS) as port:
        for _ in range(2):
            assert "4 characters" in ask(port, "/match", {"pairs": PAIRS[:1]})[1]["warning"]
        assert "warning" not in ask(port, "/match", {"pairs": PAIRS[2:]})[1]
        assert "4 characters" in ask(port, "/look", dict(zip("ab", PAIRS[0], strict=True)))[1]["views"][0]["warning"]


def test_two_hundred_requests_at_once_are_all_answered(port, matcher):
    with ThreadPoolExecutor(200) as pool:
        answers = list(pool.map(lambda i: ask(port, "/match", {"pairs": [PAIRS[i % 3]]}), range(200)))
    assert [status for status, _ in answers] == [200] * 200
    expected = matcher.predict(PAIRS)[np.arange(200) % 3]
    np.testing.assert_allclose([answer["probabilities"][0] for _, answer in answers], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "not JSON"),
        (b"\xff\xfe", 400, "not JSON|parsing the body"),
        (b"", 422, "required"),
        ([], 422, "dictionary|object"),
        ({}, 422, "pairs: Field required"),
        ({"pairs": [["还款"]]}, 422, "pairs.0.1: Field required"),
        ({"pairs": [["还款", 1]]}, 422, "pairs.0.1: .*string"),
        ({"pairs": [["还款", "款" * 21]]}, 422, "pairs.0.1: .*at most 20 characters"),
        ({"pairs": [["还款", ""]]}, 422, "pairs.0.1: .*at least 1 character"),
        ({"pairs": [["还款", " \t"]]}, 422, "pair 0: sentence b is empty after cleaning"),
        ({"pairs": [["还", "款"]] * 9}, 422, "pairs: .*at most 8 items"),
        (b'{"pairs": "' + b"x" * 100_000 + b'"}', 413, "more than [0-9,]+ bytes"),
    ],
)
def test_bad_requests_are_answered_with_the_reason(port, body, status, message):
    answered, answer = ask(port, "/match", body)
    assert answered == status
    assert list(answer) == ["error"] and re.search(message, answer["error"])


def test_limits_admit_the_greatest_request_that_they_allow(port):
    worst = json.dumps({"pairs": [["\U0001f600" * 20, "\U0001f600" * 20]] * 8}).encode()
    assert len(worst) < LIMITS.body_bytes
    assert ask(port, "/match", worst)[0] == 200


def test_unknown_paths_and_methods_are_answered_in_json(port):
    assert ask(port, "/nowhere", {}) == (404, {"error": "Not Found"})
    assert ask(port, "/match", {}, "GET") == (405, {"error": "Method Not Allowed"})


def test_the_schema_is_documented_and_its_pages_load_nothing_from_elsewhere(port):
    status, schema = ask(port, "/openapi.json", b"", "GET")
    assert status == 200
    assert set(schema["paths"]) == {"/match", "/look"}
    assert {"200", "400", "413", "422", "503"} <= set(schema["paths"]["/match"]["post"]["responses"])
    assert ask(port, "/docs", b"", "GET")[0] == 404


def test_what_takes_too_long_is_given_up():
    class Slow:
        checkpoint, cleaning = tiny_checkpoint(), Counter()

        def predict(self, pairs: object) -> np.ndarray:
            time.sleep(1.5)
            return np.zeros(1)

    with serving(Slow(), Limits(20, 8, seconds=0.5)) as port:
        assert ask(port, "/match", {"pairs": [["还", "款"]]}) == (
            503,
            {"error": "no answer within 0.5 s; ask again, or for less"},
        )
        with socket.create_connection(("127.0.0.1", port), timeout=60) as half:
            half.sendall(b"POST /match HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
            assert half.recv(100).startswith(b"HTTP/1.1 408 ")


def test_an_error_of_the_server_tells_nothing_of_its_inside():
    class Broken:
        checkpoint, cleaning = tiny_checkpoint(), Counter()

        def predict(self, pairs: object) -> np.ndarray:
            raise RuntimeError("secret")

    with serving(Broken(), LIMITS) as port:
        assert ask(port, "/match", {"pairs": [["还", "款"]]}) == (
            500,
            {"error": "an error of the server, which its log has"},
        )


def test_command_line_listens_where_it_says(tmp_path, monkeypatch, capsys):
    tiny_checkpoint().save(tmp_path)
    servers = []

    class Server(uvicorn.Server):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            servers.append(self)

    monkeypatch.setattr(uvicorn, "Server", Server)
    monkeypatch.setattr(sys, "argv", ["serve", "--checkpoint", str(tmp_path), "--device", "cpu", "--port", "0"])
    with running(entry.main) as thread:
        while thread.is_alive() and not (servers and servers[0].started):
            time.sleep(0.05)
        address = capsys.readouterr().out.strip()
        assert address.startswith("http://127.0.0.1:")
        port = int(address.rstrip("/").rpartition(":")[2])
        assert ask(port, "/match", {"pairs": PAIRS})[0] == 200
        monkeypatch.setattr(sys, "argv", [*sys.argv[:-1], str(port)])
        with pytest.raises(LetgraphError, match=f"cannot listen at 127.0.0.1, port {port}"):
            entry.main()
        servers[0].should_exit = True


def test_the_page_matches_what_is_typed_and_shows_it_as_text(port):
    hostile = "<script>alert(1)</script>"[:20]
    with browser() as driver:
        driver.get(f"http://127.0.0.1:{port}/")
        a, b = (driver.find_element("id", name) for name in ("ask-a", "ask-b"))
        driver.execute_script("arguments[0].value = '花呗怎么还款'", a)
        b.send_keys(hostile)
        b.submit()
        wait_for(lambda: driver.find_elements("css selector", ".word"))
        assert hostile in [
            g.get_attribute("aria-label").partition(": ")[2] for g in driver.find_elements("css selector", ".lattice")
        ]
        assert driver.find_elements("css selector", "main script") == []
        driver.find_element("css selector", ".word").click()
        assert driver.find_element("css selector", ".detail h3").text in "花呗怎么还款"
        assert "Same meaning:" in driver.find_element("css selector", ".match").text
        assert console(driver) == []
        driver.execute_script("arguments[0].value = arguments[1]", b, "款" * 21)
        b.submit()
        wait_for(lambda: "at most 20 characters" in driver.find_element("id", "problem").text)


def wait_for(condition: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
