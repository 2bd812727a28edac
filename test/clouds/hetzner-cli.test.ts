import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { type HetznerFake, IMAGE, startHetzner, TOKEN } from "./hetzner-fake.ts";
import { listed, made } from "./support/answers.ts";
import { providerOf, wanted } from "./support/hetzner.ts";

// Hetzner's own command reads what the fake says, and the fake takes what the command sends. So the fake is
// not merely what Drover believes of Hetzner.

const isThere = spawnSync("hcloud", ["--help"]).status === 0;
const NEEDS = "Hetzner's command `hcloud` is not installed (Debian: hcloud-cli), so it checked nothing";

function hcloud({ url }: HetznerFake, ...args: string[]) {
  const home = mkdtempSync(join(tmpdir(), "hcloud-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PATH: process.env.PATH, HOME: home, HCLOUD_TOKEN: TOKEN, HCLOUD_ENDPOINT: url };
  return promisify(execFile)("hcloud", args, { env, timeout: 30_000 });
}

it("hcloud lists, shows and deletes what Drover has made", async ({ skip }) => {
  if (!isThere) skip(NEEDS);
  const fake = await startHetzner({ bootMs: 0, endMs: 0 });
  const { id } = await made(providerOf(fake), wanted("p-1", { zone: "nbg1" }));
  const columns = "columns=id,name,status,ipv4,labels";
  const { stdout } = await hcloud(
    fake,
    "server",
    "list",
    "-o",
    "noheader",
    "-o",
    columns,
    "-l",
    "drover-pool==p",
  );
  expect(stdout.trim().split(/\s{2,}/)).toEqual([
    id,
    "p-1",
    "running",
    "192.0.2.1",
    "drover-pool=p, drover-worker=p-1, team=ci",
  ]);
  const json = JSON.parse((await hcloud(fake, "server", "describe", "p-1", "-o", "json")).stdout);
  expect(json).toMatchObject({ name: "p-1", server_type: { name: "cx22" }, labels: { team: "ci" } });
  await hcloud(fake, "server", "delete", "p-1");
  fake.cloud.settle();
  expect(fake.cloud.living).toEqual([]);
});

it("hcloud creates a server with the fields that Drover sends", async ({ skip }) => {
  if (!isThere) skip(NEEDS);
  const fake = await startHetzner({ bootMs: 0 });
  const { userData } = wanted("p-1");
  const dir = mkdtempSync(join(tmpdir(), "hcloud-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "user-data"), userData);
  const labels = Object.entries(wanted("p-1").tags).flatMap(([name, value]) => [
    "--label",
    `${name}=${value}`,
  ]);
  const place = ["--type", "cx22", "--image", IMAGE, "--location", "nbg1", "--ssh-key", "ops"];
  const given = ["--name", "p-1", ...place, "--user-data-from-file", join(dir, "user-data"), ...labels];
  await hcloud(fake, "server", "create", ...given, "--without-ipv4");
  await made(providerOf(fake, { sshKeys: ["ops"], ipv4: false }), wanted("p-2", { zone: "nbg1" }));
  const [theirs, ours] = ["p-1", "p-2"].map((name) => fake.cloud.theOne(name));
  // The command looks up types, images and keys, and sends their ids.
  const { automount: _, ...sent } = theirs?.request ?? {};
  expect({ ...sent, server_type: "cx22", image: IMAGE, ssh_keys: ["ops"], name: "" }).toEqual({
    ...ours?.request,
    labels: wanted("p-1").tags,
    name: "",
  });
  expect((await listed(providerOf(fake))).items.map(({ name }) => name)).toEqual(["p-1", "p-2"]);
});
