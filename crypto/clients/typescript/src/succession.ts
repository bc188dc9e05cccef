/** Succession: an account's key names the account and the key that follow it, as when a person moves to a wallet with a new secret. */

import { equal } from "./bytes.js";
import { Reader, Writer } from "./cbor.js";
import { accountKeyOf, readDevice, signedByAccountKey } from "./device.js";
import { NAME_BYTES_MAX } from "./statement.js";
import { decoded, refuseIf } from "./verify.js";

const SUCCESSION_FORMAT = "trefoil:succession/1";
const SUCCESSION_BYTES_MAX = 8 * 1024;

/** What a relying party keeps of a person. */
export interface Pinned {
  readonly account: Uint8Array;
  readonly accountKey: Uint8Array;
}

/**
 * Verifies a succession of what is kept, and returns what to keep instead; refuses with a {@link VerifyError}. The caller must refuse a new
 * account that it knows already.
 */
export function verifySuccession(bytes: Uint8Array, kept: Pinned): Pinned {
  const { tenant, audience, accounts, signatures } = decoded(() => read(bytes));
  const keys = [accountKeyOf(signatures[0]), accountKeyOf(signatures[1])] as const;
  refuseIf(!equal(accounts[0], kept.account), "account", "of another account than the one kept; do not accept");
  refuseIf(!equal(keys[0], kept.accountKey), "account-key", "by another key than the account's; do not accept");
  for (const signature of signatures) {
    const payload = new Writer().array(6).bytes(tenant).text(audience);
    for (const part of [...accounts, ...keys]) payload.bytes(part);
    const signed = signedByAccountKey(signature, SUCCESSION_FORMAT, payload);
    refuseIf(!signed, "device-signature", "a signature is not over this succession; do not accept");
  }
  return { account: accounts[1], accountKey: keys[1] };
}

function read(bytes: Uint8Array) {
  const r = Reader.of("succession", bytes, SUCCESSION_BYTES_MAX);
  r.array("succession", 7);
  r.format("succession.format", SUCCESSION_FORMAT);
  const tenant = r.bytes("succession.tenant", 16);
  const audience = r.text("succession.audience", NAME_BYTES_MAX);
  const accounts = [r.bytes("succession.old", 32), r.bytes("succession.new", 32)] as const;
  const signatures = [readDevice(r), readDevice(r)] as const;
  r.finish("succession");
  return { tenant, audience, accounts, signatures };
}
