// How does Drover create, list, find and destroy servers of Hetzner Cloud?
import { z } from "zod";
import type { CreateAnswer, FindAnswer, ListAnswer, ProviderFailure } from "../../core/provider-answers.ts";
import type { HetznerConfig } from "../../schema/pool/providers/clouds.ts";
import type { CreateInstance, Instance } from "../../schema/provider.ts";
import { type Asking, askingOf, type JsonApi, type JsonFailed } from "../json-api.ts";
import { destroyBy, foundBy, type Looked, takenName } from "../named.ts";
import { gapOf, listPages, type ReadPage } from "../pages.ts";
import { failing, type KnownMachine, type Provider, userDataFault } from "../provider.ts";
import { CODES, veilOf } from "../veil.ts";
import { CALL_TIMEOUT_MS, checked, unreadable, withDeadline } from "../wire.ts";
import { apiOf, budgetIn } from "./api.ts";
import { serverPrices } from "./prices.ts";
import { instanceOf, Server } from "./servers.ts";

/** The most that Hetzner puts on a page. */
const PAGE_SIZE = 50;
/** A token is sent in a header. */
const TOKEN = /^[!-~]{1,1024}$/;

const Servers = z.object({
  servers: z.array(z.unknown()),
  meta: z.object({ pagination: z.object({ next_page: z.int().nullish() }) }).nullish(),
});
const OneServer = z.object({ server: z.unknown() });

/** An account as it is stored: its configuration, and the text of its credentials, which is a token. */
export interface HetznerAccount {
  config: HetznerConfig;
  credentials: string;
}

/** Servers of Hetzner Cloud, in one project (clouds/hetzner.md#calls). */
export function hetznerProvider(
  { config, credentials }: HetznerAccount,
  now: () => number,
  timeoutMs = CALL_TIMEOUT_MS,
): Provider {
  const token = credentials.trim();
  if (!TOKEN.test(token)) return failing(NO_TOKEN);
  const api: JsonApi = apiOf(config, token, now);
  const within = <T>(work: (asking: Asking) => Promise<T>, hidden: readonly string[] = []): Promise<T> => {
    const veil = veilOf([token, ...hidden]);
    return withDeadline(timeoutMs, (signal) => work(askingOf(api, veil, signal)));
  };
  return {
    create: (wanted) =>
      within((asking) => create(asking, config, wanted), wanted.userData.match(CODES) ?? []),
    list: (tag) => within((asking) => list(asking, tag)),
    find: (machine) => within((asking) => find(asking, machine)),
    prices: (types) =>
      within((asking) =>
        serverPrices(
          asking,
          types.map(({ type }) => type),
        ),
      ),
    destroy: (machine) =>
      within((asking) =>
        destroyBy(
          {
            find: (one) => find(asking, one),
            destroy: (id) => asking.call({ method: "DELETE", path: `/servers/${encodeURIComponent(id)}` }),
            isUnknown,
          },
          machine,
        ),
      ),
  };
}

const NO_TOKEN: ProviderFailure = {
  class: "auth",
  text: "the credentials of the Hetzner project are no token: store the token as its console shows it",
  refused: true,
};

/**
 * Makes one server, by one call (clouds/hetzner.md#create). Its name is the token: a name that is taken is
 * looked up, since the server may be this worker's.
 */
async function create(asking: Asking, config: HetznerConfig, wanted: CreateInstance): Promise<CreateAnswer> {
  const fault = userDataFault("hetzner", wanted.userData, "Hetzner takes");
  if (fault !== undefined) return { kind: "failed", failure: fault };
  const { instanceType: type, zone } = wanted;
  const called = await asking.call({
    method: "POST",
    path: "/servers",
    body: serverFields(config, wanted),
    type,
    zone,
  });
  if ("failure" in called) {
    const { code, failure } = called;
    return code === "uniqueness_error"
      ? takenName(await byName(asking, wanted.name), wanted, "the project")
      : { kind: "failed", failure };
  }
  const read = serverIn(called.body, asking);
  return "fault" in read ? unreadable("POST /servers", read.fault) : { kind: "created", instance: read.data };
}

