/** The client against a node, over the HTTP of Node.js and over `fetch`. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, describe, test } from "node:test";

import { actorAddress, type api, Client, decode, encode, ExecutionFailed, NodeError, Wallet } from "cowboy-devnet";
import { connect as connectNode } from "cowboy-devnet/node";
import { connect as connectWeb } from "cowboy-devnet/web";

const COMMAND = process.env.COWBOY_DEVNET ?? "../../.venv/bin/cowboy-devnet";
const SOURCE = `
import pvm_host

class Clock:
    def start(self, payload):
        self.storage["beats"] = 0
        return pvm_host.schedule_timer(pvm_host.block_height() + 10, b"beat")

    def handle_timer(self, payload):
        self.storage["beats"] += 1
        pvm_host.emit_event("beat", payload)

    def echo(self, payload):
        return payload

    def fail(self, payload):
        raise ValueError("nothing to do")

    def write(self, payload):
        self.storage["kept"] = True
        pvm_host.set_state(b"storage:odd", payload)
`;

let node: ChildProcess;
let folder: string;
let url: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "devnet-"));
  const ready = join(folder, "ready.json");
  const ports = ["--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"];
  const terms = ["--data-dir", ":memory:", "--mining", "instant", "--ready-file", ready, "--log-level", "error"];
  node = spawn(COMMAND, ["start", ...ports, ...terms], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise<never>((_, reject) => {
    node.once("error", reject);
    node.once("exit", (code) => reject(new Error(`the node ended with ${code}`)));
  });
  url = `http://${JSON.parse(await Promise.race([appears(ready), ended])).http}`;
  ended.catch(() => undefined);
});

after(() => {
  node.kill();
  rmSync(folder, { recursive: true });
});

async function appears(path: string): Promise<string> {
  for (;;) {
    try {
      return readFileSync(path, "utf8");
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** What carries bytes to the node, unless it is pulled. */
class Cable {
  readonly #server = createServer();
  readonly #sockets = new Set<Socket>();
  #isPlugged = true;
  #port = 0;

