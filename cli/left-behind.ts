// What a forced kill or delete warns about: machines that may still cost money at their provider.
import type { LeftBehind } from "../client/types.ts";
import type { Io } from "./terminal/io.ts";
import { printable } from "./terminal/text.ts";

/** Warns about machines that a forced end may have left at their provider. */
export async function warnOfLeftBehind(io: Io, left: readonly LeftBehind[]): Promise<void> {
  for (const { worker, instance, others = [], provider } of left) {
    const where = `of worker ${printable(worker)} may be left at ${printable(provider)}`;
    for (const id of [instance, ...others]) {
      const machine = id === null ? "A machine" : `Machine ${printable(id)}`;
      await io.say(`${machine} ${where}: look for it there and delete it.`);
    }
  }
}
