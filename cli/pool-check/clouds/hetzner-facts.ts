// What does Hetzner say about itself, as far as a check of a pool needs it?
import { z } from "zod";
import type { HetznerConfig } from "../../../src/schema/pool/providers/clouds.ts";
import type { Fact, Reader } from "../facts.ts";

const PAGE_SIZE = 50;
const MAX_PAGES = 20;

const Meta = z.object({
  pagination: z.object({ next_page: z.int().nullish(), total_entries: z.int().nullish() }),
});
const Named = z.object({ id: z.int(), name: z.string().nullish() });

export const ServerType = z.object({
  name: z.string(),
  cores: z.int(),
  /** In GB, as a number that may have a fraction. */
  memory: z.number(),
  disk: z.number(),
  architecture: z.enum(["x86", "arm"]),
  prices: z.array(z.object({ location: z.string(), price_hourly: z.object({ net: z.string() }) })),
  /** Absent in answers from before 2025-09: then prices say where it is. */
  locations: z
    .array(z.object({ name: z.string(), available: z.boolean().nullish(), deprecation: z.unknown() }))
    .nullish()
    .catch(undefined),
});
export type ServerType = z.infer<typeof ServerType>;

const Image = z.object({
  id: z.int(),
  name: z.string().nullish(),
  architecture: z.enum(["x86", "arm"]).catch("x86"),
  status: z.string(),
});
export type Image = z.infer<typeof Image>;

/** All that a check reads. */
export interface HetznerFacts {
  locations: Fact<string[]>;
  types: Fact<ServerType[]>;
  images: Fact<Image[]>;
  /** By name; those that do not exist are left out. */
  sshKeys: Fact<string[]>;
  /** `network 17`, `firewall 4`: each that the pool names, and how Hetzner has answered. */
  attached: [what: string, fact: Fact<unknown>][];
  /** How many servers the project has. */
  servers: Fact<number>;
  /** How Hetzner answers a call that changes something, for a server that cannot exist. */
  writes: Fact<unknown>;
}

/** Reads the locations, which every token may. A refusal says that the token is wrong. */
export async function readLocations(read: Reader): Promise<Fact<string[]>> {
  const listed = await readAll(read, "locations", Named);
  return "data" in listed ? { data: listed.data.flatMap(({ name }) => name ?? []) } : listed;
}

/** All server types, with their prices at each location. */
export function readTypes(read: Reader): Promise<Fact<ServerType[]>> {
  return readAll(read, "server_types", ServerType);
}

/** Reads the rest of what a check needs. */
export async function readHetzner(
  read: Reader,
  { sshKeys, networks, firewalls }: HetznerConfig,
  image: string,
  locations: HetznerFacts["locations"],
): Promise<HetznerFacts> {
  const attached: HetznerFacts["attached"] = [];
  for (const [kind, ids] of [["network", networks] as const, ["firewall", firewalls] as const]) {
    for (const id of ids) {
      attached.push([`${kind} ${id}`, await read(z.unknown(), { method: "GET", path: `/${kind}s/${id}` })]);
    }
  }
  return {
    locations,
    types: await readTypes(read),
    images: await readImages(read, image),
    sshKeys: await readKeys(read, sshKeys),
    attached,
    servers: await readCount(read),
    writes: await read(z.unknown(), { method: "DELETE", path: "/servers/0" }),
  };
}

async function readImages(read: Reader, image: string): Promise<Fact<Image[]>> {
  if (!/^\d+$/.test(image)) return readAll(read, "images", Image, `&name=${encodeURIComponent(image)}`);
  const one = await read(z.object({ image: Image }), { method: "GET", path: `/images/${image}` });
  if ("data" in one) return { data: [one.data.image] };
  return one.refusal.status === 404 ? { data: [] } : one;
}

async function readKeys(read: Reader, names: readonly string[]): Promise<Fact<string[]>> {
  const found: string[] = [];
  for (const name of names) {
    const keys = await readAll(read, "ssh_keys", Named, `&name=${encodeURIComponent(name)}`);
    if ("refusal" in keys) return keys;
    if (keys.data.length > 0) found.push(name);
  }
  return { data: found };
}

async function readCount(read: Reader): Promise<Fact<number>> {
  const page = await read(z.object({ servers: z.array(z.unknown()), meta: Meta }), {
    method: "GET",
    path: "/servers?per_page=1",
  });
  if ("refusal" in page) return page;
  return { data: page.data.meta.pagination.total_entries ?? page.data.servers.length };
}

/** All items of a list, page by page. */
async function readAll<T>(read: Reader, kind: string, item: z.ZodType<T>, query = ""): Promise<Fact<T[]>> {
  const all: T[] = [];
  const Page = z.preprocess(
    (body: { [kind: string]: unknown } | null) => ({ items: body?.[kind], meta: body?.meta }),
    z.object({ items: z.array(item), meta: Meta.nullish() }),
  );
  let page: number | null = 1;
  for (let pages = 0; page !== null && pages < MAX_PAGES; pages += 1) {
    const path: string = `/${kind}?per_page=${PAGE_SIZE}&page=${page}${query}`;
    const fact: Fact<z.output<typeof Page>> = await read(Page, { method: "GET", path });
    if ("refusal" in fact) return fact;
    all.push(...fact.data.items);
    page = fact.data.meta?.pagination.next_page ?? null;
  }
  return { data: all };
}
