// A fake Hetzner Cloud on 127.0.0.1, with the exact wire of its API v1.
import {
  Buckets,
  CloudFault,
  type CloudOptions,
  FakeCloud,
  type FakeMachine,
  HOUR_MS,
  type Phase,
} from "./support/fake-cloud.ts";
import { type FakeAnswer, type FakeRequest, serve, serveForTest } from "./support/fake-server.ts";

export const TOKEN = "hcloudToken0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR";
export const LOCATIONS: readonly string[] = ["fsn1", "nbg1", "hel1"];
export const IMAGE = "ubuntu-24.04";
/** Euros an hour, without VAT. */
export const TYPES: Readonly<
  Record<string, { id: number; cores: number; memory: number; price: number; arch: string }>
> = {
  cx22: { id: 104, cores: 2, memory: 4, price: 0.006, arch: "x86" },
  cpx31: { id: 24, cores: 4, memory: 8, price: 0.0221, arch: "x86" },
  cax11: { id: 45, cores: 2, memory: 4, price: 0.0058, arch: "arm" },
};
/** `TYPE@LOCATION` where the catalog says that there is none. */
const fullLocations: ReadonlySet<string> = new Set(["cax11@nbg1"]);
const SSH_KEYS: Readonly<Record<string, number>> = { ops: 7, deploy: 8 };
const CALLS_PER_HOUR = 3_600;

const STATUSES: Record<Phase, string> = {
  starts: "initializing",
  runs: "running",
  ends: "deleting",
  stopped: "off",
  ended: "deleting",
};

export class HetznerCloud extends FakeCloud {
  token = TOKEN;
  isReadOnly = false;
  /** How many types, images and the like it puts on a page at most. */
  mostPerPage = 50;
  readonly buckets = new Buckets(this);
  isOverRate = false;
  /** How many servers, and Primary IPs, the project may have. */
  serverLimit = 100;
  addressLimit = 100;
  /** Names that are taken by what no list shows: other resources, or servers on their way out. */
  readonly takenNames = new Set<string>();
  /** The path of the API below the fake's address. */
  readonly root = "/v1";

  /** A server whose start fails stays, switched off. */
  override failed(machine: FakeMachine, at: number): void {
    this.halt(machine, at);
  }

  /** Euros for a server so far: whole hours since it was made, rounded up, also while it is off. */
  bill({ madeAt, endedAt, type }: FakeMachine): number {
    const hours = Math.max(1, Math.ceil(((endedAt ?? this.now) - madeAt) / HOUR_MS));
    return hours * (TYPES[type]?.price ?? 0);
  }
}

export interface HetznerFake {
  cloud: HetznerCloud;
  /** The address of its API. */
  url: string;
}

/** Starts a fake for one test, which stops it. */
export async function startHetzner(options: CloudOptions = {}): Promise<HetznerFake> {
  const cloud = new HetznerCloud(options);
  const url = await serveForTest(
    cloud,
    (request) => respond(cloud, request),
    () => rateHeaders(cloud),
  );
  return { cloud, url: `${url}${cloud.root}` };
}

export async function serveHetzner(cloud: HetznerCloud, atPort?: number) {
  const { url, stop } = await serve(
    cloud,
    (request) => respond(cloud, request),
    () => rateHeaders(cloud),
    atPort,
  );
  return { url: `${url}${cloud.root}`, stop };
}

/** An error as Hetzner answers it. */
export function fault(
  status: number,
  code: string,
  message = `it is so because of ${code}`,
  details: object | null = null,
) {
  return new CloudFault(status, { error: { code, message, details } });
}

function rateHeaders(cloud: HetznerCloud): Record<string, string> {
  const left = cloud.buckets.take("project", CALLS_PER_HOUR, 1);
  cloud.isOverRate = left === undefined;
  const resetAt = Math.ceil(cloud.now / 1_000) + CALLS_PER_HOUR - (left ?? 0);
  return {
    "ratelimit-limit": String(CALLS_PER_HOUR),
    "ratelimit-remaining": String(left ?? 0),
    "ratelimit-reset": String(resetAt),
  };
}

function respond(cloud: HetznerCloud, request: FakeRequest): FakeAnswer {
  if (cloud.isOverRate) throw fault(429, "rate_limit_exceeded", "limit of 3600 requests per hour reached");
  const { method, headers, query } = request;
  if (headers.authorization !== `Bearer ${cloud.token}`) {
    throw fault(401, "unauthorized", "unable to authenticate");
  }
  if (cloud.isReadOnly && method !== "GET")
    throw fault(403, "token_readonly", "token is only allowed to perform GET requests");
  const path = request.path.startsWith(`${cloud.root}/`) ? request.path.slice(cloud.root.length) : "";
  const [, kind, id, ...rest] = path.split("/");
  if (rest.length === 0 && kind === "servers") return servers(cloud, request, id);
  if (method === "GET" && rest.length === 0) {
    const known = CATALOG[kind ?? ""];
    if (known !== undefined) return { status: 200, body: found(cloud, kind ?? "", known(), id, query) };
  }
  throw fault(404, "not_found", "Not Found");
}

