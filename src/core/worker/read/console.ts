// What do readers see of a machine's console (clouds.md#console)?
import type { ProviderConfig } from "../../../schema/pool/provider-config.ts";
import { TRAITS } from "../../../shared/cloud/kinds.ts";
import type { OwnMachine } from "../machine.ts";
import type { WorkerRecord } from "../state.ts";

/** How many bytes of UTF-8 readers get: the end of the console. */
export const CONSOLE_TAIL_BYTES = 16_384;

/** The machine whose console can be asked for, or why there is none. */
export function machineWithConsole(record: WorkerRecord): { machine: OwnMachine } | { none: string } {
  const { intent, instance, zone } = record;
  const { worker } = intent;
  if (intent.kind === "self-hosted") {
    return { none: `${worker} is self-hosted: no provider has made its machine, so none has its console` };
  }
  if (instance === null) {
    return { none: `${worker} has no machine: its provider has not made one; see \`drover why ${worker}\`` };
  }
  return { machine: { worker, instance: instance.id, zone, provider: intent.provider } };
}

/** Why a provider that has no call for it shows no console. */
export function withoutConsole({ kind }: ProviderConfig): string {
  const advice = "`drover workers <worker>` has the steps of the boot";
  return `${TRAITS[kind].title} has no console that a program can read; ${advice}`;
}

/**
 * What follows ESC: a control sequence; a palette of Linux; a command, up to its end or that of its line,
 * since one that a crash has cut off must not hide what follows; or a sequence of two or three characters.
 */
const SEQUENCES = [
  /\[[0-?]*[ -/]*[@-~]/,
  /\](?:R|P[0-9A-Fa-f]{7})/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /\][^\u0007\u001b\r\n]*(?:\u0007|\u001b\\)?/,
  /[ -/]*[0-~]/,
];
const ESCAPES = new RegExp(`\\u001b(?:${SEQUENCES.map(({ source }) => source).join("|")})`, "g");
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** The end of a text, with room for what readers do not get: nobody should work through megabytes for it. */
export function lastPart({ text, isCut }: { text: string; isCut: boolean }): {
  text: string;
  isCut: boolean;
} {
  const most = 4 * CONSOLE_TAIL_BYTES;
  return text.length <= most ? { text, isCut } : { text: text.slice(-most), isCut: true };
}

/**
 * Plain text without what only moves a cursor, colors, or hides or reorders text. Secrets are looked for
 * afterwards, so that nothing within a secret keeps it from being found.
 */
export function plainConsole(text: string): string {
  return text.replace(ESCAPES, "").replaceAll("\r\n", "\n").replaceAll("\r", "\n").replace(CONTROLS, "");
}

/**
 * The last whole lines that fit. `isCut`: the provider has left out the beginning, so the first line may be
 * the rest of one, and could be the rest of a secret that nobody recognizes. Of a single line that is longer
 * than all that fits, its end.
 */
export function consoleTail(text: string, isCut: boolean): { text: string; truncated: boolean } {
  const whole = isCut ? text.slice(text.indexOf("\n") + 1 || text.length) : text;
  const bytes = new TextEncoder().encode(whole);
  if (bytes.length <= CONSOLE_TAIL_BYTES) return { text: whole, truncated: isCut };
  let from = bytes.length - CONSOLE_TAIL_BYTES;
  // Not within a character: continuation bytes begin with 10.
  while (((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
  const tail = new TextDecoder().decode(bytes.subarray(from));
  const beginsLine = bytes[from - 1] === 0x0a;
  const line = beginsLine ? 0 : tail.indexOf("\n") + 1;
  return { text: tail.slice(line < tail.length ? line : 0), truncated: true };
}
