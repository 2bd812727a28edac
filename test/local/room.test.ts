import { join } from "node:path";
import { expect, test } from "vitest";
import { keepRoom } from "../../local/state/reserve.ts";
import { scratchDir, until } from "./support/scratch.ts";
import { mountDisk, NO_MOUNT } from "./support/small-disk.ts";

test("P4: a disk with room for all but a reserve is not called full for ever", async (context) => {
  const small = mountDisk(join(scratchDir(), "disk"), "size=3m,mode=700");
  if (small === undefined) return context.skip(NO_MOUNT);
  const said: string[] = [];
  small.fill();
  const room = keepRoom({
    dir: small.dir,
    onFull: () => said.push("full"),
    onRoom: () => said.push("room"),
  });
  try {
    expect(room.isFull()).toBe(true);
    small.free();
    await until("there is room again", () => said.includes("room") || undefined);
    expect(room.isFull()).toBe(false);
    expect(said).toEqual(["full", "room"]);
  } finally {
    room.stop();
    small.unmount();
  }
});
