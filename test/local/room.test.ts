import { appendFileSync, readdirSync, writeFileSync } from "node:fs";
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

test("P4: the reserve is released in parts, and not while somebody takes more", async (context) => {
  const small = mountDisk(join(scratchDir(), "disk"), "size=40m,mode=700");
  if (small === undefined) return context.skip(NO_MOUNT);
  const reserved = () => readdirSync(join(small.dir, "reserve")).length;
  const said: string[] = [];
  const room = keepRoom({ dir: small.dir, onFull: () => said.push("full"), onRoom: () => {} });
  const slow = join(small.dir, "slow");
  let writer: NodeJS.Timeout | undefined;
  let written = 0;
  try {
    expect(reserved()).toBe(128);
    writeFileSync(join(small.dir, "much"), Buffer.alloc(small.freeBytes() - 1_000 * 1024));
    writer = setInterval(() => {
      appendFileSync(slow, Buffer.alloc(4_096));
      written += 1;
    }, 40);
    await until("the disk is full", () => said.includes("full") || undefined);
    await until("it was looked at three times", () => written >= 3 * 13 || undefined);
    expect(reserved()).toBe(128);
    clearInterval(writer);
    await until("one part is released", () => reserved() < 128 || undefined);
    expect(reserved()).toBe(64);
    small.fill();
    await until("the other part is released", () => reserved() < 64 || undefined);
    expect(reserved()).toBe(0);
    expect(said).toEqual(["full"]);
  } finally {
    clearInterval(writer);
    room.stop();
    small.unmount();
  }
});

test("P4: what was released is taken back, and the disk is not full again", async (context) => {
  const small = mountDisk(join(scratchDir(), "disk"), "size=40m,mode=700");
  if (small === undefined) return context.skip(NO_MOUNT);
  const reserved = () => readdirSync(join(small.dir, "reserve")).map(Number);
  const said: string[] = [];
  const room = keepRoom({
    dir: small.dir,
    onFull: () => said.push("full"),
    onRoom: () => said.push("room"),
  });
  try {
    small.fill();
    await until("one part is released", () => reserved().length < 128 || undefined);
    expect(Math.max(...reserved())).toBe(63);
    await until("it is taken back", () => reserved().length > 64 || undefined);
    // 16 MiB were released, of which 4 MiB stay free.
    expect(reserved()).toHaveLength(64 + 48);
    expect(small.freeBytes()).toBe(4 * 1024 * 1024);
    expect(room.isFull()).toBe(false);
    expect(said).toEqual(["full", "room"]);
  } finally {
    room.stop();
    small.unmount();
  }
});
