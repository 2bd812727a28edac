// A fake Compute Engine on 127.0.0.1, with the exact wire of its API v1.
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import {
  Buckets,
  CloudFault,
  type CloudOptions,
  FakeCloud,
  type FakeMachine,
  type Phase,
} from "./support/fake-cloud.ts";
import { type FakeAnswer, type FakeRequest, serve, serveForTest } from "./support/fake-server.ts";

export const PROJECT = "drover-ci";
export const ZONES: readonly string[] = ["europe-west1-b", "europe-west1-c", "europe-west1-d"];
export const IMAGE = "projects/debian-cloud/global/images/family/debian-12";
/** Dollars an hour on demand, and the zones that have the type. */
const TYPES: Readonly<Record<string, { cpus: number; price: number; zones: readonly string[] }>> = {
  "e2-standard-2": { cpus: 2, price: 0.1, zones: ZONES },
  "c3-standard-4": { cpus: 4, price: 0.2, zones: ["europe-west1-b"] },
};
const AUDIENCE = "https://compute.googleapis.com/";
/** The Resource Manager, another service of Google. */
const MANAGER_AUDIENCE = "https://cloudresourcemanager.googleapis.com/";

const PAIR = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});
/** A key file, as Google writes it. */
export const KEY = {
  type: "service_account",
  project_id: PROJECT,
  private_key_id: "0123456789abcdef0123456789abcdef01234567",
  private_key: PAIR.privateKey,
  client_email: "drover@drover-ci.iam.gserviceaccount.com",
  client_id: "100000000000000000000",
  token_uri: "https://oauth2.googleapis.com/token",
};

const STATUSES: Record<Phase, string> = {
  starts: "STAGING",
  runs: "RUNNING",
  ends: "STOPPING",
  stopped: "TERMINATED",
  ended: "STOPPING",
};

interface Operation {
  id: string;
  zone: string;
  target: string;
  doneAt: number;
  /** With which codes it ends. */
  errors: { code: string; message: string }[];
}

export class GceCloud extends FakeCloud {
  readonly buckets = new Buckets(this);
  /** Calls that were too many, as Google counts them. */
  readonly overRate: string[] = [];
  readonly operations = new Map<string, Operation>();
  /** What machines have written to their first serial port, by id. */
  readonly consoles = new Map<string, string>();
  /** How long an insert takes until its operation is done. */
  insertMs = 0;
  /** The next inserts end so, after a 200. `preempted`: the machine stays, stopped. */
  readonly failInserts: { code: string; message: string }[][] = [];
  /** Permissions that the account does not have. */
  readonly denied = new Set<string>();
  /** What the project has used of its quotas, and may use. */
  readonly quotas: Record<string, { limit: number; usage: number }> = {
    INSTANCES: { limit: 100, usage: 0 },
    CPUS: { limit: 72, usage: 4 },
    C3_CPUS: { limit: 8, usage: 0 },
    PREEMPTIBLE_CPUS: { limit: 0, usage: 0 },
    IN_USE_ADDRESSES: { limit: 8, usage: 1 },
  };
  /** Operations by the request that asked for them. */
  readonly requests = new Map<string, string>();

  /** Dollars for a machine so far: by the second, and at least a minute, from when it was made. */
  bill({ runsAt, endsAt, type }: FakeMachine): number {
    if (runsAt === undefined) return 0;
    const seconds = Math.max(60, Math.ceil(((endsAt ?? this.now) - runsAt) / 1_000));
    return (seconds / 3_600) * (TYPES[type]?.price ?? 0);
  }

  /** Google takes a spot machine away: it is stopped, unless its request says that it shall be deleted. */
  preempt(name: string): void {
    const machine = this.theOne(name);
    const { instanceTerminationAction: action } = machine.request.scheduling as Record<string, string>;
    if (action === "DELETE") this.stop(machine);
    else this.halt(machine, this.now);
  }

