import { describe, expect, test } from "vitest";
import { CLEAR_AGAIN_MS } from "../../../agent/core/attempts/remains.ts";
import { busyHost, type Driven, EXIT, ID } from "./drive.ts";

// workers.md#stale-runs
describe("an ended placement whose directories something holds on to", () => {
  const placement = "build-17/1";
  const heldOn = (host: Driven, holder = "process 7 (sleep)") =>
    host.tell({ type: "held_on", placement, holder });

  /** A host whose only attempt has ended, and is wanted no more. */
  function endedHost(): Driven {
    const host = busyHost();
    host.tell({ type: "exited", id: ID, exit: EXIT });
    host.tell({ type: "tree_gone", id: ID, killed: false });
    host.order([]);
    host.tell({ type: "forgotten", id: ID });
    expect(host.message("clear")).toMatchObject({ placement });
    return host;
  }

  test("is tried again after a while, and not before", () => {
    const host = heldOn(endedHost());
    expect(host.message("clear")).toBeUndefined();
    expect(host.pass(CLEAR_AGAIN_MS - 1).message("clear")).toBeUndefined();
    expect(host.pass(1).message("clear")).toMatchObject({ placement });
  });

  test("is reported as a stale run after the second try, with who holds on to it", () => {
    const host = heldOn(endedHost());
    expect(host.pass(CLEAR_AGAIN_MS).report()).not.toHaveProperty("stale");
    expect(heldOn(host).report()).toMatchObject({
      stale: [{ run: "build-17", holder: "process 7 (sleep)" }],
    });
  });

  test("is reported no more once its directories are deleted", () => {
    const host = heldOn(heldOn(endedHost()).pass(CLEAR_AGAIN_MS));
    host.pass(CLEAR_AGAIN_MS).tell({ type: "cleared", placement });
    expect(host.pass(30_000).report()).not.toHaveProperty("stale");
    expect(host.message("clear")).toBeUndefined();
  });
});
