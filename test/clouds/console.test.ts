import { describe, expect, it } from "vitest";
import type { ConsoleAnswer } from "../../src/core/provider-answers.ts";
import { CONSOLE_READ_BYTES, type Provider } from "../../src/providers/provider.ts";
import { providerOf as typed } from "../../src/providers/provider-of.ts";
import { ProviderConfig } from "../../src/schema/pool/provider-config.ts";
import { startEc2 } from "./ec2-fake.ts";
import { startGce, ZONES } from "./gce-fake.ts";
import { made as madeAt } from "./support/answers.ts";
import * as ec2 from "./support/ec2.ts";
import * as gce from "./support/gce.ts";

// The consoles of machines, where a cloud has them (clouds.md#console).

async function consoleOf(provider: Provider, id: string): Promise<ConsoleAnswer> {
  if (provider.console === undefined) throw new Error("this cloud has no consoles");
  return provider.console({ worker: "w-1", id, zone: null });
}

describe("Amazon EC2 (clouds/ec2.md#console)", () => {
  const started = async () => {
    const fake = await startEc2({ startAt: ec2.START });
    const provider = ec2.providerOf(fake);
    const { id } = await ec2.made(provider, "w-1");
    return { ...fake, provider, id };
  };
  const actions = ({ cloud }: Awaited<ReturnType<typeof started>>) =>
    cloud.calls.map(({ action }) => action).filter((action) => action === "GetConsoleOutput").length;

  it("shows the latest output, with when it is from", async () => {
    const at = await started();
    at.cloud.consoles.set(at.id, "booting <é> & more\n");
    expect(await consoleOf(at.provider, at.id)).toEqual({
      kind: "console",
      text: "booting <é> & more\n",
      isCut: false,
      updatedAt: new Date(at.cloud.now).toISOString(),
    });
    expect(actions(at)).toBe(1);
  });

  it("asks older types of machines for what was kept from their boot", async () => {
    const at = await started();
    at.cloud.hasLatestConsole = false;
    at.cloud.consoles.set(at.id, "booted\n");
    expect(await consoleOf(at.provider, at.id)).toMatchObject({ kind: "console", text: "booted\n" });
    expect(actions(at)).toBe(2);
  });

  it("is read whole up to the 64 KiB that are kept, and bytes that are no UTF-8 are marked", async () => {
    const at = await started();
    at.cloud.consoles.set(at.id, Buffer.concat([Buffer.alloc(70_000, "x\n"), Buffer.from([0xff, 0x0a])]));
    const answer = await consoleOf(at.provider, at.id);
    expect(answer).toMatchObject({ kind: "console", isCut: true });
    expect(answer.kind === "console" && answer.text).toMatch(/^(x?\n|\n)(x\n)+\ufffd\n$/);
  });

  it("says that there is none yet, that the machine is unknown, or that it may not look", async () => {
    const at = await started();
    expect(await consoleOf(at.provider, at.id)).toMatchObject({ kind: "none" });
    expect(await consoleOf(at.provider, "i-0123456789abcdef0")).toEqual({
      kind: "none",
      text: "EC2 knows no machine i-0123456789abcdef0",
    });
    const stranger = ec2.providerOf(at, {}, { accessKeyId: "AKIAOTHER", secretAccessKey: "other" });
    expect(await consoleOf(stranger, at.id)).toMatchObject({ kind: "failed", failure: { class: "auth" } });
  });
});

describe("Google Compute Engine (clouds/gce.md#console)", () => {
  const started = async () => {
    const fake = await startGce({ startAt: gce.START });
    const provider = gce.providerOf(fake);
    const { id } = await madeAt(provider, gce.wanted("w-1"));
    return { ...fake, provider, id };
  };

  it("shows the end of the first serial port", async () => {
    const at = await started();
    at.cloud.consoles.set(at.id, "booting\n");
    const whole = { kind: "console", text: "booting\n", isCut: false, updatedAt: null };
    expect(await consoleOf(at.provider, at.id)).toEqual(whole);
    at.cloud.consoles.set(at.id, `${"x".repeat(CONSOLE_READ_BYTES)}\nend\n`);
    const cut = await consoleOf(at.provider, at.id);
    expect(cut).toMatchObject({ kind: "console", isCut: true });
    expect(cut.kind === "console" && cut.text.length).toBe(CONSOLE_READ_BYTES);
  });

  it("says that there is none yet, that the machine is unknown, or that it may not look", async () => {
    const at = await started();
    expect(await consoleOf(at.provider, at.id)).toMatchObject({ kind: "none" });
    for (const id of [`${ZONES[0]}/w-2`, "w-1", "../w-1"]) {
      expect(await consoleOf(at.provider, id)).toEqual({ kind: "none", text: `Google has no machine ${id}` });
    }
    at.cloud.denied.add("compute.instances.getSerialPortOutput");
    expect(await consoleOf(at.provider, at.id)).toMatchObject({ kind: "failed", failure: { class: "auth" } });
  });
});

it.each([
  { kind: "hetzner", credentials: { binding: "CLOUD_H" } },
  { kind: "fly", credentials: { binding: "CLOUD_F" }, app: "ci" },
])("$kind has none, so nothing is asked (clouds.md#console)", (config) => {
  expect(typed(ProviderConfig.parse(config), "token", () => 0)?.console).toBeUndefined();
});
