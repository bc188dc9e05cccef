/**
 * `fetch` for Node with certificates of its own. The global one takes an authority from the environment of its process alone, and shows
 * no certificate.
 */

import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { Readable } from "node:stream";
import { createSecureContext, type SecureContextOptions } from "node:tls";

/** In PEM, as files have it. */
export interface Certificates {
  /** The service's certificate, or those of its authorities; without it the ones that Node trusts count. */
  readonly ca?: string | Uint8Array;
  /** A certificate and its key, for a service that demands one of its callers. */
  readonly identity?: string | Uint8Array;
}

/** A `fetch` for `Tenant`, over TLS 1.3 with these certificates. Follows no redirect. */
export function fetchWith({ ca, identity }: Certificates): typeof globalThis.fetch {
  const agent = new Agent({ keepAlive: true, minVersion: "TLSv1.3", ...trusted(ca), ...shown(identity) });
  return async (input, { method = "GET", headers, body, signal } = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const sent = request(url, { method, agent, headers: Object.fromEntries(new Headers(headers)), ...(signal ? { signal } : {}) });
    // The client sends nothing else.
    sent.end(body as string | Uint8Array | null | undefined);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const fields = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) fields.set(name, String(value));
    return new Response(Readable.toWeb(answer) as ReadableStream, { status: answer.statusCode ?? 0, headers: fields });
  };
}

function trusted(ca: string | Uint8Array | undefined): SecureContextOptions {
  if (ca === undefined) return {};
  const pem = Buffer.from(ca);
  // Node ignores anything else.
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return { ca: pem };
  throw new TypeError("ca must be PEM with certificates, such as the content of tls-certificate.pem");
}

function shown(identity: string | Uint8Array | undefined): SecureContextOptions {
  if (identity === undefined) return {};
  const pem = Buffer.from(identity);
  try {
    createSecureContext({ cert: pem, key: pem });
  } catch (cause) {
    throw new TypeError("identity must be PEM with a certificate and its key", { cause });
  }
  return { cert: pem, key: pem };
}
