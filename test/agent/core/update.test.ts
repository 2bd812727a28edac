import { describe, expect, test } from "vitest";
import { initialHost } from "../../../agent/core/host.ts";
import { FETCH_AGAIN_MS, UPDATED_EXIT_CODE } from "../../../agent/core/update.ts";
import { Driven, EXIT, ID, run, SETUP } from "./drive.ts";

// host-protocol.md#self-update

const NEWER = { agent: "newer" };

/** A host whose agent updates itself, and that has reported. */
function idleHost(own: string | undefined = "older"): Driven {
  const host = new Driven();
  host.state = initialHost(undefined, host.now, own);
  host.tell({ type: "joined", setup: SETUP }).tell({ type: "probed", ok: true, output: "" });
  return host;
}
const fetched = (host: Driven, sha256 = "newer", failed = false) =>
  host.tell({ type: "agent_fetched", sha256, failed });

describe("an agent that is not the one that the control plane serves", () => {
  test("fetches that one, and ends once it is there, to be started again", () => {
    const host = idleHost().order([], NEWER);
    expect(host.message("fetch_agent")).toMatchObject({ sha256: "newer" });
    expect(fetched(host).message("exit")).toMatchObject({ code: UPDATED_EXIT_CODE, powerOff: false });
  });

  test.each([
    ["its own digest", "older", { agent: "older" }],
    ["no digest", "older", {}],
    ["another one, and nothing would start it again", undefined, NEWER],
  ])("not if the orders have %s", (_what, own, orders) => {
    const host = new Driven();
    host.state = initialHost(undefined, host.now, own);
    host.tell({ type: "joined", setup: SETUP }).order([], orders);
    expect(host.message("fetch_agent")).toBeUndefined();
  });

  test("waits until nothing runs, and stops nothing for it", () => {
    const host = idleHost()
      .order([run(ID)], NEWER)
      .tell({ type: "launched", id: ID, by: "processes" });
    expect(host.message("fetch_agent")).toBeUndefined();
    host.tell({ type: "exited", id: ID, exit: EXIT }).tell({ type: "tree_gone", id: ID, killed: false });
    host.order([], NEWER).tell({ type: "forgotten", id: ID });
    expect(host.message("fetch_agent")).toBeDefined();
  });

  test("does not end while a run has come meanwhile", () => {
    const host = fetched(
      idleHost()
        .order([], NEWER)
        .order([run(ID)], NEWER),
    );
    expect([host.message("exit"), host.message("start")]).toMatchObject([undefined, {}]);
  });

  test("tries again after a while if it cannot be had", () => {
    const host = fetched(idleHost().order([], NEWER), "newer", true);
    expect(host.message("fetch_agent")).toBeUndefined();
    host.pass(FETCH_AGAIN_MS);
    expect([host.message("fetch_agent"), host.message("exit")]).toMatchObject([{}, undefined]);
  });

  test("fetches the latest one, if there is another one meanwhile", () => {
    const host = fetched(idleHost().order([], NEWER).order([], { agent: "newest" }));
    expect([host.message("fetch_agent"), host.message("exit")]).toMatchObject([
      { sha256: "newest" },
      undefined,
    ]);
  });
});
