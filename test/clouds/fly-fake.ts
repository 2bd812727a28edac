// A fake of the Machines API of Fly on 127.0.0.1, with its exact wire. There is no client of Fly to check it:
// the golden requests and answers in its tests stand for one.
import {
  Buckets,
  CloudFault,
  type CloudOptions,
  FakeCloud,
  type FakeMachine,
  type Phase,
} from "./support/fake-cloud.ts";
import { type FakeAnswer, type FakeRequest, serve, serveForTest } from "./support/fake-server.ts";

export const TOKEN = "FlyV1 fm2_lJPECAAAAAAAAEQIxBDdroverTest,fm2_lJPETthirdParty";
export const APP = "drover-ci";
export const REGIONS: readonly string[] = ["ams", "fra", "iad"];
export const IMAGE = "docker.io/library/node:24-bookworm-slim";
/** Dollars a second, by size. */
const PRICES: Readonly<Record<string, number>> = {
  "shared-1": 0.0000008,
  "shared-2": 0.1 / 3_600,
  "performance-1": 0.000012,
};

const STATES: Record<Phase, string> = {
  starts: "starting",
  runs: "started",
  ends: "destroying",
  stopped: "stopped",
  ended: "destroyed",
};

export class FlyCloud extends FakeCloud {
  token = TOKEN;
  readonly buckets = new Buckets(this);
  readonly #patientBuckets = new Buckets(this);
  /** Hosts that cannot be reached, by the machines on them: their configuration is hidden. */
  readonly unreached = new Set<string>();
  /** A 409 of a taken name does not say whose machine has it. */
  hidesIds = false;
  hasPaymentMethod = true;
  /** Calls that were too many, even if some of them had been on their way for a while. */
  readonly overRate: string[] = [];

  /** Dollars for a machine so far: the seconds in which it was started. */
  bill({ runsAt, endsAt, request }: FakeMachine): number {
    if (runsAt === undefined) return 0;
    const { cpu_kind: kind, cpus } = configOf(request).guest ?? {};
    const seconds = Math.ceil(((endsAt ?? this.now) - runsAt) / 1_000);
    return seconds * (PRICES[`${kind}-${cpus}`] ?? 0);
  }

