"""Serve a trained model: ``python -m letgraph.serve --checkpoint OUT``, then open the address that it prints.

The page takes two sentences and shows their lattice, what the model made of it and the probability. Programs ask
``POST /match``; `letgraph.viewing.service` and ``/openapi.json`` say how. Only this machine can connect unless --host
says otherwise, and there is no password.
"""

from __future__ import annotations

import argparse
import socket
from pathlib import Path

from letgraph.errors import LetgraphError, MissingDependency, run_cli


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m letgraph.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--checkpoint", required=True, type=Path, metavar="OUT", help="output folder of letgraph.train")
    parser.add_argument("--device", help="such as cpu or cuda:1 (default: cuda where there is one, else cpu)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    parser.add_argument("--max-characters", type=int, metavar="N", help="of a sentence (default: the model's limit)")
    parser.add_argument("--max-pairs", type=int, default=256, metavar="N", help="of a request (default: 256)")
    parser.add_argument("--max-seconds", type=float, default=30, metavar="S", help="until an answer (default: 30)")
    return parser


def main() -> None:
    options = parser().parse_args()
    try:
        import uvicorn

        from letgraph.viewing.service import Limits, create_app
    except ImportError as error:
        raise MissingDependency(f"serving needs {error.name}; run `pip install 'letgraph[serve]'`") from None
    from letgraph.matcher import Matcher

    matcher = Matcher.from_pretrained(options.checkpoint, options.device)
    longest = matcher.checkpoint.preparation.max_characters
    limits = Limits(options.max_characters or longest, options.max_pairs, options.max_seconds)
    if not (0 < limits.characters <= longest and limits.pairs > 0 and limits.seconds > 0):
        raise LetgraphError(f"limits have to be above 0, and --max-characters at most the model's, {longest}")
    app = create_app(matcher, limits)
    with _listen(options.host, options.port) as listener:
        host, port = listener.getsockname()[:2]
        print(f"http://{f'[{host}]' if ':' in host else host}:{port}/", flush=True)
        config = uvicorn.Config(app, log_level="warning", server_header=False)
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LetgraphError(
            f"cannot listen at {host}, port {port} ({reason}); choose another --port or --host"
        ) from None


if __name__ == "__main__":
    run_cli(main)
