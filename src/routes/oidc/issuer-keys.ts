// With which keys does an issuer sign? They are found by discovery, and remembered (oidc.md#keys).
import type { JSONWebKeySet } from "jose";
import { z } from "zod";
import { DroverError } from "../../shared/errors.ts";
import type { Instant, Millis } from "../../shared/machine.ts";
import { formatSize } from "../../shared/size.ts";
import { BoundedMap } from "../access/bounded-map.ts";
import type { IssuerNetwork } from "../edge.ts";
import { refusalOfIssuer } from "./issuers.ts";

/** How long the keys of an issuer are used without asking again. */
const KEYS_KEPT_MS: Millis = 600_000;
/** How often an issuer is asked again at most because a token names a key that is not known. */
const REFETCH_MS: Millis = 60_000;
/** How long an issuer is not asked again after a failure. */
const FAILED_MS: Millis = 10_000;
/** How long an issuer may take for one answer, and how large its answer may be. */
const ANSWER_MS: Millis = 5_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** The most issuers whose keys an isolate remembers. */
const MAX_ISSUERS = 100;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });
const KeySet = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string() }))
    .min(1)
    .max(100),
});

/** What an issuer answers: its keys, or why they could not be read. */
type Found = { keys: JSONWebKeySet } | { why: string };

/** What is remembered of an issuer. A failure does not replace keys: these are good until their own time. */
interface Known {
  latest?: { at: Instant; keys: JSONWebKeySet };
  failure?: { at: Instant; why: string };
}

/** Why an answer of an issuer is not used. */
class Unusable extends Error {
  override readonly name = "Unusable";
}

/** Where keys are looked for, and when. */
interface Asking {
  network: IssuerNetwork;
  now: () => Instant;
}

/** The keys of the issuers that one isolate has asked. Each app has its own. */
export class IssuerKeys {
  readonly #known = new BoundedMap<string, Known>(MAX_ISSUERS);

  /**
   * The keys of an issuer, from memory for 10 min, else by discovery. `again`: a token names another key, so
   * the issuer is asked once more if the latest answer is a minute old; undefined if it is not. Throws
   * `issuer_unavailable`, which for `again` says nothing about the keys that are remembered.
   */
  async of(issuer: string, asking: Asking, again = false): Promise<JSONWebKeySet | undefined> {
    const known = this.#known.get(issuer) ?? {};
    const { latest, failure } = known;
    const now = asking.now();
    const isYoung = latest !== undefined && latest.at + (again ? REFETCH_MS : KEYS_KEPT_MS) > now;
    if (isYoung) return again ? undefined : latest.keys;
    if (failure !== undefined && failure.at + FAILED_MS > now)
      throw unavailable(issuer, failure.why, failure.at + FAILED_MS - now);
    // Other requests may ask the same at the same time: a request of the platform cannot wait for another's.
    const found = await discovered(issuer, asking.network);
    const at = asking.now();
    if ("keys" in found) {
      this.#known.set(issuer, { latest: { at, keys: found.keys } });
      return found.keys;
    }
    // Meanwhile another request may have got keys.
    this.#known.set(issuer, { ...this.#known.get(issuer), failure: { at, why: found.why } });
    throw unavailable(issuer, found.why, FAILED_MS);
  }
}

function unavailable(issuer: string, why: string, retryAfterMs: Millis): DroverError {
  const text = `the keys of ${issuer} could not be read: ${why}; nothing is lost, send the token again`;
  return new DroverError("issuer_unavailable", text, { retryAfterMs });
}

/** Reads the keys of an issuer as OpenID Connect Discovery has it: a document that says where they are. */
async function discovered(issuer: string, network: IssuerNetwork): Promise<Found> {
  try {
    // A rule may be older than the present options of this Drover.
    const refusal = refusalOfIssuer(issuer, network.allowsLocal);
    if (refusal !== undefined) throw new Unusable(`the URL of the issuer ${refusal}`);
    const at = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const document = Discovery.safeParse(await readJson(at, network));
    if (!document.success) throw new Unusable(`${at} names no "issuer" and "jwks_uri"`);
    const { issuer: named, jwks_uri: uri } = document.data;
    if (named !== issuer) throw new Unusable(`${at} is about another issuer`);
    const refusalOfKeys = refusalOfIssuer(uri, network.allowsLocal);
    if (refusalOfKeys !== undefined) throw new Unusable(`${at} has a "jwks_uri" that ${refusalOfKeys}`);
    const keys = KeySet.safeParse(await readJson(uri, network));
    if (!keys.success) throw new Unusable(`${uri} has no set of keys`);
    return { keys: keys.data };
  } catch (error) {
    if (error instanceof Unusable) return { why: error.message };
    throw error;
  }
}

/** The JSON at a URL. Throws `Unusable` for redirects, and for answers that are late, large or no JSON. */
async function readJson(url: string, { ask }: IssuerNetwork): Promise<unknown> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  try {
    const answer = await ask(url, { headers: { accept: "application/json" }, redirect: "manual", signal });
    if (answer.status !== 200) {
      await answer.body?.cancel();
      const redirects = answer.status === 0 || (answer.status >= 300 && answer.status < 400);
      throw new Unusable(
        redirects
          ? `${url} redirects, and keys are taken from there only`
          : `${url} has status ${answer.status}`,
      );
    }
    const text = new TextDecoder().decode(await readBounded(url, answer.body));
    try {
      return JSON.parse(text);
    } catch {
      const type = (answer.headers.get("content-type") ?? "").replace(/[^\w/+.-].*$/, "").slice(0, 64);
      throw new Unusable(`${url} is not JSON${type === "" ? "" : `, but ${type}`}`);
    }
  } catch (error) {
    if (error instanceof Unusable) throw error;
    if (signal.aborted) throw new Unusable(`${url} did not answer within ${ANSWER_MS / 1_000} s`);
    throw new Unusable(`${url} could not be reached`);
  }
}

async function readBounded(url: string, body: ReadableStream<Uint8Array> | null): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) break;
    size += value.length;
    if (size > MAX_ANSWER_BYTES) {
      await reader?.cancel();
      throw new Unusable(`${url} answers with more than ${formatSize(MAX_ANSWER_BYTES)}`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
