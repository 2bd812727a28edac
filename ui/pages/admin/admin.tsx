// The administration: tokens, sessions, projects, secrets, webhooks, trust rules, each at its own address.
import type { ComponentType } from "preact";
import { later } from "../../parts/later.tsx";
import { ADMIN_PARTS, type AdminPart, adminHref } from "../../router/admin.ts";
import { hrefOf, queryOf } from "../../router/place.ts";
import { Projects } from "./projects.tsx";
import { Secrets } from "./secrets.tsx";
import { Sessions } from "./sessions/sessions.tsx";
import { Tokens } from "./tokens/tokens.tsx";
import { TrustRules } from "./trust/rules.tsx";

/** The largest part, which the others do not need (ui.md#size). */
const Webhooks = later(async () => (await import("./webhooks/webhooks.tsx")).Webhooks);

const PARTS: Record<AdminPart, { word: string; Part: ComponentType }> = {
  tokens: { word: "Tokens", Part: Tokens },
  sessions: { word: "Browser sessions", Part: Sessions },
  projects: { word: "Projects", Part: Projects },
  secrets: { word: "Secrets", Part: Secrets },
  webhooks: { word: "Webhooks", Part: Webhooks },
  trust: { word: "Trust rules", Part: TrustRules },
};

/** The pages `/ui/admin` and `/ui/admin/{part}`. */
export function Admin({ item = "tokens" }: { item: string | undefined }) {
  const part = ADMIN_PARTS.find((one) => one === item);
  const pool = queryOf("pool");
  return (
    <>
      <nav class="tabs" aria-label="Parts of the administration">
        {ADMIN_PARTS.map((one) => (
          <a
            key={one}
            href={hrefOf(adminHref(one), new URLSearchParams(), { pool })}
            aria-current={one === part ? "page" : undefined}
          >
            {PARTS[one].word}
          </a>
        ))}
      </nav>
      {part === undefined ? <Unknown part={item} /> : <Chosen part={part} />}
    </>
  );
}

function Chosen({ part }: { part: AdminPart }) {
  const { Part } = PARTS[part];
  return <Part />;
}

function Unknown({ part }: { part: string }) {
  return (
    <p class="trouble" role="alert">
      The administration has no part {part}. Choose one above.
    </p>
  );
}
