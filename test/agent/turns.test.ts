import { expect, test } from "vitest";
import { Turns } from "../../agent/tunnels/turns.ts";
import { until } from "../local/support/scratch.ts";

// Tunnels that are held back take turns (tunnels.md#pace).

/** A frame that costs a unit: after some of them nobody may send for a few milliseconds. */
const CHARS = 1024 * 1024;
const TUNNELS = ["a", "b", "c", "d"];

test("each tunnel that always has more to send gets as much as the others (tunnels.md#pace)", async () => {
  const sent = new Map(TUNNELS.map((id) => [id, 0]));
  const pump = (id: string) => {
    while (turns.maySend(id)) {
      sent.set(id, (sent.get(id) ?? 0) + 1);
      turns.sent(CHARS);
    }
  };
  let now = 0;
  const turns = new Turns(() => now, pump);
  pump("a");
  const burst = sent.get("a") ?? 0;
  expect(burst).toBeGreaterThan(10);
  for (const id of TUNNELS) pump(id);
  const since = () => TUNNELS.map((id) => (sent.get(id) ?? 0) - (id === "a" ? burst : 0));
  // Time goes on each time that somebody has sent something: enough for two frames or three.
  let heard = -1;
  await until(
    "all have sent more",
    () => {
      const total = since().reduce((sum, count) => sum + count);
      if (total > heard) now += 40;
      heard = total;
      return since().every((count) => count >= 5) || undefined;
    },
    since,
  );
  // Nobody is ahead by more than the turn of one round.
  expect(Math.max(...since()) - Math.min(...since())).toBeLessThanOrEqual(5);
});

test("a tunnel that asks again and again takes nothing from one that waits (tunnels.md#pace)", async () => {
  const sent = { eager: 0, patient: 0 };
  const pump = (id: string) => {
    while (turns.maySend(id)) {
      sent[id === "eager" ? "eager" : "patient"] += 1;
      turns.sent(CHARS);
    }
  };
  let now = 0;
  const turns = new Turns(() => now, pump);
  pump("eager");
  const burst = sent.eager;
  pump("patient");
  await until(
    "the patient one has sent much",
    () => {
      // Output comes whenever the units are refilled, and before anybody's turn.
      now += 40;
      pump("eager");
      return sent.patient >= 20 || undefined;
    },
    () => sent,
  );
  expect(sent.eager - burst).toBeLessThanOrEqual(sent.patient + 5);
});
