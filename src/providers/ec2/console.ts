// What has the console of a machine of EC2 shown (clouds/ec2.md#console)?
import { z } from "zod";
import type { ConsoleAnswer } from "../../core/provider-answers.ts";
import { unreadable } from "../wire.ts";
import { consoleForm } from "./forms.ts";
import { type Asking, UNKNOWN_ID } from "./listing.ts";
import { textAt } from "./xml.ts";

/** EC2 keeps this much, in bytes: what is as long has lost its beginning. */
const KEPT_BYTES = 65_536;

/** The codes of a type of machine whose latest output cannot be asked for: only Nitro has that. */
const NO_LATEST: ReadonlySet<string> = new Set(["UnsupportedOperation", "InvalidParameterCombination"]);

const Timestamp = z.iso.datetime({ offset: true });

/** The console as it is now or, on older types of machines, as EC2 has kept it from the boot. */
export async function consoleOf(asking: Asking, id: string): Promise<ConsoleAnswer> {
  const latest = await asking.call(consoleForm(id, true));
  const isRefused = "failure" in latest && latest.code !== undefined && NO_LATEST.has(latest.code);
  const called = isRefused ? await asking.call(consoleForm(id, false)) : latest;
  if ("failure" in called) {
    const { code, failure } = called;
    const isUnknown = code !== undefined && UNKNOWN_ID.has(code);
    return isUnknown ? { kind: "none", text: `EC2 knows no machine ${id}` } : { kind: "failed", failure };
  }
  const output = textAt(called.root, "output");
  if (output === undefined) return { kind: "none", text: `EC2 has no output of the console of ${id} yet` };
  const bytes = bytesIn(output);
  if (bytes === undefined) return unreadable("GetConsoleOutput", "its `output` is not base64");
  const { data: updatedAt = null } = Timestamp.safeParse(textAt(called.root, "timestamp"));
  const isCut = bytes.length >= KEPT_BYTES;
  return { kind: "console", text: new TextDecoder().decode(bytes), isCut, updatedAt };
}

function bytesIn(base64: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