  override settle(): void {
    for (const machine of this.machines.values()) {
      const { maxRunDuration } = machine.request.scheduling as { maxRunDuration?: { seconds: string } };
      const endsAt = machine.madeAt + Number(maxRunDuration?.seconds ?? Number.POSITIVE_INFINITY) * 1_000;
      if (this.now >= endsAt) this.stop(machine);
    }
    super.settle();
  }
}

export interface GceFake {
  cloud: GceCloud;
  url: string;
}

/** Starts a fake for one test, which stops it. */
export async function startGce(options: CloudOptions = {}): Promise<GceFake> {
  const cloud = new GceCloud(options);
  return { cloud, url: await serveForTest(cloud, (request) => respond(cloud, request)) };
}

export function serveGce(cloud: GceCloud, atPort?: number) {
  return serve(cloud, (request) => respond(cloud, request), undefined, atPort);
}

/** An error as Google answers it. */
export function fault(code: number, reason: string, message = `it is so because of ${reason}`): CloudFault {
  const errors = [{ message, domain: "global", reason }];
  return new CloudFault(code, { error: { code, message, errors } });
}

function respond(cloud: GceCloud, request: FakeRequest): FakeAnswer {
  const authorization = String(request.headers.authorization ?? "");
  if (request.path === `/v1/projects/${PROJECT}:testIamPermissions`) {
    authorize(cloud, authorization, MANAGER_AUDIENCE);
    return testPermissions(cloud, request);
  }
  authorize(cloud, authorization, AUDIENCE);
  if (cloud.buckets.take("calls", 1_500, 25) === undefined) {
    cloud.overRate.push(request.path);
    throw fault(403, "rateLimitExceeded");
  }
  const { method, path } = request;
  const [, compute, v1, projects, project, ...rest] = path.split("/");
  if (compute !== "compute" || v1 !== "v1" || projects !== "projects")
    throw fault(404, "notFound", "Not Found");
  if (project === "debian-cloud" && method === "GET") return publicImage(rest.join("/"));
  if (project !== PROJECT) throw fault(404, "notFound", `The resource 'projects/${project}' was not found`);
  if (rest.join("/") === "aggregated/instances" && method === "GET") return aggregated(cloud, request);
  const [zones, zone = "", kind, name, verb] = rest;
  if (method === "GET" && (zones !== "zones" || kind === undefined || kind === "machineTypes"))
    return looked(cloud, rest);
  if (zones !== "zones" || !ZONES.includes(zone))
    throw fault(400, "invalid", `Invalid value for field 'zone': '${zone}'`);
  if (cloud.faults.zoneOutage.has(zone)) throw fault(503, "backendError", `zone ${zone} is unreachable`);
  if (kind === "instances" && name === undefined && method === "POST") return insert(cloud, zone, request);
  if (kind === "operations" && verb === "wait" && method === "POST") return wait(cloud, name ?? "");
  if (kind !== "instances" || name === undefined) throw fault(404, "notFound", "Not Found");
  const machine = cloud.machines.get(`${zone}/${name}`);
  if (machine === undefined) {
    const what = `projects/${PROJECT}/zones/${zone}/instances/${name}`;
    throw fault(404, "notFound", `The resource '${what}' was not found`);
  }
  if (method === "GET" && verb === "serialPort") return serialPort(cloud, machine, request);
  if (method === "GET") return { status: 200, body: shown(cloud, machine) };
  if (method !== "DELETE") throw fault(404, "notFound", "Not Found");
  if (machine.isProtected)
    throw fault(400, "invalid", "Resource cannot be deleted if it's protected against deletion");
  cloud.stop(machine);
  return { status: 200, body: operation(cloud, start(cloud, zone, machine.name, 0, [])) };
}