/** The request for a server, with its fields in a fixed order. */
export function serverFields(config: HetznerConfig, wanted: CreateInstance): object {
  const { name, instanceType, image, userData, tags, zone } = wanted;
  const { sshKeys, ipv4, networks, firewalls } = config;
  return {
    name,
    server_type: instanceType,
    image,
    ...(zone === undefined ? {} : { location: zone }),
    ...(sshKeys.length === 0 ? {} : { ssh_keys: sshKeys }),
    user_data: userData,
    start_after_create: true,
    labels: tags,
    ...(networks.length === 0 ? {} : { networks }),
    ...(firewalls.length === 0 ? {} : { firewalls: firewalls.map((firewall) => ({ firewall })) }),
    public_net: { enable_ipv4: ipv4, enable_ipv6: true },
  };
}

/** The server with this name, whosever it is. Undefined: no list shows one. */
async function byName(asking: Asking, name: string): Promise<Looked> {
  const page = await readPage(asking, `/servers?name=${encodeURIComponent(name)}`);
  if ("failure" in page) return page;
  const [instance] = page.items;
  if (instance === undefined && page.gap !== undefined) return unreadable("GET /servers", page.gap);
  return { instance };
}

/** All servers with the label, page by page. The last answer says how many calls are left. */
async function list(asking: Asking, tag: string): Promise<ListAnswer> {
  const beganAt = asking.now();
  const colon = tag.indexOf(":");
  const selector = encodeURIComponent(`${tag.slice(0, colon)}==${tag.slice(colon + 1)}`);
  let budget: ReturnType<typeof budgetIn>;
  const listed = await listPages(async (cursor = "1") => {
    const path = `/servers?label_selector=${selector}&sort=id:asc&per_page=${PAGE_SIZE}&page=${cursor}`;
    const page = await readPage(asking, path);
    if ("failure" in page) return page;
    budget = page.budget ?? budget;
    return page;
  }, beganAt);
  return listed.kind === "failed" || budget === undefined ? listed : { ...listed, budget };
}

type Page = ReadPage & { budget: ReturnType<typeof budgetIn> };

async function readPage(asking: Asking, path: string): Promise<Page | { failure: ProviderFailure }> {
  const called = await asking.call({ method: "GET", path });
  if ("failure" in called) return called;
  const { veil, now } = asking;
  const page = checked(Servers, called.body, veil);
  if ("fault" in page) return { failure: unreadable("GET /servers", page.fault).failure };
  const faults: string[] = [];
  const items = page.data.servers.flatMap((server) => {
    const read = checked(Server, server, veil);
    if ("data" in read) return [instanceOf(read.data, now())];
    faults.push(`a server in it is invalid: ${read.fault}`);
    return [];
  });
  const gap = gapOf(faults);
  const next = page.data.meta?.pagination.next_page ?? null;
  const budget = budgetIn(called.headers);
  return {
    items,
    complete: true,
    budget,
    next: next === null ? null : String(next),
    ...(gap === undefined ? {} : { gap }),
  };
}

/** One server: by its id, or, as long as no answer has named it, by its name (clouds/hetzner.md#finding). */
async function look(asking: Asking, { worker, id }: KnownMachine): Promise<Looked> {
  if (id === null) return byName(asking, worker);
  const called = await asking.call({ method: "GET", path: `/servers/${encodeURIComponent(id)}` });
  if ("failure" in called) return isUnknown(called) ? { instance: undefined } : called;
  const read = serverIn(called.body, asking);
  return "fault" in read ? unreadable("GET /servers", read.fault) : { instance: read.data };
}

async function find(asking: Asking, machine: KnownMachine): Promise<FindAnswer> {
  return foundBy(await look(asking, machine), machine);
}

/** Whether Hetzner says that there is no such server. A proxy's 404 does not. */
function isUnknown({ status, code }: JsonFailed): boolean {
  return status === 404 && code === "not_found";
}

function serverIn(body: unknown, { veil, now }: Asking): { data: Instance } | { fault: string } {
  const outer = checked(OneServer, body, veil);
  const read = "fault" in outer ? outer : checked(Server, outer.data.server, veil);
  return "fault" in read ? read : { data: instanceOf(read.data, now()) };
}
