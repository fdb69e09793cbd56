"""The TypeScript client in a browser, on a page of another origin of this machine.

The official Connect client for browsers is in its bundle.
"""

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
ENTRY = 'export * from "cowboy-devnet"; export { connect } from "cowboy-devnet/web";'
PROGRAM = """async ([url, source]) => {
    const chain = cowboy.connect(url);
    const alice = cowboy.Wallet.dev(3);
    const actor = await chain.deploy(source, alice, { value: "5 CBY" });
    const blocks = chain.blocks({ after: await chain.head() });
    await chain.call(actor, "start", alice);
    const { value } = await blocks.next();
    await chain.advance({ case: "nextTimer", value: true });
    const storage = await chain.storage(actor);
    const sent = chain.transfer(actor, 2n ** 127n, alice);
    const refused = await sent.catch((error) => error.reason);
    return [Number(storage.get("beats")), Number(value.value.header.height), refused];
}"""
SOURCE = """
import pvm_host

class Heart:
    def start(self, payload):
        self.storage["beats"] = 0
        pvm_host.schedule_timer(pvm_host.block_height() + 10, b"")

    def handle_timer(self, payload):
        self.storage["beats"] += 1
"""


class _Blank(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>blank</title>")

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def other_origin():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Blank)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def bundle():
    """The client and all that it needs, as one script."""
    if not (CLIENT / "dist" / "web.js").exists():
        script = [sys.executable, str(ROOT / "scripts" / "typescript.py"), "build"]
        subprocess.run(script, check=True, capture_output=True)
    form = ["--bundle", "--format=iife", "--global-name=cowboy", "--target=es2022"]
    made = subprocess.run(
        [CLIENT / "node_modules" / "esbuild" / "bin" / "esbuild", *form],
        input=ENTRY,
        cwd=CLIENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def test_a_page_of_another_loopback_origin_uses_the_chain(
    chromium, own_world, other_origin, bundle
):
    world = own_world("--mining", "instant")
    page = chromium.new_page()
    page.goto(other_origin)
    page.evaluate(bundle)
    beats, height, refused = page.evaluate(PROGRAM, [world.origin, SOURCE])
    assert (beats, refused) == (1, "INSUFFICIENT_BALANCE")
    assert height == world.client.head.height - 10
    page.close()
