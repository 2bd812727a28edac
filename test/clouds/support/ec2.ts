// A pool's account at a fake EC2, and what it asks for.
import { ec2Provider } from "../../../src/providers/ec2/provider.ts";
import type { KnownMachine, Provider } from "../../../src/providers/provider.ts";
import { Ec2Config } from "../../../src/schema/pool/providers/clouds.ts";
import type { CreateInstance, Instance } from "../../../src/schema/provider.ts";
import { type Ec2Fake, type FakeInstance, KEYS, REGION } from "../ec2-fake.ts";

/** An instant at which nothing special happens. */
export const START = Date.UTC(2026, 10, 22, 10, 11, 12);
export const IMAGE = "ami-0a1b2c3d4e5f60718";
/** Long enough for every answer that comes, and short enough to wait for one that does not. */
export const TIMEOUT_MS = 20_000;
export const GIB = 2 ** 30;
export const CODE = "drvc_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789";

export const SUBNETS = { "eu-west-1b": "subnet-1111111b", "eu-west-1a": "subnet-1111111a" };

export function configOf(fake: Pick<Ec2Fake, "url">, own: Partial<Ec2Config> = {}): Ec2Config {
  const config = Ec2Config.parse({
    kind: "ec2",
    credentials: { binding: "CLOUD_AWS" },
    region: REGION,
    ...own,
  });
  return { endpoint: fake.url, ...config };
}

export function accountOf(fake: Pick<Ec2Fake, "url">, own: Partial<Ec2Config> = {}, keys: object = KEYS) {
  return { config: configOf(fake, own), credentials: JSON.stringify(keys) };
}

export function providerOf(fake: Ec2Fake, own: Partial<Ec2Config> = {}, keys: object = KEYS): Provider {
  return ec2Provider(accountOf(fake, own, keys), () => fake.cloud.now, TIMEOUT_MS);
}

export function wanted(token: string, own: Partial<CreateInstance> = {}): CreateInstance {
  return {
    token,
    name: token,
    instanceType: "m7i.large",
    image: IMAGE,
    userData: `#!/bin/sh\necho ${CODE} é\n`,
    tags: { "drover-pool": "p", "drover-worker": token, team: "a & b" },
    resources: { vcpus: 2, memoryBytes: 8 * GIB, diskBytes: 0, gpus: 0 },
    ...own,
  };
}

/** Makes a machine, which must succeed. */
export async function made(provider: Provider, token: string, own: Partial<CreateInstance> = {}) {
  const answer = await provider.create(wanted(token, own));
  if (answer.kind !== "created") throw new Error(JSON.stringify(answer));
  return answer.instance;
}

/** Lists, which must succeed. */
export async function listed(provider: Provider, known: readonly KnownMachine[] = [], tag = "drover-pool:p") {
  const answer = await provider.list(tag, known);
  if (answer.kind !== "listed") throw new Error(JSON.stringify(answer));
  return answer;
}

export function knownOf({ id, name, zone }: Instance): KnownMachine {
  return { id, worker: name, zone: zone ?? null };
}

/** What was asked for, as actions. */
export function actionsOf({ cloud }: Ec2Fake): string[] {
  return cloud.calls.map(({ action }) => action);
}

/** The fake's only machine with this token. */
export function theOne({ cloud }: Ec2Fake, token: string): FakeInstance {
  const [one, ...others] = cloud.byToken(token);
  if (one === undefined || others.length > 0) throw new Error(`there are ${others.length + 1} of ${token}`);
  return one;
}
