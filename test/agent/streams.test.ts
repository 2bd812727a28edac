import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostEvent } from "../../agent/core/events.ts";
import { needlesOf } from "../../agent/core/redaction/needles.ts";
import { Maskers } from "../../agent/exec/maskers.ts";
import { AttemptStore } from "../../agent/exec/processes/dirs.ts";
import { Streams } from "../../agent/exec/streams.ts";
import { maskedSlowly } from "./support/slow-mask.ts";

// The real reader of streams, on a file that grows in pieces: what leaves the machine, and when?

const ID = "build-17/main/1.1";

let dir: string;
let store: AttemptStore;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "drover-streams-"));
  store = new AttemptStore(dir);
  store.claim(ID);
});
afterAll(() => rmSync(dir, { recursive: true }));

/** An output that a task writes piece by piece, and all that was sent of it. */
class Output {
  readonly #file = store.dirsOf(ID).stdout;
  readonly #streams: Streams;
  #released = 0;
  #sent = Buffer.alloc(0);

  constructor(secrets: readonly Uint8Array[]) {
    writeFileSync(this.#file, "");
    const maskers = new Maskers(() => secrets);
    const tell = (event: HostEvent) => {
      if (event.type === "output" && event.stream === "stdout") this.#released = event.size;
    };
    this.#streams = new Streams(store, maskers, { tell, now: () => Math.round(performance.now()) });
    this.#streams.watch(ID);
  }

  /** Writes a piece. Returns all that is sent so far, in reads of at most `most` bytes. */
  write(piece: Uint8Array, most: number): Buffer {
    appendFileSync(this.#file, piece);
    this.#streams.look(ID);
    return this.#send(most);
  }

  /** Nothing writes any more. Returns all that is sent. */
  end(most: number): Buffer {
    this.#streams.unwatch(ID);
    return this.#send(most);
  }

  #send(most: number): Buffer {
    while (this.#sent.length < this.#released) {
      const bytes = Math.min(most, this.#released - this.#sent.length);
      const read = this.#streams.read(ID, "stdout", this.#sent.length, bytes);
      expect(read.length).toBe(bytes);
      this.#sent = Buffer.concat([this.#sent, read]);
    }
    return this.#sent;
  }
}

const found = (sent: Buffer, needles: readonly Uint8Array[]) =>
  needles
    .filter((needle) => sent.includes(Buffer.from(needle)))
    .map((needle) => Buffer.from(needle).toString("latin1"));

describe("a secret in two writes is never sent, wherever it is cut (redaction.md#hold-back)", () => {
  const SECRETS = [
    ["a word", "hunter2"],
    ["quotes and blanks", `a'b "c\\`],
    ["lines", "first\nsecond\r\n"],
    ["not ASCII", "pä+s/w ö"],
    ["what repeats itself", "ababab"],
    ["as long as two lines of base64", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"],
  ] as const;

  test.each(SECRETS)("%s: each form, at each byte", (_, secret) => {
    const secrets = [Buffer.from(secret)];
    const needles = needlesOf(secrets);
    for (const needle of needles) {
      const whole = Buffer.concat([Buffer.from("<"), needle, Buffer.from(">")]);
      const expected = Buffer.from(maskedSlowly(whole, secrets));
      expect(found(expected, needles)).toEqual([]);
      for (let cut = 0; cut <= whole.length; cut += 1) {
        const output = new Output(secrets);
        const first = output.write(whole.subarray(0, cut), 7);
        const isPrefix = expected.subarray(0, first.length).equals(first);
        expect({ cut, isPrefix, found: found(first, needles) }).toEqual({ cut, isPrefix: true, found: [] });
        output.write(whole.subarray(cut), 7);
        expect(output.end(7).toString("latin1")).toBe(expected.toString("latin1"));
      }
    }
  });

  test("a beginning that is not completed is sent at the end, as it is", () => {
    const output = new Output([Buffer.from("hunter2")]);
    expect(output.write(Buffer.from("a hunter"), 100).toString()).toBe("a ");
    expect(output.end(100).toString()).toBe("a hunter");
  });
});

test("in any pieces and any reads, what is sent is the masked whole (redaction.md#re-reading)", () => {
  const LETTERS = ["a", "b", "'", "\\", "\n", " ", "ö"];
  const secret = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 6, maxLength: 12 });
  const story = fc.array(secret, { minLength: 1, maxLength: 3 }).chain((texts) => {
    const secrets = texts.map((text) => Buffer.from(text));
    const needles = needlesOf(secrets);
    const part = fc.oneof(
      ...(needles.length === 0 ? [] : [fc.constantFrom(...needles)]),
      fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 8 }).map((text) => Buffer.from(text)),
    );
    const pieces = fc.array(fc.tuple(part, fc.nat({ max: 14 })), { maxLength: 10 });
    return fc.record({ secrets: fc.constant(secrets), pieces, most: fc.integer({ min: 1, max: 30 }) });
  });
  fc.assert(
    fc.property(story, ({ secrets, pieces, most }) => {
      const whole = Buffer.concat(pieces.map(([part]) => part));
      const expected = Buffer.from(maskedSlowly(whole, secrets));
      const output = new Output(secrets);
      let at = 0;
      for (const [, size] of pieces) {
        const sent = output.write(whole.subarray(at, at + size), most);
        at += size;
        expect(sent.toString("latin1")).toBe(expected.subarray(0, sent.length).toString("latin1"));
      }
      output.write(whole.subarray(at), most);
      expect(output.end(most).toString("latin1")).toBe(expected.toString("latin1"));
    }),
  );
});
