/** D5, D9, D42: keys, addresses and signatures, by the golden vectors. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { create, type DescMessage } from "@bufbuild/protobuf";
import { actorAddress, api, decode, encodeBody, fromHex, impersonate, signBody, toHex, transactionId, type Value, Wallet } from "cowboy-devnet";

import { vectors } from "./vectors.ts";

const { accounts, actors } = vectors("addresses");
const { signed, impersonated } = vectors("transactions");

test("development accounts have the keys that everybody knows", () => {
  for (const { index, private_key, address } of accounts) {
    assert.equal(toHex(Wallet.dev(index).address), address);
    assert.equal(toHex(new Wallet(`0x${private_key}`).address), address);
  }
});

test("an actor's address is known before it is deployed", () => {
  for (const { deployer, salt, code, address } of actors) {
    assert.equal(toHex(actorAddress(fromHex(deployer), fromHex(salt), fromHex(code))), address);
  }
});

test("each kind of transaction is encoded and signed as the vectors say", () => {
  assert.deepEqual(
    new Set(signed.map((one: any) => one.instruction.toLowerCase())),
    new Set(api.InstructionSchema.fields.map((field) => field.localName.toLowerCase())),
  );
  for (const { private_key, body, raw, id, sender } of signed) {
    const wallet = new Wallet(private_key);
    const encoded = encodeBody(bodyOf(fromHex(body)));
    assert.equal(toHex(encoded), body);
    assert.equal(toHex(signBody(encoded, wallet)), raw);
    assert.equal(toHex(transactionId(fromHex(raw))), id);
    assert.equal(toHex(wallet.address), sender);
  }
});

test("a transaction without a key names its sender", () => {
  for (const { raw, sender } of impersonated) {
    const body = fromHex(raw).slice(0, -65);
    assert.equal(toHex(impersonate(body, fromHex(sender))), raw);
  }
});

test("what is no key is refused, and a key is never shown", () => {
  for (const key of ["", "00", "00".repeat(32), "ff".repeat(32), "zz".repeat(32)]) {
    assert.throws(() => new Wallet(key), RangeError);
  }
  const wallet = Wallet.random();
  assert.ok(`${wallet} ${JSON.stringify(wallet)}`.includes(toHex(wallet.address)));
  assert.equal(Object.values(wallet).length, 1);
});

/** The message of a body, field by field in the order of the wire. */
function bodyOf(bytes: Uint8Array): api.Body {
  const [chainId, nonce, cyclesLimit, cellsLimit, ...rest] = decode(bytes) as any[];
  const [maxFeePerCycle, maxPriorityFeePerCycle, maxFeePerCell, maxPriorityFeePerCell] =
    rest.slice(0, 4).map(String);
  const [number, ...values] = rest[4];
  const field = api.InstructionSchema.fields.find((one) => one.number === Number(number))!;
  const kind = { case: field.localName, value: messageOf(field.message!, values) };
  const fees = { maxFeePerCycle, maxPriorityFeePerCycle, maxFeePerCell, maxPriorityFeePerCell };
  const terms = { chainId, nonce, cyclesLimit, cellsLimit, ...fees };
  return create(api.BodySchema, { ...terms, instruction: { kind } } as any);
}

function messageOf(descriptor: DescMessage, values: Value[]): any {
  const fields = [...descriptor.fields].sort((a, b) => a.number - b.number);
  const entries = fields.map((field, index) => {
    const value = values[index]!;
    if (field.fieldKind === "message") return [field.localName, messageOf(field.message, value as Value[])];
    if (field.fieldKind === "list") return [field.localName, (value as Value[]).map((one) => scalar(field.scalar, one))];
    return [field.localName, value === null ? undefined : scalar((field as any).scalar, value)];
  });
  return create(descriptor, Object.fromEntries(entries));
}

/** Texts hold amounts in decimal digits; 32-bit numbers are numbers. */
function scalar(type: number | undefined, value: Value): any {
  const isText = type === 9;
  const isSmall = type === 13;
  if (typeof value !== "bigint") return value;
  return isText ? String(value) : isSmall ? Number(value) : value;
}
