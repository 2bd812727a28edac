// What has a token made that is valid, by itself or by what it has made (access.md#children)?
import type { Session, Token, TrustRule } from "../../../../src/generated/api.ts";
import { nameIn } from "../../../../src/shared/access/project.ts";

/** The tokens and trust rules that a token has made. */
export interface Made {
  tokens: Token[];
  rules: TrustRule[];
}

/** What can have made something else. */
type Maker = Pick<Token, "name" | "project" | "rule" | "createdAt" | "revokedAt" | "expiresAt">;

/**
 * What a token has made, also indirectly, and what is valid of it. Lists say by name who made something,
 * and a name is one token's from its creation to its end (ui.md#administration).
 */
export function madeBy(token: Token, tokens: readonly Token[], rules: readonly TrustRule[]): Made {
  const found: Made = { tokens: [], rules: [] };
  const seen = new Set([token.id]);
  const open = [token];
  for (let maker = open.pop(); maker !== undefined; maker = open.pop()) {
    const by = maker;
    const ownRules = rules.filter((rule) => isMadeBy(rule, by));
    found.rules.push(...ownRules);
    const given = (one: Token) => ownRules.some((rule) => rule.name === one.rule && isSameProject(rule, one));
    for (const child of tokens.filter((one) => isMadeBy(one, by) || given(one))) {
      if (seen.has(child.id)) continue;
      seen.add(child.id);
      open.push(child);
      if (child.state === "active") found.tokens.push(child);
    }
  }
  return found;
}

/** The valid tokens that a trust rule has given. */
export function givenBy(rule: TrustRule, tokens: readonly Token[]): Token[] {
  return tokens.filter((one) => one.state === "active" && one.rule === rule.name && isSameProject(rule, one));
}

/** The browser sessions that act for a token, and end with it. */
export function sessionsOf({ id }: Token, sessions: readonly Session[]): Session[] {
  return sessions.filter(({ token }) => token === id);
}

/** How the log names what the holder of a token does (access.md#actors). */
export function actorOf({ name, project, rule }: Pick<Maker, "name" | "project" | "rule">): string {
  return rule === null ? `token:${nameIn(project, name, ":")}` : name;
}

/** How the log names a browser that acts for the holder of a token (access.md#actors). */
export function browserOf(token: Parameters<typeof actorOf>[0]): string {
  const own = actorOf(token);
  return `session:${own.slice(own.indexOf(":") + 1)}`;
}

function isMadeBy(thing: { createdBy: string; createdAt: string }, maker: Maker): boolean {
  const end = maker.revokedAt ?? maker.expiresAt;
  const isInTime = thing.createdAt >= maker.createdAt && (end === null || thing.createdAt <= end);
  return isInTime && [actorOf(maker), browserOf(maker)].includes(thing.createdBy);
}

const isSameProject = (a: { project: string }, b: { project: string }) => a.project === b.project;
