import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Masker, maskerOf, maskIn } from "../../../../agent/core/redaction/mask.ts";
import { LONGEST_NEEDLE_BYTES, needlesOf } from "../../../../agent/core/redaction/needles.ts";
import { maskedText, withMaskedTexts } from "../../../../agent/core/redaction/texts.ts";
import { maskedSlowly } from "../../support/slow-mask.ts";

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text));

function maskerFor(...secrets: (string | Uint8Array)[]): Masker {
  const masker = maskerOf(secrets.map((one) => (typeof one === "string" ? bytesOf(one) : one)));
  if (masker === undefined) throw new Error("these secrets have no needles");
  return masker;
}

/** The output as it is sent. */
function masked(text: string, ...secrets: string[]): string {
  const bytes = bytesOf(text);
  maskIn(maskerFor(...secrets), bytes);
  return Buffer.from(bytes).toString();
}

/** What is sent of an output from `from` up to `to`, as `Streams.read` reads it. */
function maskedPart(masker: Masker, output: Uint8Array, from: number, to: number): Uint8Array {
  const start = Math.max(0, from - masker.context);
  const around = output.slice(start, to + masker.context);
  maskIn(masker, around);
  return around.subarray(from - start, to - start);
}

describe("each byte of a match becomes a star (redaction.md#equal-length)", () => {
  test.each([
    ["in the middle", "the password is hunter22, really", ["hunter22"], "the password is ********, really"],
    ["at the very end, without a line end", "x hunter22", ["hunter22"], "x ********"],
    ["at the very beginning", "hunter22 x", ["hunter22"], "******** x"],
    ["twice without a gap", "hunter22hunter22", ["hunter22"], "****************"],
    ["over itself", "abababababa!", ["abababa"], "***********!"],
    ["two that overlap", "-abcdefghij-", ["abcdefg", "defghij"], "-**********-"],
    ["one that begins another", "-abcdefghij-abcdefgh-", ["abcdefghij", "abcdef"], "-**********-******gh-"],
    ["one that ends another", "-abcdefghij-", ["abcdefghij", "efghij"], "-**********-"],
    ["one within another that fails", "-abcdefghiX-", ["abcdefghij", "cdefgh"], "-ab******iX-"],
    ["a part of it is none", "abcdefghi", ["abcdefghij"], "abcdefghi"],
  ])("%s", (_, output, secrets, expected) => {
    expect(masked(output, ...secrets)).toBe(expected);
  });

  test("an attempt whose secrets are all too short has nothing to mask (redaction.md#needles)", () => {
    expect(maskerOf([bytesOf("abcde")])).toBeUndefined();
    expect(maskerOf([])).toBeUndefined();
  });

  test("a long secret is masked whole, from piece to piece", () => {
    const secret = Array.from({ length: 3_000 }, (_, n) => n.toString(36).padStart(4, "-")).join("");
    expect(secret.length).toBeGreaterThan(2 * LONGEST_NEEDLE_BYTES);
    expect(masked(`<${secret}>`, secret)).toBe(`<${"*".repeat(secret.length)}>`);
    expect(maskerFor(secret).context).toBe(LONGEST_NEEDLE_BYTES - 1);
  });
});

/** Few different bytes, so that secrets overlap, repeat and begin one another; no star. */
const LETTERS = ["a", "b", "'", '"', "\\", "\n", " ", "/", "ö"];
const secretText = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 6, maxLength: 14 });
const story = fc.array(secretText, { minLength: 1, maxLength: 4 }).chain((secrets) => {
  const values = secrets.map(bytesOf);
  const needles = needlesOf(values);
  const part = fc.oneof(
    fc.constantFrom(...needles),
    // The beginning or the end of a needle.
    fc
      .tuple(fc.constantFrom(...needles), fc.nat({ max: 14 }), fc.boolean())
      .map(([needle, cut, fromStart]) => (fromStart ? needle.subarray(0, cut) : needle.subarray(cut))),
    fc.string({ unit: fc.constantFrom(...LETTERS), maxLength: 8 }).map(bytesOf),
    fc.uint8Array({ maxLength: 5 }),
  );
  const output = fc.array(part, { maxLength: 12 }).map((parts) => Uint8Array.from(Buffer.concat(parts)));
  return fc.record({ secrets: fc.constant(values), output });
});

describe("however the reads are cut (redaction.md#re-reading)", () => {
  test("two reads, at every byte, are sent like one, and one is like a search for each needle", () => {
    fc.assert(
      fc.property(story, ({ secrets, output }) => {
        const masker = maskerFor(...secrets);
        const whole = maskedPart(masker, output, 0, output.length);
        expect(whole).toEqual(maskedSlowly(output, secrets));
        for (let cut = 0; cut <= output.length; cut += 1) {
          const parts = [maskedPart(masker, output, 0, cut), maskedPart(masker, output, cut, output.length)];
          expect(Uint8Array.from(Buffer.concat(parts))).toEqual(whole);
        }
      }),
    );
  });

  test("sent while it grows, it is like one that is read at its end (redaction.md#hold-back)", () => {
    const writes = fc.array(fc.nat({ max: 20 }), { maxLength: 40 });
    fc.assert(
      fc.property(story, writes, ({ secrets, output }, sizes) => {
        const masker = maskerFor(...secrets);
        const sent: Uint8Array[] = [];
        let acked = 0;
        let written = 0;
        for (const size of sizes) {
          written = Math.min(written + size, output.length);
          const file = output.subarray(0, written);
          const open = masker.openBytes(file.subarray(Math.max(0, written - masker.context)));
          expect(open).toBeLessThanOrEqual(masker.context);
          // What was released is never held back again.
          expect(written - open).toBeGreaterThanOrEqual(acked);
          sent.push(maskedPart(masker, file, acked, written - open));
          acked = written - open;
        }
        sent.push(maskedPart(masker, output, acked, output.length));
        expect(Uint8Array.from(Buffer.concat(sent))).toEqual(maskedSlowly(output, secrets));
      }),
    );
  });

  test("no needle is left, unless stars are a part of it", () => {
    fc.assert(
      fc.property(story, ({ secrets, output }) => {
        const whole = Buffer.from(maskedPart(maskerFor(...secrets), output, 0, output.length));
        const left = needlesOf(secrets).filter((needle) => whole.includes(Buffer.from(needle)));
        expect(left).toEqual([]);
      }),
    );
  });
});

