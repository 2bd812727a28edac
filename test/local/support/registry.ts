import { readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { create } from "tar";

const ROOT = join(import.meta.dirname, "../../..");

interface Installed {
  name: string;
  version: string;
  dir: string;
}

/** The packages that `npm ci` has installed in the checkout. */
function installed(): Installed[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const names = Object.keys(packages).filter((path) => path !== "");
  return names.flatMap((path) => {
    const dir = join(ROOT, path);
    const isHere = statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
    const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
    return isHere ? [{ name, version: packages[path].version, dir }] : [];
  });
}

/**
 * A registry that has the packages of the checkout, and nothing else, so that what npm does can be seen
 * without a network. Resolves with its URL.
 */
export async function startRegistry(): Promise<{ url: string; stop(): void }> {
  const all = installed();
  const server = createServer(async ({ url = "" }, res) => {
    const [, name = "", version] = /^\/(.+?)(?:\/-\/(.+)\.tgz)?$/.exec(decodeURIComponent(url)) ?? [];
    const its = all.filter((one) => one.name === name);
    const one = its.find((other) => other.version === version);
    if (version === undefined && its.length > 0) res.end(JSON.stringify(packumentOf(name, its)));
    else if (one === undefined) res.writeHead(404).end("{}");
    else {
      const filter = (path: string) => isOwn(name, path);
      create({ cwd: one.dir, prefix: "package", gzip: { level: 1 }, filter }, ["."]).pipe(res);
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  function packumentOf(name: string, its: Installed[]) {
    const versions = its.map(({ version, dir }) => {
      const manifest = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
      const tarball = `${address()}/${name}/-/${version}.tgz`;
      return [version, { ...manifest, dist: { tarball } }];
    });
    return { name, "dist-tags": { latest: its[0]?.version }, versions: Object.fromEntries(versions) };
  }
  return { url: `${address()}/`, stop: () => server.close() };
}

/**
 * Whether a file is a package's own. What npm has put below it is not, nor is the program that the script of
 * workerd has linked into it, which is as large as all the rest.
 */
function isOwn(name: string, path: string): boolean {
  return !/(^|\/)node_modules(\/|$)/.test(path) && !(name === "workerd" && path === "./bin/workerd");
}
