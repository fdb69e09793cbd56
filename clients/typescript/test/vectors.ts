/** The golden vectors of the chain, which its own tests hold to, too. */

import { readFileSync } from "node:fs";

import { fromHex, type Value } from "cowboy-devnet";

const FOLDER = new URL("../../../tests/vectors/", import.meta.url);

export const vectors = (name: string) =>
  JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));

/** A value as the vectors write it: whole numbers, bytes, text and maps are tagged. */
export function untagged(tagged: any): Value {
  if (tagged === null || typeof tagged === "boolean") return tagged;
  if (Array.isArray(tagged)) return tagged.map(untagged);
  if ("int" in tagged) return BigInt(tagged.int);
  if ("bytes" in tagged) return fromHex(tagged.bytes);
  if ("text" in tagged) return tagged.text;
  return new Map(tagged.map.map(([key, item]: [any, any]) => [untagged(key), untagged(item)]));
}
