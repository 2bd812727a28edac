import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maskIn } from "../../agent/core/redaction/mask.ts";
import { needlesOf } from "../../agent/core/redaction/needles.ts";
import { Maskers } from "../../agent/exec/maskers.ts";
import { sized } from "../chance/length.ts";
import { maskedSlowly } from "./support/slow-mask.ts";

const ID = "build-17/main/1.1";

/** The maskers of a run whose values the test changes. */
function changing() {
  let secrets: readonly Uint8Array[] = [];
  const maskers = new Maskers((run) => (run === "build-17" ? secrets : []));
  const masked = (output: Uint8Array) => {
    const after = Buffer.from(output);
    const masker = maskers.of(ID);
    if (masker !== undefined) maskIn(masker, after);
    return after.toString("latin1");
  };
  const know = (values: readonly Uint8Array[]) => {
    secrets = values;
  };
  return { maskers, masked, know };
}

/** A long value without a meaning. */
const secretOf = (bytes: number, name: string) =>
  Buffer.from(createHash("shake256", { outputLength: bytes }).update(name).digest("base64url"));

describe("the masker of a run (redaction.md#secrets)", () => {
  test("is built once for its values, for all of its attempts", () => {
    const { maskers, know } = changing();
    expect(maskers.of(ID)).toBeUndefined();
    know([Buffer.from("hunter22")]);
    const first = maskers.of(ID);
    expect(first).toBeDefined();
    know([Buffer.from("hunter22")]);
    expect(maskers.of(ID)).toBe(first);
    expect(maskers.of("build-17/other/1.1")).toBe(first);
    expect(maskers.of("build-18/main/1.1")).toBeUndefined();
  });

  test("masks values that come one by one, long and short, like all of them at once", () => {
    const lengths = fc.array(fc.constantFrom(6, 8, 30, 2_000, 5_000), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(lengths, fc.array(fc.nat(), { maxLength: 8 }), (sizes, picks) => {
        const { masked, know } = changing();
        const values = sizes.map((size, n) => secretOf(size, `${n}`));
        const needles = needlesOf(values);
        const parts = picks.map((pick) => needles[pick % needles.length] ?? new Uint8Array());
        const output = Buffer.concat(parts.flatMap((part, n) => [part.subarray(n % 2), Buffer.from("-")]));
        for (let count = 1; count <= values.length; count += 1) {
          know(values.slice(0, count));
          const expected = Buffer.from(maskedSlowly(output, values.slice(0, count)));
          expect(masked(output)).toBe(expected.toString("latin1"));
        }
      }),
      { numRuns: sized(5, 50) },
    );
    // The slow way takes minutes on a busy machine.
  }, 900_000);

  test("overlapping values of different attempts are masked both", () => {
    const long = secretOf(9_000, "long");
    const { masked, know } = changing();
    know([long]);
    expect(masked(Buffer.from("abcdefghij"))).toBe("abcdefghij");
    know([long, Buffer.from("abcdefg")]);
    expect(masked(Buffer.from("abcdefghij"))).toBe("*******hij");
    know([long, Buffer.from("abcdefg"), Buffer.from(`defghij${long}`)]);
    expect(masked(Buffer.concat([Buffer.from("abcdefghij"), long, Buffer.from("!")]))).toBe(
      `${"*".repeat(10 + long.length)}!`,
    );
  });

  test("masks a value that its run does not name any more at most until that is most of a layer", () => {
    const { maskers, masked, know } = changing();
    const values = ["first-value", "secondvalue", "third-value"].map((one) => Buffer.from(one));
    const output = Buffer.from("first-value secondvalue third-value");
    const stars = "*".repeat(11);
    know(values);
    expect(masked(output)).toBe(`${stars} ${stars} ${stars}`);
    know(values.slice(1));
    expect(masked(output)).toBe(`${stars} ${stars} ${stars}`);
    know(values.slice(2));
    expect(masked(output)).toBe(`first-value secondvalue ${stars}`);
    know([]);
    expect(maskers.of(ID)).toBeUndefined();
  });

  test("goes when its run is over here", () => {
    const { maskers, know } = changing();
    know([Buffer.from("hunter22")]);
    maskers.of(ID);
    maskers.keepRuns(new Set(["build-17"]));
    expect(maskers.builtBytes("build-17")).toBe(8);
    maskers.keepRuns(new Set());
    expect(maskers.builtBytes("build-17")).toBe(0);
  });

  test.each([
    { what: "a token for each restart", stays: [], bytes: 100, lives: 1 },
    { what: "beside a long value that stays", stays: [secretOf(6_000, "stays")], bytes: 900, lives: 1 },
    { what: "of which some live at the same time", stays: [], bytes: 900, lives: 3 },
    { what: "long values", stays: [secretOf(100, "stays")], bytes: 5_000, lives: 2 },
  ])("of values that come and go has at most twice the bytes of those that live: $what", (row) => {
    const { maskers, masked, know } = changing();
    for (let n = 0; n < 20; n += 1) {
      const live = Array.from({ length: row.lives }, (_, back) => secretOf(row.bytes, `${n - back}`));
      const named = [...row.stays, ...live];
      know(named);
      for (const value of named) expect(masked(value)).toBe("*".repeat(value.length));
      const bytes = named.reduce((sum, { length }) => sum + length, 0);
      expect(maskers.builtBytes("build-17")).toBeLessThanOrEqual(2 * bytes);
    }
  });

  test.each([
    ["stays as it is while half of it is named", 2, true],
    ["is built again once less than half of it is named", 1, false],
  ])("a layer %s", (_, left, stays) => {
    const { maskers, know } = changing();
    const values = ["a", "b", "c", "d"].map((name) => Buffer.from(name.repeat(10)));
    know(values);
    const before = maskers.of(ID);
    know(values.slice(0, left));
    expect(maskers.of(ID) === before).toBe(stays);
    expect(maskers.builtBytes("build-17")).toBe(stays ? 40 : 10 * left);
  });
});
