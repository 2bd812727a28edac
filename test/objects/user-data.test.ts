import { expect, test } from "vitest";
import { userDataScript } from "../../src/objects/host/user-data.ts";

const FACTS = { url: "https://drover.test", code: "drvc_w1.1.x", boot: "drvb_w1.1.y", agentSha256: "ab" };

test("a machine that can end itself is told how, as one word; any other is not (invariant 8)", () => {
  const script = userDataScript({ ...FACTS, powerOff: "echo 'done for' && poweroff" });
  expect(script).toContain(`--power-off 'echo '\\''done for'\\'' && poweroff' 3>&- || code=$?`);
  expect(userDataScript(FACTS)).not.toContain("--power-off");
});

test("a machine that can be taken back is told how it hears of that (cases.md#case-9)", () => {
  const script = userDataScript({ ...FACTS, powerOff: "poweroff", notice: "curl -sf http://metadata" });
  expect(script).toContain(`--power-off poweroff --notice 'curl -sf http://metadata' 3>&- || code=$?`);
  expect(userDataScript(FACTS)).not.toContain("--notice");
});
