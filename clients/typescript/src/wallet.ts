/** Keys, what they sign, and the addresses that follow from them (D5, D9, D42). */

import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";

import { concat, fromHex, toHex, utf8 } from "./bytes.ts";

export const keccak256 = (data: Uint8Array): Uint8Array => keccak_256(data);

/** A private key and its address; it never shows the key. */
export class Wallet {
  readonly #key: Uint8Array;
  /** The address that it signs for, 20 bytes. */
  readonly address: Uint8Array;

  /** Takes a private key: 32 bytes, or 64 hexadecimal digits. Throws a `RangeError` otherwise. */
  constructor(privateKey: Uint8Array | string) {
    const key = typeof privateKey === "string" ? fromHex(privateKey) : privateKey.slice();
    if (key.length !== 32 || !secp256k1.utils.isValidSecretKey(key)) {
      throw new RangeError("a private key has 32 bytes, above 0 and below the order of secp256k1");
    }
    this.#key = key;
    this.address = keccak256(secp256k1.getPublicKey(key, false).slice(1)).slice(12);
  }

  /** The wallet of development account `index`, from 0; everybody knows its key. */
  static dev(index: number): Wallet {
    if (!Number.isSafeInteger(index) || index < 0) {
      throw new RangeError("development accounts are numbered from 0");
    }
    return new Wallet(keccak256(utf8(`cowboy-devnet ${index}`)));
  }

  /** A wallet with a new key from the system's random numbers. */
  static random(): Wallet {
    return new Wallet(secp256k1.utils.randomSecretKey());
  }

  /** r ‖ s ‖ v over 32 bytes: low s, v 0 or 1, the same each time (RFC 6979). */
  sign(hash: Uint8Array): Uint8Array {
    const signature = secp256k1.sign(hash, this.#key, { prehash: false, format: "recovered" });
    return concat(signature.slice(1), signature.slice(0, 1)); // the library puts v first
  }

  toString(): string {
    return `Wallet(0x${toHex(this.address)})`;
  }
}

/** keccak256(0xff ‖ deployer ‖ salt ‖ keccak256(code))[12:]: where an actor will live (D9). */
export function actorAddress(deployer: Uint8Array, salt: Uint8Array, code: Uint8Array): Uint8Array {
  return keccak256(concat(Uint8Array.of(0xff), deployer, salt, keccak256(code))).slice(12);
}
