import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { found } from "../../cli/deploy/look.ts";
import { ControlPlane, json, TOKEN } from "./support/control-plane.ts";

// What a deployment sees of a control plane, as far as that answers.

// The build puts it into the command.
vi.stubGlobal("DROVER_VERSION", "0.1.0");

let plane: ControlPlane;
beforeEach(async () => {
  plane = await new ControlPlane().start();
});
afterEach(() => plane.stop());

const look = () => found([{ url: plane.url, token: TOKEN }]);
const worker = (id: string) => ({ id, pool: "gpus", protocol: 1 });
const healthy = { pool: "gpus", initialized: true, healthy: true };
const problem = (status: number, code: string) => ({
  status,
  code,
  detail: `it is ${code}`,
  temporary: false,
});

describe("a control plane that answers (deploy.md#facts)", () => {
  beforeEach(() => {
    const deployment = { version: "0.1.0", url: null, bucket: true, bucketName: null, domains: [] };
    plane.on("GET", /^\/v1\/deployment$/, (_seen, res) =>
      json(res, 200, { ...deployment, wrappingKeys: [] }),
    );
  });
  const pages = (service: object) =>
    plane.on("GET", /^\/v1\/workers$/, ({ query }, res) => {
      const isFirst = query.get("cursor") === null;
      const page = isFirst
        ? { items: [worker("w-1")], next: "more" }
        : { items: [worker("w-2")], next: null };
      json(res, 200, { ...page, service: [isFirst ? healthy : service] });
    });

  test("shows all of its machines, not only those of the first page", async () => {
    pages(healthy);
    const { running } = await look();
    expect(running?.workers.map(({ id }) => id)).toEqual(["w-1", "w-2"]);
    expect(running).not.toHaveProperty("unseen");
  });

  test("says which pool's machines it cannot show", async () => {
    pages({ ...healthy, healthy: false, error: "storage is full" });
    expect((await look()).running?.unseen).toBe("the pool gpus does not answer: storage is full");
  });

  test("may be unable to show any", async () => {
    plane.on("GET", /^\/v1\/workers$/, (_seen, res) => json(res, 500, problem(500, "internal")));
    expect((await look()).running).toMatchObject({ workers: [], unseen: "it is internal" });
  });
});

test.each([
  [404, "not_found", { silent: expect.objectContaining({ isOld: true }), isRefused: false }],
  [401, "unauthorized", { silent: undefined, isRefused: true }],
  [500, "internal", { silent: expect.objectContaining({ isOld: false }), isRefused: false }],
])("one that answers %i %s (deploy.md#facts)", async (status, code, seen) => {
  plane.on("GET", /^\/v1\/deployment$/, (_seen, res) => json(res, status, problem(status, code)));
  expect(await look()).toEqual({ running: undefined, ...seen });
});
