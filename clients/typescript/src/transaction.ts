/**
 * Transactions as they are signed and sent: body ‖ signature (D5).
 *
 * An instruction is the message of the API. The number of its field in `Instruction` is its
 * number on the wire, and its own fields follow in their order; so all of them are encoded by
 * what the API says of them.
 */

import { type DescField, type DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";

import { type Body, type Instruction, InstructionSchema } from "./api.ts";
import { concat } from "./bytes.ts";
import { encode, type Value } from "./codec.ts";
import { keccak256, type Wallet } from "./wallet.ts";

const SALT_BYTES = 32;
const IMPERSONATION_PREFIX = new Uint8Array(45);
/** The only texts that are no amounts in decimal digits. */
const TEXTS = new Set(["handler", "rules"]);

/** The body as it is signed. */
export function encodeBody(body: Body): Uint8Array {
  if (!body.instruction) throw new TypeError("a body without an instruction");
  return encode([
    body.chainId,
    body.nonce,
    body.cyclesLimit,
    body.cellsLimit,
    ...[
      body.maxFeePerCycle,
      body.maxPriorityFeePerCycle,
      body.maxFeePerCell,
      body.maxPriorityFeePerCell,
    ].map(decimal),
    instructionFields(body.instruction),
  ]);
}

/** `[number, fields…]`; a configuration is one array of its fields. */
export function instructionFields(instruction: Instruction): Value[] {
  const { case: kind, value } = instruction.kind;
  const field = InstructionSchema.fields.find((one) => one.localName === kind);
  if (value === undefined || field?.message === undefined) {
    throw new TypeError("an instruction of no kind");
  }
  return [field.number, ...messageFields(field.message, reflect(field.message, value))];
}

function messageFields(descriptor: DescMessage, message: ReflectMessage): Value[] {
  const ordered = [...descriptor.fields].sort((a, b) => a.number - b.number);
  return ordered.map((field) => fieldValue(field, message));
}

function fieldValue(field: DescField, message: ReflectMessage): Value {
  if (field.fieldKind === "list") {
    return Array.from(message.get(field), (item) => BigInt(item as bigint | string));
  }
  if (field.fieldKind === "message") {
    return messageFields(field.message, message.get(field));
  }
  const isOptional = field.presence === FeatureSet_FieldPresence.EXPLICIT;
  if (isOptional && !message.isSet(field)) return null;
  const value = message.get(field) as bigint | number | string | Uint8Array;
  if (value instanceof Uint8Array) {
    return field.name === "salt" && !value.length ? new Uint8Array(SALT_BYTES) : value;
  }
  if (typeof value === "string") return TEXTS.has(field.name) ? value : decimal(value);
  return BigInt(value);
}

const decimal = (text: string): bigint => BigInt(text || "0");

/** body ‖ signature, ready to be submitted. */
export function signBody(body: Uint8Array, wallet: Wallet): Uint8Array {
  return concat(body, wallet.sign(keccak256(body)));
}

/** What a development chain takes as sent by `sender`, without a signature (D41). */
export function impersonate(body: Uint8Array, sender: Uint8Array): Uint8Array {
  return concat(body, IMPERSONATION_PREFIX, sender);
}

/** The id of a transaction: keccak256 of body ‖ signature. */
export const transactionId = (raw: Uint8Array): Uint8Array => keccak256(raw);
