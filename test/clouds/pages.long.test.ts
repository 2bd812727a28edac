import { describe } from "vitest";
import { KEYS } from "./ec2-fake.ts";
import { TOKEN as FLY_TOKEN } from "./fly-fake.ts";
import { KEY as KEY_OF_GOOGLE } from "./gce-fake.ts";
import { TOKEN as HETZNER_TOKEN } from "./hetzner-fake.ts";
import { testPage } from "./support/pages.ts";
import { EC2_WAY, FLY_WAY, GCE_WAY, HETZNER_WAY } from "./support/ways.ts";
import type { WholeWay } from "./support/whole.ts";

describe.each<{ way: WholeWay; env: Record<string, string> }>([
  { way: HETZNER_WAY, env: { HCLOUD_TOKEN: HETZNER_TOKEN } },
  {
    way: EC2_WAY,
    env: { AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
  },
  { way: GCE_WAY, env: { GOOGLE_KEY: JSON.stringify(KEY_OF_GOOGLE) } },
  { way: FLY_WAY, env: { FLY_API_TOKEN: FLY_TOKEN } },
])("a new user on $way.name", ({ way, env }) => testPage(way, env));
