"""One of several serving processes: started by the supervisor with its settings and the socket to accept from."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from burn.errors import BurnError
from furnace.command import set_up_logging
from furnace.engine.threads import own_process
from furnace.peers import Peers
from furnace.server import Server
from furnace.settings import Settings

log = logging.getLogger("furnace")


def main(text: str) -> int:
    """Serve until SIGTERM, or until the supervisor is gone."""
    given = json.loads(text)
    given_settings: dict[str, Any] = given["settings"]
    settings = Settings().with_values(
        {name: tuple(value) if isinstance(value, list) else value for name, value in given_settings.items()}
    )
    set_up_logging(settings)
    own_process(settings.workers)
    try:
        server = Server(settings=settings)
        server.load()
    except BurnError as error:
        print(f"furnace: {error}", file=sys.stderr)
        return 1
    with contextlib.suppress(ImportError):
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(_serve(server, given))
    return 0


async def _serve(server: Server, given: dict[str, Any]) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, ended.set)
    with socket.socket(fileno=given["socket"]) as listening:
        await server.start(sock=listening)
        peers = Peers(Path(given["folder"]), server.app.handle_peer)
        await peers.listen()
        server.app.peers = peers
        os.write(given["ready"], b"1")
        os.close(given["ready"])
        parent = os.getppid()
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 1.0)
            if os.getppid() != parent:  # nobody would end this process any more
                log.error("the supervisor is gone")
                break
        await peers.close()
        await server.stop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
