import { describe, expect, test } from "vitest";
import { readListing } from "../../../../agent/core/devices/listing.ts";
import { readNvidia } from "../../../../agent/core/devices/nvidia.ts";
import { MAX_DEVICE_WORD_CHARS, MAX_DEVICES } from "../../../../src/shared/limits.ts";

const ONE = { id: "gpu-0", vendor: "acme", model: "A1" };
const listed = (...devices: unknown[]) => JSON.stringify({ devices });
const MIB = 1024 * 1024;

describe("what a plug-in prints (devices.md#plug-in)", () => {
  test("becomes devices, with what is left out as not known", () => {
    const full = {
      ...ONE,
      id: "gpu-1",
      memoryBytes: 2 ** 34,
      driver: "5.1",
      healthy: false,
      env: { ACME_VISIBLE: "1" },
      cdi: "acme.com/gpu=1",
      paths: ["/dev/acme1"],
    };
    const [first, second] = [{ ...ONE, memoryBytes: 0, driver: "", healthy: true }, full];
    expect(readListing(listed(ONE, full))).toEqual({ kind: "devices", devices: [first, second] });
    expect(readListing('{"devices":[]}\n')).toEqual({ kind: "devices", devices: [] });
  });

  test.each<[string, string, RegExp]>([
    ["nothing", "  \n", /printed nothing/],
    ["a page of a web server", "<html><body>504</body></html>", /no JSON: "<html>/],
    ["JSON that is cut off", listed(ONE).slice(0, -2), /no JSON/],
    ["a list without its name", "[]", /must be an object/],
    ["an object without devices", "{}", /a list "devices"/],
    ["a device that is no object", listed("gpu-0"), /devices\[0] must be an object/],
    ["a device without an id", listed({ ...ONE, id: undefined }), /devices\[0]\.id must be a text/],
    ["an id with a comma", listed({ ...ONE, id: "a,b" }), /neither blanks nor commas/],
    ["an id with a blank", listed({ ...ONE, id: "a b" }), /neither blanks nor commas/],
    ["the same id twice", listed(ONE, ONE), /two devices have the id "gpu-0"/],
    ["an empty model", listed({ ...ONE, model: " " }), /devices\[0]\.model/],
    ["a model with a line break", listed({ ...ONE, model: "a\nb" }), /devices\[0]\.model/],
    ["a vendor that is too long", listed({ ...ONE, vendor: "v".repeat(129) }), /1 to 128 characters/],
    ["memory as a text", listed({ ...ONE, memoryBytes: "16GiB" }), /a whole number of bytes/],
    ["less memory than none", listed({ ...ONE, memoryBytes: -1 }), /a whole number of bytes/],
    ["health as a text", listed({ ...ONE, healthy: "yes" }), /true or false/],
    ["a variable that has no possible name", listed({ ...ONE, env: { "A=B": "1" } }), /name of a variable/],
    ["a variable of Drover", listed({ ...ONE, env: { DROVER_RUN_ID: "x" } }), /Drover's own variable/],
    ["a value that is no text", listed({ ...ONE, env: { A: 1 } }), /env\.A must be a text/],
    ["a path outside of /dev", listed({ ...ONE, paths: ["/etc"] }), /below \/dev/],
    ["a path that climbs", listed({ ...ONE, paths: ["/dev/../etc"] }), /below \/dev/],
    ["paths as a text", listed({ ...ONE, paths: "/dev/a" }), /a list of at most 16 paths/],
  ])("is refused as a whole if it is %s", (_, text, fault) => {
    expect(readListing(text)).toEqual({ kind: "fault", fault: expect.stringMatching(fault) });
  });

  test("may be as much as its bounds say, and no more", () => {
    const many = (count: number) =>
      listed(...Array.from({ length: count }, (_, index) => ({ ...ONE, id: `gpu-${index}` })));
    expect(readListing(many(MAX_DEVICES))).toMatchObject({ kind: "devices" });
    expect(readListing(many(MAX_DEVICES + 1))).toMatchObject({ kind: "fault" });
    const model = "m".repeat(MAX_DEVICE_WORD_CHARS);
    expect(readListing(listed({ ...ONE, model }))).toMatchObject({ kind: "devices" });
  });
});

describe("what nvidia-smi prints (devices.md#nvidia)", () => {
  const A100 = "GPU-4b8e9d6c-1d1a-7f5e-0c3a-52a3c1c9a001";
  const T4 = "GPU-4b8e9d6c-1d1a-7f5e-0c3a-52a3c1c9a002";

  test("becomes devices with their UUIDs", () => {
    const first = `0, ${A100}, NVIDIA A100-SXM4-80GB, 81920, 550.54.15`;
    const text = `${first}\n1, ${T4}, Tesla T4, rev. a, 15360, 550.54.15\n`;
    expect(readNvidia(text)).toEqual({
      kind: "devices",
      devices: [
        {
          id: A100,
          vendor: "nvidia",
          model: "NVIDIA A100-SXM4-80GB",
          memoryBytes: 81_920 * MIB,
          driver: "550.54.15",
          healthy: true,
          cdi: "nvidia.com/gpu=0",
        },
        {
          id: T4,
          vendor: "nvidia",
          model: "Tesla T4, rev. a",
          memoryBytes: 15_360 * MIB,
          driver: "550.54.15",
          healthy: true,
          cdi: "nvidia.com/gpu=1",
        },
      ],
    });
  });

  test.each<[string, string, object]>([
    ["memory that the GPU shares with its machine", "[N/A]", { memoryBytes: 0, healthy: true }],
    ["an error in place of the memory", "[GPU is lost]", { memoryBytes: 0, healthy: false }],
    ["another error in its place", "[Unknown Error]", { memoryBytes: 0, healthy: false }],
  ])("may have %s", (_, memory, expected) => {
    const seen = readNvidia(`0, ${T4}, Tesla T4, ${memory}, 550.54.15`);
    expect(seen).toMatchObject({ kind: "devices", devices: [{ id: T4, ...expected }] });
  });

  test.each<[string, string, object]>([
    ["nothing", "", { kind: "devices", devices: [] }],
    ["that there are none", "No devices were found\n", { kind: "devices", devices: [] }],
    [
      "a failure",
      "NVIDIA-SMI has failed",
      { kind: "fault", fault: expect.stringContaining("unexpected line") },
    ],
    [
      "a GPU twice",
      `0, ${T4}, T4, 1, 1\n1, ${T4}, T4, 1, 1`,
      { kind: "fault", fault: expect.stringContaining(T4) },
    ],
  ])("may be %s", (_, text, expected) => {
    expect(readNvidia(text)).toEqual(expected);
  });
});
