// What is a check of a provider, and what can it find?
import type { Transcript } from "./transcript.ts";

/** The result of a check. `unclear`: the transcript does not show whether the promise was kept. */
export interface Finding {
  verdict: "kept" | "broken" | "unclear";
  /** What the transcript shows, for people. */
  evidence: string;
}

/** A promise of a provider, judged by a transcript alone. */
export interface Check {
  name: string;
  /** The rule in docs/design. */
  rule: string;
  /** The promise, as a sentence. */
  promise: string;
  judge(transcript: Transcript): Finding;
}

/** The finding that the promise was kept. */
export const kept = (evidence: string): Finding => ({ verdict: "kept", evidence });
/** The finding that the promise was broken. */
export const broken = (evidence: string): Finding => ({ verdict: "broken", evidence });
/** The finding that the transcript does not show whether the promise was kept. */
export const unclear = (evidence: string): Finding => ({ verdict: "unclear", evidence });
