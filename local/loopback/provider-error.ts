// How does the loopback cloud refuse a call?
import type { z } from "zod";
import type { ProviderProblem } from "../../src/schema/provider.ts";

type ProblemClass = z.infer<typeof ProviderProblem>["class"];

/** An error answer of the provider contract: its status, its class, and a text for people. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly status: number;
  readonly problemClass: ProblemClass;
  /** How long to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, problemClass: ProblemClass, text: string, retryAfterMs?: number) {
    super(text);
    this.retryAfterMs = retryAfterMs;
    this.status = status;
    this.problemClass = problemClass;
  }
}
