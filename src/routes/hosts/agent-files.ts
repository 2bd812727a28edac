// The files that a machine downloads to become a host: the agent, its installer, and their digests.
import { etag } from "hono/etag";
import { sha256 } from "../../shared/access/key-ids.ts";
import type { EdgeApp, EdgeContext } from "../edge.ts";
import { OPEN, operation } from "../openapi/operation.ts";
import { fileAnswers } from "../openapi/params.ts";

/** The host agent that this Worker serves, as built by `scripts/build.mjs`. */
export interface AgentBundle {
  version: string;
  /** SHA-256 of the agent, in hexadecimal. The asset with the file has this name. */
  sha256: string;
  /** The installer, with `@DROVER_URL@` and `@AGENT_SHA256@` to be filled in. */
  installer: string;
}

/** One file that a machine downloads to become a host. */
interface AgentFile {
  name: string;
  /** The file's name in operation ids, after the verb. */
  called: string;
  type: string;
  summary: string;
  content(c: EdgeContext): Promise<Content>;
}

/** The content of a file, and its SHA-256 in hexadecimal. */
interface Content {
  body: string | ReadableStream | null;
  sha256: string;
}

/**
 * Adds the files that a machine downloads to become a host. The files need no token, since they contain no
 * secret.
 */
export function agentFileRoutes(app: EdgeApp, agent: AgentBundle): void {
  app.use("/agent/*", etag());
  addFile(app, {
    name: "drover-agent.mjs",
    called: "Agent",
    type: "text/javascript",
    summary: "The host agent, one file for Node 20 or later",
    async content(c) {
      const url = new URL(`/agent/${agent.sha256}.mjs`, c.req.url);
      const { ok, body } = await c.env.assets.fetch(new Request(url));
      if (!ok) throw new Error(`the agent ${agent.sha256} is not among the assets of this Worker`);
      return { body, sha256: agent.sha256 };
    },
  });
  addFile(app, {
    name: "install.sh",
    called: "Installer",
    type: "text/x-shellscript",
    summary: "Makes a self-hosted machine a host: for `curl … | DROVER_CODE=… sh`",
    // Without a configured URL, use the URL of this request.
    async content(c) {
      const body = agent.installer
        .replaceAll("@DROVER_URL@", c.env.url === "" ? new URL(c.req.url).origin : c.env.url)
        .replaceAll("@AGENT_SHA256@", agent.sha256);
      return { body, sha256: await sha256(body) };
    },
  });
}

function addFile(app: EdgeApp, { name, called, type, summary, content }: AgentFile): void {
  const fileRoute = operation({
    ...OPEN,
    path: `/agent/${name}`,
    operationId: `get${called}`,
    summary,
    responses: fileAnswers("the file", [type], "Repr-Digest"),
  });
  const digestRoute = operation({
    ...OPEN,
    path: `/agent/${name}.sha256`,
    operationId: `get${called}Digest`,
    summary: "Its digest, as sha256sum -c reads it",
    responses: fileAnswers("the digest", ["text/plain"]),
  });
  app.openapi(fileRoute, async (c) => {
    const { body, sha256: digest } = await content(c);
    const headers = {
      "content-type": `${type}; charset=utf-8`,
      "cache-control": "no-cache",
      etag: `"${digest}"`,
      "repr-digest": `sha-256=:${base64Of(digest)}:`,
    };
    return new Response(body, { headers });
  });
  app.openapi(digestRoute, async (c) => c.text(`${(await content(c)).sha256}  ${name}\n`, 200));
}

/** Bytes in hexadecimal, in base64. */
function base64Of(hex: string): string {
  return btoa(hex.replace(/../g, (byte) => String.fromCharCode(Number.parseInt(byte, 16))));
}
