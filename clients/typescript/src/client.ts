/**
 * Client: a node's chain over the Connect protocol.
 *
 * The methods here are what a program needs daily; `services` has every call of the API as it
 * is. A sender with a key signs here, and what it signs was encoded here: the node only says
 * which nonce, limits and fees a draft would have. Any other sender is impersonated, which a
 * development chain admits.
 */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type CallOptions,
  type Client as Service,
  Code,
  ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";

import { type Amount, parseAmount } from "./amounts.ts";
import {
  type AdvanceRequestSchema,
  type AdvanceResponse,
  type Block,
  type BlockRef,
  BlockRefSchema,
  BlockView,
  type Body,
  type CommittedTransaction,
  DevService,
  DraftSchema,
  type Event,
  type EventCursor,
  EventCursorSchema,
  ExecutionStatus,
  type Header,
  type InstructionSchema,
  QueryService,
  type StorageEntry,
  StreamService,
  type Timer,
  type TimerChange,
  type TimerCursor,
  TimerCursorSchema,
  TimerService,
  TransactionService,
} from "./api.ts";
import { isEqual, toHex, utf8 } from "./bytes.ts";
import { decode, MalformedCbor, type Value } from "./codec.ts";
import { ExecutionFailed, NodeError, nodeError } from "./errors.ts";
import { encodeBody, signBody } from "./transaction.ts";
import { Wallet } from "./wallet.ts";

/** Who sends: a wallet signs; an address is impersonated, on development chains. */
export type Sender = Wallet | Uint8Array;
/** Bytes as they are, or a text in UTF-8. */
export type Payload = Uint8Array | string;
/** `{ case: "nextTimer", value: true }`, `{ case: "blocks", value: 10n }` and so on. */
export type AdvanceTarget = NonNullable<MessageInitShape<typeof AdvanceRequestSchema>["target"]>;
/** `{ case: "transfer", value: {…} }` and so on. */
export type InstructionInit = NonNullable<MessageInitShape<typeof InstructionSchema>["kind"]>;

/** What a caller may decide about a transaction; the node completes the rest. */
export interface Terms {
  nonce?: bigint;
  cyclesLimit?: bigint;
  cellsLimit?: bigint;
  /** Base units for a cycle and for a cell, basefee and tip together. */
  maxFeePerCycle?: Amount;
  maxFeePerCell?: Amount;
  maxPriorityFeePerCycle?: Amount;
  maxPriorityFeePerCell?: Amount;
  /** How long to wait for the block. Without it, as long as it takes. */
  timeoutMs?: number;
  /** Answer what failed in its block instead of throwing `ExecutionFailed`. */
  expectFailure?: boolean;
}

/** What a stream tells: something new, or the block after which the chain was rewound. */
export type Told<T> =
  | { value: T; reverted?: undefined }
  | { reverted: BlockRef; value?: undefined };

/** How to stop a stream, and after what it begins; without `after`, with the next block. */
interface Followed<Cursor> {
  after?: Cursor | undefined;
  signal?: AbortSignal | undefined;
}
export interface BlockFilter extends Followed<BlockRef> {
  /** How much of each block. */
  view?: BlockView;
}
/** Empty lists admit all. */
export interface EventFilter extends Followed<EventCursor> {
  emitters?: Uint8Array[];
  topics?: string[];
  /** Events of the system, whatever `emitters` says. */
  includeSystem?: boolean;
}
/** Empty lists admit all. */
export interface TimerFilter extends Followed<TimerCursor> {
  actors?: Uint8Array[];
  timerIds?: Uint8Array[];
}

const STORAGE_PREFIX = "storage:";
const RETRY_MS = 500;

export class Client {
  /** Every call of the API, as it is; refusals are `ConnectError`s. */
  readonly services: {
    transactions: Service<typeof TransactionService>;
    queries: Service<typeof QueryService>;
    timers: Service<typeof TimerService>;
    streams: Service<typeof StreamService>;
    dev: Service<typeof DevService>;
  };
  /** The last send of each sender: the next one takes its nonce after it. */
  readonly #sends = new Map<string, Promise<unknown>>();

