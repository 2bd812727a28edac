import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect } from "node:net";

const LISTEN = "0A";

/** The TCP ports of 127.0.0.1 on which one of these processes listens. */
export function portsOf(pids: readonly number[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf));
  const lines = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  return lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTEN || !sockets.has(inode)) return [];
    return [Number.parseInt(local.slice(local.indexOf(":") + 1), 16)];
  });
}

function socketsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return []; // It was closed in the meantime.
    }
  });
}

/** Sends a request as it is written, since a library would correct it, and returns all that comes back. */
export function sendRaw(port: number, head: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1").on("data", (text) => {
      answer += text;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(answer));
    socket.write(`${[...head, "Connection: close", "", ""].join("\r\n")}`);
  });
}