/** A negative `start` counts from the end. Of what is longer than 1 MiB the beginning is gone. */
function serialPort(cloud: GceCloud, { id }: FakeMachine, { query }: FakeRequest): FakeAnswer {
  const permission = "compute.instances.getSerialPortOutput";
  if (cloud.denied.has(permission)) {
    throw fault(403, "forbidden", `Required '${permission}' permission for '${id}'`);
  }
  if (query.get("port") !== "1") throw fault(400, "invalid", "Invalid value for field 'port'");
  const all = Buffer.from(cloud.consoles.get(id) ?? "");
  const start = Number(query.get("start") ?? "0");
  const from = start < 0 ? Math.max(0, all.length + start) : start;
  const contents = all.subarray(from).toString();
  const places = { start: String(from), next: String(all.length) };
  return { status: 200, body: { kind: "compute#serialPortOutput", contents, ...places } };
}

/** Which of these permissions the account has. */
function testPermissions({ denied }: GceCloud, { body }: FakeRequest): FakeAnswer {
  const { permissions } = body as { permissions: string[] };
  const granted = permissions.filter((name) => !denied.has(name));
  return { status: 200, body: granted.length === 0 ? {} : { permissions: granted } };
}

/** An image of Debian, which every account may see. */
function publicImage(path: string): FakeAnswer {
  if (`projects/debian-cloud/${path}` !== IMAGE)
    throw fault(404, "notFound", `The resource 'projects/debian-cloud/${path}' was not found`);
  const image = { kind: "compute#image", name: "debian-12-bookworm-v20261110", status: "READY" };
  return { status: 200, body: { ...image, family: "debian-12", diskSizeGb: "10", architecture: "X86_64" } };
}

/** What a project has besides machines: the account needs a permission for each kind of it. */
function looked(cloud: GceCloud, path: string[]): FakeAnswer {
  const kind = path.at(-2) ?? "";
  const permission = `compute.${kind}.get`;
  const what = `projects/${PROJECT}/${path.join("/")}`;
  if (cloud.denied.has(permission))
    throw fault(403, "forbidden", `Required '${permission}' permission for '${what}'`);
  const found = resourceAt(cloud, path);
  if (found === undefined) throw fault(404, "notFound", `The resource '${what}' was not found`);
  return { status: 200, body: { kind: `compute#${kind.replace(/s$/, "")}`, name: path.at(-1), ...found } };
}

function resourceAt({ quotas }: GceCloud, path: string[]): object | undefined {
  const [place, where = "", kind, name = ""] = path;
  const type = TYPES[name];
  if (place === "zones" && !ZONES.includes(where)) return undefined;
  if (place === "zones" && kind === undefined) return { status: "UP", region: link("regions/europe-west1") };
  if (kind === "machineTypes" && type?.zones.includes(where)) {
    return { guestCpus: type.cpus, memoryMb: type.cpus * 4_096, isSharedCpu: false, architecture: "X86_64" };
  }
  if (path.join("/") === "global/networks/default") return { autoCreateSubnetworks: true };
  if (place !== "regions" || where !== "europe-west1") return undefined;
  if (kind === undefined) {
    return { quotas: Object.entries(quotas).map(([metric, quota]) => ({ metric, ...quota })) };
  }
  return kind === "subnetworks" && name === "ci" ? { ipCidrRange: "10.132.0.0/20" } : undefined;
}

/** Accepts a token that the account has signed itself, as Google's libraries make it. */
function authorize(cloud: GceCloud, authorization: string, audience: string): void {
  const [head = "", claims = "", signature = ""] = authorization.replace(/^Bearer /, "").split(".");
  const json = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString() || "{}");
  const refuse = (message: string) => fault(401, "authError", message);
  let said: {
    alg?: string;
    kid?: string;
    iss?: string;
    sub?: string;
    aud?: string;
    iat?: number;
    exp?: number;
  };
  try {
    said = { ...json(head), ...json(claims) };
  } catch {
    throw refuse("Request had invalid authentication credentials.");
  }
  const isSigned = verify(
    "RSA-SHA256",
    Buffer.from(`${head}.${claims}`),
    createPublicKey(PAIR.publicKey),
    Buffer.from(signature, "base64url"),
  );
  const { alg, kid, iss, sub, aud, iat = 0, exp = 0 } = said;
  const isOurs = alg === "RS256" && kid === KEY.private_key_id && iss === KEY.client_email && sub === iss;
  if (!isSigned || !isOurs || aud !== audience)
    throw refuse("Request had invalid authentication credentials.");
  const now = cloud.now / 1_000;
  if (exp - iat > 3_600 || iat > now + 300 || exp < now)
    throw refuse("The token is expired, or not yet valid.");
}

