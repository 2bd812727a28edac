// What does EC2 say about images, types and permissions, as far as a check of a pool needs it?

import { randomUUID } from "node:crypto";
import type { OfferedPrice } from "../../../src/core/provider-answers.ts";
import { callEc2 } from "../../../src/providers/ec2/calls.ts";
import { meaningOf } from "../../../src/providers/ec2/errors.ts";
import { describeByFilter, type Form, runForm, terminateForm } from "../../../src/providers/ec2/forms.ts";
import type { AwsKeys } from "../../../src/providers/ec2/keys.ts";
import { type Asking, machinesIn } from "../../../src/providers/ec2/listing.ts";
import { spotPrices } from "../../../src/providers/ec2/prices.ts";
import { secretsOf } from "../../../src/providers/ec2/provider.ts";
import { itemsAt, textAt, type XmlElement } from "../../../src/providers/ec2/xml.ts";
import { veilOf } from "../../../src/providers/veil.ts";
import { CALL_TIMEOUT_MS, withDeadline } from "../../../src/providers/wire.ts";
import type { Ec2Config } from "../../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance } from "../../../src/schema/provider.ts";
import { POOL_TAG, WORKER_TAG } from "../../../src/shared/cloud/tags.ts";
import { type Fact, patiently, refusalOf } from "../facts.ts";
import type { Real, Subject, Wanted } from "../subject.ts";
import { dryRun, imageForm, offeringsForm, typesForm, withoutTags } from "./ec2-forms.ts";
import { type Need, needsOf, readLimit } from "./ec2-quotas.ts";

/** An id that no machine has. */
const NOBODY = "i-00000000000000000";
const MIB = 2 ** 20;

export interface Ec2Image {
  state: string;
  rootDevice: string;
  arch: "x64" | "arm64";
}

/** A create call, tried as a dry run. */
export interface Try {
  /** `m7i-large, spot, eu-west-1b` */
  what: string;
  fact: Fact<"permitted">;
  /** How the same call without tags went, if this one was not permitted. */
  untagged?: Fact<"permitted">;
}

/** All that a check reads. */
export interface Ec2Facts {
  /** Ids of the pool's machines that have not ended. */
  machines: Fact<string[]>;
  /** Null: the account sees no such image. */
  image: Fact<Ec2Image | null>;
  types: Fact<Map<string, Real>>;
  offerings: Fact<Map<string, string[]>>;
  /** Undefined: the pool has no spot machines. */
  spot: Fact<OfferedPrice[]> | undefined;
  creates: Try[];
  limits: { need: Need; fact: Fact<number> }[];
  /** `machine`: whether it was tried with a machine of the pool. */
  ends: { fact: Fact<"permitted">; machine: boolean };
}

/** Calls EC2 with these keys. A call that was one too many is repeated. */
export function askingEc2(config: Ec2Config, keys: AwsKeys, now: () => number): Asking {
  const veil = veilOf(secretsOf(keys));
  return {
    veil,
    call: (form) =>
      patiently(() =>
        withDeadline(CALL_TIMEOUT_MS, (signal) => callEc2({ config, keys, now }, form, { veil }, signal)),
      ),
  };
}

/** The machines of a pool that have not ended. A refusal says that the keys are wrong, or may not list. */
export async function readMachines(asking: Asking, pool: string): Promise<Ec2Facts["machines"]> {
  const read = await rootOf(asking, describeByFilter(`tag:${POOL_TAG}`, pool));
  if ("refusal" in read) return read;
  const reservations = itemsAt(read.data, "reservationSet") ?? [];
  const machines = reservations.flatMap((one) => machinesIn(one, asking.veil).machines);
  return { data: machines.filter(({ state }) => state !== "terminated").map(({ id }) => id) };
}

/** Reads the rest of what a check needs. */
export async function readEc2(
  asking: Asking,
  keys: AwsKeys,
  subject: Subject<Ec2Config>,
  machines: Ec2Facts["machines"],
  now: () => number,
): Promise<Ec2Facts> {
  const { wanted, config, provider } = subject;
  const types = [...new Set(wanted.map(({ type }) => type))];
  const creates: Try[] = [];
  for (const { what, form } of triesOf(subject)) creates.push(await tried(asking, what, form));
  const limits: Ec2Facts["limits"] = [];
  for (const need of needsOf(wanted, config.maxInstances)) {
    limits.push({ need, fact: await readLimit(provider, keys, need.code, now) });
  }
  const own = "data" in machines ? machines.data[0] : undefined;
  return {
    machines,
    image: await readImage(asking, config.image),
    types: await readTypes(asking, types),
    offerings: await readOfferings(asking, types),
    spot: await readSpot(asking, wanted, now(), provider.subnets),
    creates,
    limits,
    ends: {
      fact: await permission(asking, dryRun(terminateForm(own ?? NOBODY))),
      machine: own !== undefined,
    },
  };
}