describe("secrets that are long, or many (redaction.md#needles)", () => {
  /** Two letters, so that long secrets repeat themselves and one another. */
  const long = fc
    .string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 4 })
    .chain((part) =>
      fc
        .tuple(
          fc.integer({ min: 60, max: 300 }),
          fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 3 }),
        )
        .map(([length, end]) => part.repeat(length).slice(0, length) + end),
    );
  /** They begin alike, and go on with any byte. */
  const many = fc.tuple(fc.constantFrom("ab", "ba"), fc.nat({ max: 255 }), fc.constantFrom("abab", "bbbb"));
  const secrets = fc.tuple(
    fc.array(long, { maxLength: 3 }).map((texts) => texts.map(bytesOf)),
    fc
      .array(many, { minLength: 1, maxLength: 40 })
      .map((all) =>
        all.map(([head, byte, tail]) => Buffer.concat([bytesOf(head), Buffer.from([byte]), bytesOf(tail)])),
      ),
  );

  test("they are masked like a search for each needle", () => {
    const output = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat({ max: 400 })), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(secrets, output, ([some, others], cuts) => {
        const values = [...some, ...others];
        const needles = needlesOf(values);
        const parts = cuts.map(([which, from, length]) => {
          const needle = needles[which % needles.length] ?? new Uint8Array();
          return needle.subarray(from % 3 === 0 ? 0 : from % needle.length).subarray(0, length);
        });
        const bytes = Uint8Array.from(Buffer.concat(parts));
        const expected = maskedSlowly(bytes, values);
        expect(maskedPart(maskerFor(...values), bytes, 0, bytes.length)).toEqual(expected);
      }),
    );
  });
});

describe("what is held back at the end (redaction.md#hold-back)", () => {
  test.each([
    ["nothing, if no needle begins there", "listening on port 80", 0],
    ["the beginning of a needle", "the password is hunte", 5],
    ["all of it but its last byte", "hunter2", 7],
    ["nothing, once it is complete", "hunter22", 0],
    ["the beginning of another one in what is complete", "hunter22h", 1],
  ])("%s", (_, output, held) => {
    expect(maskerFor("hunter22").openBytes(bytesOf(output))).toBe(held);
  });

  test("a complete one that begins a longer one waits for that", () => {
    expect(maskerFor("hunter22", "hunter22-and-more").openBytes(bytesOf("x hunter22"))).toBe(8);
  });
});

describe("texts about an attempt (redaction.md#texts)", () => {
  const text = (value: string, ...secrets: string[]) => maskedText(maskerFor(...secrets), value);

  test.each([
    ["a secret", "no hunter22 here", "no ******** here"],
    ["a secret that the bound of the text has cut", "no such file: hunter2", "no such file: *******"],
    ["fewer than 6 bytes of one stay", "no such file: hunte", "no such file: hunte"],
    ["nothing", "no such file: ö", "no such file: ö"],
  ])("%s", (_, given, expected) => {
    expect(text(given, "hunter22")).toBe(expected);
  });

  test("they keep their length, whatever the secret is written in", () => {
    expect(text("key schlüssel-漢字-🔑!", "schlüssel-漢字-🔑")).toBe(`key ${"*".repeat(15)}!`);
  });

  test("the errors of a start, of outputs, of data and of checks are masked, and nothing else", () => {
    const mask = {
      ofAttempt: (id: string, of: string) => `${id}: ${of}`,
      ofPlacement: (placement: string, of: string) => `${placement}: ${of}`,
    };
    const id = "r/main/1.1";
    const startError = { code: "start_failed" as const, text: "words" };
    expect(withMaskedTexts({ type: "launch_failed", id, startError }, mask)).toEqual({
      type: "launch_failed",
      id,
      startError: { code: "start_failed", text: `${id}: words` },
    });
    const failed = withMaskedTexts({ type: "collected", id, outputs: { error: "words" } }, mask);
    expect(failed).toMatchObject({ outputs: { error: `${id}: words` } });
    const saved = { type: "saved" as const, placement: "r/1", outcome: { error: "words" } };
    expect(withMaskedTexts(saved, mask)).toMatchObject({ outcome: { error: "r/1: words" } });
    const tick = { type: "tick" as const };
    const result = { level: "critical" as const, text: "it failed", output: "words" };
    expect(withMaskedTexts({ type: "checked", id, name: "web", result }, mask)).toMatchObject({
      result: { text: `${id}: it failed`, output: `${id}: words` },
    });
    expect(withMaskedTexts(tick, mask)).toBe(tick);
  });
});
