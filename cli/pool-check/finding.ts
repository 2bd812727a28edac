// What is a check of a pool, and what can it find (clouds.md#checks)?
import { cut } from "../terminal/text.ts";

/** `missing`: the pool cannot get what it asks for. `unknown`: nobody has said, and `evidence` says why. */
export type Verdict = "ok" | "missing" | "unknown";

/** The result of one check. */
export interface Finding {
  check: string;
  verdict: Verdict;
  /** What was seen, for people. */
  evidence: string;
  /** What to do: a command, or a page. Empty: nothing. */
  todo: string;
}

/** The check that says whether the cloud takes the credentials. The others stand on it. */
export const CREDENTIALS = "credentials";

/** The longest evidence: a cloud's own words may go on and on. */
const MAX_EVIDENCE_CHARS = 180;

function finding(verdict: Verdict, check: string, evidence: string, todo: string): Finding {
  return { check, verdict, evidence: cut(evidence, MAX_EVIDENCE_CHARS), todo };
}

/** All is as the pool needs it. */
export function ok(check: string, evidence: string, todo = ""): Finding {
  return finding("ok", check, evidence, todo);
}

/** The pool cannot get what it asks for. */
export function missing(check: string, evidence: string, todo: string): Finding {
  return finding("missing", check, evidence, todo);
}

/** Nobody has said whether the pool can get it. */
export function unknown(check: string, evidence: string, todo = ""): Finding {
  return finding("unknown", check, evidence, todo);
}

/**
 * Whether nothing is missing. Credentials that no cloud has taken count as missing, since the checks after
 * them have not seen anything then.
 */
export function isFine(findings: readonly Finding[]): boolean {
  return findings.every(({ check, verdict }) =>
    check === CREDENTIALS ? verdict === "ok" : verdict !== "missing",
  );
}
