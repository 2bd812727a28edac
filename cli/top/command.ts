// How is a pool shown in a terminal: once, or in place until somebody leaves?
import type { Client } from "../../client/client.ts";
import { listenForInterrupts } from "../terminal/interrupts.ts";
import { colorsFor, type Io } from "../terminal/io.ts";
import { briefDuration, cut, printable } from "../terminal/text.ts";
import { Asker } from "./asker.ts";
import { Inputs } from "./inputs.ts";
import { type Input, type Model, next } from "./model.ts";
import { type Canvas, picture } from "./picture.ts";
import { PoolWatch } from "./pool-watch.ts";
import { openScreen } from "./screen.ts";

/** Prints one picture of a pool, with everything in it (cli.md#top). */
export async function printOnce(io: Io, client: Client, pool: string): Promise<void> {
  const look = await new PoolWatch(client, pool).look();
  const columns = io.stdout.isTerminal ? io.stdout.columns() : Number.POSITIVE_INFINITY;
  const canvas = canvasOf(io, columns, Number.POSITIVE_INFINITY);
  const lines = picture(look, { now: client.now() }, canvas);
  await io.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** What is shown in place. */
export interface Showing {
  pool: string;
  /** The pause between two looks. */
  intervalMs: number;
}

/**
 * Shows a pool in place (cli.md#top), and returns the exit code. A Drover that does not answer, or is busy,
 * is asked again; any other error ends it. The terminal is then as it was before.
 */
export async function showInPlace(io: Io, client: Client, { pool, intervalMs }: Showing): Promise<number> {
  // The first look is taken on the ordinary screen: its error is one of a verb like any other.
  const watch = new PoolWatch(client, pool);
  const look = await watch.look();
  const inputs = new Inputs<Input>();
  const interrupts = listenForInterrupts();
  for (const one of [interrupts.first, interrupts.detach]) {
    void one.then(({ exitCode }) => inputs.put({ type: "left", exitCode }));
  }
  const screen = openScreen(io, (input) => inputs.put(input));
  const asker = new Asker(client, inputs, intervalMs);
  try {
    asker.watch(watch);
    for (let model: Model = { look }; ; ) {
      await screen.draw(frame(io, model, { now: client.now(), intervalMs }));
      for (const input of await inputs.take()) {
        const { model: after, effect } = next(model, input);
        model = after;
        if (effect?.do === "end") return effect.exitCode;
        if (effect !== undefined) asker.ask(effect, model.look);
      }
    }
  } finally {
    asker.stop();
    screen.close();
    interrupts.release();
  }
}

/** All lines of the screen: the picture, and in the last line the keys or what is wrong. */
function frame(io: Io, model: Model, { now, intervalMs }: { now: number; intervalMs: number }): string[] {
  const [columns, rows] = [io.stdout.columns(), io.stdout.rows()];
  const shown = { chosen: model.chosen, detail: model.detail?.lines, now };
  const lines = picture(model.look, shown, canvasOf(io, columns, rows - 1));
  const below = Array.from({ length: Math.max(0, rows - 1 - lines.length) }, () => "");
  return [...lines, ...below, footer(io, model, columns, { now, intervalMs })];
}

function footer(
  io: Io,
  { look, detail, trouble, notice }: Model,
  columns: number,
  { now, intervalMs }: { now: number; intervalMs: number },
): string {
  const { dim, red } = colorsFor(io.stdout);
  if (trouble !== undefined) {
    return red(cut(`From ${briefDuration(now - look.at)} ago: ${printable(trouble)}`, columns));
  }
  const enter = detail === undefined ? "Enter why" : "Enter back";
  const keys = `q quit  j/k choose  ${enter}  p other pool  every ${briefDuration(intervalMs)}`;
  return dim(cut(notice ?? keys, columns));
}

function canvasOf(io: Io, columns: number, rows: number): Canvas {
  const { bold, inverse, red } = colorsFor(io.stdout);
  return { columns, rows, emphasis: { bold, inverse, red } };
}
