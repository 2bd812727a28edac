import { vi } from "vitest";
import type { Instance } from "../../../src/schema/provider.ts";

/** Where the pools of these tests believe their cloud to be. */
export const CLOUD_URL = "http://cloud.test";

/** A cloud as an object sees it: an HTTP service. Nothing boots here; the tests are the hosts. */
export class TestCloud {
  readonly instances = new Map<string, Instance & { userData: string }>();
  readonly calls: string[] = [];
  /** The secret that each call brought, also a wrong one. */
  readonly bearers: string[] = [];
  /** The secret that it takes. */
  secret = "cloud-secret";
  /** What the machines have written to their consoles, by worker. */
  readonly consoles = new Map<string, string>();
  /** What the next create call is answered with, instead of an instance. */
  refusal: { status: number; body: object } | undefined;

  /** Takes over all calls that leave the objects. `vi.restoreAllMocks` gives them back. */
  open(): void {
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
      this.#serve(new Request(input, init)),
    );
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.calls.push(`${request.method} ${pathname}`);
    const bearer = request.headers.get("authorization") ?? "";
    this.bearers.push(bearer.replace("Bearer ", ""));
    if (bearer !== `Bearer ${this.secret}`) return new Response(null, { status: 401 });
    if (request.method === "POST") return this.#create(await request.json());
    if (request.method === "GET" && pathname.endsWith("/console")) return this.#console(pathname);
    if (request.method === "GET")
      return Response.json({ items: [...this.instances.values()], complete: true });
    const id = pathname.split("/").at(-1) ?? "";
    const instance = this.instances.get(id);
    if (instance !== undefined) this.instances.set(id, { ...instance, state: "terminated" });
    return new Response(null, { status: 200 });
  }

  #create(wanted: {
    token: string;
    instanceType: string;
    tags: Record<string, string>;
    userData: string;
  }): Response {
    if (this.refusal !== undefined) return Response.json(this.refusal.body, { status: this.refusal.status });
    const { token, instanceType, tags, userData } = wanted;
    const instance = {
      id: `i-${token}`,
      name: token,
      address: null,
      state: "running" as const,
      instanceType,
      tags,
      createdAt: new Date().toISOString(),
    };
    this.instances.set(instance.id, { ...instance, userData });
    return Response.json(instance, { status: 201 });
  }

  #console(pathname: string): Response {
    const [id = ""] = pathname.split("/").slice(-2);
    const text = this.consoles.get(id.replace(/^i-/, ""));
    return text === undefined ? new Response(null, { status: 404 }) : Response.json({ text });
  }

  /**
   * The enrollment code that the user data of a worker's machine carries; undefined while there is no
   * machine.
   */
  codeOf(worker: string): string | undefined {
    return /drvc_[^'\s]+/.exec(this.userDataOf(worker) ?? "")?.[0];
  }

  /** The data of a worker's machine. Undefined: there is no machine. */
  userDataOf(worker: string): string | undefined {
    return this.instances.get(`i-${worker}`)?.userData;
  }
}
