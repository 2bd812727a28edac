// What `drover provider test` does: holds a provider to its contract and prints the findings.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { httpProvider, type KnownProvider } from "../../src/providers/http.ts";
import { type PoolConfig, PutPoolConfig } from "../../src/schema/pool.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { UNLISTED_MS } from "../../src/shared/limits.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import { CliError, EXIT } from "../errors.ts";
import { readJsonObject } from "../json-file.ts";
import { type Interrupt, listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, briefDuration, fields, printable, table } from "../terminal/text.ts";
import type { Subject, TestEnvironment } from "./session.ts";
import { type Report, testProvider } from "./suite.ts";

/** The pause between two polls. */
const LOOK_MS = 500;
/** How long it may take until a destroy call has an effect. */
const HEED_MS = 60_000;
const END_MS = 10 * 60_000;
/** A forgotten test machine powers itself off after this long, if its cloud supports that. */
const TEST_MACHINE_SECONDS = 3_600;

/**
 * Tests the provider of a pool and prints the findings. Resolves with the exit code. After the first signal,
 * the command destroys the test machine and then exits. After the second signal, it exits and leaves the
 * machine. Throws a `CliError` if nothing can be tested.
 */
export async function providerTest(
  io: Io,
  { file, type, json }: { file: string; type: string | undefined; json: boolean },
): Promise<number> {
  const { name, config } = await readPool(file);
  const subject = subjectOf(name, config, type);
  const interrupts = listenForInterrupts();
  let interrupted: Interrupt | undefined;
  const stopped = new AbortController();
  void interrupts.first.then(async (interrupt) => {
    interrupted = interrupt;
    stopped.abort();
    await io.say("Destroying the test machine. Press Ctrl-C again to leave it running.");
  });
  const left = Promise.race([interrupts.second, interrupts.detach]).then(async ({ exitCode }) => {
    await io.say("The test machine was left running. Look for machines named drover-test-…");
    return exitCode;
  });
  const report = await Promise.race([testProvider(subject, environmentUntil(stopped.signal)), left]);
  interrupts.release();
  if (typeof report === "number") return report;
  await warnOfLeftovers(io, report);
  if (interrupted !== undefined) return interrupted.exitCode;
  await io.stdout.write(json ? `${asJson(report)}\n` : textOf(report));
  const well = report.findings.every(({ verdict }) => verdict === "kept") && report.left?.length === 0;
  return well ? 0 : EXIT.no;
}

type KnownPool = PoolConfig & { provider: KnownProvider };

async function readPool(file: string): Promise<{ name: string; config: KnownPool }> {
  const content: { name?: unknown } = await readJsonObject(file, "the configuration of a pool");
  const { name = "default", ...rest } = content;
  const { data, error } = PutPoolConfig.safeParse(rest);
  if (data !== undefined) return { name: String(name), config: { ...data, provider: known(data.provider) } };
  const issues = error.issues.map(({ path, message }) => printable(`/${path.join("/")}: ${message}`));
  throw new CliError(`${file} is not the configuration of a pool.`, issues);
}

/** The test calls the provider itself, and no Drover shows a secret. */
function known(tested: PutPoolConfig["provider"]): KnownProvider {
  if (tested.kind !== "http") {
    throw new CliError('Only a provider of `kind: "http"` can be tested.', [
      `This pool uses ${TRAITS[tested.kind].title}.`,
    ]);
  }
  const { secret, ...provider } = tested;
  if (typeof secret === "string") return { ...provider, secret };
  const has = secret === undefined ? "no `secret`" : `only the name of a secret, "${secret.secret}"`;
  throw new CliError(`The provider has ${has}.`, [
    "Give its text as `provider.secret`: this test calls the provider without a Drover.",
  ]);
}

function subjectOf(name: string, config: KnownPool, type: string | undefined): Subject {
  const now = () => performance.now();
  return {
    provider: httpProvider(config.provider, now),
    stranger: httpProvider({ ...config.provider, secret: randomUUID() }, now),
    tag: `drover-pool:${name}`,
    machine: type === undefined ? null : machineOf(config, type),
    patience: {
      lookMs: LOOK_MS,
      listedMs: UNLISTED_MS,
      bootMs: durationMs(config.timeouts.boot),
      heedMs: HEED_MS,
      endMs: END_MS,
    },
  };
}

function machineOf({ instanceTypes, image, provider }: KnownPool, name: string): Subject["machine"] {
  const type = Object.hasOwn(instanceTypes, name) ? instanceTypes[name] : undefined;
  if (type === undefined) {
    const types = Object.keys(instanceTypes).join(", ");
    throw new CliError(`The pool has no instance type ${printable(name)}.`, [`It has: ${types}.`]);
  }
  const { vcpus, memory, disk, gpus, providerType = name } = type;
  return {
    instanceType: providerType,
    image,
    userData: `#!/bin/sh\nsleep ${TEST_MACHINE_SECONDS}\n${provider.powerOff ?? ""}\n`,
    resources: { vcpus, memoryBytes: sizeBytes(memory), diskBytes: sizeBytes(disk), gpus },
  };
}

function environmentUntil(stopped: AbortSignal): TestEnvironment {
  return {
    now: () => performance.now(),
    pause: async (ms) => {
      // After an interrupt, cleaning up still needs its pauses. So an interrupt shortens only the current
      // pause.
      if (stopped.aborted) return sleep(ms);
      await sleep(ms, undefined, { signal: stopped }).catch(() => undefined);
    },
    unique: () => randomUUID().slice(0, 8),
    interrupted: () => stopped.aborted,
  };
}

async function warnOfLeftovers(io: Io, { left }: Report): Promise<void> {
  if (left === undefined) {
    await io.say("Cannot tell whether a machine is left: look for names that begin with drover-test-");
  }
  for (const id of left ?? []) await io.say(`Machine ${printable(id)} still exists: destroy it by hand`);
}

function textOf({ findings, measures }: Report): string {
  const rows = findings.map(({ name, verdict, promise, evidence }) =>
    verdict === "kept" ? [name, verdict, evidence] : [name, verdict, `${promise}: ${evidence}`],
  );
  const length = (ms: number | undefined) => (ms === undefined ? "" : briefDuration(ms));
  const measured: [string, string][] = [
    ["Slowest listing", length(measures.listMs)],
    ["Create call", length(measures.createMs)],
    ["Listed after", length(measures.listConsistencyMs)],
    ["Running after", length(measures.bootMs)],
  ];
  const seen = measured.filter(([, value]) => value !== "");
  const below = seen.length === 0 ? "" : `\n${fields(seen, (text) => text)}`;
  return table(["CHECK", "VERDICT", "EVIDENCE"], rows, Infinity) + below;
}
