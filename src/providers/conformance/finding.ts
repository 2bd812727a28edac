import type { Transcript } from "./transcript.ts";

/** What came of a check. `unclear`: nothing was seen by which it could be judged. */
export interface Finding {
  verdict: "kept" | "broken" | "unclear";
  /** What was seen, for a person. */
  evidence: string;
}

/** One promise, judged by what was asked and answered, and by nothing else. */
export interface Check {
  name: string;
  /** Where it is written. */
  rule: string;
  /** What a provider promises, in a sentence. */
  promise: string;
  judge(transcript: Transcript): Finding;
}

/** The promise was kept, by what is said here. */
export const kept = (evidence: string): Finding => ({ verdict: "kept", evidence });
/** The promise was broken. */
export const broken = (evidence: string): Finding => ({ verdict: "broken", evidence });
/** It cannot be told whether the promise was kept. */
export const unclear = (evidence: string): Finding => ({ verdict: "unclear", evidence });