const FIELDS = [
  "name",
  "machineType",
  "labels",
  "disks",
  "networkInterfaces",
  "metadata",
  "serviceAccounts",
  "scheduling",
];

function insert(cloud: GceCloud, zone: string, { query, body }: FakeRequest): FakeAnswer {
  const id = query.get("requestId") ?? "";
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))
    throw fault(400, "invalid", "requestId must be a UUID");
  const before = cloud.operations.get(cloud.requests.get(`${zone} ${id}`) ?? "");
  if (before !== undefined) return { status: 200, body: operation(cloud, before) };
  const request = (body ?? {}) as Record<string, unknown>;
  const stranger = Object.keys(request).find((field) => !FIELDS.includes(field));
  if (stranger !== undefined)
    throw fault(400, "badRequest", `Invalid JSON payload: Unknown name "${stranger}"`);
  const name = String(request.name ?? "");
  if (!/^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
    throw fault(400, "invalid", "Invalid value for field 'resource.name'");
  const type = String(request.machineType).split("/").at(-1) ?? "";
  if (!TYPES[type]?.zones.includes(zone)) {
    throw fault(400, "invalid", `Machine type with name '${type}' does not exist in zone '${zone}'.`);
  }
  const [disk] = request.disks as {
    autoDelete?: boolean;
    boot?: boolean;
    initializeParams?: Record<string, string>;
  }[];
  if (disk?.autoDelete !== true || disk.boot !== true)
    throw fault(400, "invalid", "a boot disk must go with its machine here");
  if (disk.initializeParams?.sourceImage !== IMAGE)
    throw fault(404, "notFound", `The resource '${disk.initializeParams?.sourceImage}' was not found`);
  const scheduling = request.scheduling as Record<string, string>;
  const spot = scheduling.provisioningModel === "SPOT";
  if (spot && scheduling.onHostMaintenance !== "TERMINATE") {
    throw fault(
      400,
      "invalid",
      "Scheduling must have preemptible be false when OnHostMaintenance isn't TERMINATE.",
    );
  }
  const labels = (request.labels ?? {}) as Record<string, string>;
  if (Object.values(labels).some((value) => !/^[a-z0-9_-]{0,63}$/.test(value)))
    throw fault(400, "invalid", "Invalid value for field 'resource.labels'");
  if (cloud.machines.has(`${zone}/${name}`))
    throw fault(409, "alreadyExists", `The resource '${name}' already exists`);
  const errors =
    cloud.failInserts.shift() ??
    (cloud.hasRoom(type, zone)
      ? []
      : [
          {
            code: "ZONE_RESOURCE_POOL_EXHAUSTED",
            message: `The zone '${zone}' does not have enough resources`,
          },
        ]);
  const isPreempted = errors.some(({ code }) => code === "PREEMPTED");
  if (errors.length === 0 || isPreempted) {
    const [item] = (request.metadata as { items: { value: string }[] }).items;
    const machine = cloud.add({
      id: `${zone}/${name}`,
      name,
      type,
      zone,
      spot,
      labels,
      userData: item?.value ?? "",
      request,
    });
    if (isPreempted) cloud.halt(machine, cloud.now);
  }
  const started = start(cloud, zone, name, cloud.insertMs, errors);
  cloud.requests.set(`${zone} ${id}`, started.id);
  return { status: 200, body: operation(cloud, started) };
}

