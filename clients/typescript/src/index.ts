/** cowboy-devnet: wallet, canonical codec, and a client of the node's HTTP API. */

export * from "./amounts.ts";
export { fromHex, toHex } from "./bytes.ts";
export * from "./client.ts";
export * from "./codec.ts";
export * from "./errors.ts";
export * from "./transaction.ts";
export * from "./wallet.ts";
export * as api from "./api.ts";