/** What the command of Hetzner looks up before it creates a server. */
const CATALOG: Readonly<Record<string, () => { id: number; name: string }[]>> = {
  server_types: () => Object.entries(TYPES).map(([name, type]) => serverType(name, type)),
  locations: () => LOCATIONS.map((name, index) => location(name, index)),
  images: () => [
    {
      id: 161_547_269,
      name: IMAGE,
      type: "system",
      status: "available",
      architecture: "x86",
      description: IMAGE,
      os_flavor: "ubuntu",
    },
  ],
  ssh_keys: () =>
    Object.entries(SSH_KEYS).map(([name, id]) => ({
      id,
      name,
      fingerprint: "",
      public_key: "",
      labels: {},
      created: "2026-01-01T00:00:00+00:00",
    })),
  networks: () => [{ id: 17, name: "private", ip_range: "10.0.0.0/16" }],
  firewalls: () => [{ id: 4, name: "closed", rules: [] }],
  actions: () => [
    {
      id: 1,
      name: "",
      command: "create_server",
      status: "success",
      progress: 100,
      started: "2026-01-01T00:00:00+00:00",
      resources: [],
    },
  ],
};

function found(
  cloud: HetznerCloud,
  kind: string,
  all: { id: number; name: string }[],
  id: string | undefined,
  query: URLSearchParams,
): object {
  const singular = kind.slice(0, -1);
  if (id !== undefined) {
    const one = all.find((item) => String(item.id) === id || kind === "actions");
    if (one === undefined) throw fault(404, "not_found", `${singular} with ID '${id}' not found`);
    return { [singular]: { ...one, id: Number(id) } };
  }
  const name = query.get("name");
  const perPage = Math.min(Number(query.get("per_page") ?? 25), cloud.mostPerPage);
  const page = Number(query.get("page") ?? 1);
  const named = all.filter((item) => name === null || item.name === name);
  const items = named.slice((page - 1) * perPage, page * perPage);
  return { [kind]: items, meta: meta(page, named.length, perPage) };
}

function servers(
  cloud: HetznerCloud,
  { method, query, body }: FakeRequest,
  id: string | undefined,
): FakeAnswer {
  if (id === undefined && method === "GET") return list(cloud, query);
  if (id === undefined && method === "POST") return create(cloud, body);
  const machine = cloud.machines.get(id ?? "");
  if (machine === undefined || cloud.shown(machine) === undefined) {
    throw fault(404, "not_found", `server with ID '${id}' not found`);
  }
  if (method === "GET") return { status: 200, body: { server: server(cloud, machine) } };
  if (method !== "DELETE") throw fault(404, "not_found", "Not Found");
  if (machine.isProtected) throw fault(403, "protected", "server deletion is protected");
  cloud.stop(machine);
  return { status: 200, body: { action: action("delete_server", machine) } };
}

function list(cloud: HetznerCloud, query: URLSearchParams): FakeAnswer {
  const [label, value] = (query.get("label_selector") ?? "").split("==");
  const name = query.get("name");
  const all = [...cloud.machines.values()].filter(
    (machine) =>
      cloud.shown(machine) !== undefined &&
      (name === null || machine.name === name) &&
      (label === "" || label === undefined || machine.labels[label] === value),
  );
  all.sort((a, b) => Number(a.id) - Number(b.id));
  const perPage = Number(query.get("per_page") ?? 25);
  const page = Number(query.get("page") ?? 1);
  if (perPage > 50) throw invalid("per_page");
  const items = all.slice((page - 1) * perPage, page * perPage);
  return {
    status: 200,
    body: { servers: items.map((machine) => server(cloud, machine)), meta: meta(page, all.length, perPage) },
  };
}

function meta(page: number, total: number, perPage: number): object {
  const last = Math.max(1, Math.ceil(total / perPage));
  const pagination = {
    page,
    per_page: perPage,
    previous_page: page > 1 ? page - 1 : null,
    next_page: page < last ? page + 1 : null,
    last_page: last,
    total_entries: total,
  };
  return { pagination };
}

function invalid(field: string, why = "is invalid"): CloudFault {
  const details = { fields: [{ name: field, messages: [why] }] };
  return fault(422, "invalid_input", `invalid input in field '${field}'`, details);
}

const FIELDS = [
  "name",
  "server_type",
  "image",
  "location",
  "ssh_keys",
  "user_data",
  "start_after_create",
  "labels",
  "networks",
  "firewalls",
  "public_net",
  "automount",
  "volumes",
];

