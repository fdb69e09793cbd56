/** What went wrong, typed: a refusal of the node, or an execution that failed. */

import { Code, ConnectError } from "@connectrpc/connect";

import type { CommittedTransaction, ExecutionError } from "./api.ts";
import { ErrorInfoSchema } from "./generated/google/rpc/error_details_pb.ts";

/** A call that the node refused, or that did not reach it. */
export class NodeError extends Error {
  override name = "NodeError";
  /** The stable name of the reason, as in docs/api.md; empty if the node named none. */
  readonly reason: string;
  /** The numbers that were compared. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly code: Code;

  constructor(message: string, reason: string, metadata: Record<string, string>, code: Code) {
    super(message);
    this.reason = reason;
    this.metadata = metadata;
    this.code = code;
  }
}

/** An execution that failed in its block: it cost what it used and left no other trace. */
export class ExecutionFailed extends Error {
  override name = "ExecutionFailed";
  readonly error: ExecutionError;
  /** The transaction, or undefined for a read. */
  readonly transaction: CommittedTransaction | undefined;

  constructor(error: ExecutionError, transaction?: CommittedTransaction) {
    const place = error.line === undefined ? "" : ` (${error.handler}, line ${error.line})`;
    super(`${error.kind}: ${error.message}${place}`);
    this.error = error;
    this.transaction = transaction;
  }
}

/** A refusal as `NodeError`; whatever else it is, as it is. */
export function nodeError(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const info = error.findDetails(ErrorInfoSchema)[0];
  return new NodeError(error.rawMessage, info?.reason ?? "", info?.metadata ?? {}, error.code);
}