  constructor(transport: Transport) {
    this.services = {
      transactions: createClient(TransactionService, transport),
      queries: createClient(QueryService, transport),
      timers: createClient(TimerService, transport),
      streams: createClient(StreamService, transport),
      dev: createClient(DevService, transport),
    };
  }

  // --- what is asked ---

  async head(): Promise<Header> {
    const block = await this.block();
    return block.header!;
  }

  /** The block at a height, or the latest; `view` says how much of it. */
  async block(height?: bigint | number, view = BlockView.SUMMARY): Promise<Block> {
    const which =
      height === undefined
        ? { case: "latest" as const, value: true }
        : { case: "height" as const, value: BigInt(height) };
    const { block } = await asked(this.services.queries.getBlock({ block: which, view }));
    return block!;
  }

  /** Base units that an address has. */
  async balance(address: Uint8Array): Promise<bigint> {
    return BigInt((await asked(this.services.queries.getAccount({ address }))).balance);
  }

  /** What a handler answers; nothing is kept. Throws `ExecutionFailed`. */
  async read(actor: Uint8Array, handler: string, payload: Payload = ""): Promise<Uint8Array> {
    const request = { actor, handler, payload: bytesOf(payload) };
    const answer = await asked(this.services.queries.callReadOnly(request));
    if (answer.error) throw new ExecutionFailed(answer.error);
    return answer.value;
  }

  /** `self.storage` of an actor, decoded; without what `set_state` wrote past it, no value. */
  async storage(actor: Uint8Array): Promise<Map<string, Value>> {
    const values = new Map<string, Value>();
    const prefix = utf8(STORAGE_PREFIX);
    for await (const entry of this.#entries(actor, prefix)) {
      if (entry.name === undefined) continue;
      try {
        values.set(entry.name, decode(entry.value));
      } catch (error) {
        if (!(error instanceof MalformedCbor)) throw error;
      }
    }
    return values;
  }

