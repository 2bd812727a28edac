// What does the script that turns a machine into a host say about the boot (clouds.md#boot-record)?
import { BOOT_STEPS, type BootStepName } from "../shared/cloud/boot-steps.ts";
import type { Instant, Millis } from "../shared/machine.ts";

/** A boot as its script tells it. `id` differs for each start of the script. */
export interface BootReport {
  id: string;
  steps: { agoMs: Millis; step: BootStepName; text: string }[];
}

/** The boot of a worker's machine, as far as its script has reported it. */
export interface BootRecord {
  id: string;
  /** How often the script has begun. */
  starts: number;
  steps: { at: Instant; step: BootStepName; text: string }[];
}

/** More steps than a boot has, so that a script in a loop cannot fill the worker's record. */
const MAX_STEPS = 64;
const MAX_STEP_CHARS = 300;

const FIRST = /^boot ([A-Za-z0-9-]{1,64})$/;
const LINE = new RegExp(`^(\\d{1,9}(?:\\.\\d{1,3})?) (${BOOT_STEPS.join("|")}|now)(?: (.*))?$`, "s");

/**
 * Reads the record of a boot. Its first line is `boot <id>`. Each further line is `<seconds> <step> <text>`,
 * by a clock that does not jump; the line `<seconds> now` says when the record was sent. Other lines are
 * ignored. Undefined: the text is no such record.
 */
export function readBootRecord(text: string): BootReport | undefined {
  const [first = "", ...lines] = text.split("\n");
  const id = FIRST.exec(first)?.[1];
  if (id === undefined) return undefined;
  const read = lines.flatMap((line) => {
    const [, seconds, step, words = ""] = LINE.exec(line) ?? [];
    return step === undefined ? [] : [{ ms: Number(seconds) * 1_000, step, words }];
  });
  const sentMs = read.findLast(({ step }) => step === "now")?.ms;
  if (sentMs === undefined) return undefined;
  const steps = read.flatMap(({ ms, step, words }) => {
    const name = BOOT_STEPS.find((one) => one === step);
    const agoMs = Math.max(0, Math.round(sentMs - ms));
    return name === undefined ? [] : [{ agoMs, step: name, text: words.slice(0, MAX_STEP_CHARS) }];
  });
  return { id, steps: steps.slice(0, MAX_STEPS) };
}
