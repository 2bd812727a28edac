// Which texts of an event may quote a task, and how are they masked?
import type { OutputsOutcome } from "../../../src/schema/host.ts";
import type { HostEvent } from "../events.ts";
import { type Masker, maskIn, STAR } from "./mask.ts";
import { SHORTEST_NEEDLE_BYTES } from "./needles.ts";

/** Masks the texts about an attempt, or about all attempts of a placement. */
export interface TextMask {
  ofAttempt(id: string, text: string): string;
  ofPlacement(placement: string, text: string): string;
}

/**
 * A text with its secrets masked, character by character, so that it keeps its length (redaction.md#texts). A
 * text may have been cut to its bound, so the beginning of a secret at the end of the text is masked, too.
 */
export function maskedText(masker: Masker, text: string): string {
  const before = Buffer.from(text, "utf8");
  const after = Uint8Array.from(before);
  maskIn(masker, after);
  const open = masker.openBytes(before);
  if (open >= SHORTEST_NEEDLE_BYTES) after.fill(STAR, after.length - open);
  let at = 0;
  const chars = [...text].map((char) => {
    const from = at;
    at += Buffer.byteLength(char, "utf8");
    const isKept = before.subarray(from, at).equals(after.subarray(from, at));
    return isKept ? char : "*".repeat(char.length);
  });
  return chars.join("");
}

/**
 * The event with secrets masked in all texts that may quote a task: its command, its URLs, the names of its
 * files (redaction.md#texts). Nothing else in an event was written by a task.
 */
export function withMaskedTexts(event: HostEvent, mask: TextMask): HostEvent {
  switch (event.type) {
    case "launch_failed": {
      const { startError, id } = event;
      return { ...event, startError: { ...startError, text: mask.ofAttempt(id, startError.text) } };
    }
    case "collected": {
      const { id, outputs } = event;
      return { ...event, outputs: maskedOutcome(outputs, (text) => mask.ofAttempt(id, text)) };
    }
    case "saved": {
      const { placement, outcome } = event;
      return { ...event, outcome: maskedOutcome(outcome, (text) => mask.ofPlacement(placement, text)) };
    }
    case "checked": {
      const { id, result } = event;
      if (result === null) return event;
      const masked = (text: string) => mask.ofAttempt(id, text);
      return { ...event, result: { ...result, text: masked(result.text), output: masked(result.output) } };
    }
    default:
      return event;
  }
}

function maskedOutcome(outcome: OutputsOutcome, mask: (text: string) => string): OutputsOutcome {
  return "error" in outcome ? { error: mask(outcome.error) } : outcome;
}
