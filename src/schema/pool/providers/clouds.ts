// What does a pool say about its account at a cloud (clouds.md)?
import { z } from "zod";
import { Duration } from "../../common.ts";
import { ServiceUrl } from "../../service-url.ts";
import { StoredCredentials } from "./credentials.ts";

/** The name of a zone, region, location or account part, as clouds write them. */
const Part = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\w.:/-]+$/, "must be letters, digits and any of `.:/_-`");

/** What every cloud has in common. */
const common = {
  credentials: StoredCredentials,
  endpoint: ServiceUrl.optional().describe("another address of the API; for tests and private endpoints"),
};

const parts = (most: number) =>
  z
    .array(Part)
    .max(most)
    .refine((all) => new Set(all).size === all.length, "must not name anything twice");

/** Hetzner Cloud: one project, whose token can do everything there. */
export const HetznerConfig = z.strictObject({
  kind: z.literal("hetzner"),
  ...common,
  locations: parts(16)
    .min(1, "must name a location; leave it out to let Hetzner choose")
    .optional()
    .describe("where machines may be, best first; if absent, Hetzner chooses"),
  sshKeys: parts(16)
    .default([])
    .describe("names of SSH keys; without one Hetzner sends an e-mail with a password for each machine"),
  ipv4: z.boolean().default(true).describe("whether a machine has a public IPv4 address, which costs extra"),
  networks: z.array(z.int().min(1)).max(3).default([]).describe("ids of private networks"),
  firewalls: z.array(z.int().min(1)).max(5).default([]).describe("ids of firewalls"),
});
export type HetznerConfig = z.output<typeof HetznerConfig>;

/** Fly Machines: one app. */
export const FlyConfig = z.strictObject({
  kind: z.literal("fly"),
  ...common,
  app: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, "must be the name of an app: letters, digits and dashes")
    .describe("the app of the machines; it should have nothing else"),
  regions: parts(40)
    .min(1, "must name a region; leave it out to let Fly choose")
    .optional()
    .describe("where machines may be, best first; if absent, Fly chooses"),
});
export type FlyConfig = z.output<typeof FlyConfig>;

/** Google Compute Engine: some zones of one project. */
export const GceConfig = z.strictObject({
  kind: z.literal("gce"),
  ...common,
  project: Part.describe("the id of the project"),
  zones: parts(40).min(1, "must name a zone").describe("where machines may be, best first"),
  network: Part.default("global/networks/default"),
  subnetwork: Part.optional().describe(
    "a subnetwork, as `regions/REGION/subnetworks/NAME`; if absent, that of the network",
  ),
  publicIp: z
    .boolean()
    .default(true)
    .describe("whether a machine has a public IPv4 address, which costs extra"),
  diskType: Part.default("pd-balanced"),
  maxLife: Duration.default("24h").describe("Google itself deletes a machine that is older"),
});
export type GceConfig = z.output<typeof GceConfig>;

/** A region of AWS. It is a part of a host name, so nothing else may be in it. */
const Region = z
  .string()
  .max(32)
  .regex(/^[a-z]{2,5}(?:-[a-z]+)+-\d{1,2}$/, "must be the name of a region, such as `eu-west-1`");
const Subnet = z.string().regex(/^subnet-[0-9a-f]{8,17}$/, "must be the id of a subnet: `subnet-…`");
const SecurityGroup = z.string().regex(/^sg-[0-9a-f]{8,17}$/, "must be the id of a security group: `sg-…`");

/** Amazon EC2: one region of one account. */
export const Ec2Config = z.strictObject({
  kind: z.literal("ec2"),
  ...common,
  region: Region,
  subnets: z
    .record(Part, Subnet)
    .refine((all) => Object.keys(all).length >= 1, "must name a zone; leave it out for the default subnets")
    .refine((all) => Object.keys(all).length <= 16, "must be at most 16 zones")
    .optional()
    .describe("the subnet of each availability zone, best zone first; if absent, EC2 chooses a default one"),
  securityGroups: z
    .array(SecurityGroup)
    .max(16)
    .refine((all) => new Set(all).size === all.length, "must not name anything twice")
    .default([])
    .describe("ids of security groups; none: the default group"),
  publicIp: z
    .boolean()
    .default(true)
    .describe("whether a machine has a public IPv4 address, which costs extra; `false` needs `subnets`"),
  rootDevice: z
    .string()
    .regex(/^[\w/-]{1,64}$/)
    .default("/dev/sda1")
    .describe(
      "the root device of the image: `/dev/sda1` for Ubuntu, `/dev/xvda` for Amazon Linux and Debian",
    ),
  instanceProfile: z
    .string()
    .regex(/^[\w+=,.@-]{1,128}$/, "must be the name of an instance profile, not an ARN")
    .optional()
    .describe("name of an instance profile; if absent, machines have no role"),
});
export type Ec2Config = z.output<typeof Ec2Config>;
