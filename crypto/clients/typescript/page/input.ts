/** What people paste and drop, as bytes. */

import { fromBase64Url } from "../src/bytes.js";

/** A mistake of the person at the page, in words for that person. */
export class InputError extends Error {
  override readonly name = "InputError";
}

/**
 * The attestation or the receipt in a file or a text: the service's JSON answer, whose field `attestation` has it in
 * base64, in `receipt` after a change; base64 alone; or CBOR as it is. What is not recognised is left for the verifier to refuse.
 */
export function attestationBytes(data: Uint8Array): Uint8Array {
  const text = asText(data);
  if (text === undefined || text === "") return data;
  if (text.startsWith("{")) {
    const inside = attestationIn(text);
    const bytes = typeof inside === "string" ? fromBase64(inside) : undefined;
    if (bytes === undefined) throw new InputError("This JSON has no field “attestation” with base64 in it, alone or in “receipt”.");
    return bytes;
  }
  return fromBase64(text) ?? data;
}

/** A nonce in hexadecimal. */
export function nonceBytes(text: string): Uint8Array {
  return hexBytes(text, 16, 64, "The nonce is 32 to 128 hexadecimal digits: the one that you issued for this login.");
}

/** An account key's id in hexadecimal; none where the field is empty. */
export function accountKeyBytes(text: string): Uint8Array | undefined {
  const wrong = "The account key is 64 hexadecimal digits: those that you kept with the account.";
  return text.trim() === "" ? undefined : hexBytes(text, 32, 32, wrong);
}

function hexBytes(text: string, shortest: number, longest: number, wrong: string): Uint8Array {
  const digits = text.trim().toLowerCase();
  const length = digits.length / 2;
  if (!/^(?:[0-9a-f]{2})*$/.test(digits) || length < shortest || length > longest) throw new InputError(wrong);
  return Uint8Array.from({ length }, (_, at) =>
    Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16),
  );
}

/** Text without white space at its ends; none for bytes that are no text. */
export function asText(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data).trim();
  } catch {
    return undefined;
  }
}

function attestationIn(text: string): unknown {
  interface Whole {
    readonly attestation?: unknown;
    readonly receipt?: { readonly attestation?: unknown } | null;
  }
  try {
    const whole = JSON.parse(text) as Whole;
    return whole.attestation ?? whole.receipt?.attestation;
  } catch {
    throw new InputError("This begins like JSON and is not JSON: copy all of it.");
  }
}

/** Either alphabet, with or without padding and line breaks. */
function fromBase64(text: string): Uint8Array | undefined {
  const plain = text.replace(/\s/g, "").replaceAll("+", "-").replaceAll("/", "_").replace(/={1,2}$/, "");
  return fromBase64Url(plain);
}
