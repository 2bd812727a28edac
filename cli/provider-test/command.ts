// What `drover provider test` does: holds a provider to its contract and prints the findings.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PutPoolConfig } from "../../src/schema/pool.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { UNLISTED_MS } from "../../src/shared/limits.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import { CliError, EXIT } from "../errors.ts";
import { contentOf, readJsonObject } from "../json-file.ts";
import { type Interrupt, listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, briefDuration, fields, printable, table } from "../terminal/text.ts";
import type { Subject, TestEnvironment } from "./session.ts";
import { type Report, testProvider } from "./suite.ts";
import { callers, type Tested, testedProvider } from "./tested.ts";

/** What the command was given. `credentials`: the name of a file, or `-`. */
export interface TestOptions {
  file: string;
  type: string | undefined;
  credentials: string | undefined;
  json: boolean;
}

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
export async function providerTest(io: Io, { file, type, credentials, json }: TestOptions): Promise<number> {
  if (file === "-" && credentials === "-") {
    throw new CliError("Only one of the pool and its credentials can come from standard input.", []);
  }
  const { name, config } = await readPool(file);
  const given = credentials === undefined ? undefined : await contentOf(credentials);
  const subject = subjectOf(name, config, testedProvider(config.provider, given), type);
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

async function readPool(file: string): Promise<{ name: string; config: PutPoolConfig }> {
  const content: { name?: unknown } = await readJsonObject(file, "the configuration of a pool");
  const { name = "default", ...rest } = content;
  const { data, error } = PutPoolConfig.safeParse(rest);
  if (data !== undefined) return { name: String(name), config: data };
  const issues = error.issues.map(({ path, message }) => printable(`/${path.join("/")}: ${message}`));
  throw new CliError(`${file} is not the configuration of a pool.`, issues);
}

/** Milliseconds since 1970, which clouds check in signatures, on a clock that does not jump. */
const now = () => performance.timeOrigin + performance.now();

function subjectOf(name: string, config: PutPoolConfig, tested: Tested, type: string | undefined): Subject {
  const { owner, stranger } = callers(tested, now);
  const { listConsistencyMs: consistencyMs, freesNames } = TRAITS[tested.config.kind];
  return {
    provider: owner,
    stranger,
    tag: `drover-pool:${name}`,
    machine: type === undefined ? null : machineOf(config, type),
    consistencyMs,
    ...(freesNames === undefined ? {} : { freesNames }),
    patience: {
      lookMs: LOOK_MS,
      listedMs: UNLISTED_MS,
      bootMs: durationMs(config.timeouts.boot),
      heedMs: HEED_MS,
      endMs: END_MS,
    },
  };
}

function machineOf({ instanceTypes, image, provider }: PutPoolConfig, name: string): Subject["machine"] {
  const type = Object.hasOwn(instanceTypes, name) ? instanceTypes[name] : undefined;
  if (type === undefined) {
    const types = Object.keys(instanceTypes).join(", ");
    throw new CliError(`The pool has no instance type ${printable(name)}.`, [`It has: ${types}.`]);
  }
  const { vcpus, memory, disk, gpus, providerType = name } = type;
  const powerOff = provider.kind === "http" ? provider.powerOff : TRAITS[provider.kind].powerOff;
  return {
    instanceType: providerType,
    image,
    userData: `#!/bin/sh\nsleep ${TEST_MACHINE_SECONDS}\n${powerOff ?? ""}\n`,
    resources: { vcpus, memoryBytes: sizeBytes(memory), diskBytes: sizeBytes(disk), gpus },
  };
}

function environmentUntil(stopped: AbortSignal): TestEnvironment {
  return {
    now,
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
