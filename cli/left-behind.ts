// What a forced kill or delete warns about: machines that may still cost money at their provider.
import type { LeftBehind } from "../client/types.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** Warns about machines that a forced end may have left at their provider. */
export async function warnOfLeftBehind(io: Io, left: readonly LeftBehind[]): Promise<void> {
  for (const { worker, instance, provider } of left) {
    const machine = instance === null ? "A machine" : `Machine ${printable(instance)}`;
    const where = printable(provider);
    await io.say(
      `${machine} of worker ${printable(worker)} may be left at ${where}: look for it there and delete it.`,
    );
  }
}
