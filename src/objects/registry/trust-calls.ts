// What does the registry answer to calls about trust rules (oidc.md#trust-rules)? `core/registry` decides.
import { type Exchange, refusalOfExchange } from "../../core/registry/exchanged.ts";
import type { RegistryEvent, RegistryState } from "../../core/registry/machine.ts";
import type { Named } from "../../core/registry/projects.ts";
import { refusalOfRule, ruleNamed, ruleRows, ruleView, type TrustRow } from "../../core/registry/trust.ts";
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
    const refusal = refusalOfRule(trust, rule);
    if (refusal !== null) throw refusal;
    const created = ruleNamed(trust, rule) === undefined;
    this.#registry.enter({ type: "trust_put", rule });
    return { created, rule: ruleView(rule) };
  }

  remove(named: Named, by: string): TrustRule {
    const rule = this.#row(named);
    this.#registry.enter({ type: "trust_removed", rule: named, by });
    return ruleView(rule);
  }

  list(project: string | null): TrustRule[] {
    return ruleRows(this.#registry.enter().trust, project).map(ruleView);
  }

  read(rule: Named): TrustRule {
    return ruleView(this.#row(rule));
  }

  of(issuer: string): TrustRow[] {
    return ruleRows(this.#registry.enter().trust, null).filter((rule) => rule.issuer === issuer);
  }

  exchange(wanted: Exchange): void {
    const { exchanged, trust } = this.#registry.enter();
    const refusal = refusalOfExchange(exchanged, trust, wanted);
    if (refusal !== null) throw refusal;
    this.#registry.enter({ type: "token_exchanged", token: wanted.token });
  }

  #row(rule: Named): TrustRow {
    const row = ruleNamed(this.#registry.enter().trust, rule);
    if (row !== undefined) return row;
    const text = `there is no trust rule "${rule.name}"; \`drover trust list\` shows all`;
    throw new DroverError("unknown_trust_rule", text);
  }
}
