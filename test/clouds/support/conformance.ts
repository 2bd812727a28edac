// Whether a cloud, as Drover uses it, keeps the contract that every provider keeps. Time is the fake's.
import { CHECKS } from "../../../cli/provider-test/checks.ts";
import { type Report, testProvider } from "../../../cli/provider-test/suite.ts";
import type { Provider } from "../../../src/providers/provider.ts";
import type { CreateInstance } from "../../../src/schema/provider.ts";
import type { FakeCloud } from "./fake-cloud.ts";

const PATIENCE = { lookMs: 1_000, listedMs: 600_000, bootMs: 600_000, heedMs: 60_000, endMs: 600_000 };

export interface Conforming {
  cloud: FakeCloud;
  provider: Provider;
  /** The same account, with credentials that are not accepted. */
  stranger: Provider;
  machine: Pick<CreateInstance, "instanceType" | "image" | "userData" | "resources">;
  consistencyMs: number;
}

/** Runs the suite of `drover provider test` against a fake. */
export async function conformance({ cloud, ...subject }: Conforming): Promise<Report> {
  let names = 0;
  const report = await testProvider(
    { ...subject, tag: "drover-pool:p", freesNames: true, patience: PATIENCE },
    {
      now: () => cloud.now,
      pause: async (ms) => cloud.advance(ms),
      unique: () => {
        names += 1;
        return String(names);
      },
      interrupted: () => false,
    },
  );
  return report;
}

/** What of the contract is not kept, as sentences, and which checks were not made. */
export function faultsOf({ findings, left }: Report): string[] {
  const faults = findings.filter(({ verdict }) => verdict !== "kept");
  const unchecked = CHECKS.filter(({ name }) => !findings.some((one) => one.name === name));
  return [
    ...faults.map(({ name, verdict, evidence }) => `${name} ${verdict}: ${evidence}`),
    ...unchecked.map(({ name }) => `${name} was not checked`),
    ...(left ?? ["something"]).map((id) => `${id} is left`),
  ];
}
