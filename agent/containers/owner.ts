// Who owns what the user of a container must be able to write (containers.md#users)?
import type { Engine } from "../engine/engine.ts";
import type { Account } from "../exec/account.ts";
import { StartFault } from "../exec/start-fault.ts";
import { userIn } from "./place.ts";

const PASSWD = "/etc/passwd";

/**
 * The ids of the user of a container that was made, by the image's own list of users where it is a name.
 * Undefined: it is root, who needs nothing. `user`: as `User` of the container, or of its image. Rejects with
 * a `StartFault`.
 */
export async function ownerOf(engine: Engine, container: string, user: string): Promise<Account | undefined> {
  const [name = "", group = ""] = user.split(":");
  if (name === "" || name === "root" || name === "0") return undefined;
  const named = { name, home: "/" };
  if (/^\d+$/.test(name) && /^\d+$/.test(group)) return { ...named, uid: Number(name), gid: Number(group) };
  const passwd = await engine.readFile(container, PASSWD);
  const found = userIn(passwd ?? "", name);
  if (found === undefined && /^\d+$/.test(name)) return { ...named, uid: Number(name), gid: 0 };
  if (found === undefined) {
    const text = `The image has no user "${name}" (${PASSWD}). Name another one in \`container.user\`.`;
    throw new StartFault("user_not_found", text);
  }
  return { ...named, ...found };
}
