// Why can an image not be pulled, and does it help to try again?
import { EngineError } from "./errors.ts";

/**
 * `missing`: the registry has no such image. `denied`: it does not let the agent have it. `rate_limit`: it
 * has had too many requests. `no_space`: the disk is full. `wrong_arch`: the image is not made for this
 * machine. `temporary`: anything else.
 */
export type ImageFault = "missing" | "denied" | "rate_limit" | "no_space" | "wrong_arch" | "temporary";

/** The first row that fits counts: engines wrap one text into another. */
const TEXTS: readonly (readonly [ImageFault, RegExp])[] = [
  ["no_space", /no space left on device|disk quota exceeded|not enough (?:free )?space/i],
  ["rate_limit", /toomanyrequests|too many requests|\b429\b|(?:pull )?rate limit/i],
  [
    "wrong_arch",
    /no matching manifest for|no match for platform|no image found in (?:manifest list|image index)/i,
  ],
  ["wrong_arch", /does not match the (?:specified|requested|detected host) platform|exec format error/i],
  ["wrong_arch", /image operating system .* cannot be used|not supported on this platform/i],
  ["temporary", /\b50[0234]\b|internal server error|bad gateway|service unavailable|gateway time-?out/i],
  [
    "temporary",
    /\btimeout\b|timed out|deadline exceeded|connection re(?:set|fused)|unexpected EOF|no such host/i,
  ],
  ["denied", /unauthorized|authentication required|no basic auth|incorrect username|invalid username/i],
  ["denied", /\bdenied\b|forbidden|insufficient_scope|\b40[13]\b|credentials/i],
  ["missing", /manifest unknown|name unknown|manifest_unknown|name_unknown|manifest for .* not found/i],
  ["missing", /invalid reference format|invalid repository name|must be lowercase|name invalid/i],
  ["missing", /not found|does not exist|no such image|\b404\b/i],
];

/** Only what passes by itself is worth another try. */
const RETRIED: readonly ImageFault[] = ["rate_limit", "temporary"];

/** Why a pull has failed, by what the engine said and the status it said it with (engine.md#image-faults). */
export function imageFault(said: string, status?: number): ImageFault {
  const row = TEXTS.find(([, pattern]) => pattern.test(said));
  if (row !== undefined) return row[0];
  if (status === 404) return "missing";
  if (status === 401 || status === 403) return "denied";
  return status === 429 ? "rate_limit" : "temporary";
}

/** Whether a pull that failed so may succeed if nobody does anything but wait. */
export function isRetried(fault: ImageFault): boolean {
  return RETRIED.includes(fault);
}

/** What to do, for each fault. */
const ADVICE: Record<ImageFault, string> = {
  missing: "Check the image's name and tag.",
  denied: "Check that the image exists, and give the task credentials of its registry that may read it.",
  rate_limit: "Give the task credentials of the registry, use a mirror, or try later.",
  no_space: "Give the machine a larger disk, or remove images that are not used.",
  wrong_arch: "Build the image for this machine's architecture, or use machines of the image's.",
  temporary: "It may help to try again.",
};

/** A pull that failed (engine.md#image-faults). Its text says what the engine said, and what to do. */
export class PullError extends EngineError {
  readonly fault: ImageFault;

  constructor(reference: string, said: string, status?: number) {
    const fault = imageFault(said, status);
    const reason = said.trim().replace(/\.$/, "") || "the engine gave no reason";
    super("image", `The image ${reference} cannot be pulled: ${reason}. ${ADVICE[fault]}`, { status, said });
    this.fault = fault;
  }
}