  /** Whether there may be one more call. */
  takesCall(sort: string, id: string): boolean {
    const [burst, perSecond] = RATES[sort] ?? [10, 5];
    const name = `${sort} ${id}`;
    const patient = burst + STARVED_S * perSecond;
    if (this.#patientBuckets.take(name, patient, perSecond) === undefined) this.overRate.push(sort);
    return this.buckets.take(name, burst, perSecond) !== undefined;
  }

  /** The first process of a machine has ended: Fly destroys the machine, as its configuration says. */
  exited(id: string): void {
    const machine = this.machines.get(id);
    if (machine === undefined) return;
    const { auto_destroy: goes, restart } = configOf(machine.request);
    if (goes !== true || restart?.policy !== "no")
      throw new Error(`${id} would start again, and go on costing`);
    this.stop(machine);
  }
}

interface MachineConfig {
  image?: string;
  guest?: { cpu_kind?: string; cpus?: number; memory_mb?: number };
  init?: { exec?: string[] };
  files?: { guest_path: string; raw_value: string }[];
  metadata?: Record<string, string>;
  auto_destroy?: boolean;
  restart?: { policy?: string };
  stop_config?: { signal?: string; timeout?: string };
}

function configOf(request: Record<string, unknown>): MachineConfig {
  return (request.config ?? {}) as MachineConfig;
}

export interface FlyFake {
  cloud: FlyCloud;
  url: string;
}

/** Starts a fake for one test, which stops it. */
export async function startFly(options: CloudOptions = {}): Promise<FlyFake> {
  const cloud = new FlyCloud(options);
  return { cloud, url: await serveForTest(cloud, (request) => respond(cloud, request)) };
}

export function serveFly(cloud: FlyCloud, atPort?: number) {
  return serve(cloud, (request) => respond(cloud, request), undefined, atPort);
}

/** An error as Fly answers it: the status word is there in newer ones alone. */
export function fault(status: number, error: string, word?: string): CloudFault {
  return new CloudFault(status, word === undefined ? { error } : { error, status: word });
}

/**
 * The files and the first process of a machine as one script. The files are put beside each other, wherever
 * this machine may write.
 */
export function scriptOf({ request }: Pick<FakeMachine, "request">): string {
  const { files = [], init } = configOf(request);
  const [shell, main] = init?.exec ?? [];
  const dir = '"$HOME/files"';
  const written = files.map(({ guest_path: path, raw_value: text }) => {
    return `echo ${text} | base64 -d > ${dir}/${path.split("/").at(-1)}`;
  });
  return [
    "#!/bin/sh",
    `mkdir -p ${dir}`,
    ...written,
    `exec ${shell} ${dir}/${main?.split("/").at(-1)}`,
    "",
  ].join("\n");
}

/** On a busy machine calls that were made in time, one a second, can arrive together this much later. */
const STARVED_S = 5;

/** How often each action may be done: at once, and more a second. */
const RATES: Readonly<Record<string, [burst: number, perSecond: number]>> = {
  "POST app": [3, 1],
  "GET app": [3, 1],
  "GET machine": [10, 5],
  "DELETE machine": [3, 1],
};

function respond(cloud: FlyCloud, { method, path, query, headers, body }: FakeRequest): FakeAnswer {
  if (path === "/v1/platform/regions" && method === "GET") return regions(cloud, headers.authorization);
  const [, v1, apps, app, kind, id, ...rest] = path.split("/");
  if (v1 !== "v1" || apps !== "apps" || kind !== "machines" || rest.length > 0)
    throw fault(404, "404 page not found");
  authorize(cloud, headers.authorization);
  if (app !== APP) throw fault(404, `app not found: ${app}`);
  // Rates hold for an action on the app, or on one machine.
  const sort = `${method} ${id === undefined ? "app" : "machine"}`;
  if (!cloud.takesCall(sort, id ?? "")) throw fault(429, "rate limit exceeded", "resource_exhausted");
  if (id === undefined) {
    if (method === "POST") return create(cloud, body);
    if (method === "GET") return list(cloud, query);
    throw fault(405, "method not allowed");
  }
  const machine = cloud.machines.get(id);
  if (machine === undefined || cloud.shown(machine) === undefined)
    throw fault(404, "machine not found", "not_found");
  if (method === "GET") return { status: 200, body: shown(cloud, machine) };
  if (method !== "DELETE") throw fault(405, "method not allowed");
  const isForced = query.get("force") === "true" || query.get("kill") === "true";
  if (!isForced && machine.phase === "runs") {
    throw fault(412, "unable to destroy machine, not currently stopped", "failed_precondition");
  }
  cloud.stop(machine);
  return { status: 200, body: { ok: true } };
}

function authorize({ token }: FlyCloud, authorization: string | undefined): void {
  const scheme = token.startsWith("FlyV1 ") ? token : `Bearer ${token}`;
  if (authorization !== scheme) throw fault(401, "token validation error: no verified tokens");
}

/** All regions of Fly, whatever an app uses. */
function regions(cloud: FlyCloud, authorization: string | undefined): FakeAnswer {
  authorize(cloud, authorization);
  const all = REGIONS.map((code) => ({
    name: `Somewhere near ${code}`,
    code,
    latitude: 0,
    longitude: 0,
    gateway_available: true,
    requires_paid_plan: false,
  }));
  return { status: 200, body: { Regions: all, nearest: REGIONS[0] } };
}

function list(cloud: FlyCloud, query: URLSearchParams): FakeAnswer {
  const withEnded = query.get("include_deleted") === "true" ? cloud.former : [];
  const all = [...cloud.machines.values(), ...withEnded].filter((one) => cloud.shown(one) !== undefined);
  return { status: 200, body: all.map((machine) => shown(cloud, machine)) };
}

const FIELDS = ["name", "region", "config", "lease_ttl", "skip_launch"];

function create(cloud: FlyCloud, body: unknown): FakeAnswer {
  if (typeof body !== "object" || body === null) throw fault(400, "invalid JSON", "invalid_argument");
  const request = body as Record<string, unknown>;
  const stranger = Object.keys(request).find((field) => !FIELDS.includes(field));
  if (stranger !== undefined) throw fault(400, `unknown field ${stranger}`, "invalid_argument");
  const name = String(request.name ?? "");
  const zone = String(request.region ?? REGIONS[0]);
  const config = configOf(request);
  if (!/^[a-z0-9-]{1,62}$/.test(name))
    throw fault(422, "name under 63 chars using numbers, lowercase letters and dashes");
  if (!REGIONS.includes(zone)) throw fault(422, `region ${zone} not found`);
  if (config.image !== IMAGE)
    throw fault(400, `failed to get manifest ${config.image}: manifest unknown`, "invalid_argument");
  const { cpu_kind: kind, cpus, memory_mb: memory = 0 } = config.guest ?? {};
  if (PRICES[`${kind}-${cpus}`] === undefined)
    throw fault(400, `invalid guest: ${kind} ${cpus}`, "invalid_argument");
  if (memory % 256 !== 0 || memory < 256)
    throw fault(400, "memory_mb must be in increments of 256", "invalid_argument");
  if (!cloud.hasPaymentMethod)
    throw fault(402, "We need your payment information to continue! Please add a payment method");
  const taken = cloud.byName(name)[0];
  if (taken !== undefined) {
    const whose = cloud.hidesIds ? "" : `, machine ID ${taken.id} already exists with name ${name}`;
    throw fault(409, `already_exists: unique machine name violation${whose}`, "already_exists");
  }
  if (cloud.faults.zoneOutage.has(zone)) throw fault(503, "the region cannot be reached", "unavailable");
  const type = `${kind}-${cpus}`;
  if (!cloud.hasRoom(type, zone))
    throw fault(422, "insufficient capacity in the region", "insufficient_capacity");
  const id = (0x148e_0000_0000_00 + cloud.newId()).toString(16).padStart(14, "0");
  const labels = config.metadata ?? {};
  const machine = cloud.add({ id, name, type, zone, labels, userData: scriptOf({ request }), request });
  return { status: 200, body: shown(cloud, machine) };
}

function shown(cloud: FlyCloud, machine: FakeMachine): object {
  const { id, name, zone, madeAt, endedAt, request } = machine;
  const isReached = !cloud.unreached.has(id);
  const phase = cloud.shown(machine) ?? "starts";
  return {
    id,
    name,
    state: STATES[phase],
    region: zone,
    instance_id: `01${id}`,
    private_ip: "fdaa:0:1:a7b::2",
    created_at: new Date(madeAt).toISOString(),
    updated_at: new Date(endedAt ?? machine.history.at(-1)?.at ?? madeAt).toISOString(),
    config: isReached ? request.config : null,
    ...(isReached ? {} : { incomplete_config: { image: configOf(request).image } }),
    image_ref: { registry: "docker.io", repository: "library/node", tag: "24-bookworm-slim", digest: "" },
    events: [],
    host_status: isReached ? "ok" : "unreachable",
  };
}
