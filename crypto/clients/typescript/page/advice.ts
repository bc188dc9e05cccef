/** What a person should do about an attestation or a receipt that was refused. */

import type { VerifyErrorCode } from "../src/verify-error.js";

/** What to do, and what the refusal may mean. Times and addressee are checked before the signatures: until those hold, all of it may be forged. */
export function advice(code: VerifyErrorCode): string {
  switch (code) {
    case "audience":
      return "Do not accept it: it was not made for you. Somebody may be passing on a login at another site. Check the audience that you entered.";
    case "nonce":
      return "Do not accept it: it was not made for this login. An old one may be shown a second time. Check the nonce that you entered.";
    case "expired":
      return "Do not accept it: its time is over. It may have been right once; ask for a new login.";
    case "not-yet-valid":
      return "Do not accept it: by the clock of this device it comes from the future. Check the clock. If that is right, it may be forged.";
    case "seal-time":
      return "Do not accept it: its times contradict each other or the clock of this device. Check the clock. If that is right, it may be forged.";
    case "malformed":
      return "Do not accept it: it may be damaged, copied only in part, or forged. Ask for it again.";
    case "unknown-suite":
      return "Do not accept it: this page does not know its kind of signatures. It may be damaged or forged, or the service may be newer than this page.";
    case "issuer":
      return "Do not accept it: it may be forged, or another service made it. Check that the trust root is that of the service you rely on.";
    case "unknown-key-set":
      return "Do not accept it: it may be forged, or your trust root is older than its keys. Take over the next version of your trust root first; yours must vouch for it.";
    case "revoked-key-set":
    case "retired-key-set":
    case "key-set-validity":
      return "Do not accept it: its keys were not allowed to sign it, or are no longer trusted. It may be forged.";
    case "seal-needed":
    case "other-seal":
      return "Do not accept it: the seal that it names is not the one that this server has. It may be forged, or another service made it.";
    case "suite-mismatch":
    case "tree-size-mismatch":
    case "not-in-tree":
    case "seal-fields":
    case "signature-ml-dsa-65":
    case "signature-falcon-512-padded-r3":
    case "signature-slh-dsa-sha2-128f":
      return "Do not accept it: it may be forged, or was changed or damaged on the way.";
    case "no-device-signature":
    case "account-key":
    case "device-signature":
      return "Do not accept it: the device of this account did not sign this login. The service may have been taken over. Check the account key that you entered.";
    case "tenant":
    case "account":
    case "request-digest":
    case "decision":
    case "probe-mode":
    case "no-proof":
    case "proof-level":
    case "policy-version":
    case "fmr-class":
      return "Do not accept it: it is not what was asked for.";
  }
}
