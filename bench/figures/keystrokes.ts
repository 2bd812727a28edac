// How long does a key that is typed into a command take to come back (tunnels.md#terminal)?
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../client/index.ts";
import type { Drover } from "../drover.ts";
import { percentile, type Row } from "../table.ts";

/** Somebody who types fast: nine to sixteen keys a second. The same pauses each time. */
const PAUSES_MS = [60, 75, 90, 110];
const KEYS = "abcdefghijklmnopqrstuvwxyz";
const BACK_WITHIN_MS = 10_000;

/** A run that stays, and has no room of its own. */
const STAYS = { argv: ["sleep", "100000"], resources: { vcpus: 0 } };

/**
 * Types keys into a `cat` on a terminal of a run, one at a time and with pauses, and measures how long it
 * takes until the terminal shows each: through the client, Drover and the agent, and back.
 */
export async function measureKeystrokes(drover: Drover, keys: number): Promise<Row[]> {
  const { id } = await drover.call<{ id: string }>("POST", "/v1/runs", STAYS);
  await drover.call("GET", `/v1/runs/${id}?wait=20s&state=running`);
  const echo = new Echo();
  const command = createClient({ url: drover.url, token: drover.token }).runs.exec(id, {
    // Prints the key that ends its first line once the terminal is set up.
    argv: ["sh", "-c", "printf ready; exec cat"],
    terminal: { rows: 24, columns: 80 },
    stdout: (bytes) => echo.heard(Buffer.from(bytes).toString("latin1")),
  });
  const times: number[] = [];
  try {
    await echo.until("ready");
    for (let n = 0; n < keys; n += 1) {
      await sleep(PAUSES_MS[n % PAUSES_MS.length]);
      const key = KEYS.charAt(n % KEYS.length);
      const typedAt = performance.now();
      const shown = echo.until(key);
      await command.write(Buffer.from(key));
      await shown;
      times.push(performance.now() - typedAt);
    }
  } finally {
    command.close();
    await drover.call("POST", `/v1/runs/${id}/abort?wait=20s`, {});
  }
  const ms = (share: number) => `${percentile(times, share).toFixed(1)} ms`;
  const what = `key typed → shown (p99 ${ms(0.99)})`;
  return [{ what, n: keys, p50: ms(0.5), p95: ms(0.95), max: ms(1), budget: "p50 < 20 ms" }];
}

/** What a terminal has shown since it was last waited for. */
class Echo {
  #text = "";
  #wanted: { text: string; seen: () => void } | undefined;

  heard(text: string): void {
    this.#text += text;
    if (this.#wanted === undefined || !this.#text.includes(this.#wanted.text)) return;
    this.#wanted.seen();
    this.#wanted = undefined;
    this.#text = "";
  }

  /** Resolves once this text is shown; rejects if it is not in time. */
  until(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const tooLate = () => reject(new Error(`the terminal has not shown ${JSON.stringify(text)}`));
      const timer = setTimeout(tooLate, BACK_WITHIN_MS);
      const seen = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#wanted = { text, seen };
      this.heard("");
    });
  }
}