function create(cloud: HetznerCloud, request: unknown): FakeAnswer {
  if (typeof request !== "object" || request === null) throw fault(422, "json_error", "invalid JSON");
  const body = request as Record<string, unknown>;
  const stranger = Object.keys(body).find((name) => !FIELDS.includes(name));
  if (stranger !== undefined) throw invalid(stranger, "is unknown");
  const name = String(body.name ?? "");
  if (!/^[a-z0-9A-Z](?:[a-z0-9A-Z.-]{0,61}[a-z0-9A-Z])?$/.test(name)) throw invalid("name");
  const type = typeNamed(body.server_type);
  const zone = String(body.location ?? LOCATIONS[0]);
  if (!LOCATIONS.includes(zone)) throw invalid("location", "does not exist");
  if (body.image !== IMAGE && body.image !== 161_547_269) throw fault(404, "not_found", "image not found");
  for (const key of (body.ssh_keys ?? []) as (string | number)[]) {
    if (SSH_KEYS[key] === undefined && !Object.values(SSH_KEYS).includes(Number(key)))
      throw fault(404, "not_found", `SSH key not found: ${key}`);
  }
  const userData = String(body.user_data ?? "");
  if (Buffer.byteLength(userData) > 32_768) throw invalid("user_data", "is too long");
  const labels = (body.labels ?? {}) as Record<string, string>;
  if (Object.values(labels).some((text) => !/^(?:[a-zA-Z0-9](?:[\w.-]{0,61}[a-zA-Z0-9])?)?$/.test(text)))
    throw invalid("labels");
  if (cloud.takenNames.has(name) || cloud.byName(name).length > 0) {
    throw fault(409, "uniqueness_error", "server name is already used", { fields: [{ name: "name" }] });
  }
  if (cloud.living.length >= cloud.serverLimit) throw limit("server_limit");
  if (cloud.living.length >= cloud.addressLimit) throw limit("primary_ip_limit");
  if (cloud.faults.zoneOutage.has(zone)) throw fault(503, "unavailable", "the location cannot be reached");
  if (!cloud.hasRoom(type, zone)) throw fault(412, "resource_unavailable", "error during placement");
  const id = String(47_000_000 + cloud.newId());
  const machine = cloud.add({ id, name, type, zone, labels, userData, request: body });
  return {
    status: 201,
    body: {
      server: server(cloud, machine),
      action: action("create_server", machine),
      next_actions: [action("start_server", machine)],
      root_password: (body.ssh_keys as unknown[] | undefined)?.length ? null : "zCWbFhnu950dUTko5f40",
    },
  };
}

function limit(name: string): CloudFault {
  return fault(403, "resource_limit_exceeded", "project limit exceeded", { limits: [{ name }] });
}

function typeNamed(wanted: unknown): string {
  const known = Object.entries(TYPES).find(([name, { id }]) => name === wanted || id === wanted);
  if (known === undefined) throw invalid("server_type", "does not exist");
  return known[0];
}

function serverType(
  name: string,
  { id, cores, memory, price, arch }: (typeof TYPES)[string] & {},
): { id: number; name: string; deprecated: boolean } {
  const net = { net: price.toFixed(10), gross: (price * 1.19).toFixed(10) };
  const prices = LOCATIONS.map((at) => ({
    location: at,
    price_hourly: net,
    price_monthly: net,
    included_traffic: 0,
    price_per_tb_traffic: net,
  }));
  const locations = LOCATIONS.map((at, index) => {
    const isFull = fullLocations.has(`${name}@${at}`);
    return { id: index + 1, name: at, available: !isFull, recommended: !isFull, deprecation: null };
  });
  const more = {
    description: name.toUpperCase(),
    cores,
    memory,
    disk: 40,
    prices,
    locations,
    storage_type: "local",
    cpu_type: "shared",
    architecture: arch,
  };
  return { id, name, ...more, deprecated: false };
}

function location(name: string, index: number): { id: number; name: string } {
  const more = {
    description: name,
    country: "DE",
    city: name,
    latitude: 0,
    longitude: 0,
    network_zone: "eu-central",
  };
  return { id: index + 1, name, ...more };
}

function server(cloud: HetznerCloud, machine: FakeMachine): object {
  const { id, name, madeAt, zone, type, labels, isProtected, request } = machine;
  const net = request.public_net as { enable_ipv4?: boolean } | undefined;
  const ipv4 = { id: 1, ip: `192.0.2.${Number(id) % 250}`, blocked: false, dns_ptr: "" };
  return {
    id: Number(id),
    name,
    status: STATUSES[cloud.shown(machine) ?? "starts"],
    created: new Date(madeAt).toISOString().replace(/\.\d+Z$/, "+00:00"),
    public_net: {
      ipv4: net?.enable_ipv4 === false ? null : ipv4,
      ipv6: { id: 2, ip: "2001:db8::/64", blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: [],
    server_type: serverType(type, TYPES[type] ?? { id: 0, cores: 0, memory: 0, price: 0, arch: "x86" }),
    included_traffic: 0,
    outgoing_traffic: null,
    ingoing_traffic: null,
    backup_window: null,
    rescue_enabled: false,
    iso: null,
    locked: false,
    location: location(zone, LOCATIONS.indexOf(zone)),
    image: null,
    protection: { delete: isProtected, rebuild: isProtected },
    labels,
    volumes: [],
    load_balancers: [],
    primary_disk_size: 40,
    placement_group: null,
  };
}

function action(command: string, { id, madeAt }: FakeMachine): object {
  const started = new Date(madeAt).toISOString();
  const resources = [{ id: Number(id), type: "server" }];
  return { id: 1, command, status: "running", progress: 0, started, finished: null, resources, error: null };
}
