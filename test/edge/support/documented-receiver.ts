import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../local/support/scratch.ts";

/** The receiver of docs/webhooks.md, which runs as it stands there. */
export interface DocumentedReceiver {
  /** What it has printed so far. */
  said(): string;
  stop(): void;
}

/** Starts it with this secret at a free port of this machine; resolves once it answers. */
export async function startDocumented(dir: string, url: string, secret: string): Promise<DocumentedReceiver> {
  const document = readFileSync(join(import.meta.dirname, "../../../docs/webhooks.md"), "utf8");
  const [, source = ""] = /<<'END'\n([\s\S]*?)\nEND\n/.exec(document) ?? [];
  const file = join(dir, "receiver.mjs");
  writeFileSync(file, source.replace("listen(8080)", `listen(${new URL(url).port}, "127.0.0.1")`));
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret };
  const child = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "inherit"] });
  const said = outputOf(child);
  const forged = () => sendTo(url, { id: "msg_1", offSeconds: 0, sign: () => "v1,AAAA" });
  try {
    await until("the documented receiver refuses", async () => (await forged()) === 401 || undefined);
  } catch (error) {
    child.kill();
    throw error;
  }
  return { said, stop: () => void child.kill() };
}

function outputOf(child: ChildProcess): () => string {
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  return () => said;
}

/** A message whose time is off by seconds. `sign`: the signature of what is to be signed. */
export interface Message {
  id: string;
  offSeconds: number;
  sign(text: string): string;
}

/** The status of the answer to a test event. 0: nobody is there yet. */
export async function sendTo(url: string, { id, offSeconds, sign }: Message): Promise<number> {
  const body = '{"type":"webhook.test","data":{}}';
  const timestamp = Math.floor(Date.now() / 1_000) + offSeconds;
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": sign(`${id}.${timestamp}.${body}`),
  };
  return fetch(url, { method: "POST", headers, body }).then(
    ({ status }) => status,
    () => 0,
  );
}
