// What `drover provider test` does: holds a provider to its contract and prints the findings.

import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { PutPoolConfig } from "../../src/schema/pool.ts";
import { TRAITS } from "../../src/shared/cloud/kinds.ts";
import { tagOfPool } from "../../src/shared/cloud/tags.ts";
import { durationMs } from "../../src/shared/duration.ts";
import { UNLISTED_MS } from "../../src/shared/limits.ts";
import { sizeBytes } from "../../src/shared/size.ts";
import { now } from "../clock.ts";
import { CliError, EXIT } from "../errors.ts";
import { readJsonObject } from "../json-file.ts";
import { type Interrupt, listenForInterrupts } from "../terminal/interrupts.ts";
import type { Io } from "../terminal/io.ts";
import { asJson, briefDuration, fields, printable, table } from "../terminal/text.ts";
import type { Subject, TestEnvironment } from "./session.ts";
import { type Recorded, type Report, recordTest, reportOf } from "./suite.ts";
import { callers, readTested, type Tested } from "./tested.ts";

/**
 * What the command was given. `credentials`: the name of a file, or `-`. `record`: the file for the calls and
 * their answers.
 */
export interface TestOptions {
  file: string;
  type: string | undefined;
  credentials: string | undefined;
  record: string | undefined;
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
export async function providerTest(io: Io, options: TestOptions): Promise<number> {
  const { file, type, credentials, record, json } = options;
  const { name, config, tested } = await readTested(file, credentials);
  // A file that cannot be written is found out before a machine is paid for.
  if (record !== undefined) writeFileSync(record, "", { flag: "a" });
  const subject = subjectOf(name, config, tested, type);
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
  const recorded = await Promise.race([recordTest(subject, environmentUntil(stopped.signal)), left]);
  interrupts.release();
  if (typeof recorded === "number") return recorded;
  const report = reportOf(recorded);
  await warnOfLeftovers(io, report);
  if (record !== undefined) writeFileSync(record, `${asJson(recorded)}\n`);
  if (interrupted !== undefined) return interrupted.exitCode;
  return show(io, report, json);
}

/** Judges a record of an earlier test. Resolves with the exit code. Throws a `CliError` if it is none. */
export async function replayTest(io: Io, path: string, json: boolean): Promise<number> {
  const recorded: Partial<Recorded> = await readJsonObject(path, "the record of a provider's test");
  const { transcript, left } = recorded;
  if (!Array.isArray(transcript?.calls) || transcript.patience === undefined) {
    throw new CliError(`${path} is no record of a provider's test.`, [
      "`drover provider test --record <path>` writes one.",
    ]);
  }
  return show(io, reportOf(left === undefined ? { transcript } : { transcript, left }), json);
}

async function show(io: Io, report: Report, json: boolean): Promise<number> {
  await io.stdout.write(json ? `${asJson(report)}\n` : textOf(report));
  const well = report.findings.every(({ verdict }) => verdict === "kept") && report.left?.length === 0;
  return well ? 0 : EXIT.no;
}

function subjectOf(name: string, config: PutPoolConfig, tested: Tested, type: string | undefined): Subject {
  const { owner, stranger } = callers(tested, now);
  const { listConsistencyMs: consistencyMs, freesNames } = TRAITS[tested.config.kind];
  return {
    provider: owner,
    stranger,
    tag: tagOfPool(name),
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
    ...(type.preemptible === true ? { spot: true } : {}),
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