  async *#entries(actor: Uint8Array, prefix: Uint8Array): AsyncGenerator<StorageEntry> {
    let pageToken = "";
    do {
      const page = await asked(this.services.queries.listStorage({ actor, prefix, pageToken }));
      yield* page.entries;
      pageToken = page.nextPageToken;
    } while (pageToken);
  }

  /** Pending timers, of one actor or of all, page by page as they are wanted. */
  async *timers(actor: Uint8Array = new Uint8Array()): AsyncGenerator<Timer> {
    let pageToken = "";
    do {
      const page = await asked(this.services.timers.listTimers({ actor, pageToken }));
      yield* page.timers;
      pageToken = page.nextPageToken;
    } while (pageToken);
  }

  /** Why a timer fired or did not, in sentences. */
  async explain(timerId: Uint8Array): Promise<string> {
    return (await asked(this.services.timers.explainTimer({ timerId }))).text;
  }

  // --- what is sent ---

  /** Creates an actor of its source and answers its address. */
  async deploy(
    code: Payload,
    sender: Sender,
    init: { salt?: Uint8Array; payload?: Payload; value?: Amount } & Terms = {},
  ): Promise<Uint8Array> {
    const { salt = new Uint8Array(), payload = "", value = 0n, ...terms } = init;
    const paid = { payload: bytesOf(payload), value: decimal(value) };
    const deployed = { salt, code: bytesOf(code), ...paid };
    const committed = await this.execute({ case: "deployActor", value: deployed }, sender, terms);
    return committed.receipt!.actor;
  }

  /** Calls a handler in a transaction; its answer is `receipt.value`. */
  call(
    actor: Uint8Array,
    handler: string,
    sender: Sender,
    init: { payload?: Payload; value?: Amount } & Terms = {},
  ): Promise<CommittedTransaction> {
    const { payload = "", value = 0n, ...terms } = init;
    const call = { actor, handler, payload: bytesOf(payload), value: decimal(value) };
    return this.execute({ case: "executeActor", value: call }, sender, terms);
  }

  transfer(
    to: Uint8Array,
    amount: Amount,
    sender: Sender,
    terms: Terms = {},
  ): Promise<CommittedTransaction> {
    const moved = { to, amount: decimal(amount) };
    return this.execute({ case: "transfer", value: moved }, sender, terms);
  }

  /** Sends any instruction and waits for its block. Throws `NodeError` and `ExecutionFailed`. */
  async execute(
    kind: InstructionInit,
    sender: Sender,
    terms: Terms = {},
  ): Promise<CommittedTransaction> {
    const asSender = sender instanceof Wallet ? new Uint8Array() : sender;
    const sent = await this.#inTurn(sender, () => this.#submit(kind, sender, terms));
    const options = terms.timeoutMs === undefined ? {} : { timeoutMs: terms.timeoutMs };
    // The same bytes again wait for the same outcome.
    const request = { transaction: sent, asSender };
    const { outcome } = await asked(this.services.transactions.submitAndWait(request, options));
    if (outcome.case === "dropped") {
      const { message, reason, metadata } = outcome.value;
      throw new NodeError(message, reason, metadata, Code.Aborted);
    }
    if (outcome.case !== "committed") {
      throw new NodeError("the chain was rewound, and undid it", "REVERTED", {}, Code.Aborted);
    }
    const { receipt } = outcome.value;
    const isFailed = receipt?.status === ExecutionStatus.FAILED;
    if (isFailed && receipt.error && !terms.expectFailure) {
      throw new ExecutionFailed(receipt.error, outcome.value);
    }
    return outcome.value;
  }

  /** Completes, encodes, signs and submits: nonces follow one another in order of the calls. */
  async #submit(kind: InstructionInit, sender: Sender, terms: Terms): Promise<Uint8Array> {
    const { transactions } = this.services;
    const address = sender instanceof Wallet ? sender.address : sender;
    const { timeoutMs: _, expectFailure: __, nonce, cyclesLimit, cellsLimit, ...fees } = terms;
    const draft = create(DraftSchema, {
      sender: address,
      instruction: { kind },
      ...(nonce === undefined ? {} : { nonce }),
      ...(cyclesLimit === undefined ? {} : { cyclesLimit }),
      ...(cellsLimit === undefined ? {} : { cellsLimit }),
      ...Object.fromEntries(Object.entries(fees).map(([name, fee]) => [name, decimal(fee)])),
    });
    const prepared = await asked(transactions.prepare({ draft }));
    const completed: Body = { ...prepared.fields!, instruction: draft.instruction! };
    const body = encodeBody(completed); // of what was asked here, not of what came back
    if (!isEqual(body, prepared.body)) {
      const told = "the node prepared another transaction than was asked for";
      throw new NodeError(told, "FOREIGN_BODY", {}, Code.DataLoss);
    }
    const signed = sender instanceof Wallet;
    const transaction = signed ? signBody(body, sender) : body;
    const asSender = signed ? new Uint8Array() : address;
    await asked(transactions.submit({ transaction, asSender }));
    return transaction;
  }

  async #inTurn<T>(sender: Sender, send: () => Promise<T>): Promise<T> {
    const key = toHex(sender instanceof Wallet ? sender.address : sender);
    const before = this.#sends.get(key) ?? Promise.resolve();
    const turn = before.then(send, send);
    this.#sends.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#sends.get(key) === turn) this.#sends.delete(key);
    }
  }

  // --- a development chain ---

  /** Makes blocks now; answers the new head. */
  async mine(blocks = 1): Promise<Header> {
    return (await asked(this.services.dev.mine({ blocks }))).head!;
  }

  /** Lets time pass up to a target, and answers the last message: the head and what happened. */
  async advance(target: AdvanceTarget): Promise<AdvanceResponse> {
    let last: AdvanceResponse | undefined;
    try {
      for await (const progress of this.services.dev.advance({ target })) last = progress;
    } catch (error) {
      throw nodeError(error);
    }
    return last!;
  }

  /** Mints to an account. */
  async fund(to: Uint8Array, amount: Amount): Promise<void> {
    await asked(this.services.dev.fund({ to, amount: decimal(amount) }));
  }

  // --- what happens ---

  /** Blocks from now on, or after one that was seen; goes on over a lost connection. */
  blocks(options: BlockFilter = {}): AsyncGenerator<Told<Block>> {
    const { signal, view = BlockView.SUMMARY } = options;
    let seen = options.after;
    const open = async (call: CallOptions) => {
      seen ??= await this.#now(call);
      return this.services.streams.streamBlocks({ view, resumeAfter: seen }, call);
    };
    return follow(open, signal, ({ message }) => {
      if (message.case === "reverted") return { reverted: (seen = message.value) };
      if (message.case !== "block") return undefined;
      const { height, hash } = message.value.header!;
      seen = create(BlockRefSchema, { height, hash });
      return { value: message.value };
    });
  }

  /** Events from now on that a filter admits; goes on over a lost connection. */
  events(filter: EventFilter = {}): AsyncGenerator<Told<Event>> {
    const { signal, after, ...admitted } = filter;
    let seen = after;
    const open = async (call: CallOptions) => {
      seen ??= create(EventCursorSchema, { block: await this.#now(call) });
      return this.services.streams.streamEvents({ ...admitted, resumeAfter: seen }, call);
    };
    return follow(open, signal, ({ message, cursor }) => {
      seen = cursor;
      if (message.case === "reverted") return { reverted: message.value };
      return message.case === "event" ? { value: message.value } : undefined;
    });
  }

  /** Changes in the lives of timers from now on; goes on over a lost connection. */
  timerChanges(filter: TimerFilter = {}): AsyncGenerator<Told<TimerChange>> {
    const { signal, after, ...admitted } = filter;
    let seen = after;
    const open = async (call: CallOptions) => {
      seen ??= create(TimerCursorSchema, { block: await this.#now(call) });
      return this.services.streams.streamTimers({ ...admitted, resumeAfter: seen }, call);
    };
    return follow(open, signal, ({ message, cursor }) => {
      seen = cursor;
      if (message.case === "reverted") return { reverted: message.value };
      return message.case === "change" ? { value: message.value } : undefined;
    });
  }

  /** The head, after which a stream begins that is to go on from there if it is cut. */
  async #now(call: CallOptions): Promise<BlockRef> {
    const { height, hash } = (await this.services.queries.getStatus({}, call)).head!;
    return create(BlockRefSchema, { height, hash });
  }
}

/** Opens a stream again and again until it is stopped, each time after what was seen last. */
async function* follow<R, T>(
  open: (call: CallOptions) => Promise<AsyncIterable<R>>,
  signal: AbortSignal | undefined,
  tell: (response: R) => Told<T> | undefined,
): AsyncGenerator<Told<T>> {
  while (!signal?.aborted) {
    try {
      for await (const response of await open(signal ? { signal } : {})) {
        const told = tell(response);
        if (told) yield told;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!isResumed(error)) throw nodeError(error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

const RESUMED = new Set([Code.Unavailable, Code.ResourceExhausted, Code.Aborted]);

/** The connection was lost, or this reader was too slow: the stream goes on where it was. */
const isResumed = (error: unknown): boolean =>
  error instanceof ConnectError &&
  (RESUMED.has(error.code) || error.cause instanceof TypeError); // so `fetch` tells of a loss

const bytesOf = (payload: Payload): Uint8Array =>
  typeof payload === "string" ? utf8(payload) : payload;

const decimal = (amount: Amount): string => parseAmount(amount).toString();

async function asked<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw nodeError(error);
  }
}
