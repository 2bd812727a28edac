import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maskIn } from "../../agent/core/redaction/mask.ts";
import { needlesOf } from "../../agent/core/redaction/needles.ts";
import { Maskers } from "../../agent/exec/maskers.ts";
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
      { numRuns: 20 },
    );
  });

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

  test("goes on to mask a value that its run does not name any more, until the run is over", () => {
    const { maskers, masked, know } = changing();
    know([Buffer.from("hunter22"), Buffer.from("hunter33")]);
    expect(masked(Buffer.from("hunter22 hunter33"))).toBe("******** ********");
    know([]);
    expect(masked(Buffer.from("hunter22 hunter33"))).toBe("******** ********");
    maskers.keepRuns(new Set(["build-17"]));
    expect(maskers.of(ID)).toBeDefined();
    maskers.keepRuns(new Set());
    expect(maskers.of(ID)).toBeUndefined();
  });
});
