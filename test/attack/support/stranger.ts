import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { isRoot, NOBODY } from "./swapper.ts";

const SERVER = `
  const http = require("node:http");
  const [port, behind] = process.argv.slice(1).map(Number);
  if (${isRoot}) {
    process.setgroups([]);
    process.setgid(${NOBODY.gid});
    process.setuid(${NOBODY.uid});
  }
  const answer = JSON.stringify({ items: [], next: null, proof: "A".repeat(43) });
  const heard = (request, response) => {
    let text = request.method + " " + request.url + JSON.stringify(request.rawHeaders);
    request.on("data", (bytes) => (text += bytes)).on("end", () => {
      console.log(JSON.stringify(text));
      if (!behind) return response.setHeader("content-type", "application/json").end(answer);
      const headers = { ...request.headers, host: "127.0.0.1:" + behind };
      const { url: path, method } = request;
      const asked = http.request({ host: "127.0.0.1", port: behind, path, method, headers });
      asked.on("response", (given) => given.pipe(response.writeHead(given.statusCode, given.headers))).end();
    });
  };
  http.createServer(heard).listen(port, "127.0.0.1", function () {
    console.log(this.address().port);
  });`;

export interface Stranger {
  port: number;
  /** The requests that it received, each with its headers and its body. */
  heard: string[];
}

/**
 * Another user's server on a port of 127.0.0.1: it answers as if all were well, or passes on what it receives
 * to a real Drover. It ends with the test.
 */
export async function startStranger(port = 0, behind = 0): Promise<Stranger> {
  const child = spawn(process.execPath, ["-e", SERVER, String(port), String(behind)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "close");
  });
  const lines: string[] = [];
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) lines.push(String(JSON.parse(part)));
    child.emit("heard");
  });
  await once(child, "heard");
  const own = Number(lines.shift());
  return { port: own, heard: lines };
}
