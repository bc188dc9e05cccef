"""See pauses.py. Each connection is a session of its own that keeps it for longer than any pause."""

import asyncio
import json
import os
import ssl
import sys
import time

import aiohttp

ABOUT = json.loads(sys.argv[1])
URL, CA, KEY, PAUSES = (ABOUT.pop(name) for name in ("url", "ca", "key", "pauses"))
LOST: list[str] = []
ANSWERED: list[int] = []


async def login(session: aiohttp.ClientSession) -> None:
    body = ABOUT | {"nonce": os.urandom(16).hex(), "issued_at": int(time.time()), "attestation": "none"}
    try:
        async with session.post(URL, json=body, headers={"Authorization": f"Bearer {KEY}"}) as answer:
            said = await answer.json(content_type=None)
            assert said.get("decision") == "match", said
            ANSWERED.append(1)
    except (aiohttp.ClientError, asyncio.TimeoutError, AssertionError, OSError) as error:
        LOST.append(f"{type(error).__name__} {error}")


async def on_one_connection(pauses: list[float], tls: ssl.SSLContext) -> None:
    connector = aiohttp.TCPConnector(ssl=tls, limit=1, keepalive_timeout=100)
    async with aiohttp.ClientSession(connector=connector) as session:
        await login(session)
        for seconds in pauses:
            await asyncio.sleep(seconds)
            await login(session)


async def main() -> None:
    tls = ssl.create_default_context(cafile=CA)
    await asyncio.gather(*(on_one_connection(pauses, tls) for pauses in PAUSES))
    print(json.dumps({"answered": len(ANSWERED), "lost": LOST}))


asyncio.run(main())
