import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CONSOLE_TAIL_BYTES,
  consoleTail,
  machineWithConsole,
  plainConsole,
} from "../../../src/core/worker/read/console.ts";
import { at, created, INSTANCE, intent, invitation, nothing, T0 } from "../support/worker.ts";

// What readers see of a machine's console (clouds.md#console).

const sizeOf = (text: string) => new TextEncoder().encode(text).length;

describe("whose console can be asked for (clouds.md#console)", () => {
  const asked = at(nothing(), T0, { type: "create", body: intent() });

  test("that of a machine that a provider has made, with what its provider knows it by", () => {
    const { record } = at(asked, T0, created);
    const { worker, provider } = intent();
    expect(machineWithConsole(record)).toEqual({
      machine: { worker, instance: INSTANCE.id, zone: null, provider },
    });
  });

  test("of none that is not made, or that joined by itself: the text says why", () => {
    const own = at(nothing(), T0, { type: "create", body: invitation() });
    expect(machineWithConsole(asked.record)).toEqual({ none: expect.stringContaining("has not made one") });
    expect(machineWithConsole(own.record)).toEqual({ none: expect.stringContaining("is self-hosted") });
  });
});

describe("the text of a console (clouds.md#console)", () => {
  test.each([
    ["colors", "\u001b[1;32m  OK  \u001b[0m Started", "  OK   Started"],
    ["titles and links", "\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b", "ab"],
    ["a title that a crash has cut off", "a\n\u001b]0;tit\nkernel: panic\n", "a\n\nkernel: panic\n"],
    ["palettes of Linux", "\u001b]R\u001b]P0112233kernel: panic\n", "kernel: panic\n"],
    ["moves of the cursor", "\u001b[2J\u001b[1;1H\u001b(Bgrub", "grub"],
    ["ends of lines", "one\r\ntwo\rthree\n", "one\ntwo\nthree\n"],
    ["other controls", "a\u0000b\u0007c\u0008d\u007fe\tf", "abcde\tf"],
    ["what reorders or hides text", "a\u202eb\u200bc\ufeffd", "abcd"],
    ["an escape that does not end", "a\u001b", "a"],
  ])("is plain: %s", (_, shown, plain) => {
    expect(plainConsole(shown)).toBe(plain);
  });

  test("is whole if it fits", () => {
    const text = `${"é".repeat(CONSOLE_TAIL_BYTES / 2 - 1)}\n\n`;
    expect(sizeOf(text)).toBe(CONSOLE_TAIL_BYTES);
    expect(consoleTail(text, false)).toEqual({ text, truncated: false });
    expect(consoleTail(`x${text}`, false).truncated).toBe(true);
  });

  test("does not begin with the rest of a line if its provider has cut it", () => {
    expect(consoleTail("of a secret\nwhole\n", true)).toEqual({ text: "whole\n", truncated: true });
    expect(consoleTail("only the rest of a line", true)).toEqual({ text: "", truncated: true });
  });

  test("is a line's end if the line is longer than all that fits", () => {
    for (const end of ["end", "end\n"]) {
      const { text } = consoleTail(`boot ok\n${"€".repeat(CONSOLE_TAIL_BYTES)}${end}`, false);
      expect(text).toMatch(/^€+end\n?$/);
      expect(CONSOLE_TAIL_BYTES - sizeOf(text)).toBeLessThan(4);
    }
  });

  test("otherwise is the last whole lines: no more fit, and none is lost or changed", () => {
    const line = fc.string({ unit: "grapheme", maxLength: 2_000 }).map((text) => text.replaceAll("\n", " "));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 40 }), (lines) => {
        const whole = lines.map((text) => `${text}\n`).join("");
        const { text, truncated } = consoleTail(whole, false);
        expect(whole.endsWith(text)).toBe(true);
        expect(truncated).toBe(text !== whole);
        expect(sizeOf(text)).toBeLessThanOrEqual(CONSOLE_TAIL_BYTES);
        const before = whole.slice(0, whole.length - text.length);
        if (!truncated) return;
        expect(before.endsWith("\n")).toBe(true);
        const last = before.slice(before.lastIndexOf("\n", before.length - 2) + 1);
        expect(sizeOf(last + text)).toBeGreaterThan(CONSOLE_TAIL_BYTES);
      }),
    );
  });
});
