import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Report, testProvider } from "../src/providers/conformance/suite.ts";
import type { Means, Subject } from "../src/providers/conformance/talk.ts";
import { httpProvider } from "../src/providers/http.ts";
import { PoolConfig } from "../src/schema/pool.ts";
import { durationMs } from "../src/shared/duration.ts";
import { UNLISTED_MS } from "../src/shared/limits.ts";
import { parseSize } from "../src/shared/size.ts";
import { CliError, EXIT } from "./errors.ts";
import { readJsonObject } from "./json-file.ts";
import { type Interrupt, listenForInterrupts } from "./terminal/interrupts.ts";
import type { Io } from "./terminal/io.ts";
import { asJson, briefDuration, fields, printable, table } from "./terminal/text.ts";

/** The pause between two looks, and how long a destroy call may take to show. */
const LOOK_MS = 500;
const HEED_MS = 60_000;
const END_MS = 10 * 60_000;
/** A machine that was made and forgotten ends by itself after so long, if its cloud can do that. */
const TEST_MACHINE_SECONDS = 3_600;

/**
 * Holds the provider of a pool to its contract, and prints what was found. Resolves with the exit code. A
 * signal ends what was made first; a second one leaves it as it is. Throws a `CliError` if there is nothing
 * that could be tested.
 */
export async function providerTest(
  io: Io,
  { file, type, json }: { file: string; type: string | undefined; json: boolean },
): Promise<number> {
  const { name, config } = await readPool(file);
  const subject = subjectOf(name, config, type);
  const interrupts = listenForInterrupts();
  let interrupted: Interrupt | undefined;
  const told = new AbortController();
  void interrupts.first.then(async (interrupt) => {
    interrupted = interrupt;
    told.abort();
    await io.say("Ending what was made. Once more leaves it as it is.");
  });
  const left = Promise.race([interrupts.second, interrupts.detach]).then(async ({ exitCode }) => {
    await io.say("Left what was made as it is. Look for machines that are named drover-test-…");
    return exitCode;
  });
  const report = await Promise.race([testProvider(subject, meansUntil(told.signal)), left]);
  interrupts.release();
  if (typeof report === "number") return report;
  await sayLeft(io, report);
  if (interrupted !== undefined) return interrupted.exitCode;
  await io.stdout.write(json ? `${asJson(report)}\n` : textOf(report));
  const well = report.findings.every(({ verdict }) => verdict === "kept") && report.left?.length === 0;
  return well ? 0 : EXIT.no;
}

async function readPool(file: string): Promise<{ name: string; config: PoolConfig }> {
  const content: { name?: unknown } = await readJsonObject(file, "the configuration of a pool");
  const { name = "default", ...rest } = content;
  const { data, error } = PoolConfig.safeParse(rest);
  if (error === undefined) return { name: String(name), config: data };
  const issues = error.issues.map(({ path, message }) => printable(`/${path.join("/")}: ${message}`));
  throw new CliError(`${file} is not the configuration of a pool.`, issues);
}

function subjectOf(name: string, config: PoolConfig, type: string | undefined): Subject {
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

function machineOf({ instanceTypes, image, provider }: PoolConfig, name: string): Subject["machine"] {
  const type = Object.hasOwn(instanceTypes, name) ? instanceTypes[name] : undefined;
  if (type === undefined) {
    const types = Object.keys(instanceTypes).join(", ");
    throw new CliError(`The pool has no instance type ${printable(name)}.`, [`It has: ${types}.`]);
  }
  const { vcpus, memory, disk, gpus, providerType = name } = type;
  const bytes = (size: string | number) => (typeof size === "number" ? size : (parseSize(size) ?? 0));
  return {
    instanceType: providerType,
    image,
    userData: `#!/bin/sh\nsleep ${TEST_MACHINE_SECONDS}\n${provider.powerOff ?? ""}\n`,
    resources: { vcpus, memoryBytes: bytes(memory), diskBytes: bytes(disk), gpus },
  };
}

function meansUntil(told: AbortSignal): Means {
  return {
    now: () => performance.now(),
    pause: async (ms) => {
      // The end of what was made takes its time, too: only a pause that lasts already is cut short.
      if (told.aborted) return sleep(ms);
      await sleep(ms, undefined, { signal: told }).catch(() => undefined);
    },
    unique: () => randomUUID().slice(0, 8),
    over: () => told.aborted,
  };
}

async function sayLeft(io: Io, { left }: Report): Promise<void> {
  if (left === undefined) {
    await io.say(
      "It could not be seen whether a machine is left: look for names that begin with drover-test-",
    );
  }
  for (const id of left ?? []) await io.say(`Machine ${printable(id)} is left: destroy it by hand`);
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
