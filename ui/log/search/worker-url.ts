// The one script that may run in a thread of its own (ui.md#security).

/** The built `worker.ts`, which the Worker serves with the page's other files. */
const PATH = "/ui/files/log-search.js";

/** Trusted types, as far as they are used here: not every browser has them. */
interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(input: ""): string };
}

// Types of the DOM do not know it yet, and some browsers have none.
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
/**
 * The only policy that the page may make, and it can be made once. It gives this address, whatever it is
 * asked for.
 */
const policy = trustedTypes?.createPolicy("drover-worker", { createScriptURL: () => PATH });

/** The address, as `new Worker` accepts it. */
export function workerUrl(): string {
  return policy?.createScriptURL("") ?? PATH;
}
