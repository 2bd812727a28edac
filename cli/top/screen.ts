// How does `drover top` take the whole terminal, and give it back however it ends?
import { writeSync } from "node:fs";
import { constants } from "node:os";
import { emitKeypressEvents } from "node:readline";
import { exitCodeOfSignal } from "../errors.ts";
import type { Io } from "../terminal/io.ts";
import type { Input } from "./model.ts";

/** The alternate screen, without a cursor, where long lines are cut and not wrapped. */
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l";

const HOME = "\x1b[H";
const ERASE_REST_OF_LINE = "\x1b[K";
const ERASE_BELOW = "\x1b[J";

/** The exit code of somebody who leaves with Ctrl-C, which is a key here and no signal. */
const INTERRUPTED = exitCodeOfSignal(constants.signals.SIGINT);

export interface Screen {
  /** Draws lines from the top, over what was there, so that nothing flickers. */
  draw(lines: readonly string[]): Promise<void>;
  /** Gives the terminal back, as it was before. */
  close(): void;
}

/**
 * Takes the terminal, and hears keys and changes of its size. It is given back by `close`, and when the
 * process ends without that: an error that nobody has caught is printed on the ordinary screen (cli.md#top).
 */
export function openScreen({ stdout }: Pick<Io, "stdout">, hear: (input: Input) => void): Screen {
  const { stdin } = process;
  const hasKeys = stdin.isTTY === true;
  let isOpen = true;
  const onResize = () => hear({ type: "resize" });
  const onKey = (_text: string, { name, ctrl }: { name?: string; ctrl?: boolean }) => {
    if (ctrl === true && name === "c") hear({ type: "left", exitCode: INTERRUPTED });
    else if (ctrl !== true && name !== undefined) hear({ type: "key", key: name });
  };
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    process.off("exit", close);
    process.off("uncaughtExceptionMonitor", close);
    process.stdout.off("resize", onResize);
    stdin.off("keypress", onKey);
    if (hasKeys) stdin.setRawMode(false);
    stdin.pause();
    writeNow(LEAVE);
  };
  process.on("exit", close);
  process.on("uncaughtExceptionMonitor", close);
  process.stdout.on("resize", onResize);
  if (hasKeys) {
    emitKeypressEvents(stdin);
    stdin.setRawMode(true);
    stdin.on("keypress", onKey);
    stdin.resume();
  }
  writeNow(ENTER);
  return {
    draw: async (lines) => {
      const text = lines.map((line) => `${line}${ERASE_REST_OF_LINE}`).join("\r\n");
      if (isOpen) await stdout.write(`${HOME}${text}${ERASE_BELOW}`);
    },
    close,
  };
}

/** Writes at once: a process that ends waits for nothing. */
function writeNow(text: string): void {
  try {
    writeSync(process.stdout.fd, text);
  } catch {
    // The terminal is gone.
  }
}
