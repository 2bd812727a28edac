import type { Cloud } from "../../../local/loopback/faults.ts";
import { ProviderError } from "../../../local/loopback/provider-error.ts";
import type { CreateInstance, Instance } from "../../../src/schema/provider.ts";

/** The types that it offers. */
const OFFERED = ["local", "dearer", "t3.small"];

/** An honest cloud whose machines are on paper only: nothing runs. */
export class PaperCloud implements Cloud {
  readonly #byToken = new Map<string, Instance>();

  create({ token, name, instanceType, tags }: CreateInstance): Instance {
    const known = this.#byToken.get(token);
    if (known !== undefined) return known;
    if (!OFFERED.includes(instanceType)) throw new ProviderError(400, "invalid", `no type ${instanceType}`);
    const instance: Instance = {
      id: `paper-${String(this.#byToken.size).padStart(4, "0")}`,
      name,
      address: null,
      state: "running",
      instanceType,
      tags,
      createdAt: new Date().toISOString(),
    };
    this.#byToken.set(token, instance);
    return instance;
  }

  list(tag?: { name: string; value: string }): Instance[] {
    const all = [...this.#byToken.values()];
    return tag === undefined ? all : all.filter(({ tags }) => tags[tag.name] === tag.value);
  }

  destroy(id: string): boolean {
    return this.#change(id, { state: "terminated" });
  }

  retag(id: string, tags: Record<string, string>): boolean {
    return this.#change(id, { tags });
  }

  #change(id: string, change: Partial<Instance>): boolean {
    for (const [token, instance] of this.#byToken) {
      if (instance.id !== id) continue;
      this.#byToken.set(token, { ...instance, ...change });
      return true;
    }
    return false;
  }
}