/** One image as the account sees it. */
export async function readImage(asking: Asking, image: string): Promise<Ec2Facts["image"]> {
  const read = await rootOf(asking, imageForm(image));
  if ("refusal" in read) return read.refusal.code?.startsWith("InvalidAMIID") ? { data: null } : read;
  const [item] = itemsAt(read.data, "imagesSet") ?? [];
  if (item === undefined) return { data: null };
  return {
    data: {
      state: textAt(item, "imageState") ?? "",
      rootDevice: textAt(item, "rootDeviceName") ?? "",
      arch: textAt(item, "architecture") === "arm64" ? "arm64" : "x64",
    },
  };
}

/** What types have. Types that do not exist are left out. */
export async function readTypes(asking: Asking, types: readonly string[]): Promise<Ec2Facts["types"]> {
  const read = await rootOf(asking, typesForm(types));
  if ("refusal" in read) return read;
  const items = itemsAt(read.data, "instanceTypeSet") ?? [];
  return {
    data: new Map(items.map((item) => [textAt(item, "instanceType") ?? "", realOf(item)])),
  };
}

function realOf(item: XmlElement): Real {
  const archs = itemsAt(item, "processorInfo", "supportedArchitectures") ?? [];
  return {
    vcpus: Number(textAt(item, "vCpuInfo", "defaultVCpus") ?? 0),
    memoryBytes: Number(textAt(item, "memoryInfo", "sizeInMiB") ?? 0) * MIB,
    arch: archs.some(({ text }) => text.trim() === "arm64") ? "arm64" : "x64",
  };
}

async function readOfferings(asking: Asking, types: readonly string[]): Promise<Ec2Facts["offerings"]> {
  const read = await rootOf(asking, offeringsForm(types));
  if ("refusal" in read) return read;
  const zones = new Map<string, string[]>(types.map((type) => [type, []]));
  for (const item of itemsAt(read.data, "instanceTypeOfferingSet") ?? []) {
    const zone = textAt(item, "location");
    if (zone !== undefined) zones.get(textAt(item, "instanceType") ?? "")?.push(zone);
  }
  return { data: zones };
}

async function readSpot(
  asking: Asking,
  wanted: readonly Wanted[],
  at: number,
  subnets: Ec2Config["subnets"],
): Promise<Ec2Facts["spot"]> {
  const types = [...new Set(wanted.filter(({ spot }) => spot).map(({ type }) => type))];
  if (types.length === 0) return undefined;
  const answer = await spotPrices(asking, types, at, subnets);
  if (answer.kind === "prices") return { data: answer.prices };
  const { class: cls, text } = answer.failure;
  return {
    refusal: { class: cls, code: undefined, status: undefined, text: text.slice(0, 240), advice: "" },
  };
}

/** The create calls to try: each type in each market, and each further subnet with the first type. */
function triesOf({ name, config, provider, wanted }: Subject<Ec2Config>): { what: string; form: Form }[] {
  const token = `drover-check-${randomUUID()}`;
  const subnets = Object.keys(provider.subnets ?? {});
  const form = (type: Wanted, spot: boolean, zone: string | undefined): { what: string; form: Form } => {
    const create: CreateInstance = {
      token,
      name: token,
      instanceType: type.type,
      image: config.image,
      userData: "#!/bin/sh\n",
      tags: { ...config.tags, [POOL_TAG]: name, [WORKER_TAG]: token },
      resources: {
        vcpus: type.vcpus,
        memoryBytes: type.memoryBytes,
        diskBytes: type.diskBytes,
        gpus: type.gpus,
      },
      ...(spot ? { spot: true } : {}),
      ...(zone === undefined ? {} : { zone }),
    };
    const words = [type.name, ...(spot ? ["spot"] : []), ...(zone === undefined ? [] : [zone])];
    return { what: words.join(", "), form: runForm(provider, create) };
  };
  const [first] = wanted;
  return [
    ...wanted.flatMap((type) => {
      const zone = (type.zones ?? subnets)[0];
      return [
        ...(type.onDemand ? [form(type, false, zone)] : []),
        ...(type.spot ? [form(type, true, zone)] : []),
      ];
    }),
    ...(first === undefined || first.zones !== undefined
      ? []
      : subnets.slice(1).map((zone) => form(first, !first.onDemand, zone))),
  ];
}

async function tried(asking: Asking, what: string, form: Form): Promise<Try> {
  const fact = await permission(asking, dryRun(form));
  const isDenied = "refusal" in fact && fact.refusal.code === "UnauthorizedOperation";
  if (!isDenied) return { what, fact };
  return { what, fact, untagged: await permission(asking, dryRun(withoutTags(form))) };
}

/** EC2 answers a dry run with an error in any case. One of them says that the call would be made. */
async function permission(asking: Asking, form: Form): Promise<Fact<"permitted">> {
  const read = await rootOf(asking, form);
  return "refusal" in read && read.refusal.code !== "DryRunOperation" ? read : { data: "permitted" };
}

async function rootOf(asking: Asking, form: Form): Promise<Fact<XmlElement>> {
  const called = await asking.call(form);
  if (!("failure" in called)) return { data: called.root };
  const meaning = ({ code, message }: { code: string | undefined; message: string }) =>
    code === undefined ? undefined : meaningOf(code, message);
  return { refusal: refusalOf(called, meaning, asking.veil) };
}
