import { describe, expect, test } from "vitest";
import { readyTask } from "../../../../agent/core/attempts/task-environment.ts";
import type { Device } from "../../../../agent/core/devices/device.ts";
import { deviceVariables } from "../../../../agent/core/devices/environment.ts";
import { task } from "../drive.ts";
import { gpu } from "./gpus.ts";

const NVIDIA = gpu("GPU-1");
const AMD = gpu("GPU-a", { vendor: "AMD" });
const OTHER = gpu("x0", { vendor: "acme", env: { ACME_DEVICES: "0", ACME_MODE: "fast" } });
const OTHER_TOO = gpu("x1", { vendor: "acme", env: { ACME_DEVICES: "1", ACME_MODE: "fast" } });

describe("the variables of devices (devices.md#environment, tasks.md#env-13)", () => {
  test.each<[string, Device[], Device[] | "any" | undefined, Record<string, string>]>([
    [
      "two of NVIDIA",
      [NVIDIA, gpu("GPU-2"), gpu("GPU-3")],
      [NVIDIA, gpu("GPU-3")],
      {
        DROVER_DEVICES: "GPU-1,GPU-3",
        CUDA_VISIBLE_DEVICES: "GPU-1,GPU-3",
        NVIDIA_VISIBLE_DEVICES: "GPU-1,GPU-3",
      },
    ],
    ["one of AMD", [AMD], [AMD], { DROVER_DEVICES: "GPU-a", ROCR_VISIBLE_DEVICES: "GPU-a" }],
    [
      "what a plug-in says, joined where several say it",
      [OTHER, OTHER_TOO],
      [OTHER, OTHER_TOO],
      { DROVER_DEVICES: "x0,x1", ACME_DEVICES: "0,1", ACME_MODE: "fast" },
    ],
    [
      "one of NVIDIA beside one of AMD, which is somebody else's",
      [NVIDIA, AMD],
      [NVIDIA],
      {
        DROVER_DEVICES: "GPU-1",
        CUDA_VISIBLE_DEVICES: "GPU-1",
        NVIDIA_VISIBLE_DEVICES: "GPU-1",
        ROCR_VISIBLE_DEVICES: "",
      },
    ],
    [
      "none of them: it must not take another's by accident",
      [NVIDIA, OTHER],
      undefined,
      { DROVER_DEVICES: "", CUDA_VISIBLE_DEVICES: "", NVIDIA_VISIBLE_DEVICES: "void" },
    ],
    [
      "one that has vanished since",
      [],
      [NVIDIA],
      { DROVER_DEVICES: "GPU-1", CUDA_VISIBLE_DEVICES: "GPU-1", NVIDIA_VISIBLE_DEVICES: "GPU-1" },
    ],
    ["none, on a machine without any", [], undefined, {}],
    ["any", [NVIDIA], "any", {}],
  ])("a task has %s", (_, known, devices, expected) => {
    expect(deviceVariables({ known }, { devices })).toEqual(expected);
  });

  test("nothing is said where nothing names devices", () => {
    expect(deviceVariables({ known: "none" }, {})).toEqual({});
    expect(deviceVariables({}, {})).toEqual({});
  });

  test("neither the task nor its meta can change them, and references find them", () => {
    const dirs = { alloc: "/a", local: "/l", secrets: "/s", tmp: "/t" };
    const around = { id: "a/main/1.1", base: {}, dirs, node: {}, instance: undefined, identity: undefined };
    const devices = deviceVariables({ known: [NVIDIA] }, { devices: [NVIDIA] });
    const env = { CUDA_VISIBLE_DEVICES: "0", COPY: "${DROVER_DEVICES}" };
    expect(readyTask(task({ env }), { ...around, devices }).env).toMatchObject({
      CUDA_VISIBLE_DEVICES: "GPU-1",
      COPY: "GPU-1",
    });
  });
});
