// What does the registry answer to calls about trust rules (oidc.md#trust-rules)? `core/registry` decides.
import { type Exchange, refusalOfExchange } from "../../core/registry/exchanged.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import { refusalOfRule, ruleRows, ruleView, type TrustRow } from "../../core/registry/trust.ts";
import type { TrustRule } from "../../schema/access/trust.ts";
import { DroverError } from "../../shared/errors.ts";

/** The registry as these calls use it: `enter` applies an event, and returns the new state. */
interface Entered {
  enter(event?: RegistryEvent): Pick<RegistryState, "trust" | "exchanged">;
}

/** The calls of `RegistryApi` about trust rules. */
export class TrustCalls {
  readonly #registry: Entered;

  constructor(registry: Entered) {
    this.#registry = registry;
  }

  put(rule: TrustRow): { created: boolean; rule: TrustRule } {
    const { trust } = this.#registry.enter();
    const refusal = refusalOfRule(trust, rule.name);
    if (refusal !== null) throw refusal;
    const created = trust.get(rule.name) === undefined;
    this.#registry.enter({ type: "trust_put", rule });
    return { created, rule: ruleView(rule) };
  }

  remove(name: string, by: string): TrustRule {
    const rule = this.#row(name);
    this.#registry.enter({ type: "trust_removed", name, by });
    return ruleView(rule);
  }

  list(): TrustRule[] {
    return ruleRows(this.#registry.enter().trust).map(ruleView);
  }

  read(name: string): TrustRule {
    return ruleView(this.#row(name));
  }

  of(issuer: string): TrustRow[] {
    return ruleRows(this.#registry.enter().trust).filter((rule) => rule.issuer === issuer);
  }

  exchange(wanted: Exchange): void {
    const { exchanged, trust } = this.#registry.enter();
    const refusal = refusalOfExchange(exchanged, trust, wanted);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "token_exchanged", token: wanted.token });
  }

  #row(name: string): TrustRow {
    const row = this.#registry.enter().trust.get(name);
    if (row !== undefined) return row;
    const text = `there is no trust rule "${name}"; \`drover trust list\` shows all`;
    throw new DroverError("unknown_trust_rule", text);
  }
}
