/** The messages and services of the API, as generated from its sources. */

export * from "./generated/node/rpc/v1/costs_pb.ts";
export * from "./generated/node/rpc/v1/dev_pb.ts";
export * from "./generated/node/rpc/v1/queries_pb.ts";
export * from "./generated/node/rpc/v1/streams_pb.ts";
export * from "./generated/node/rpc/v1/timers_pb.ts";
export * from "./generated/node/rpc/v1/traces_pb.ts";
export * from "./generated/node/rpc/v1/transactions_pb.ts";
export * from "./generated/node/rpc/v1/types_pb.ts";
