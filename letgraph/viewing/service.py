"""A `Matcher` as a web application: a page to type two sentences in, and a JSON end point for programs.

``GET /`` the page. ``POST /match`` ``{"pairs": [["a", "b"], …]}`` -> ``{"probabilities": [0.93, …]}`` in their order,
with a ``"warning"`` where the end of a sentence was cut off because it, or its pair, is too long for the model.
``POST /look`` ``{"a": "…", "b": "…"}`` -> what the page draws. ``GET /openapi.json`` the schema of all that. Whatever
goes wrong is answered by ``{"error": "…"}`` and a status of 400 (no JSON), 408, 413, 422 (JSON of another form, or a
sentence that is empty or too long), 503 (no answer in time) or 500.
"""

# Without postponed annotations: FastAPI evaluates those of the end points, which name classes of `create_app`.

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from letgraph.errors import LetgraphError
from letgraph.matcher import Matcher
from letgraph.text.clean import truncation_warning
from letgraph.text.segment import load_segmenter
from letgraph.viewing.page import page, page_data
from letgraph.viewing.view import look_by_segmenter

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """``characters`` of a sentence, ``pairs`` of a request, ``seconds`` until an answer; more is refused."""

    characters: int = 254
    pairs: int = 256
    seconds: float = 30.0

    @property
    def body_bytes(self) -> int:
        """Of a request: no request within the other limits needs more, were every character written as two escapes."""
        return 1024 + self.pairs * (2 * 12 * self.characters + 16)


def create_app(matcher: Matcher, limits: Limits) -> FastAPI:
    """The application; one model run at a time, on a thread of its own, so that others wait but are heard."""
    sentence = Annotated[str, Field(min_length=1, max_length=limits.characters)]

    class Pairs(BaseModel):
        pairs: Annotated[list[tuple[sentence, sentence]], Field(max_length=limits.pairs)]

    class Probabilities(BaseModel):
        probabilities: Annotated[list[float], Field(description="that the sentences of a pair mean the same, in order")]
        warning: Annotated[str | None, Field(description="what was cut off the ends of sentences")] = None

    class Pair(BaseModel):
        a: sentence
        b: sentence

    class Problem(BaseModel):
        error: str

    app = FastAPI(title="letgraph", docs_url=None, redoc_url=None)  # whose pages would load scripts from elsewhere
    model_thread = ThreadPoolExecutor(1, thread_name_prefix="model")
    segmenters = [load_segmenter(name) for name in matcher.checkpoint.preparation.segmenters]
    start = HTMLResponse(page({}, ask=True), headers={"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"})
    problems: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem} for status in (400, 408, 413, 422, 500, 503)
    }

    async def in_time(function: Callable[[], T]) -> T:
        running = asyncio.get_running_loop().run_in_executor(model_thread, function)
        try:
            return await asyncio.wait_for(running, limits.seconds)
        except TimeoutError:
            raise HTTPException(503, f"no answer within {limits.seconds:g} s; ask again, or for less") from None

    @app.get("/", include_in_schema=False)
    async def index() -> HTMLResponse:
        return start

    def predict(pairs: list[tuple[str, str]]) -> Probabilities:
        before = matcher.cleaning.copy()
        scores = matcher.predict(pairs)
        warning = truncation_warning(matcher.cleaning - before, matcher.checkpoint.preparation.max_characters)
        return Probabilities(probabilities=scores.tolist(), warning=warning)

    @app.post("/match", responses=problems, response_model_exclude_none=True)
    async def match(request: Pairs) -> Probabilities:
        """Probabilities of a batch of pairs."""
        return await in_time(lambda: predict(request.pairs))

    @app.post("/look", responses=problems)
    async def look(request: Pair) -> dict[str, list[dict[str, Any]]]:
        """One pair with its words, senses and attention, by all segmenters of the model and by each."""
        pair = request.a, request.b, segmenters, None, matcher.checkpoint
        return {"views": await in_time(lambda: page_data(look_by_segmenter(*pair)))}

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _problem(400, f"not JSON: {first['ctx']['error']} at character {first['loc'][-1]}")
        place = ".".join(str(part) for part in first["loc"][1:])
        return _problem(422, f"{place}: {first['msg']}" if place else str(first["msg"]))

    @app.exception_handler(LetgraphError)
    async def refused(request: Request, error: LetgraphError) -> JSONResponse:
        return _problem(422, str(error))

    @app.exception_handler(HTTPException)
    async def failed(request: Request, error: HTTPException) -> JSONResponse:
        return _problem(error.status_code, str(error.detail))

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        return _problem(500, "an error of the server, which its log has")

    app.add_middleware(_BodyLimit, limits=limits)
    return app


def _problem(status: int, text: str) -> JSONResponse:
    return JSONResponse({"error": text}, status)


class _BodyLimit:
    """Reads a request's body before anything else does, up to a size and for a time."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        parts: list[bytes] = []
        most = self.limits.body_bytes
        try:
            async with asyncio.timeout(self.limits.seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    parts.append(message.get("body", b""))
                    more = message.get("more_body", False)
                    if sum(map(len, parts)) > most:
                        await _problem(413, f"a request of more than {most:,} bytes; send fewer pairs")(
                            scope, receive, send
                        )
                        return
        except TimeoutError:
            await _problem(408, f"the request was not complete within {self.limits.seconds:g} s")(scope, receive, send)
            return
        unread: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        await self.app(scope, replay, send)