function start(
  cloud: GceCloud,
  zone: string,
  target: string,
  ms: number,
  errors: Operation["errors"],
): Operation {
  const id = `operation-${cloud.newId()}`;
  const started = { id, zone, target, doneAt: cloud.now + ms, errors };
  cloud.operations.set(id, started);
  return started;
}

/** Answers at once, as Google does under load: the operation may go on. */
function wait(cloud: GceCloud, id: string): FakeAnswer {
  const known = cloud.operations.get(id);
  if (known === undefined) throw fault(404, "notFound", `The resource 'operations/${id}' was not found`);
  return { status: 200, body: operation(cloud, known) };
}

function operation(cloud: GceCloud, { id, zone, target, doneAt, errors }: Operation): object {
  const isDone = cloud.now >= doneAt;
  return {
    kind: "compute#operation",
    name: id,
    zone: link(`zones/${zone}`),
    operationType: "insert",
    targetLink: link(`zones/${zone}/instances/${target}`),
    status: isDone ? "DONE" : "RUNNING",
    progress: isDone ? 100 : 0,
    ...(isDone && errors.length > 0
      ? { error: { errors }, httpErrorStatusCode: 503, httpErrorMessage: "SERVICE UNAVAILABLE" }
      : {}),
  };
}

const link = (path: string) => `https://www.googleapis.com/compute/v1/projects/${PROJECT}/${path}`;

function aggregated(cloud: GceCloud, { query }: FakeRequest): FakeAnswer {
  const [, name = "", value = ""] = /^labels\.([^=]+)=(.*)$/.exec(query.get("filter") ?? "") ?? [];
  const { zoneOutage } = cloud.faults;
  if (zoneOutage.size > 0 && query.get("returnPartialSuccess") !== "true")
    throw fault(503, "backendError", "a zone is unreachable");
  const all = [...cloud.machines.values()].filter((machine) => {
    return (
      cloud.shown(machine) !== undefined && machine.labels[name] === value && !zoneOutage.has(machine.zone)
    );
  });
  const size = Number(query.get("maxResults") ?? 500);
  const from = Number(query.get("pageToken") ?? 0);
  const page = all.slice(from, from + size);
  const items = Object.fromEntries(
    ZONES.map((zone) => {
      const instances = page
        .filter((machine) => machine.zone === zone)
        .map((machine) => shown(cloud, machine));
      const empty = {
        warning: { code: "NO_RESULTS_ON_PAGE", message: "There are no results for scope on this page." },
      };
      return [`zones/${zone}`, instances.length > 0 ? { instances } : empty];
    }),
  );
  return {
    status: 200,
    body: {
      kind: "compute#instanceAggregatedList",
      items,
      ...(from + size < all.length ? { nextPageToken: String(from + size) } : {}),
      ...(zoneOutage.size > 0 ? { unreachables: [...zoneOutage].map((zone) => link(`zones/${zone}`)) } : {}),
    },
  };
}

function shown(cloud: GceCloud, machine: FakeMachine): object {
  const { name, zone, type, madeAt, labels, request } = machine;
  const [network] = request.networkInterfaces as { accessConfigs?: object[] }[];
  const external =
    network?.accessConfigs === undefined
      ? {}
      : { accessConfigs: [{ type: "ONE_TO_ONE_NAT", natIP: "192.0.2.7" }] };
  return {
    kind: "compute#instance",
    id: String(1_000_000 + madeAt),
    name,
    zone: link(`zones/${zone}`),
    machineType: link(`zones/${zone}/machineTypes/${type}`),
    status: STATUSES[cloud.shown(machine) ?? "starts"],
    creationTimestamp: new Date(madeAt).toISOString().replace("Z", "+00:00"),
    labels,
    networkInterfaces: [{ networkIP: "10.132.0.2", ...external }],
    scheduling: request.scheduling,
  };
}