  static async to(target: URL): Promise<Cable> {
    const cable = new Cable();
    cable.#server.on("connection", (near) => {
      if (!cable.#isPlugged) return void near.resetAndDestroy();
      const far = connectSocket(Number(target.port), target.hostname);
      near.on("data", (asked) => {
        if (asked.includes("/Stream")) far.once("data", () => cable.#server.emit("stream"));
      });
      for (const [end, other] of [[near, far], [far, near]] as const) {
        cable.#sockets.add(end);
        end.on("error", () => other.destroy()).on("close", () => cable.#sockets.delete(end)).pipe(other);
      }
    });
    cable.#server.listen(0, "127.0.0.1");
    await once(cable.#server, "listening");
    cable.#port = (cable.#server.address() as AddressInfo).port;
    return cable;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Cuts all connections, and each new one. */
  pull(): void {
    this.#isPlugged = false;
    for (const end of this.#sockets) end.resetAndDestroy();
  }

  /** A stream was begun. */
  async streamed(): Promise<void> {
    await once(this.#server, "stream");
  }

  /** Somebody tried in vain. */
  async refused(): Promise<void> {
    await once(this.#server, "connection");
  }

  plug(): void {
    this.#isPlugged = true;
  }

  /** Takes no connection any more. */
  end(): void {
    this.pull();
    this.#server.close();
  }
}

for (const [name, connect] of [["Node.js", connectNode], ["fetch", connectWeb]] as const) {
  describe(`over ${name}`, () => {
    let chain: Client;
    const alice = Wallet.dev(name === "fetch" ? 1 : 2);
    before(() => {
      chain = connect(url);
    });

    test("an actor is deployed, called and read, and its timer fires", async () => {
      const clock = await chain.deploy(SOURCE, alice, { value: "5 CBY" });
      assert.deepEqual(clock, actorAddress(alice.address, new Uint8Array(32), Buffer.from(SOURCE)));
      assert.equal(await chain.balance(clock), 5_000_000_000n);
      const { receipt } = await chain.call(clock, "start", alice);
      const timerId = receipt!.value;
      const [timer] = await Array.fromAsync(chain.timers(clock));
      assert.deepEqual(timer!.id, timerId);
      assert.match(await chain.explain(timerId), /is due at height/);
      const { summary, done } = await chain.advance({ case: "nextTimer", value: true });
      assert.deepEqual([summary!.fires, done], [1n, true]);
      assert.deepEqual(await chain.storage(clock), new Map([["beats", 1n]]));
      const value = encode(["moo", 2n ** 80n, new Map([["key", null]])]);
      assert.deepEqual(decode(await chain.read(clock, "echo", value)), decode(value));
    });

    test("nonces follow one another, however many are sent at once", async () => {
      const receiver = Wallet.random().address;
      const amounts = Array.from({ length: 12 }, (_, index) => BigInt(index + 1));
      const sent = amounts.map((amount) => chain.transfer(receiver, amount, alice));
      const nonces = (await Promise.all(sent)).map((one) => one.block!.height);
      assert.equal(new Set(nonces).size, 12);
      assert.equal(await chain.balance(receiver), 78n);
    });

    test("another than the owner of a key is impersonated", async () => {
      const poor = Wallet.random();
      await chain.fund(poor.address, "2 CBY");
      await chain.transfer(alice.address, "1 CBY", poor.address);
      assert.ok((await chain.balance(poor.address)) < 1_000_000_000n);
    });

    test("what fails in its block, and what is refused, is typed", async () => {
      const salt = new Uint8Array(32).fill(name.length);
      const actor = await chain.deploy(SOURCE, alice, { salt });
      const failed = await chain.call(actor, "fail", alice).catch((error) => error);
      assert.ok(failed instanceof ExecutionFailed);
      assert.equal(failed.message, "ValueError: nothing to do (fail, line 17)");
      const told = await chain.call(actor, "fail", alice, { expectFailure: true });
      assert.equal(told.receipt!.error!.kind, "ValueError");
      await assert.rejects(chain.read(actor, "fail"), ExecutionFailed);
      const refused = await chain.transfer(actor, 2n ** 127n, alice).catch((error) => error);
      assert.ok(refused instanceof NodeError);
      assert.equal(refused.reason, "INSUFFICIENT_BALANCE");
      assert.ok(Number(refused.metadata.available) > 0);
    });

    test("what was written past self.storage hides none of it", async () => {
      const actor = await chain.deploy(SOURCE, alice, { salt: new Uint8Array(32).fill(60 + name.length), value: "1 CBY" });
      await chain.call(actor, "write", alice, { payload: Uint8Array.of(0xff) });
      assert.deepEqual(await chain.storage(actor), new Map([["kept", true]]));
    });

    test("streams tell what happens, and where a chain was rewound", async () => {
      const stop = new AbortController();
      const clock = await chain.deploy(SOURCE, alice, { salt: new Uint8Array(32).fill(90 + name.length), value: "1 CBY" });
      const { dev } = chain.services;
      const snapshot = { name: `before-${name}` };
      await dev.createSnapshot(snapshot);
      const head = await chain.head();
      const seen = { height: head.height, hash: head.hash } as api.BlockRef;
      const events = chain.events({ emitters: [clock], after: { block: seen } as api.EventCursor, signal: stop.signal });
      await chain.call(clock, "start", alice);
      await chain.advance({ case: "blocks", value: 10n });
      const { value: first } = await events.next();
      assert.equal(first!.value?.topic, "beat");
      await dev.revertToSnapshot(snapshot);
      const { value: second } = await events.next();
      assert.equal(second!.reverted?.height, head.height);
      stop.abort();
    });

    test("streams that told nothing yet miss nothing while the connection is lost", { timeout: 60_000 }, async (t) => {
      const cable = await Cable.to(new URL(url));
      t.after(() => cable.end());
      const stop = new AbortController();
      const salt = new Uint8Array(32).fill(30 + name.length);
      const clock = await chain.deploy(SOURCE, alice, { salt, value: "1 CBY" });
      const from = connect(cable.url);
      const seen = [
        from.blocks(stop),
        from.events({ topics: ["beat"], signal: stop.signal }),
        from.timerChanges({ actors: [clock], signal: stop.signal }),
      ];
      for (const stream of seen) {
        const next = stream.next();
        await cable.streamed();
        cable.pull();
        await chain.call(clock, "start", alice);
        await chain.advance({ case: "nextTimer", value: true });
        cable.plug();
        assert.ok((await next).value!.value);
      }
      stop.abort();
    });

    test("streams go on where they were over a lost connection, and while nobody answers", { timeout: 60_000 }, async (t) => {
      const cable = await Cable.to(new URL(url));
      t.after(() => cable.end());
      const stop = new AbortController();
      const head = await chain.head();
      const seen = { height: head.height, hash: head.hash } as api.BlockRef;
      const blocks = connect(cable.url).blocks({ after: seen, signal: stop.signal });
      await chain.mine();
      const heights = [(await blocks.next()).value!.value!.header!.height];
      cable.pull();
      await chain.mine();
      await chain.mine();
      const next = blocks.next(); // asks in vain at first
      await cable.refused();
      cable.plug();
      heights.push((await next).value!.value!.header!.height);
      heights.push((await blocks.next()).value!.value!.header!.height);
      assert.deepEqual(heights, [1n, 2n, 3n].map((blocks) => head.height + blocks));
      stop.abort();
    });
  });
}

test("the README's program runs", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const [, program] = /```ts\n(.*?)```/s.exec(readme)!;
  const path = new URL(`readme-${process.pid}.mts`, import.meta.url);
  writeFileSync(path, program!.replace("http://127.0.0.1:8080", url));
  try {
    const printed = execFileSync(process.execPath, [fileURLToPath(path)], { encoding: "utf8" });
    assert.match(printed, /is due at height/);
    assert.match(printed, /Map\(1\) { 'beats' => 1n }/);
  } finally {
    rmSync(path);
  }
});

test("without a node the refusal says so", async () => {
  const nobody = connectNode("http://127.0.0.1:9");
  await assert.rejects(nobody.head(), NodeError);
});
