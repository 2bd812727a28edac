import { droverNow } from "./clock.ts";
import type { Signature } from "./rpc.ts";
import { hostKey, signedPrefix, verifySigned } from "./signing.ts";
import type { Peers } from "./stubs.ts";

/**
 * Keys of hosts that have sent something large to this isolate. A worker has one secret for life, so a key
 * cannot become wrong.
 */
const KEYS = new Map<string, CryptoKey>();
const MAX_KEYS = 1_000;

/**
 * Verifies at the edge what a host has signed, for what must not go through its object. `signed` gives the
 * bytes behind `signedPrefix`, and is asked once the worker is known to have a host. Throws `bad_signature`.
 */
export async function verifyAtEdge(
  peers: Peers,
  worker: string,
  signature: Signature,
  signed: () => Promise<Uint8Array>,
): Promise<Uint8Array> {
  const known = KEYS.get(worker);
  const key = known ?? (await hostKey(await peers.worker(worker).hostSecret()));
  const bytes = await signed();
  await verifySigned(signature, bytes, key, droverNow());
  if (known === undefined) keep(worker, key);
  return bytes;
}

/** The same for a call that is signed without its body. */
export async function verifyEmpty(peers: Peers, worker: string, signature: Signature): Promise<void> {
  await verifyAtEdge(peers, worker, signature, async () => signedPrefix(signature));
}

function keep(worker: string, key: CryptoKey): void {
  const [oldest] = KEYS.keys();
  if (KEYS.size >= MAX_KEYS && oldest !== undefined) KEYS.delete(oldest);
  KEYS.set(worker, key);
}
